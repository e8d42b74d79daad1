//! The load that a specification puts on the link: payload, headers and telemetry, and what congestion
//! control leaves unused. Known before anything runs; from 1 on queues grow for as long as a run lasts.

use fctlab_core::{Bytes, PacketFormat, SpecError, Time};
use fctlab_link::{Control, Law};
use fctlab_workload::SizeDistribution;
use serde::Serialize;

use super::{Class, Spec};

/// Above this, tails depend on how long a run is.
const HIGH: f64 = 0.95;
/// Pieces of a first round trip over which sizes are integrated.
const PIECES: u32 = 1000;

/// The load of the drawn classes; that of a trace is its own.
#[derive(Clone, Debug, Serialize)]
pub struct Load {
    /// Payload, as a share of the link.
    pub payload: f64,
    /// The bytes on the wire, headers and telemetry included, as a share of the link.
    pub wire: f64,
    /// The same as a share of what congestion control uses of the link: overload from 1 on.
    pub used: f64,
    /// By drawn class.
    pub classes: Vec<ClassLoad>,
}

/// The load of one class, as shares of the link.
#[derive(Clone, Debug, Serialize)]
pub struct ClassLoad {
    /// Its name.
    pub name: String,
    /// Payload.
    pub payload: f64,
    /// The bytes on the wire.
    pub wire: f64,
}

/// What a class's flows send besides their payload, and when.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Bytes on the wire per byte of payload.
    pub per_byte: f64,
    /// The share of bytes that flows send in their first round trip.
    pub uncontrolled: f64,
}

impl Wire {
    /// Of a trace, which is not known beforehand.
    pub const UNKNOWN: Wire = Wire {
        per_byte: 1.0,
        uncontrolled: 0.0,
    };

    /// Of flows of such sizes; `burst` are the bytes of a first round trip.
    pub fn of(sizes: &SizeDistribution, control: &Control, burst: f64) -> Self {
        let format = format(control);
        let piece = burst / f64::from(PIECES);
        let above = |i: u32| 1.0 - sizes.cdf((f64::from(i) + 0.5) * piece);
        let first: f64 = (0..PIECES).map(above).sum::<f64>() * piece;
        Wire {
            per_byte: sizes.mean_wire(&format) / sizes.mean(),
            uncontrolled: (first / sizes.mean()).min(1.0),
        }
    }

    /// Of these flows, each a start and bytes.
    pub fn of_rows(rows: &[(Time, u64)], control: &Control, burst: f64) -> Self {
        let format = format(control);
        let wire = rows.iter().map(|row| format.wire_bytes(Bytes::new(row.1)));
        let bytes: f64 = rows.iter().map(|row| row.1 as f64).sum();
        let first: f64 = rows.iter().map(|row| (row.1 as f64).min(burst)).sum();
        Wire {
            per_byte: wire.map(|bytes| bytes as f64).sum::<f64>() / bytes,
            uncontrolled: first / bytes,
        }
    }
}

fn format(control: &Control) -> PacketFormat {
    PacketFormat {
        payload: control.shared.payload,
        header: control.shared.header,
        ..PacketFormat::default()
    }
}

impl Load {
    /// Of `classes`, those of `spec`.
    pub fn of(spec: &Spec, classes: &[Class]) -> Self {
        let link = spec.network.link.bps() as f64;
        let drawn = || classes.iter().filter(|c| c.rate_bps > 0.0);
        let each = drawn().map(|class| ClassLoad {
            name: class.name.clone(),
            payload: class.rate_bps / link,
            wire: class.rate_bps * class.wire.per_byte / link,
        });
        let each: Vec<ClassLoad> = each.collect();
        let wire: f64 = each.iter().map(|c| c.wire).sum();
        let uncontrolled = drawn().zip(&each);
        let uncontrolled: f64 = uncontrolled
            .map(|(c, l)| c.wire.uncontrolled * l.wire)
            .sum();
        Load {
            payload: each.iter().map(|c| c.payload).sum(),
            wire,
            used: spec.cc.used(wire, uncontrolled),
            classes: each,
        }
    }

