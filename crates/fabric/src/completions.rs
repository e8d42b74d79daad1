//! From when flows end to their records, for engines that know it of all flows at once.

use fctlab_core::{Duration, SpecError, Time};
use fctlab_workload::Flow;

use crate::measure::Stop;
use crate::network::ideal::Ideal;
use crate::outcome::{Counters, Progress};
use crate::prepared::{End, Ended, Prepared, Sink};
use crate::records::{Fct, Record, Unfinished};

/// The flows of a run, and when each ends: `Time::NEVER` until that is known.
pub(crate) struct Completions<'a> {
    prepared: &'a Prepared,
    ideal: Ideal,
    /// In order of start.
    pub(crate) flows: Vec<Flow>,
    ends: Vec<Time>,
    counters: Counters,
    now: Time,
}

impl<'a> Completions<'a> {
    /// All flows, of which none has ended.
    ///
    /// # Errors
    /// Traffic that cannot be read to its end.
    pub(crate) fn new(prepared: &'a Prepared) -> Result<Self, SpecError> {
        let mut traffic = prepared.traffic()?;
        let flows: Vec<Flow> = traffic.by_ref().collect();
        if let Some(error) = traffic.error() {
            return Err(error.clone().under("traffic"));
        }
        let settings = &prepared.settings;
        let counters = Counters {
            flows_started: flows.len() as u64,
            ..Counters::default()
        };
        Ok(Completions {
            prepared,
            ideal: Ideal::new(&settings.format, false, settings.fct_ends),
            ends: vec![Time::NEVER; flows.len()],
            flows,
            counters,
            now: Time::ZERO,
        })
    }

    /// Flow `index` takes `more_s` on top of what it takes alone. That is rounded, and nothing else: a flow alone takes
    /// the ideal to the picosecond. It is below zero only where an engine has smaller headers.
    pub(crate) fn end(&mut self, index: usize, more_s: f64) {
        let flow = &self.flows[index];
        let alone = self.alone(flow);
        let more = Duration::from_secs_f64(more_s.abs()).unwrap_or(Duration::ZERO);
        let fct = if more_s < 0.0 {
            alone - more
        } else {
            alone + more
        };
        self.ends[index] = flow.start + fct;
        self.now = self.now.max(self.ends[index]);
        self.counters.flows_finished += 1;
    }

    fn alone(&self, flow: &Flow) -> Duration {
        self.ideal
            .fct(&self.prepared.fabric, flow.src, flow.dst, flow.size)
    }

    /// Whether flow `index` starts inside the window.
    pub(crate) fn is_measured(&self, index: usize) -> bool {
        let (from, until) = self.prepared.settings.window;
        let start = self.flows[index].start;
        start >= from && start < until
    }

    /// Flows that have ended.
    pub(crate) fn finished(&self) -> u64 {
        self.counters.flows_finished
    }

    /// How far it has come.
    pub(crate) fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            flows_started: self.counters.flows_started,
            flows_finished: self.counters.flows_finished,
            flows_expected: Some(self.counters.flows_started),
            packet_hops: 0,
        }
    }

    /// The run was broken off after so many `events`.
    pub(crate) fn interrupted(self, events: u64) -> Ended {
        let counters = Counters {
            events,
            ..self.counters
        };
        ended(End::Interrupted, counters, self.now)
    }

    /// The run is over after so many `events`: `sink` gets a record of every flow that started, in order of start.
    pub(crate) fn tell(mut self, events: u64, sink: &mut Sink<'_>) -> Ended {
        let settings = &self.prepared.settings;
        if settings.stop == Stop::Measured {
            let until = settings.window.1;
            let measured = (0..self.flows.len()).filter(|&index| self.is_measured(index));
            let last = measured.map(|index| self.ends[index]).max();
            self.now = last.unwrap_or(until).max(until);
        }
        let now = self.now.min(settings.end_at);
        let mut counters = Counters {
            events,
            flows_started: 0,
            flows_finished: 0,
            ..self.counters
        };
        let known = self.flows.iter().zip(&self.ends).enumerate();
        for (index, (flow, &end)) in known.take_while(|(_, (flow, _))| flow.start <= now) {
            counters.flows_started += 1;
            counters.flows_finished += u64::from(end <= now);
            let record = Record {
                flow: *flow,
                fct: if end <= now {
                    Fct::Finished(end.since(flow.start))
                } else {
                    Fct::Unfinished(now.since(flow.start), Unfinished::Sending)
                },
                ideal: self.alone(flow),
                source_delay: Duration::ZERO,
                measured: self.is_measured(index),
                retransmissions: 0,
                timeouts: 0,
            };
            if let Err(error) = sink(&record) {
                return ended(End::Failed(error), counters, now);
            }
        }
        ended(End::Complete, counters, now)
    }
}

fn ended(end: End, counters: Counters, now: Time) -> Ended {
    Ended {
        end,
        counters,
        now,
        others_cpu: Duration::ZERO,
        waited: Vec::new(),
    }
}
