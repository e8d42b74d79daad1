//! Draws the flows of one class: arrivals x sizes x endpoints.

use fctlab_core::{Bytes, PacketFormat, SpecError, Time};
use rand_pcg::Pcg64;

use crate::classes::Part;
use crate::demand::Matrix;
use crate::patterns::{Endpoints, Pattern};
use crate::places::{Clock, Per, Place};
use crate::spec::LoadCounts;
use crate::{ArrivalsSpec, ClassSpec, Flow, HostLayout, Offered, PatternSpec, SizeDistribution};

/// Draws flows: arrivals x sizes x endpoints.
#[derive(Debug)]
pub(crate) struct Generator {
    clock: Clock,
    sizes: Sizes,
    pattern: Pattern,
    arrival_draws: Pcg64,
    size_draws: Pcg64,
    endpoint_draws: Pcg64,
    /// The last arrival, or from when on there are any; where it was, and how many of its flows are to come.
    now: Time,
    place: Place,
    left: u32,
    /// Its flows start before this instant.
    until: Time,
}

/// Where flow sizes come from.
#[derive(Debug)]
enum Sizes {
    /// Each flow's from a distribution.
    Drawn(SizeDistribution),
    /// An equal part of a query.
    Split { query: Bytes, parts: u32 },
}

impl Sizes {
    /// The size of the flow at `place` among those of the same arrival.
    fn size(&self, place: u32, rng: &mut Pcg64) -> Bytes {
        match self {
            Sizes::Drawn(distribution) => distribution.sample(rng),
            Sizes::Split { query, parts } => split(*query, *parts, place),
        }
    }

    /// The distribution of all flows' sizes.
    fn distribution(&self) -> Option<SizeDistribution> {
        match self {
            Sizes::Drawn(distribution) => Some(distribution.clone()),
            Sizes::Split { query, parts } => {
                let sizes: Vec<Bytes> = (0..*parts).map(|i| split(*query, *parts, i)).collect();
                SizeDistribution::uniform(&sizes)
            }
        }
    }

    /// Mean packets of a flow.
    fn mean_packets(&self, format: &PacketFormat) -> f64 {
        let counting = PacketFormat {
            header: Bytes::new(1),
            ..*format
        };
        let (payload, with_packets) = self.means(&counting);
        with_packets - payload
    }

    /// Mean payload bytes and mean wire bytes of a flow.
    fn means(&self, format: &PacketFormat) -> (f64, f64) {
        match self {
            Sizes::Drawn(distribution) => (distribution.mean(), distribution.mean_wire(format)),
            Sizes::Split { query, parts } => {
                let wire: u64 = (0..*parts)
                    .map(|i| format.wire_bytes(split(*query, *parts, i)))
                    .sum();
                (
                    query.get() as f64 / f64::from(*parts),
                    wire as f64 / f64::from(*parts),
                )
            }
        }
    }
}

/// The `place`-th of `parts` parts of `whole`; the first ones take the odd bytes.
fn split(whole: Bytes, parts: u32, place: u32) -> Bytes {
    let (whole, parts) = (whole.get(), u64::from(parts));
    Bytes::new(whole / parts + u64::from(u64::from(place) < whole % parts))
}

/// A class whose load is not known yet: shares by flows need all classes' means.
pub(crate) struct Draft {
    class: ClassSpec,
    pattern: Pattern,
    arrival_draws: Pcg64,
    size_draws: Pcg64,
    endpoint_draws: Pcg64,
    sizes: Sizes,
    /// Mean payload bytes, mean wire bytes, and those of the two that the load counts.
    means: (f64, f64),
    counted: f64,
    mean_packets: f64,
    /// How many links its load is a share of.
    links: f64,
}

