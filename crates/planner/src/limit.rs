//! How many flows a question may simulate for one verdict: as many as are asked for, and as fit into memory.

use fctlab_core::SpecError;
use rayon::current_num_threads;
use serde::Deserialize;

use crate::spec::Class;

/// Of a flow in a list, with what making and sorting the list takes.
const LISTED: u64 = 48;
/// Of a value behind an SLI, in lists that double.
const KEPT: u64 = 32;

/// Of a flow that runs packet by packet, with its record.
const OF_PACKETS: u64 = 400;

/// As a question has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Flows for one verdict, where somebody said how many.
    pub most_flows: Option<u64>,
    /// Bytes of memory that may be taken, where that is known.
    pub free_bytes: Option<u64>,
}

impl Limit {
    /// The number that is asked for, else the `usual` one, and not more than fit into memory.
    pub fn flows(&self, usual: u64, classes: &[Class], at_once: usize) -> u64 {
        let asked = self.most_flows.unwrap_or(usual).min(usual);
        self.fitting(classes, at_once)
            .map_or(asked, |fit| asked.min(fit))
    }

    /// So many flows fit into memory while `at_once` runs of them keep what their SLIs need.
    pub fn fitting(&self, classes: &[Class], at_once: usize) -> Option<u64> {
        let each = bytes_per_flow(classes, at_once);
        self.free_bytes.map(|free| (free as f64 / each) as u64)
    }

    /// What is left for drawn flows beside those that `classes` replay.
    ///
    /// # Errors
    /// The trace that does not fit into memory; one that cannot be read.
    pub fn beside_traces(self, classes: &[Class], at_once: usize) -> Result<Self, SpecError> {
        let Some(mut free) = self.free_bytes else {
            return Ok(self);
        };
        let each = bytes_per_flow(classes, at_once);
        for (i, class) in classes.iter().enumerate() {
            let at = |error: SpecError| error.under(&format!("classes[{i}]"));
            let flows = class.traffic.replayed().map_err(at)?;
            let taken = (flows as f64 * each).ceil() as u64;
            free = free.checked_sub(taken).ok_or_else(|| {
                let (taken, fits) = (taken as f64 / 1e9, (free as f64 / each) as u64);
                let message = format!(
                    "{flows} flows take some {taken:.1} GB of memory; {:.1} GB are free, which is enough for {fits}",
                    free as f64 / 1e9
                );
                SpecError::new(format!("classes[{i}].trace"), message)
            })?;
        }
        Ok(Limit {
            free_bytes: Some(free),
            ..self
        })
    }

    /// Checks that `flows` may run packet by packet.
    ///
    /// # Errors
    /// They do not fit into memory; its message says how many would.
    pub fn check_packets(&self, flows: u64) -> Result<(), SpecError> {
        let fits = self.free_bytes.map(|free| free / OF_PACKETS);
        if fits.is_none_or(|fits| flows <= fits) {
            return Ok(());
        }
        let gb = |bytes: u64| bytes as f64 / 1e9;
        let message = format!(
            "{flows} flows of packets take some {:.1} GB of memory; {:.1} GB are free, which is enough for {}",
            gb(flows * OF_PACKETS),
            gb(self.free_bytes.unwrap_or_default()),
            fits.unwrap_or_default()
        );
        Err(SpecError::new("most_flows", message))
    }

    /// What to say of `flows` that did not decide, where memory is why there are no more.
    pub fn warning(
        &self,
        flows: u64,
        usual: u64,
        classes: &[Class],
        at_once: usize,
    ) -> Option<String> {
        let fit = self.fitting(classes, at_once)?;
        let free = self.free_bytes? as f64 / 1e9;
        let asked = self.most_flows.unwrap_or(usual).min(usual);
        (fit < asked && flows >= fit).then(|| {
            format!("{free:.1} GB of memory are free, which is enough for {fit} flows: more might decide")
        })
    }
}

