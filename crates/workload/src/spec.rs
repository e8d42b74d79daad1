//! The `[traffic]` table of a scenario.

use std::path::{Path, PathBuf};

use fctlab_core::random::Seed;
use fctlab_core::{Duration, PacketFormat, SpecError, Time, spec};
use serde::{Deserialize, Deserializer, Serialize};

use crate::classes::{self, ClassSpec, ShareOf};
use crate::trace::TraceSource;
use crate::traffic::Traffic;
use crate::{ArrivalsSpec, HostLayout, PatternSpec, Per, SizesSpec};

/// Traffic: either generated from a workload at a load, or replayed from a trace.
///
/// Keys that are left out are `None` until [`TrafficSpec::resolve`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TrafficSpec {
    /// The distribution of flow sizes; without a trace it has to be given. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<SizesSpec>,
    /// Bytes offered per loaded receiving host link as a share of its rate, in (0, 1); without
    /// a trace it has to be given. Default: none.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "load")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub load: Option<f64>,
    /// Which bytes `load` counts. Default: `wire`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_counts: Option<LoadCounts>,
    /// The arrival process. Default: `poisson`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalsSpec>,
    /// What has an arrival process of its own; it says nothing where arrivals are Poisson, whose
    /// sum is Poisson. Default: `class` on a topology with one receiver, else `source`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
    /// Who sends to whom. Default: `many-to-one` on a topology with one receiver, else `all-to-all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<PatternSpec>,
    /// How many flows to start, those of the warm-up (`measure.warmup`) not counted. Without a trace, this or
    /// `duration` is needed; with both, whichever ends first counts. Default: all of a trace.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "flows")]
    #[schemars(range(min = 1))]
    pub flows: Option<u64>,
    /// Flows start before this time. Default: no end.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "duration")]
    pub duration: Option<Duration>,
    /// A CSV or Parquet file of flows to replay, with the columns
    /// `start_s,src,dst,size_bytes` and optionally `class`. Default: none, flows are drawn.
    #[serde(skip_serializing_if = "has_no_text")]
    #[schemars(with = "Option<PathBuf>")]
    pub trace: Option<TraceSource>,
    /// The traffic class of every flow; not for a trace with a class column. Default: `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Time over which a flow's packets become available at its sender, in
    /// multiples of its transmission time at the sender's rate (ASCC's alpha):
    /// the first at its start, the others at uniform times. Default: 0, all at once.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "spacing")]
    #[schemars(range(min = 0))]
    pub spacing: Option<f64>,
    /// Whether a link may be offered more than it carries, as in studies of incast; queues then
    /// grow for as long as flows arrive, so that what is found depends on how long that is. Default: `false`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overload: bool,
    /// Several streams of flows at once; each takes what it does not name from here. Of a trace: its
    /// classes in order, with `dscp`, `slis` and `slo`. Default: one, or those of the trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<ClassSpec>,
    /// What the classes' shares are shares of. Default: `bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of: Option<ShareOf>,
}

/// Which bytes `load` counts.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum LoadCounts {
    /// Payload and headers.
    #[default]
    Wire,
    /// Payload only (D-SRTF's equation 4, swp, HPCC's tools).
    Payload,
}

/// The name of the traffic class when none is given.
pub(crate) const DEFAULT_CLASS: &str = "default";

pub(crate) fn load<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    spec::open_unit(d).map(Some)
}

fn has_no_text(trace: &Option<TraceSource>) -> bool {
    !matches!(trace, Some(TraceSource::File(_)))
}

fn spacing<'de, D: Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    spec::non_negative(d).map(Some)
}

fn flows<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    let value = serde_json::Value::deserialize(d)?;
    match value.as_u64() {
        Some(n) if n > 0 => Ok(Some(n)),
        _ => Err(serde::de::Error::custom(format!(
            "{value} is not a whole number above 0"
        ))),
    }
}

fn duration<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
    let duration = Duration::deserialize(d)?;
    if duration == Duration::ZERO {
        return Err(serde::de::Error::custom("0s is not above 0"));
    }
    Ok(Some(duration))
}

