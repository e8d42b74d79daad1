//! The specification: network, queue, congestion control, classes (swp, section 3.2, figure 4).

pub mod load;

use std::path::{Path, PathBuf};

use fctlab_core::{Duration, Rate, SpecError, spec};
use fctlab_link::flows::Source;
use fctlab_link::{ClassTraffic, Control, Link, QueueSpec};
use fctlab_workload::{ArrivalsSpec, SizeDistribution, SizesSpec};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use self::load::{Load, Wire};
use crate::sli::SliSpec;
use crate::slo::Slo;

/// What `fctlab predict`, `plan` and `provision` read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// What it is, for people.
    #[serde(default)]
    pub name: String,
    /// The seed from which every class's flows follow.
    #[serde(default = "one")]
    pub seed: u64,
    /// The bottleneck.
    pub network: NetworkSpec,
    /// What leaves the bottleneck next. Default: `wfq`.
    #[serde(default = "wfq")]
    pub queue: QueueSpec,
    /// Congestion control as a function. Default: `swp-d`.
    #[serde(default = "swp_d")]
    pub cc: Control,
    /// The traffic classes, at least one.
    pub classes: Vec<ClassSpec>,
}

/// The bottleneck link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkSpec {
    /// Its rate.
    pub link: Rate,
    /// Round-trip propagation time.
    pub rtt: Duration,
    /// Where a flow's completion time, and its ideal, end. Default: `ack`, as in swp.
    #[serde(default)]
    pub fct_ends: FctEnds,
    /// Whether classes may offer what the link, or what congestion control uses of it, cannot carry. Queues
    /// then grow for as long as a run lasts, and so do values. Default: no, as `traffic.overload`.
    #[serde(default)]
    pub overload: bool,
}

/// Where a flow's completion time ends; the ideal ends there too.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum FctEnds {
    /// When the ACK of the last byte is back: the ideal is RTT + size / rate.
    #[default]
    Ack,
    /// When the last byte is received, half an RTT earlier.
    Delivery,
}

/// A traffic class: its flows, its SLIs and its SLO.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// Its name; different for every class.
    pub name: String,
    /// The distribution of flow sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flowsizes: Option<SizesSpec>,
    /// The arrival process; log-normal may have `mu`, the mean of the logarithm
    /// of the gap in nanoseconds, instead of a load or a rate. Default: `poisson`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interarrivals: Option<Interarrivals>,
    /// Payload offered as a share of `network.link`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub load: Option<f64>,
    /// Payload offered as a rate, instead of `load`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Flows to replay instead: CSV or Parquet with start_s, src, dst, size_bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
    /// Its weight at the switch. Default: 1.
    #[serde(default = "unit", deserialize_with = "spec::positive")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub weight: f64,
    /// What is measured of it.
    #[serde(default)]
    pub slis: Vec<SliSpec>,
    /// What must hold: a logical expression over its SLIs.
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
            part["properties"]["mu"] = serde_json::json!({"type": "number"});
        }
        schema.try_into().unwrap_or_default()
    }
}

fn one() -> u64 {
    1
}
fn unit() -> f64 {
    1.0
}
fn wfq() -> QueueSpec {
    QueueSpec::Wfq(Default::default())
}
fn swp_d() -> Control {
    Control::preset("swp-d").unwrap_or_else(|e| unreachable!("a preset: {e}"))
}

/// A class that has been checked.
#[derive(Clone, Debug)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Where its flows come from.
    pub traffic: ClassTraffic,
    /// Payload offered, in bits per second; of a trace 0: it says so itself.
    pub rate_bps: f64,
    /// What its payload comes to on the wire.
    pub wire: Wire,
    /// Share of flows in each SLI's size range; of a trace 1.
    pub shares: Vec<f64>,
    /// Flows per second; of a trace 0.
    pub flows_per_s: f64,
    /// Mean of the squared payload of a flow, in bytes; of a trace 0.
    pub mean_square: f64,
    /// Its SLIs.
    pub slis: Vec<SliSpec>,
    /// Its SLO, if it has one.
    pub slo: Option<Slo>,
}

impl Spec {
    /// Reads a specification; relative file names are taken from `base_dir`.
    ///
    /// # Errors
    /// The first mistake, with its path, the value and what is allowed.
    pub fn read(value: Value, base_dir: &Path) -> Result<Self, SpecError> {
        let names = names(&value);
        let mut spec: Spec = spec::read(value).map_err(|e| by_name(e, &names))?;
        for class in &mut spec.classes {
            if let Some(sizes) = &mut class.flowsizes {
                sizes.resolve(base_dir);
            }
            if let Some(file) = &mut class.trace {
                let joined = base_dir.join(&*file);
                *file = std::path::absolute(&joined).unwrap_or(joined);
            }
        }
        spec.classes().map_err(|e| by_name(e, &names))?;
        Ok(spec)
    }