/// Of a flow, while `at_once` runs keep what their SLIs need.
fn bytes_per_flow(classes: &[Class], at_once: usize) -> f64 {
    let runs = at_once.clamp(1, current_num_threads()) as f64;
    let kept = classes.iter().map(|c| c.shares.iter().sum::<f64>());
    LISTED as f64 + KEPT as f64 * runs * kept.fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::flows::MOST_FLOWS;
    use crate::spec::Spec;

    #[test]
    fn what_is_asked_for_and_what_fits() {
        let tail = serde_json::json!({"name": "tail", "metric": "p99"});
        let class = serde_json::json!({"name": "a", "flowsizes": "google_rpc", "load": 0.3, "slis": [tail]});
        let value =
            serde_json::json!({"network": {"link": "10Gbps", "rtt": "10us"}, "classes": [class]});
        let classes = Spec::read(value, Path::new("")).unwrap().classes().unwrap();
        let limit = |most_flows, free_bytes| Limit {
            most_flows,
            free_bytes,
        };
        let flows = |limit: Limit| limit.flows(MOST_FLOWS, &classes, 1);
        assert_eq!(flows(limit(None, None)), MOST_FLOWS);
        assert_eq!(flows(limit(Some(1000), None)), 1000);
        assert_eq!(flows(limit(Some(1 << 40), None)), MOST_FLOWS);
        // 48 bytes of a flow and 32 of its value.
        assert_eq!(flows(limit(None, Some(80_000_000))), 1_000_000);
        assert_eq!(flows(limit(Some(1000), Some(80_000_000))), 1000);
        // 400 of one that runs packet by packet.
        assert_eq!(limit(None, None).check_packets(u64::MAX), Ok(()));
        assert_eq!(limit(None, Some(80_000_000)).check_packets(200_000), Ok(()));
        let error = limit(None, Some(80_000_000)).check_packets(1_000_000);
        assert_eq!(
            error.unwrap_err().to_string(),
            "most_flows: 1000000 flows of packets take some 0.4 GB of memory; 0.1 GB are free, which is enough for 200000"
        );
        let told = |limit: Limit, flows| limit.warning(flows, MOST_FLOWS, &classes, 1);
        assert_eq!(told(limit(Some(1000), Some(80_000_000)), 1000), None);
        assert_eq!(
            told(limit(None, Some(80_000_000)), 1_000_000).unwrap(),
            "0.1 GB of memory are free, which is enough for 1000000 flows: more might decide"
        );
    }

    #[test]
    fn traces_take_their_part_first() {
        let file = std::env::temp_dir().join(format!("fctlab-limit-{}.csv", std::process::id()));
        let rows =
            (0..1000).map(|i| format!("{i},0,1,1000,{}\n", if i % 4 == 0 { "a" } else { "b" }));
        let text = rows.collect::<String>();
        std::fs::write(&file, format!("start_s,src,dst,size_bytes,class\n{text}")).unwrap();
        let tail = serde_json::json!({"name": "tail", "metric": "p99"});
        let replayed =
            |name: &str| serde_json::json!({"name": name, "trace": file, "slis": [tail]});
        let drawn = serde_json::json!({"name": "c", "flowsizes": "google_rpc", "load": 0.3, "slis": [tail]});
        let value = serde_json::json!({"network": {"link": "10Gbps", "rtt": "10us"},
            "classes": [replayed("a"), replayed("b"), drawn]});
        let classes = Spec::read(value, Path::new("")).unwrap().classes().unwrap();
        let left = |free_bytes| {
            let limit = Limit {
                most_flows: None,
                free_bytes,
            };
            limit
                .beside_traces(&classes, 1)
                .map(|limit| limit.free_bytes)
        };
        // 250 flows of 80 bytes, and 750.
        assert_eq!(left(Some(100_000)), Ok(Some(20_000)));
        assert_eq!(left(None), Ok(None));
        let error = left(Some(70_000)).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(
            error,
            "classes[1].trace: 750 flows take some 0.0 GB of memory; 0.0 GB are free, which is enough for 625"
        );
    }
}