impl TrafficSpec {
    /// Checks the keys against each other.
    ///
    /// # Errors
    /// The first key that is missing or has no meaning, with its path relative to `traffic`.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.trace.is_some() {
            let present = [
                ("workload", self.workload.is_some()),
                ("load", self.load.is_some()),
                ("load_counts", self.load_counts.is_some()),
                ("arrivals", self.arrivals.is_some()),
                ("per", self.per.is_some()),
                ("pattern", self.pattern.is_some()),
                ("share_of", self.share_of.is_some()),
            ];
            if let Some((key, _)) = present.into_iter().find(|(_, given)| *given) {
                let message = "has no meaning with a trace; leave it out, or leave out `trace`";
                return Err(SpecError::new(key, message));
            }
            if self.class.is_some() && !self.classes.is_empty() {
                let message = "has no meaning beside classes, each of which has its own";
                return Err(SpecError::new("class", message));
            }
            return classes::check_of_trace(&self.classes);
        }
        if self.classes.is_empty() {
            if self.share_of.is_some() {
                return Err(SpecError::new("share_of", "has no meaning without classes"));
            }
            if !sizes_are_known(self.workload.as_ref(), self.pattern.as_ref()) {
                let known = SizesSpec::NAMES.join(", ");
                let message =
                    format!("is missing; write a workload ({known}) and a load, or a trace");
                return Err(SpecError::new("workload", message));
            }
            if self.load.is_none() {
                let message = "is missing; write a number in (0, 1)";
                return Err(SpecError::new("load", message));
            }
        } else {
            classes::check(self)?;
            for (i, class) in self.classes.iter().enumerate() {
                let pattern = class.pattern.as_ref().or(self.pattern.as_ref());
                let workload = class.workload.as_ref().or(self.workload.as_ref());
                if !sizes_are_known(workload, pattern) {
                    let known = SizesSpec::NAMES.join(", ");
                    let message =
                        format!("is missing; write a workload ({known}) here or for all classes");
                    return Err(SpecError::new(format!("classes[{i}].workload"), message));
                }
            }
        }
        if self.flows.is_none() && self.duration.is_none() {
            return Err(SpecError::new(
                "flows",
                "is missing; write how many flows to start, or `duration`",
            ));
        }
        Ok(())
    }

    /// The workload of all flows, where they have one and its name says all of it.
    pub fn only_workload(&self) -> Option<&'static str> {
        let one = self.classes.is_empty() && self.trace.is_none();
        let workload = self.workload.as_ref().filter(|_| one)?;
        workload.is_by_name().then(|| workload.kind())
    }

    /// Checks the keys against each other, writes out every default that does
    /// not depend on the topology (see [`TrafficSpec::resolve_on`]) and makes
    /// file names absolute; relative ones are taken from `base_dir`.
    ///
    /// # Errors
    /// As [`TrafficSpec::check`].
    pub fn resolve(&mut self, base_dir: &Path) -> Result<(), SpecError> {
        self.check()?;
        match &mut self.trace {
            Some(TraceSource::File(file)) => *file = crate::absolute(base_dir, file),
            Some(TraceSource::Rows(_)) => {}
            None => {
                self.load_counts.get_or_insert_default();
                self.arrivals.get_or_insert_default();
                if self.classes.is_empty() {
                    self.class.get_or_insert_with(|| DEFAULT_CLASS.to_owned());
                } else if self.load.is_some() {
                    self.share_of.get_or_insert_default();
                }
            }
        }
        let mut classes = std::mem::take(&mut self.classes);
        for class in &mut classes {
            class.inherit(self);
        }
        self.classes = classes;
        let of_classes = self.classes.iter_mut().map(|c| &mut c.workload);
        for workload in of_classes.chain([&mut self.workload]).flatten() {
            workload.resolve(base_dir);
        }
        let of_classes = self.classes.iter_mut().map(|c| &mut c.pattern);
        for pattern in of_classes.chain([&mut self.pattern]).flatten() {
            pattern.locate(base_dir);
        }
        Ok(())
    }

    /// Writes out the defaults that depend on the topology: the pattern and its receiver, and what
    /// has an arrival process of its own.
    pub fn resolve_on(&mut self, layout: &HostLayout) {
        if self.trace.is_some() {
            return;
        }
        let default = |arrivals: &Option<ArrivalsSpec>| {
            let arrivals = arrivals.as_ref();
            arrivals.and_then(|arrivals| Per::default_of(arrivals, layout))
        };
        self.per = self.per.or(default(&self.arrivals));
        for class in &mut self.classes {
            class.per = class.per.or(default(&class.arrivals));
        }
        let of_classes = self.classes.iter_mut().map(|c| &mut c.pattern);
        for pattern in of_classes.chain([&mut self.pattern]) {
            pattern
                .get_or_insert_with(|| PatternSpec::default_on(layout))
                .resolve(layout);
        }
    }

    /// The stream of flows on the hosts of `layout`, with headers as in `format`.
    ///
    /// The same seed gives the same flows on every machine. Streams that run
    /// side by side need different seeds.
    ///
    /// # Errors
    /// As [`TrafficSpec::check`]; when the pattern does not fit the hosts; when
    /// a file cannot be read or holds a mistake (a trace is read through once).
    pub fn build(
        &self,
        layout: &HostLayout,
        format: &PacketFormat,
        seed: Seed,
    ) -> Result<Traffic, SpecError> {
        self.build_after(Time::ZERO, layout, format, seed)
    }

    /// The same where `flows` counts those alone that start after a warm-up of so long.
    ///
    /// # Errors
    /// As [`TrafficSpec::build`].
    pub fn build_after(
        &self,
        warmup: Time,
        layout: &HostLayout,
        format: &PacketFormat,
        seed: Seed,
    ) -> Result<Traffic, SpecError> {
        self.check()?;
        if layout.hosts() < 2 {
            let message = format!(
                "needs at least 2 hosts; the topology has {}",
                layout.hosts()
            );
            return Err(SpecError::new("", message));
        }
        Traffic::new(self, layout, format, seed, warmup)
    }
}

