//! The specification: network, queue, congestion control, classes (swp, section 3.2, figure 4).

mod class;
pub mod load;

use std::path::Path;

use fctlab_core::{Duration, FctEnds, Rate, SpecError, spec};
use fctlab_link::{Control, Link, QueueSpec};
use fctlab_workload::asked;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::class::{Class, ClassSpec, Interarrivals};
use self::load::Load;

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
    #[serde(default = "ack")]
    pub fct_ends: FctEnds,
    /// Whether classes may offer what the link, or what congestion control uses of it, cannot carry. Queues
    /// then grow for as long as a run lasts, and so do values. Default: no, as `traffic.overload`.
    #[serde(default)]
    pub overload: bool,
}

fn one() -> u64 {
    1
}
fn ack() -> FctEnds {
    FctEnds::Ack
}
fn wfq() -> QueueSpec {
    QueueSpec::Wfq(Default::default())
}
fn swp_d() -> Control {
    Control::preset("swp-d").unwrap_or_else(|e| unreachable!("a preset: {e}"))
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
            for file in [&mut class.trace, &mut class.measured]
                .into_iter()
                .flatten()
            {
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
            let before = self.classes[..i].iter().map(|c| &c.dscp);
            let dscp = asked::check_dscp(&class.dscp, before);
            dscp.map_err(|e| e.under(&format!("classes[{i}]")))?;
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
    fn a_trace_that_is_repeated_has_a_load() {
        let folder = std::env::temp_dir().join(format!("fctlab-repeat-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let rows = "start_s,src,dst,size_bytes\n0.001,0,1,1000000\n0.003,0,1,250000\n";
        std::fs::write(folder.join("flows.csv"), rows).unwrap();
        let mut value = example();
        value["classes"][0] = json!({"name": "rare", "trace": "flows.csv", "repeat": "5ms",
            "slis": [{"name": "mean", "metric": "mean", "below": "500KB"}], "dscp": [10]});
        let read = |value: &Value| Spec::read(value.clone(), &folder);
        let spec = read(&value).unwrap();
        let classes = spec.classes().unwrap();
        // 1.25 MB every 5 ms.
        assert!(
            (classes[0].rate_bps - 2e9).abs() < 1.0,
            "{}",
            classes[0].rate_bps
        );
        assert_eq!((classes[0].flows_per_s, classes[0].shares[0]), (400.0, 0.5));
        assert!((Load::of(&spec, &classes).classes[0].payload - 0.02).abs() < 1e-12);
        let again = classes[0].traffic.clone();
        let until = fctlab_core::Time::ZERO + Duration::from_secs_f64(0.012).unwrap();
        let list = fctlab_link::FlowList::generate(&[again], 1, until, 100).unwrap();
        let starts: Vec<f64> = list.slice(0..9).map(|flow| flow.start_s).collect();
        assert_eq!(starts, [0.001, 0.003, 0.006, 0.008, 0.011]);

        // Half as long is twice the load: the second flow is laid over the first.
        value["classes"][0]["repeat"] = json!("2.5ms");
        let classes = read(&value).unwrap().classes().unwrap();
        assert!(
            (classes[0].rate_bps - 4e9).abs() < 1.0,
            "{}",
            classes[0].rate_bps
        );
        let again = classes[0].traffic.clone();
        let list = fctlab_link::FlowList::generate(&[again], 1, until, 100).unwrap();
        let starts: Vec<f64> = list.slice(0..4).map(|flow| flow.start_s).collect();
        assert_eq!(starts, [0.0005, 0.001, 0.003, 0.0035]);
        value["classes"][0]["repeat"] = json!("0s");
        let error = read(&value).unwrap_err().to_string();
        assert_eq!(error, "classes.rare.repeat: 0s is not above 0");
        std::fs::remove_dir_all(&folder).unwrap();
        for (change, expected) in [
            (
                json!({"repeat": "5ms"}),
                "classes.web.repeat: has no meaning without a trace",
            ),
            (
                json!({"dscp": [64]}),
                "classes.web.dscp: 64 is not in [0, 63]",
            ),
        ] {
            let changed = error_of(&change);
            assert_eq!(changed, expected);
        }
    }

    fn error_of(keys: &Value) -> String {
        error(|v| {
            let class = v["classes"][0].as_object_mut().unwrap();
            class.extend(keys.as_object().unwrap().clone());
        })
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
            error(|v| {
                v["classes"][0]["dscp"] = json!([8, 10]);
                v["classes"][1]["dscp"] = json!([10]);
            }),
            "classes.rpc.dscp: 10 is that of two classes"
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