    /// The link.
    pub fn link(&self) -> Link {
        Link {
            rate: self.network.link,
            rtt: self.network.rtt,
        }
    }

    /// The classes' weights as written.
    pub fn weights(&self) -> Vec<f64> {
        self.classes.iter().map(|c| c.weight).collect()
    }

    /// Its classes, checked.
    ///
    /// # Errors
    /// The first mistake.
    pub fn classes(&self) -> Result<Vec<Class>, SpecError> {
        if self.network.rtt == Duration::ZERO {
            return Err(SpecError::new("network.rtt", "0s is not above 0"));
        }
        if self.classes.is_empty() {
            return Err(SpecError::new(
                "classes",
                "is empty; write at least one [[classes]]",
            ));
        }
        let mut classes: Vec<Class> = Vec::new();
        for (i, class) in self.classes.iter().enumerate() {
            let checked = class.check(&self.link(), &self.cc);
            let checked = checked.map_err(|e| e.under(&format!("classes[{i}]")))?;
            if classes.iter().any(|c| c.name == checked.name) {
                let message = format!("{:?} is the name of two classes", checked.name);
                return Err(SpecError::new(format!("classes[{i}].name"), message));
            }
            classes.push(checked);
        }
        let weights = self.weights();
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let far = weights.iter().position(|w| largest / w > 10_000.0);
        if let Some(i) = far.filter(|_| self.queue.is_weighted()) {
            // As in a switch of the packet engine.
            let message = format!("{} is less than a 10,000th of {largest}", weights[i]);
            return Err(SpecError::new(format!("classes[{i}].weight"), message));
        }
        Load::of(self, &classes).check(self)?;
        Ok(classes)
    }
}

impl ClassSpec {
    /// The class as it is simulated, of a bottleneck `link` and flows that send as `control` says.
    fn check(&self, link: &Link, control: &Control) -> Result<Class, SpecError> {
        self.check_names()?;
        let slo = self.slo.as_ref().map(|text| Slo::parse(text, &self.slis));
        let slo = slo.transpose().map_err(|e| SpecError::new("slo", e))?;
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
            let source = Source::Trace(file.clone());
            return Ok(class(source, 0.0, Wire::UNKNOWN, shares, (0.0, 0.0)));
        }
        let sizes = self.flowsizes.clone().ok_or_else(|| {
            let known = SizesSpec::NAMES.join(", ");
            let message = format!("is missing; write a workload ({known}), or `trace`");
            SpecError::new("flowsizes", message)
        })?;
        let distribution = sizes.build().map_err(|e| e.under("flowsizes"))?;
        let mean = distribution.mean();
        let rate_bps = self.rate_bps(link.rate, mean)?;
        let burst = control.initial_rate_on(link.bytes_per_s()) * link.rtt.as_secs_f64();
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

    /// Names of the class and its SLIs, and the SLIs themselves.
    fn check_names(&self) -> Result<(), SpecError> {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        if self.name.is_empty() || !self.name.chars().all(word) {
            let message = format!("{:?} is not a name: letters, digits, _ and -", self.name);
            return Err(SpecError::new("name", message));
        }
        for (i, sli) in self.slis.iter().enumerate() {
            sli.check().map_err(|e| e.under(&format!("slis[{i}]")))?;
            if self.slis[..i].iter().any(|s| s.name == sli.name) {
                let message = format!("{:?} is the name of two SLIs", sli.name);
                return Err(SpecError::new(format!("slis[{i}].name"), message));
            }
        }
        Ok(())
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
            let share = sli.below.map_or(1.0, |b| below(b.get())) - below(sli.from.get());
            if share > 0.0 {
                return Ok(share);
            }
            let message = "names a range of sizes in which the class has no flows";
            Err(SpecError::new(format!("slis[{i}]"), message))
        };
        self.slis.iter().enumerate().map(share).collect()
    }
}

/// The JSON Schema of a specification as people write it.
pub fn schema() -> Value {
    let mut schema = schemars::schema_for!(Spec).to_value();
    schema["title"] = "fctlab SLO specification".into();
    schema
}

/// What the classes are called, where they say it.
fn names(spec: &Value) -> Vec<Option<String>> {
    let classes = spec["classes"].as_array().into_iter().flatten();
    let name = |class: &Value| class["name"].as_str().map(str::to_owned);
    classes.map(name).collect()
}

