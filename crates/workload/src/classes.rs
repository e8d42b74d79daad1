//! Classes of traffic: several streams of flows at once, `[[traffic.classes]]`.
//!
//! Each class has a workload, arrivals and a pattern of its own (those that it
//! does not name are those of `[traffic]`), a part of the load, and a time
//! during which its flows start. So a mix of workloads, a matrix whose parts
//! differ (see [`triangle`](crate::patterns::triangle)) and a shift in time are
//! all the same thing.
//!
//! **Load.** Either `traffic.load` is that of all classes together and each has
//! a `share` of its bytes or of its flows, or each class states its own `load`.
//! Shares by flows hold for arrivals per second, so a class whose flows are ten
//! times as long takes ten times the load. Classes that are active one after
//! another do not share: they state their loads.
//!
//! **SLOs.** A class may say what is measured of it and what must hold, in the words of a specification of one
//! link, and which code points switches know it by. Classes of a trace say nothing else.

use fctlab_core::{Duration, SpecError, spec};
use serde::{Deserialize, Deserializer, Serialize};

use crate::sli::SliSpec;
use crate::spec::{DEFAULT_CLASS, TrafficSpec};
use crate::{ArrivalsSpec, PatternSpec, Per, SizesSpec, asked};

/// One class of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// Its name, in the column `traffic_class` and in the summary.
    pub class: String,
    /// The distribution of flow sizes. Default: that of `[traffic]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<SizesSpec>,
    /// Its part of `traffic.load`, in proportion to the other classes' shares. Default: 1.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "share"
    )]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub share: Option<f64>,
    /// Its own load, in (0, 1), when `traffic.load` is left out. Default: its part of `traffic.load`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::spec::load"
    )]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub load: Option<f64>,
    /// The arrival process. Default: that of `[traffic]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsSpec>,
    /// What has an arrival process of its own. Default: that of `[traffic]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
    /// Who sends to whom. Default: that of `[traffic]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<PatternSpec>,
    /// Its flows start from this time on.
    #[serde(default)]
    pub from: Duration,
    /// Its flows start before this time. Default: no end of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
    /// The code points (DSCP, 0 to 63) that its packets have, for people and switches. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dscp: Vec<u8>,
    /// What is measured of it, for `fctlab fabric`. Default: nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slis: Vec<SliSpec>,
    /// What must hold: a logical expression over its SLIs. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<String>,
}

/// What `share` is a share of.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ShareOf {
    /// The bytes that `load_counts` counts.
    #[default]
    Bytes,
    /// The flows.
    Flows,
}

fn share<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    spec::positive(d).map(Some)
}

/// How much of the network's load a class is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part {
    /// This load.
    Load(f64),
    /// This share of the classes' common load.
    Share(f64),
}

impl ClassSpec {
    /// The one class of traffic that names none.
    pub(crate) fn only(spec: &TrafficSpec) -> Self {
        ClassSpec {
            class: spec.class.clone().unwrap_or_else(|| DEFAULT_CLASS.into()),
            workload: spec.workload.clone(),
            share: None,
            load: None,
            arrivals: spec.arrivals.clone(),
            per: spec.per,
            pattern: spec.pattern.clone(),
            from: Duration::ZERO,
            until: None,
            dscp: Vec::new(),
            slis: Vec::new(),
            slo: None,
        }
    }

    /// Its part of the load.
    pub(crate) fn part(&self) -> Part {
        self.load
            .map_or(Part::Share(self.share.unwrap_or(1.0)), Part::Load)
    }

    /// Takes what it does not name from the table around it.
    pub(crate) fn inherit(&mut self, traffic: &TrafficSpec) {
        self.workload = self.workload.take().or_else(|| traffic.workload.clone());
        self.arrivals = self.arrivals.take().or_else(|| traffic.arrivals.clone());
        self.per = self.per.or(traffic.per);
        self.pattern = self.pattern.take().or_else(|| traffic.pattern.clone());
        if traffic.load.is_some() {
            self.share.get_or_insert(1.0);
        }
    }

    fn overlaps(&self, at: Duration) -> bool {
        self.from <= at && self.until.is_none_or(|until| at < until)
    }
}