    /// # Errors
    /// More than the link, or what is used of it, can take.
    pub fn check(&self, spec: &Spec) -> Result<(), SpecError> {
        if self.used < 1.0 || spec.network.overload {
            return Ok(());
        }
        let message = format!(
            "{}; less than 1 is needed, or network.overload = true",
            self.told(spec)
        );
        Err(SpecError::new("classes", message))
    }

    /// What to say of a load so high that a tail depends on how long it is measured.
    pub fn warning(&self, spec: &Spec) -> Option<String> {
        let message = || {
            format!(
                "{}: queues so close to overload go on growing for long, and values depend on how long the \
                 run is",
                self.told(spec)
            )
        };
        (self.used > HIGH).then(message)
    }

    fn told(&self, spec: &Spec) -> String {
        let Spec { network, cc, .. } = spec;
        let each: Vec<String> = self
            .classes
            .iter()
            .map(|c| format!("{} {:.3}", c.name, c.wire))
            .collect();
        let mut text = format!(
            "the classes offer {:.3} of the link ({})",
            self.wire, network.link
        );
        if cc.shared.header.get() > 0 {
            text += &format!(
                ", {:.3} of it payload, with cc.header = {} for every {}",
                self.payload, cc.shared.header, cc.shared.payload
            );
        }
        if let Law::Rate(law) = &cc.law
            && self.used > self.wire
        {
            let u = law.u_target;
            text += &format!(", {:.3} of what cc.u_target = {u} leaves of it", self.used);
        }
        format!("{text}: {}", each.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use serde_json::json;

    fn load(cc: &str, load: f64) -> Result<Load, String> {
        let value = json!({"network": {"link": "100Gbps", "rtt": "10us"}, "cc": cc, "queue": "fifo",
            "classes": [{"name": "a", "flowsizes": {"kind": "fixed", "size": "1MB"}, "load": load}]});
        let spec = Spec::read(value, Path::new("")).map_err(|e| e.to_string())?;
        let classes = spec.classes().map_err(|e| e.to_string())?;
        Ok(Load::of(&spec, &classes))
    }

    #[test]
    fn headers_and_telemetry_are_load() {
        // 1 MB are 1000 packets: 90 B each with HPCC's telemetry, 48 B without.
        for (cc, per_byte) in [("hpcc", 1.09), ("dctcp-rate", 1.048), ("swp-d", 1.0)] {
            let most = 1.0 / per_byte;
            let found = load(cc, most - 1e-3).unwrap();
            assert!(
                (found.wire / (most - 1e-3) / per_byte - 1.0).abs() < 1e-9,
                "{cc}"
            );
            assert!(load(cc, most + 1e-3).is_err() || most > 0.999, "{cc}");
        }
        assert_eq!(
            load("hpcc", 0.93).unwrap_err(),
            "classes: the classes offer 1.014 of the link (100Gbps), 0.930 of it payload, with cc.header = 90B \
             for every 1KB: a 1.014; less than 1 is needed, or network.overload = true"
        );
    }

    #[test]
    fn what_congestion_control_leaves_unused_is_load() {
        // swp-h: U = 0.9, beta = 1.
        let found = load("swp-h", 0.45).unwrap();
        assert!((found.used - 0.5).abs() < 1e-9, "{found:?}");
        assert_eq!(
            load("swp-h", 0.95).unwrap_err(),
            "classes: the classes offer 0.950 of the link (100Gbps), 1.056 of what cc.u_target = 0.9 leaves of \
             it: a 0.950; less than 1 is needed, or network.overload = true"
        );
    }

    #[test]
    fn close_to_overload_is_warned_of() {
        let spec = |load: f64| {
            let value = json!({"network": {"link": "100Gbps", "rtt": "10us"}, "cc": "swp-d",
                "classes": [{"name": "a", "flowsizes": {"kind": "fixed", "size": "1MB"}, "load": load}]});
            let spec = Spec::read(value, Path::new("")).unwrap();
            let classes = spec.classes().unwrap();
            Load::of(&spec, &classes).warning(&spec)
        };
        assert_eq!(spec(0.94), None);
        let warning = spec(0.96).unwrap();
        assert!(
            warning.starts_with("the classes offer 0.960 of the link (100Gbps): a 0.960: "),
            "{warning}"
        );
    }
}