impl Draft {
    /// `stream` gives the class's random stream for a kind of draws.
    pub(crate) fn new(
        class: ClassSpec,
        counts: LoadCounts,
        layout: &HostLayout,
        format: &PacketFormat,
        stream: &dyn Fn(&str) -> Pcg64,
    ) -> Result<Self, SpecError> {
        let mut endpoint_draws = stream("endpoints");
        let pattern = class
            .pattern
            .clone()
            .unwrap_or_else(|| PatternSpec::default_on(layout))
            .build(layout, &mut endpoint_draws)
            .map_err(|error| error.under("pattern"))?;
        let parts = pattern.flows_per_arrival();
        let sizes = match (pattern.query_size(), &class.workload) {
            (Some(query), _) => Sizes::Split { query, parts },
            (None, Some(workload)) => {
                Sizes::Drawn(workload.build().map_err(|error| error.under("workload"))?)
            }
            (None, None) => return Err(SpecError::new("workload", "is missing")),
        };
        let (means, mean_packets) = (sizes.means(format), sizes.mean_packets(format));
        let counted = match counts {
            LoadCounts::Wire => means.1,
            LoadCounts::Payload => means.0,
        };
        Ok(Draft {
            class,
            links: pattern.links(layout),
            pattern,
            arrival_draws: stream("arrivals"),
            size_draws: stream("sizes"),
            endpoint_draws,
            sizes,
            means,
            counted,
            mean_packets,
        })
    }

    /// Its part of the load.
    pub(crate) fn part(&self) -> Part {
        self.class.part()
    }

    /// The load that one flow per second is, at 1 byte per second and host.
    pub(crate) fn load_per_flow(&self) -> f64 {
        self.counted / self.links
    }

    /// The generator at `load`, and what it offers while it is active.
    ///
    /// # Errors
    /// Places that cannot have arrivals of their own.
    pub(crate) fn at_load(
        mut self,
        load: f64,
        layout: &HostLayout,
    ) -> Result<(Generator, Offered), SpecError> {
        let bytes_per_s = load * layout.host_rate.bytes_per_s() * self.links;
        let flows_per_s = bytes_per_s / self.counted;
        let flows_per_arrival = f64::from(self.pattern.flows_per_arrival());
        let arrivals = self.class.arrivals.take().unwrap_or_default();
        let per = self.class.per.or(Per::default_of(&arrivals, layout));
        let now = Time::ZERO + self.class.from;
        let clock = Clock::new(
            per.filter(|_| !matches!(arrivals, ArrivalsSpec::Poisson(_))),
            &self.pattern,
            layout.hosts(),
            &arrivals,
            flows_per_arrival / flows_per_s,
            now,
            &mut self.arrival_draws,
        )?;
        let generator = Generator {
            clock,
            place: Place::Anywhere,
            left: 0,
            sizes: self.sizes,
            pattern: self.pattern,
            arrival_draws: self.arrival_draws,
            size_draws: self.size_draws,
            endpoint_draws: self.endpoint_draws,
            now,
            until: self.class.until.map_or(Time::NEVER, |d| Time::ZERO + d),
        };
        let offered = Offered {
            mean_size_bytes: self.means.0,
            mean_wire_bytes: self.means.1,
            mean_packets: self.mean_packets,
            flows_per_s,
        };
        Ok((generator, offered))
    }
}

impl Generator {
    /// The distribution of its flows' sizes.
    pub(crate) fn sizes(&self) -> Option<SizeDistribution> {
        self.sizes.distribution()
    }

    /// The share of its flows of each pair of hosts.
    pub(crate) fn shares(&self, layout: &HostLayout) -> Matrix {
        Matrix::of(layout, |src, to| self.pattern.receivers(src, to))
    }

    /// When its flows start: from, until.
    pub(crate) fn active(&self) -> (Time, Time) {
        (self.now, self.until)
    }

    /// The next flow; `None` at its own end or that of the clock.
    pub(crate) fn next(&mut self) -> Option<Flow> {
        if self.left == 0 {
            let (next, place) = self.clock.next(self.now, &mut self.arrival_draws)?;
            if next >= self.until {
                return None;
            }
            (self.now, self.place) = (next, place);
            self.left = self.pattern.flows_per_arrival();
        }
        self.left -= 1;
        let draws = &mut self.endpoint_draws;
        let at = match self.place {
            Place::Anywhere => self.pattern.next(draws),
            Place::Host(host) => self.pattern.next_at(host, draws),
            Place::Pair(src, dst) => Endpoints::pair(src, dst),
        };
        Some(Flow {
            id: 0,
            start: self.now,
            src: at.src,
            dst: at.dst,
            size: self.sizes.size(at.place, &mut self.size_draws),
            class: 0,
            query: at.query,
            path_hash: 0,
        })
    }
}
