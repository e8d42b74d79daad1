//! A traffic class: as it is written, and checked.

use std::path::PathBuf;

use fctlab_core::{Duration, Rate, SpecError, spec};
use fctlab_link::flows::Source;
use fctlab_link::{ClassTraffic, Control, Link};
use fctlab_workload::{ArrivalsSpec, SizeDistribution, SizesSpec, asked};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::load::Wire;
use fctlab_workload::sli::SliSpec;
use fctlab_workload::slo::Slo;

/// A traffic class: its flows, its SLIs and its SLO.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// Its name; different for every class.
    pub name: String,
    /// The distribution of flow sizes; without a trace it has to be given. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flowsizes: Option<SizesSpec>,
    /// The arrival process; log-normal may have `mu`, the mean of the logarithm
    /// of the gap in nanoseconds, instead of a load or a rate. Default: `poisson`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interarrivals: Option<Interarrivals>,
    /// Payload offered as a share of `network.link`; without a trace this, `rate` or a `mu` has to be given.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub load: Option<f64>,
    /// Payload offered as a rate, instead of `load`. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Flows to replay instead: CSV or Parquet with start_s, src, dst, size_bytes.
    /// Default: none, flows are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// After how long the trace starts again, for as long as a run lasts; flows of the trace that start later
    /// are laid over the first, so half as long is twice the load. Default: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<Duration>,
    /// Its flows as they were measured, for who compares: CSV with start_s, size_bytes, duration_s.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<PathBuf>,
    /// The code points (DSCP, 0 to 63) that its packets have, for people and switches.
    /// Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<u8>,
    /// Its weight at the switch. Default: 1.
    #[serde(default = "unit", deserialize_with = "spec::positive")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: f64,
    /// What is measured of it.
    #[serde(default)]
    pub slis: Vec<SliSpec>,
    /// What must hold: a logical expression over its SLIs. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<String>,
}

/// An arrival process, and for log-normal ones perhaps its mu.
#[derive(Clone, Debug, PartialEq)]
pub struct Interarrivals {
    /// The process.
    pub process: ArrivalsSpec,
    /// Mean of the gap's logarithm, gaps in nanoseconds.
    pub mu: Option<f64>,
}

impl<'de> Deserialize<'de> for Interarrivals {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(d)?;
        let mu = value.as_object_mut().and_then(|map| map.shift_remove("mu"));
        let read = || {
            let process: ArrivalsSpec = spec::read(value)?;
            let mu = match mu {
                None => None,
                Some(_) if !matches!(process, ArrivalsSpec::Lognormal(_)) => {
                    return Err(SpecError::new("mu", "has a meaning for lognormal only"));
                }
                Some(mu) => {
                    let wrong = || SpecError::new("mu", format!("{mu} is not a number"));
                    Some(mu.as_f64().filter(|m| m.is_finite()).ok_or_else(wrong)?)
                }
            };
            Ok(Interarrivals { process, mu })
        };
        read().map_err(SpecError::into_serde)
    }
}

impl Serialize for Interarrivals {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut value = serde_json::to_value(&self.process).map_err(serde::ser::Error::custom)?;
        if let Some(mu) = self.mu {
            value["mu"] = mu.into();
        }
        value.serialize(s)
    }
}

impl schemars::JsonSchema for Interarrivals {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Interarrivals".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = fctlab_core::parts::schema_of::<ArrivalsSpec>(generator);
        let parts = schema["oneOf"].as_array_mut().into_iter().flatten();
        for part in parts.filter(|p| p["properties"]["kind"]["const"] == "lognormal") {
            part["properties"]["mu"] = serde_json::json!({
                "type": "number",
                "description": "Mean of the logarithm of the gap in nanoseconds, instead of a load or a rate. \
                    Default: what follows from these.",
            });
        }
        schema.try_into().unwrap_or_default()
    }
}

fn unit() -> f64 {
    1.0
}
/// A class that has been checked.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Where its flows come from.
    pub traffic: ClassTraffic,
    /// Payload offered, in bits per second; of a trace that ends 0: it says so itself.
    pub rate_bps: f64,
    /// What its payload comes to on the wire.
    pub wire: Wire,
    /// Share of flows in each SLI's size range; of a trace that ends 1.
    pub shares: Vec<f64>,
    /// Flows per second; of a trace that ends 0.
    pub flows_per_s: f64,
    /// Mean of the squared payload of a flow, in bytes; of a trace that ends 0.
    pub mean_square: f64,
    /// Its SLIs.
    pub slis: Vec<SliSpec>,
    /// Its SLO, if it has one.
    pub slo: Option<Slo>,
}

impl Class {
    /// What a trace that is repeated every `period` offers, as if it were drawn.
    fn offers(
        &mut self,
        period: Duration,
        link: &Link,
        control: &Control,
    ) -> Result<(), SpecError> {
        let rows = self.traffic.rows()?;
        let of = |count: f64| count / period.as_secs_f64();
        let bytes: f64 = rows.iter().map(|row| row.1 as f64).sum();
        let squares: f64 = rows.iter().map(|row| (row.1 as f64).powi(2)).sum();
        self.rate_bps = of(bytes * 8.0);
        self.flows_per_s = of(rows.len() as f64);
        self.mean_square = squares / rows.len() as f64;
        let burst = control.first_round_trip(link);
        self.wire = Wire::of_rows(&rows, control, burst);
        for (i, (share, sli)) in self.shares.iter_mut().zip(&self.slis).enumerate() {
            let inside =
                |size: u64| size >= sli.from.get() && sli.below.is_none_or(|b| size < b.get());
            let count = rows.iter().filter(|row| inside(row.1)).count();
            *share = known(i, count as f64 / rows.len() as f64)?;
        }
        Ok(())
    }
}