/// Checks the names of classes, what is measured of them, what must hold and their code points.
///
/// # Errors
/// The first mistake.
fn check_asked(classes: &[ClassSpec]) -> Result<(), SpecError> {
    for (i, class) in classes.iter().enumerate() {
        let at = |e: SpecError| e.under(&format!("classes[{i}]"));
        let wrong = |message: String| Err(at(SpecError::new("class", message)));
        let name = &class.class;
        if name.is_empty() {
            return wrong("\"\" is not a name".into());
        }
        if let Some(other) = classes[..i].iter().position(|c| c.class == *name) {
            return wrong(format!("{name:?} is also the name of classes[{other}]"));
        }
        asked::read(&class.slis, class.slo.as_deref()).map_err(at)?;
        asked::check_dscp(&class.dscp, classes[..i].iter().map(|c| &c.dscp)).map_err(at)?;
    }
    Ok(())
}

/// Checks the classes of a trace, whose flows say when, how large, from and to where.
///
/// # Errors
/// The first key that has no meaning, or mistake.
pub(crate) fn check_of_trace(classes: &[ClassSpec]) -> Result<(), SpecError> {
    for (i, class) in classes.iter().enumerate() {
        let present = [
            ("workload", class.workload.is_some()),
            ("share", class.share.is_some()),
            ("load", class.load.is_some()),
            ("arrivals", class.arrivals.is_some()),
            ("per", class.per.is_some()),
            ("pattern", class.pattern.is_some()),
            ("from", class.from != Duration::ZERO),
            ("until", class.until.is_some()),
        ];
        if let Some((key, _)) = present.into_iter().find(|(_, given)| *given) {
            let message = "has no meaning with a trace; its classes have class, dscp, slis and slo";
            return Err(SpecError::new(format!("classes[{i}].{key}"), message));
        }
    }
    check_asked(classes)
}

