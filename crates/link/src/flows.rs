//! The flows of several classes as one list in order of start.
//!
//! Every class has a stream of its own, from a seed that follows from the run's
//! and the class's name: changing one class leaves the others' flows as they were.

use std::ops::Range;
use std::path::Path;

use fctlab_core::random::Seed;
use fctlab_core::{Duration, PacketFormat, Rate, SpecError, Time};
use fctlab_workload::{ArrivalsSpec, HostLayout, LoadCounts, SizesSpec, Traffic, TrafficSpec};
use rayon::prelude::*;

use crate::model::Arrival;

/// The load at which a stream is generated; the layout's rate is chosen to fit.
const LOAD: f64 = 0.5;

/// Where the flows of one class come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Drawn: sizes, inter-arrival times, and the bytes per second they add up to.
    Drawn {
        /// The distribution of sizes.
        sizes: SizesSpec,
        /// The arrival process.
        arrivals: ArrivalsSpec,
        /// Payload bytes per second, as a rate.
        rate: Rate,
    },
    /// Replayed from a file, see `fctlab_workload::trace`: where that names classes, the flows of the
    /// class's name, else all.
    Trace {
        /// The file.
        file: std::path::PathBuf,
        /// After how long it starts again, if it does; not zero.
        repeat: Option<Duration>,
    },
}

/// The traffic of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassTraffic {
    /// Its name, from which its random stream follows.
    pub name: String,
    /// Where its flows come from.
    pub source: Source,
}

impl ClassTraffic {
    /// Its stream of flows before `until`.
    ///
    /// # Errors
    /// A size table or trace that cannot be read, with its path.
    fn stream(&self, seed: u64, until: Time) -> Result<Traffic, SpecError> {
        let mut spec = TrafficSpec {
            duration: Some(until.since(Time::ZERO)),
            ..TrafficSpec::default()
        };
        let mut layout = HostLayout {
            rack_of: vec![0, 1],
            host_rate: Rate::from_gbps(1),
            rates: Vec::new(),
            sink: Some(1),
        };
        match &self.source {
            Source::Drawn {
                sizes,
                arrivals,
                rate,
            } => {
                layout.host_rate = Rate::from_bps((rate.bps() as f64 / LOAD).round() as u64);
                spec.workload = Some(sizes.clone());
                spec.arrivals = Some(arrivals.clone());
                spec.load = Some(LOAD);
                spec.load_counts = Some(LoadCounts::Payload);
            }
            Source::Trace { file, .. } => {
                layout.rack_of = vec![0; usize::from(u16::MAX)];
                layout.sink = None;
                spec.trace = Some(file.clone().into());
            }
        }
        spec.resolve(Path::new(""))?;
        let seed = Seed(seed).child(&self.name);
        spec.build(&layout, &PacketFormat::default(), seed)
    }

    /// The same as a list, of the class with this number; of flows without end at most `most`.
    ///
    /// # Errors
    /// As the stream, also of what comes after its start; a trace that names classes and not this one.
    fn packed(
        &self,
        class: usize,
        seed: u64,
        until: Time,
        most: usize,
    ) -> Result<Vec<Packed>, SpecError> {
        let pack = |start, size: u64| Packed {
            start,
            size_and_class: size | (class as u64) << 48,
        };
        if let Some(period) = self.repeat() {
            let rows = self.rows()?;
            let times = until.since(Time::ZERO).ps() / period.ps() + 1;
            let again = (0..times).map(|i| period * i);
            let flows =
                again.flat_map(|at| rows.iter().map(move |&(start, size)| (start + at, size)));
            let flows = flows.take_while(|(start, _)| *start < until).take(most);
            return collected(flows.map(|(start, size)| pack(start, size)));
        }
        let mut stream = self.stream(seed, until)?;
        let own = self.own_rows(&stream)?;
        let most = match self.source {
            Source::Drawn { .. } => most,
            Source::Trace { .. } => usize::MAX,
        };
        let flows = stream.by_ref().take(most);
        let flows = flows.filter(|flow| own.is_none_or(|own| flow.class == own));
        let flows = collected(flows.map(|flow| pack(flow.start, flow.size.get())))?;
        match stream.error() {
            Some(error) => Err(error.clone()),
            None => Ok(flows),
        }
    }

    fn repeat(&self) -> Option<Duration> {
        match self.source {
            Source::Trace { repeat, .. } => repeat,
            Source::Drawn { .. } => None,
        }
    }

    /// Start and bytes of the flows of its trace, once through; none of a drawn class. What starts after
    /// the trace begins again is laid over what started before.
    ///
    /// # Errors
    /// A trace that cannot be read, or names classes and not this one.
    pub fn rows(&self) -> Result<Vec<(Time, u64)>, SpecError> {
        if let Source::Drawn { .. } = self.source {
            return Ok(Vec::new());
        }
        let mut stream = self.stream(0, Time::NEVER)?;
        let own = self.own_rows(&stream)?;
        let flows = stream.by_ref();
        let flows = flows.filter(|flow| own.is_none_or(|own| flow.class == own));
        let mut rows = collected(flows.map(|flow| (flow.start, flow.size.get())))?;
        if let Some(error) = stream.error() {
            return Err(error.clone());
        }
        if let Some(period) = self.repeat() {
            for (start, _) in &mut rows {
                let ps = start.since(Time::ZERO).ps() % period.ps();
                *start = Time::ZERO + Duration::from_ps(ps);
            }
            rows.sort_by_key(|row| row.0);
        }
        Ok(rows)
    }
}