/// The share of flows in an SLI's range of sizes, which is not empty.
fn known(sli: usize, share: f64) -> Result<f64, SpecError> {
    if share > 0.0 {
        return Ok(share);
    }
    let message = "names a range of sizes in which the class has no flows";
    Err(SpecError::new(format!("slis[{sli}]"), message))
}

impl ClassSpec {
    /// The class as it is simulated, of a bottleneck `link` and flows that send as `control` says.
    pub(super) fn check(&self, link: &Link, control: &Control) -> Result<Class, SpecError> {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || !self.name.chars().all(word) {
            let message = format!("{:?} is not a name: letters, digits, _ and -", self.name);
            return Err(SpecError::new("name", message));
        }
        let slo = asked::read(&self.slis, self.slo.as_deref())?;
        let class = |source, rate_bps, wire, shares, (flows_per_s, mean_square)| Class {
            name: self.name.clone(),
            traffic: ClassTraffic {
                name: self.name.clone(),
                source,
            },
            rate_bps,
            wire,
            shares,
            flows_per_s,
            mean_square,
            slis: self.slis.clone(),
            slo,
        };
        if let Some(file) = &self.trace {
            self.nothing_beside_the_trace()?;
            let shares = vec![1.0; self.slis.len()];
            let source = Source::Trace {
                file: file.clone(),
                repeat: self.repeat,
            };
            let mut replayed = class(source, 0.0, Wire::UNKNOWN, shares, (0.0, 0.0));
            if let Some(period) = self.repeat {
                if period == Duration::ZERO {
                    return Err(SpecError::new("repeat", "0s is not above 0"));
                }
                replayed.offers(period, link, control)?;
            }
            return Ok(replayed);
        }
        if self.repeat.is_some() {
            return Err(SpecError::new("repeat", "has no meaning without a trace"));
        }
        let sizes = self.flowsizes.clone().ok_or_else(|| {
            let known = SizesSpec::NAMES.join(", ");
            let message = format!("is missing; write a workload ({known}), or `trace`");
            SpecError::new("flowsizes", message)
        })?;
        let distribution = sizes.build().map_err(|e| e.under("flowsizes"))?;
        let mean = distribution.mean();
        let rate_bps = self.rate_bps(link.rate, mean)?;
        let burst = control.first_round_trip(link);
        let wire = Wire::of(&distribution, control, burst);
        let shares = self.shares(&distribution)?;
        let process = self.interarrivals.as_ref().map(|given| &given.process);
        let source = Source::Drawn {
            sizes,
            arrivals: process.cloned().unwrap_or_default(),
            rate: Rate::from_bps(rate_bps.round() as u64),
        };
        let flows = (rate_bps / 8.0 / mean, distribution.mean_square());
        Ok(class(source, rate_bps, wire, shares, flows))
    }

    fn nothing_beside_the_trace(&self) -> Result<(), SpecError> {
        let keys = [
            ("flowsizes", self.flowsizes.is_some()),
            ("interarrivals", self.interarrivals.is_some()),
            ("load", self.load.is_some()),
            ("rate", self.rate.is_some()),
        ];
        match keys.iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(SpecError::new(*key, "has no meaning with a trace")),
            None => Ok(()),
        }
    }

    /// Payload offered, in bits per second, by flows of `mean` bytes: from a
    /// load, a rate, or the mean gap of log-normal interarrivals with mu.
    fn rate_bps(&self, link: Rate, mean: f64) -> Result<f64, SpecError> {
        let mu = self.interarrivals.as_ref().and_then(|given| given.mu);
        let keys = [
            ("load", self.load.is_some()),
            ("rate", self.rate.is_some()),
            ("interarrivals.mu", mu.is_some()),
        ];
        let mut given = keys.iter().filter(|(_, given)| *given).map(|(key, _)| *key);
        let first = given.next();
        if let (Some(first), Some(second)) = (first, given.next()) {
            let message = format!("has no meaning beside {first}; give one of the two");
            return Err(SpecError::new(second, message));
        }
        let process = self.interarrivals.as_ref().map(|given| &given.process);
        let rate_bps = match (self.load, self.rate, mu, process) {
            (Some(load), ..) if load > 0.0 && load < 1.0 => load * link.bps() as f64,
            (Some(load), ..) => {
                return Err(SpecError::new("load", format!("{load} is not in (0, 1)")));
            }
            (_, Some(rate), ..) => rate.bps() as f64,
            (_, _, Some(mu), Some(ArrivalsSpec::Lognormal(process))) => {
                let gap_s = (mu + process.sigma * process.sigma / 2.0).exp() * 1e-9;
                mean * 8.0 / gap_s
            }
            _ => {
                let message = "is missing; write a share of the link, or `rate`, or log-normal \
                               interarrivals with mu";
                return Err(SpecError::new("load", message));
            }
        };
        if !(1.0..=4e12).contains(&rate_bps) {
            let message = format!("{rate_bps:.3e} bits per second is not in [1, 4e12]");
            return Err(SpecError::new(first.unwrap_or("load"), message));
        }
        Ok(rate_bps)
    }

    /// Share of flows in each SLI's range of sizes.
    fn shares(&self, sizes: &SizeDistribution) -> Result<Vec<f64>, SpecError> {
        let below = |size: u64| sizes.cdf((size as f64 - 0.5).max(0.0));
        let share = |(i, sli): (usize, &SliSpec)| {
            known(
                i,
                sli.below.map_or(1.0, |b| below(b.get())) - below(sli.from.get()),
            )
        };
        self.slis.iter().enumerate().map(share).collect()
    }
}