/// An error at `classes[0]` as one at `classes.NAME`, the path that changes it.
fn by_name(mut error: SpecError, names: &[Option<String>]) -> SpecError {
    let place = error
        .path
        .strip_prefix("classes[")
        .and_then(|rest| rest.split_once(']'));
    let found = place.and_then(|(i, rest)| {
        let name = names.get(i.parse::<usize>().ok()?)?.as_ref()?;
        Some(format!("classes.{name}{rest}"))
    });
    if let Some(path) = found.filter(|path| !path.ends_with(".name")) {
        error.path = path;
    }
    error
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    pub(crate) fn example() -> Value {
        json!({
            "network": {"link": "100Gbps", "rtt": "10us"},
            "classes": [
                {"name": "web", "flowsizes": "websearch_bytes", "load": 0.3,
                 "interarrivals": {"kind": "lognormal", "sigma": 2.0},
                 "slis": [{"name": "small", "metric": "p99", "below": "125KB"},
                          {"name": "large", "metric": {"percentile": 0.99}, "from": "125KB"}],
                 "slo": "small < 6.0 and large < 20.0"},
                {"name": "rpc", "flowsizes": "google_rpc", "rate": "10Gbps",
                 "slis": [{"name": "tail", "metric": "p99"}], "slo": "tail < 3"},
            ]
        })
    }

    fn error(change: impl FnOnce(&mut Value)) -> String {
        let mut value = example();
        change(&mut value);
        Spec::read(value, Path::new("/s")).unwrap_err().to_string()
    }

    #[test]
    fn an_example_reads_back() {
        let spec = Spec::read(example(), Path::new("/s")).unwrap();
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(Spec::read(written, Path::new("/")).unwrap(), spec);
        let classes = spec.classes().unwrap();
        assert_eq!((classes[0].rate_bps, classes[1].rate_bps), (30e9, 10e9));
        // 0.31% of Google's flows have 125 KB or more (swp's issue with tails).
        let mut google = example();
        google["classes"][1]["slis"][0]["from"] = json!("125KB");
        let classes = Spec::read(google, Path::new("/s"))
            .unwrap()
            .classes()
            .unwrap();
        assert!(
            (classes[1].shares[0] - 0.0031).abs() < 0.0002,
            "{}",
            classes[1].shares[0]
        );
    }

    #[test]
    fn mu_of_figure_4_is_a_rate() {
        let mut value = example();
        let class = value["classes"][0].as_object_mut().unwrap();
        class.remove("load");
        class["interarrivals"]["mu"] = json!(11.3);
        let classes = Spec::read(value, Path::new("/s"))
            .unwrap()
            .classes()
            .unwrap();
        // Mean gap e^(11.3 + 2) ns = 597.2 us; 1,711,250 B each: 22.92 Gbps.
        assert!(
            (classes[0].rate_bps / 22.924e9 - 1.0).abs() < 1e-3,
            "{}",
            classes[0].rate_bps
        );
    }

    #[test]
    fn mistakes_name_path_value_and_what_is_allowed() {
        assert_eq!(
            error(|v| v["classes"][0]["load"] = json!(0.95)),
            "classes: the classes offer 1.050 of the link (100Gbps): web 0.950, rpc 0.100; less than 1 is needed, or network.overload = true"
        );
        assert_eq!(
            error(|v| v["classes"][0]["load"] = json!(1.2)),
            "classes.web.load: 1.2 is not in (0, 1)"
        );
        assert_eq!(
            error(|v| v["classes"][0]["slo"] = json!("smal < 3")),
            "classes.web.slo: \"smal\" is not an SLI of the class; did you mean \"small\"? known: small, large"
        );
        assert_eq!(
            error(|v| v["classes"][0]["weight"] = json!(0)),
            "classes.web.weight: 0 is not in (0, inf)"
        );
        assert_eq!(
            error(|v| v["classes"][0]["weight"] = json!(1e-5)),
            "classes.web.weight: 0.00001 is less than a 10,000th of 1"
        );
        assert_eq!(
            error(|v| v["classes"][0]["interarrivals"]["sigma"] = json!(-1)),
            "classes.web.interarrivals.sigma: -1 is not in (0, inf)"
        );
        assert_eq!(
            error(|v| v["classes"][0]["slis"][0]["metric"] = json!("p99.9999999")),
            "classes.web.slis[0].metric: is beyond what a simulation supports: it takes more than 100,000,000 flows"
        );
        assert_eq!(
            error(|v| v["classes"][1]["name"] = json!("web")),
            "classes[1].name: \"web\" is the name of two classes"
        );
        assert_eq!(
            error(|v| v["classes"][1]["load"] = json!(0.1)),
            "classes.rpc.rate: has no meaning beside load; give one of the two"
        );
        assert_eq!(
            error(|v| v["classes"][0]["slis"][1]["from"] = json!("1GB")),
            "classes.web.slis[1]: names a range of sizes in which the class has no flows"
        );
        let unknown = error(|v| v["classes"][0]["wieght"] = json!(2));
        let expected = "classes.web.wieght: unknown key; did you mean \"weight\"?";
        assert!(unknown.starts_with(expected), "{unknown}");
        assert_eq!(
            error(|v| v["network"]["link"] = json!("fast"))
                .split(':')
                .next()
                .unwrap(),
            "network.link"
        );
    }
}