/// Whether each flow's size follows from the workload or from the pattern.
fn sizes_are_known(workload: Option<&SizesSpec>, pattern: Option<&PatternSpec>) -> bool {
    let split = |p: &PatternSpec| matches!(p, PatternSpec::Incast(i) if i.query_size.is_some());
    workload.is_some() || pattern.is_some_and(split)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fctlab_core::Rate;
    use serde_json::{Value, json};

    fn read(value: Value) -> Result<TrafficSpec, SpecError> {
        let mut spec: TrafficSpec = spec::read(value)?;
        spec.resolve(Path::new("/scenarios"))?;
        Ok(spec)
    }

    fn layout(hosts: usize) -> HostLayout {
        HostLayout {
            rack_of: vec![0; hosts],
            host_rate: Rate::from_gbps(10),
            rates: Vec::new(),
            sink: None,
        }
    }

    #[test]
    fn resolving_writes_out_everything_and_reads_back_equal() {
        let mut spec = read(json!({"workload": "websearch", "load": 0.6, "flows": 100})).unwrap();
        spec.resolve_on(&layout(4));
        let explicit = json!({
            "workload": {"kind": "websearch", "interpolation": "linear"},
            "load": 0.6,
            "load_counts": "wire",
            "arrivals": {"kind": "poisson"},
            "pattern": {"kind": "all-to-all"},
            "flows": 100,
            "class": "default",
        });
        assert_eq!(serde_json::to_value(&spec).unwrap(), explicit);
        assert_eq!(read(explicit).unwrap(), spec);

        let spec = read(json!({"trace": "in/flows.csv", "duration": "1ms"})).unwrap();
        let explicit = json!({"duration": "1ms", "trace": "/scenarios/in/flows.csv"});
        assert_eq!(serde_json::to_value(&spec).unwrap(), explicit);
        assert_eq!(read(explicit).unwrap(), spec);

        let cdf = json!({"kind": "cdf", "file": "mine.csv"});
        let spec = read(json!({"workload": cdf, "load": 0.6, "flows": 1})).unwrap();
        let written = serde_json::to_value(&spec).unwrap();
        assert_eq!(written["workload"]["file"], "/scenarios/mine.csv");
    }

    #[test]
    fn mistakes_name_path_value_and_what_is_allowed() {
        let error = |value: Value| read(value).unwrap_err().to_string();
        let with = |key: &str, value: Value| {
            let mut spec = json!({"workload": "websearch", "load": 0.6, "flows": 100});
            spec[key] = value;
            error(spec)
        };
        assert_eq!(with("load", json!(1.3)), "load: 1.3 is not in (0, 1)");
        assert_eq!(
            with("load", json!("high")),
            "load: \"high\" is not in (0, 1)"
        );
        assert_eq!(
            with("flows", json!(0)),
            "flows: 0 is not a whole number above 0"
        );
        assert_eq!(
            with("flows", json!(1.5)),
            "flows: 1.5 is not a whole number above 0"
        );
        assert_eq!(
            with("duration", json!("0us")),
            "duration: 0s is not above 0"
        );
        assert_eq!(
            with("arrivals", json!({"kind": "lognormal", "sigma": -1})),
            "arrivals.sigma: -1 is not in (0, inf)"
        );
        assert_eq!(
            with("lod", json!(1)).split(" known").next().unwrap(),
            "lod: unknown key; did you mean \"load\"?"
        );
        assert_eq!(
            with("trace", json!("flows.csv")),
            "workload: has no meaning with a trace; leave it out, or leave out `trace`"
        );
        for (key, value) in [
            ("load", json!(0.5)),
            ("load_counts", json!("wire")),
            ("arrivals", json!("poisson")),
            ("pattern", json!("all-to-all")),
        ] {
            let expected =
                format!("{key}: has no meaning with a trace; leave it out, or leave out `trace`");
            assert_eq!(error(json!({"trace": "flows.csv", key: value})), expected);
        }
        assert_eq!(
            error(json!({"workload": "websearch", "flows": 1})),
            "load: is missing; write a number in (0, 1)"
        );
        assert_eq!(
            error(json!({"workload": "websearch", "load": 0.5})),
            "flows: is missing; write how many flows to start, or `duration`"
        );
        let missing = error(json!({"load": 0.5, "flows": 1}));
        assert!(
            missing.starts_with("workload: is missing; write a workload (websearch, datamining"),
            "{missing}"
        );
        assert!(missing.ends_with(") and a load, or a trace"), "{missing}");
    }

    #[test]
    fn mistakes_that_only_the_topology_shows() {
        let error = |pattern: Value, hosts| {
            let spec =
                read(json!({"workload": "websearch", "load": 0.5, "flows": 1, "pattern": pattern}))
                    .unwrap();
            spec.build(&layout(hosts), &PacketFormat::default(), Seed(1))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            error(json!("all-to-all"), 1),
            "needs at least 2 hosts; the topology has 1"
        );
        assert_eq!(
            error(json!({"kind": "incast", "fanin": 30}), 16),
            "pattern.fanin: 30 is not in [1, 15]: the hosts without the receiver"
        );
        assert_eq!(
            error(json!({"kind": "many-to-one", "receiver": 16}), 16),
            "pattern.receiver: 16 is not a host; hosts are 0 to 15"
        );
        assert_eq!(
            error(json!("inter-rack"), 16),
            "pattern: inter-rack needs at least 2 racks; the topology has 1"
        );
        let spec =
            read(json!({"workload": {"kind": "cdf", "file": "no.csv"}, "load": 0.5, "flows": 1}))
                .unwrap();
        let error = spec
            .build(&layout(2), &PacketFormat::default(), Seed(1))
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("workload.file: /scenarios/no.csv: cannot be read: "),
            "{error}"
        );
    }

    #[test]
    fn the_schema_knows_every_key() {
        let schema = schemars::schema_for!(TrafficSpec).to_value();
        let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "workload",
                "load",
                "load_counts",
                "arrivals",
                "per",
                "pattern",
                "flows",
                "duration",
                "trace",
                "class",
                "spacing",
                "overload",
                "classes",
                "share_of"
            ]
        );
    }
}