impl ClassTraffic {
    /// The flows that its trace has for it, known without holding them; none of a class without end.
    ///
    /// # Errors
    /// A trace that cannot be read, or names classes and not this one.
    pub fn replayed(&self) -> Result<u64, SpecError> {
        let Source::Trace { repeat: None, .. } = self.source else {
            return Ok(0);
        };
        let mut stream = self.stream(0, Time::NEVER)?;
        match self.own_rows(&stream)? {
            Some(own) => Ok(stream.by_ref().filter(|flow| flow.class == own).count() as u64),
            None => Ok(stream.expected_flows()),
        }
    }
}

/// As a list, as long as there is memory.
fn collected<T>(flows: impl Iterator<Item = T>) -> Result<Vec<T>, SpecError> {
    let mut list = Vec::new();
    for flow in flows {
        if list.len() == list.capacity() {
            list.try_reserve(1).map_err(|_| no_memory(list.len()))?;
        }
        list.push(flow);
    }
    Ok(list)
}

fn no_memory(flows: usize) -> SpecError {
    SpecError::new(
        "",
        format!("there is no memory for more than {flows} flows"),
    )
}

/// All of them, in order of start; ties: by class.
fn merged(mut each: Vec<Vec<Packed>>) -> Result<Vec<Packed>, SpecError> {
    let all = each.iter().map(Vec::len).sum();
    let mut flows = match each.len() {
        1 => each.remove(0),
        _ => {
            let mut flows = Vec::new();
            flows.try_reserve_exact(all).map_err(|_| no_memory(all))?;
            each.into_iter().for_each(|class| flows.extend(class));
            flows
        }
    };
    if !flows.is_sorted_by_key(|f| f.start) {
        // Sorting takes as much again, and does not say when there is none.
        let room = Vec::<Packed>::new().try_reserve_exact(all);
        room.map_err(|_| no_memory(all))?;
        // Stable, and made for runs that are in order already.
        flows.sort_by_key(|f| f.start);
    }
    Ok(flows)
}

impl ClassTraffic {
    /// The number that a trace has for the class; nothing where it does not tell classes apart.
    fn own_rows(&self, stream: &Traffic) -> Result<Option<u16>, SpecError> {
        let (Source::Trace { file, .. }, Some(column)) = (&self.source, stream.class_column())
        else {
            return Ok(None);
        };
        let names = stream.class_names();
        match names.iter().position(|name| *name == self.name) {
            Some(place) => Ok(u16::try_from(place).ok()),
            None => {
                let message = format!(
                    "{}: column {column} has no row of {:?}; it names {}",
                    file.display(),
                    self.name,
                    names.join(", ")
                );
                Err(SpecError::new("trace", message))
            }
        }
    }
}

/// One flow, as small as millions of them should be.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packed {
    start: Time,
    /// Size in the lower 48 bits, class above.
    size_and_class: u64,
}

impl Packed {
    fn class(self) -> u16 {
        (self.size_and_class >> 48) as u16
    }
}

/// The flows of all classes, in order of start (ties: by class).
#[derive(Clone, Debug, Default)]
pub struct FlowList {
    flows: Vec<Packed>,
    counts: Vec<u64>,
    cut_at: Option<Time>,
}

impl FlowList {
    /// The flows of `classes` that start before `until`, or before more than `most` were drawn: gaps may
    /// be so uneven that any number start at once. Traces that end are replayed whatever `most` is.
    ///
    /// # Errors
    /// As the class's stream, under `classes[i]`.
    pub fn generate(
        classes: &[ClassTraffic],
        seed: u64,
        until: Time,
        most: u64,
    ) -> Result<Self, SpecError> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let each = classes.par_iter().enumerate().map(|(i, class)| {
            // One more shows when the others are too many.
            let flows = class.packed(i, seed, until, most.saturating_add(1));
            flows.map_err(|e| e.under(&format!("classes[{i}]")))
        });
        let each: Vec<_> = each.collect();
        let each = each.into_iter().collect::<Result<Vec<_>, SpecError>>()?;
        let mut counts: Vec<u64> = each.iter().map(|class| class.len() as u64).collect();
        let mut flows = merged(each).map_err(|e| e.under("classes"))?;
        let goes_on = |f: &Packed| {
            let class = &classes[usize::from(f.class())];
            !matches!(class.source, Source::Trace { repeat: None, .. })
        };
        let drawn = flows.iter().enumerate().filter(|(_, f)| goes_on(f));
        let first_too_many = drawn.map(|(place, f)| (place, f.start)).nth(most);
        if let Some((place, _)) = first_too_many {
            for flow in flows.drain(place..) {
                counts[usize::from(flow.class())] -= 1;
            }
        }
        Ok(FlowList {
            flows,
            counts,
            cut_at: first_too_many.map(|(_, start)| start),
        })
    }

    /// When the first flow would have started that was one too many.
    pub fn cut_at(&self) -> Option<Time> {
        self.cut_at
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// When the last one starts; the start of the run if there is none.
    pub fn last_start(&self) -> Time {
        self.flows.last().map_or(Time::ZERO, |f| f.start)
    }

    /// How many there are of each class.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Some of the flows, for the model; a range beyond their number is cut.
    pub fn slice(&self, part: Range<usize>) -> impl Iterator<Item = Arrival> + '_ {
        let part = part.start.min(self.len())..part.end.min(self.len());
        self.flows[part].iter().map(|f| Arrival {
            start_s: f.start.as_secs_f64(),
            size_bytes: (f.size_and_class & ((1 << 48) - 1)) as f64,
            class: f.class(),
        })
    }
}