/// Checks the classes of `traffic` against each other and against its keys.
///
/// # Errors
/// The first key that is missing or has no meaning.
pub(crate) fn check(traffic: &TrafficSpec) -> Result<(), SpecError> {
    let classes = &traffic.classes;
    if traffic.class.is_some() {
        let message = "has no meaning beside classes, each of which has its own";
        return Err(SpecError::new("class", message));
    }
    if traffic.load.is_none() && traffic.share_of.is_some() {
        let message = "has no meaning where each class states its own load";
        return Err(SpecError::new("share_of", message));
    }
    check_asked(classes)?;
    for (i, class) in classes.iter().enumerate() {
        let wrong = |key: &str, message: String| {
            Err(SpecError::new(format!("classes[{i}].{key}"), message))
        };
        if let Some(until) = class.until.filter(|until| *until <= class.from) {
            return wrong(
                "until",
                format!("{until} is not after from ({})", class.from),
            );
        }
        match (traffic.load, class.load, class.share) {
            (Some(_), Some(_), _) => {
                let message = "has no meaning beside traffic.load; write a share, or leave out \
                               traffic.load and give every class its own";
                return wrong("load", message.into());
            }
            (None, None, _) => {
                let message = "is missing; write a number in (0, 1), or traffic.load and shares";
                return wrong("load", message.into());
            }
            (None, Some(_), Some(_)) => {
                let message = "has no meaning beside a load of its own; leave one of them out";
                return wrong("share", message.into());
            }
            _ => {}
        }
    }
    // The sum of loads changes where a class begins.
    for at in classes.iter().map(|c| c.from) {
        let active = || classes.iter().filter(|c| c.overlaps(at));
        let sum: f64 = active().filter_map(|c| c.load).sum();
        if sum >= 1.0 {
            let names: Vec<&str> = active().map(|c| c.class.as_str()).collect();
            let message = format!(
                "the loads of {} add up to {sum:.3} at {at}, which is not in (0, 1)",
                names.join(", ")
            );
            return Err(SpecError::new("classes", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Flow, HostLayout, Traffic};
    use fctlab_core::random::Seed;
    use fctlab_core::{PacketFormat, Rate};

    fn layout(hosts: usize) -> HostLayout {
        HostLayout {
            rack_of: vec![0; hosts],
            host_rate: Rate::from_gbps(10),
            rates: Vec::new(),
            sink: None,
        }
    }

    fn build(spec: Value) -> Result<Traffic, SpecError> {
        let mut spec: TrafficSpec = spec::read(spec)?;
        spec.resolve(std::path::Path::new("/"))?;
        spec.build(&layout(8), &PacketFormat::default(), Seed(3))
    }

    fn fixed(class: &str, size: &str, more: Value) -> Value {
        let mut table = json!({"class": class, "workload": {"kind": "fixed", "size": size}});
        table
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().cloned().unwrap_or_default());
        table
    }

    /// Payload bytes and flows of each class, among `n` flows.
    fn totals(spec: Value, n: usize) -> (Vec<f64>, Vec<f64>, Vec<Flow>) {
        let mut traffic = build(spec).unwrap();
        let classes = traffic.class_names().len();
        let flows: Vec<Flow> = traffic.by_ref().take(n).collect();
        let (mut bytes, mut counts) = (vec![0.0; classes], vec![0.0; classes]);
        for flow in &flows {
            bytes[usize::from(flow.class)] += flow.size.get() as f64;
            counts[usize::from(flow.class)] += 1.0;
        }
        (bytes, counts, flows)
    }

    #[test]
    fn shares_are_of_bytes_or_of_flows() {
        let spec = |of: &str| {
            json!({"load": 0.8, "load_counts": "payload", "share_of": of, "flows": 40_000,
                "classes": [fixed("a", "1460B", json!({"share": 3})), fixed("b", "14600B", json!({}))]})
        };
        // By bytes: 30 flows of a for each of b; by flows: 3. The ratio of two
        // Poisson counts has a standard error of about (1/n_a + 1/n_b)^(1/2).
        let (_, counts, flows) = totals(spec("bytes"), 40_000);
        assert!(
            (counts[0] / counts[1] / 30.0 - 1.0).abs() < 0.15,
            "{counts:?}"
        );
        assert!(flows.windows(2).all(|w| w[0].start <= w[1].start));
        assert!(flows.iter().enumerate().all(|(i, f)| f.id == i as u64));
        let (_, counts, flows) = totals(spec("flows"), 40_000);
        assert!(
            (counts[0] / counts[1] / 3.0 - 1.0).abs() < 0.06,
            "{counts:?}"
        );
        // All together offer the load: 8 hosts, 10 Gbps, 0.8.
        let bytes: u64 = flows.iter().map(|f| f.size.get()).sum();
        let span = flows.last().unwrap().start.as_secs_f64();
        let load = bytes as f64 * 8.0 / span / 80e9;
        assert!((load / 0.8 - 1.0).abs() < 0.03, "{load}");
    }

    #[test]
    fn loads_of_their_own_in_times_of_their_own() {
        // 1460 B at 10 Gbps and 8 hosts: load 0.1 is 685 flows per ms.
        let spec = json!({"duration": "2ms", "load_counts": "payload", "classes": [
            fixed("before", "1460B", json!({"load": 0.9, "until": "1ms"})),
            fixed("after", "1460B", json!({"load": 0.3, "from": "1ms"}))]});
        let traffic = build(spec.clone()).unwrap();
        assert_eq!(traffic.expected_flows(), 6164 + 2055);
        let (_, counts, flows) = totals(spec, usize::MAX);
        // Poisson: five standard deviations.
        assert!((counts[0] - 6164.0).abs() < 393.0 && (counts[1] - 2055.0).abs() < 227.0);
        assert!(
            flows
                .iter()
                .all(|f| (f.class == 0) == (f.start.as_secs_f64() < 1e-3))
        );
    }

    #[test]
    fn a_class_has_the_same_flows_whatever_is_beside_it() {
        let flows = |beside: Value| {
            let own = fixed("own", "1460B", json!({"load": 0.3}));
            let (_, _, flows) = totals(
                json!({"duration": "1ms", "classes": [own, beside]}),
                100_000,
            );
            let own = flows.into_iter().filter(|f| f.class == 0);
            own.map(|f| (f.start, f.src, f.dst, f.size))
                .collect::<Vec<_>>()
        };
        let a = flows(fixed("other", "14600B", json!({"load": 0.2})));
        let b = flows(fixed(
            "third",
            "1460B",
            json!({"load": 0.5, "from": "0.5ms"}),
        ));
        assert!(a.len() > 1000);
        assert_eq!(a, b);
    }

    #[test]
    fn queries_of_two_classes_have_numbers_of_their_own() {
        let incast = json!({"kind": "incast", "fanin": 3, "query_size": "30KB"});
        let class = |name: &str| json!({"class": name, "pattern": incast, "load": 0.2});
        let (_, _, flows) = totals(
            json!({"flows": 300, "classes": [class("a"), class("b")]}),
            300,
        );
        let mut seen = std::collections::HashMap::new();
        for flow in &flows {
            let entry = seen
                .entry(flow.query.unwrap())
                .or_insert((flow.class, flow.start, 0));
            assert_eq!((entry.0, entry.1), (flow.class, flow.start));
            entry.2 += 1;
        }
        assert_eq!(seen.len(), 100);
        assert!(seen.values().all(|(_, _, flows)| *flows == 3));
    }

    #[test]
    fn what_is_asked_of_a_class() {
        let error = |a: Value, b: Value| {
            let (a, b) = (fixed("a", "1460B", a), fixed("b", "1460B", b));
            let spec = json!({"load": 0.5, "flows": 10, "classes": [a, b]});
            build(spec).err().map(|e| e.to_string())
        };
        let tail = json!([{"name": "tail", "metric": "p99"}]);
        let fine = json!({"dscp": [10], "slis": tail, "slo": "tail < 4"});
        assert_eq!(error(fine.clone(), json!({"dscp": [11, 12]})), None);
        let of_two = error(fine, json!({"dscp": [12, 10]}));
        assert_eq!(
            of_two.unwrap(),
            "classes[1].dscp: 10 is that of two classes"
        );
        let unknown = error(json!({"slis": tail, "slo": "tial < 4"}), json!({}));
        assert_eq!(
            unknown.unwrap(),
            "classes[0].slo: \"tial\" is not an SLI of the class; did you mean \"tail\"? known: tail"
        );
        let twice = json!([{"name": "x", "metric": "p99"}, {"name": "x", "metric": "mean"}]);
        assert_eq!(
            error(json!({}), json!({"slis": twice})).unwrap(),
            "classes[1].slis[1].name: \"x\" is the name of two SLIs"
        );
    }

    #[test]
    fn mistakes() {
        let error = |spec| build(spec).err().unwrap().to_string();
        let two = |a: Value, b: Value, load: Option<f64>| {
            let mut spec =
                json!({"flows": 1, "classes": [fixed("a", "1KB", a), fixed("b", "1KB", b)]});
            if let Some(load) = load {
                spec["load"] = json!(load);
            }
            error(spec)
        };
        assert_eq!(
            two(json!({"load": 0.2}), json!({}), None),
            "classes[1].load: is missing; write a number in (0, 1), or traffic.load and shares"
        );
        assert_eq!(
            two(json!({"load": 0.2}), json!({}), Some(0.5)),
            "classes[0].load: has no meaning beside traffic.load; write a share, or leave out \
             traffic.load and give every class its own"
        );
        assert_eq!(
            two(
                json!({"load": 0.5}),
                json!({"load": 0.6, "from": "1ms"}),
                None
            ),
            "classes: the loads of a, b add up to 1.100 at 1ms, which is not in (0, 1)"
        );
        assert_eq!(
            two(json!({"class": "b"}), json!({}), Some(0.5)),
            "classes[1].class: \"b\" is also the name of classes[0]"
        );
        assert_eq!(
            two(json!({"from": "2ms", "until": "1ms"}), json!({}), Some(0.5)),
            "classes[0].until: 1ms is not after from (2ms)"
        );
        assert_eq!(
            two(json!({"share": 0}), json!({}), Some(0.5)),
            "classes[0].share: 0 is not in (0, inf)"
        );
        assert_eq!(
            error(json!({"flows": 1, "load": 0.5, "classes": [{"class": "a"}]})),
            format!(
                "classes[0].workload: is missing; write a workload ({}) here or for all classes",
                SizesSpec::NAMES.join(", ")
            )
        );
        assert_eq!(
            error(
                json!({"flows": 1, "load": 0.5, "workload": "websearch", "class": "x",
                "classes": [{"class": "a"}]})
            ),
            "class: has no meaning beside classes, each of which has its own"
        );
    }
}
