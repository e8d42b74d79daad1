//! The classes' streams as one, in order of start.

use fctlab_core::random::Seed;
use fctlab_core::{PacketFormat, SpecError, Time};

use crate::classes::Part;
use crate::demand::Demand;
use crate::generator::{Draft, Generator};
use crate::{ClassSpec, Flow, HostLayout, Mixture, Offered, ShareOf, TrafficSpec};

/// All classes of generated traffic.
#[derive(Debug)]
pub(crate) struct Mix {
    classes: Vec<Class>,
    names: Vec<String>,
    /// Queries so far, of all classes.
    queries: u32,
}

#[derive(Debug)]
struct Class {
    generator: Generator,
    offered: Offered,
    active: (Time, Time),
    /// Its next flow.
    head: Option<Flow>,
    /// Its current query as it counts them, and as the mix does.
    query: Option<(u32, u32)>,
}

impl Mix {
    /// The streams that `spec`, already checked, asks for.
    pub(crate) fn new(
        spec: &TrafficSpec,
        layout: &HostLayout,
        format: &PacketFormat,
        seed: Seed,
    ) -> Result<Self, SpecError> {
        let only;
        let specs = match spec.classes.as_slice() {
            [] => {
                only = [ClassSpec::only(spec)];
                &only[..]
            }
            classes => classes,
        };
        let several = !spec.classes.is_empty();
        let of_class = |i: usize, error: SpecError| {
            if several {
                error.under(&format!("classes[{i}]"))
            } else {
                error
            }
        };
        let draft = |(i, class): (usize, &ClassSpec)| {
            let mut class = class.clone();
            class.inherit(spec);
            // A class has streams of its own name; traffic without classes, the bare ones.
            let of = if several {
                format!(" of {}", class.class)
            } else {
                String::new()
            };
            let stream = |draws: &str| seed.stream(&format!("{draws}{of}"));
            let counts = spec.load_counts.unwrap_or_default();
            Draft::new(class, counts, layout, format, &stream).map_err(|e| of_class(i, e))
        };
        let drafts = specs.iter().enumerate().map(draft);
        let drafts = drafts.collect::<Result<Vec<_>, _>>()?;
        let loads = loads(spec, &drafts);
        let start = |(i, (draft, load)): (usize, (Draft, f64))| {
            let (generator, offered) = draft.at_load(load, layout).map_err(|e| of_class(i, e))?;
            Ok(Class {
                active: generator.active(),
                generator,
                offered,
                head: None,
                query: None,
            })
        };
        let classes = drafts.into_iter().zip(loads).enumerate().map(start);
        let mut mix = Mix {
            classes: classes.collect::<Result<_, SpecError>>()?,
            names: specs.iter().map(|c| c.class.clone()).collect(),
            queries: 0,
        };
        for class in &mut mix.classes {
            class.head = class.generator.next();
        }
        Ok(mix)
    }

    /// Names of the classes.
    pub(crate) fn class_names(&self) -> &[String] {
        &self.names
    }

    /// What all classes offer while all are active.
    pub(crate) fn offered(&self) -> Offered {
        let flows_per_s = self.classes.iter().map(|c| c.offered.flows_per_s).sum();
        let mean = |of: fn(&Offered) -> f64| {
            let weighted = |c: &Class| of(&c.offered) * c.offered.flows_per_s / flows_per_s;
            self.classes.iter().map(weighted).sum()
        };
        Offered {
            mean_size_bytes: mean(|o| o.mean_size_bytes),
            mean_wire_bytes: mean(|o| o.mean_wire_bytes),
            mean_packets: mean(|o| o.mean_packets),
            flows_per_s,
        }
    }

    /// What each class is expected to send to whom.
    pub(crate) fn demands(&self, layout: &HostLayout) -> Vec<Demand> {
        let demand = |class: &Class| {
            Demand::new(
                class.active,
                &class.generator.shares(layout),
                &class.offered,
            )
        };
        self.classes.iter().map(demand).collect()
    }

    /// The distribution of all classes' sizes, while all are active.
    pub(crate) fn sizes(&self) -> Option<Mixture> {
        let part = |class: &Class| Some((class.offered.flows_per_s, class.generator.sizes()?));
        let parts: Option<Vec<_>> = self.classes.iter().map(part).collect();
        let parts = parts?;
        let parts: Vec<_> = parts.iter().map(|(flows, sizes)| (*flows, sizes)).collect();
        Mixture::of(&parts)
    }

    /// How many flows are expected to start before `until`; `None` when they never end.
    pub(crate) fn flows_before(&self, until: Time) -> Option<f64> {
        let flows = self.classes.iter().map(|class| {
            let (from, end) = (class.active.0, class.active.1.min(until));
            let span = end.as_secs_f64() - from.as_secs_f64();
            (end != Time::NEVER).then(|| class.offered.flows_per_s * span.max(0.0))
        });
        flows.sum()
    }

    /// The next flow: the earliest, of the first class when several are.
    pub(crate) fn next(&mut self) -> Option<Flow> {
        let head = |class: &&mut Class| class.head.map_or(Time::NEVER, |flow| flow.start);
        let (number, class) = (0u16..)
            .zip(&mut self.classes)
            .min_by_key(|(_, class)| head(class))?;
        let mut flow = class.head.take()?;
        class.head = class.generator.next();
        flow.class = number;
        if let Some(query) = flow.query {
            let (_, number) = match class.query {
                Some(known) if known.0 == query => known,
                _ => {
                    let number = self.queries;
                    self.queries += 1;
                    *class.query.insert((query, number))
                }
            };
            flow.query = Some(number);
        }
        Some(flow)
    }
}

/// The load of each class.
fn loads(spec: &TrafficSpec, drafts: &[Draft]) -> Vec<f64> {
    let weight = |draft: &Draft| match (draft.part(), spec.share_of) {
        (Part::Load(load), _) => load,
        (Part::Share(share), Some(ShareOf::Flows)) => share * draft.load_per_flow(),
        (Part::Share(share), _) => share,
    };
    let weights = drafts.iter().map(weight);
    let Some(load) = spec.load else {
        return weights.collect();
    };
    let sum: f64 = weights.clone().sum();
    weights.map(|weight| load * (weight / sum)).collect()
}
