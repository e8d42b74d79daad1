//! HPCC (Li et al., SIGCOMM 2019, algorithm 1) as a fluid, without additive stages.
//!
//! ACKs bring the load of the link: bytes that leave over what may, and bytes that wait over a BDP. The
//! flow's average of it is U, and W = Wc / (U / eta) + W_AI, at most a BDP and at least the smallest rate's; the
//! reference Wc becomes W once per round trip of the flow. Who is ahead stays ahead, but for W_AI.

use fctlab_core::WindowCounts;
use fctlab_core::spec::{closed_unit, half_open_unit, non_negative, positive};
use serde::{Deserialize, Serialize};

use super::{LawPart, Reacts, Scope};
use crate::acks::{Acks, Instant};
use crate::heard::{Heard, Line, Mark, Sent};

/// The smallest average: a link that sends nothing would ask for an infinite window.
const LEAST: f64 = 1e-3;

/// They have windows that are multiplied by what the load asks for, as HPCC's; see `hpcc`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// U, in (0, 1]: the share of the capacity that controlled flows aim at.
    #[serde(deserialize_with = "half_open_unit")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub u_target: f64,
    /// Under `law = "hpcc"` the load is
    /// averaged over as long.
    #[serde(deserialize_with = "positive")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub eta: f64,
    /// Under `law = "hpcc"`, by how much of a BDP a flow's window is raised besides (W_AI); above zero there.
    #[serde(deserialize_with = "non_negative")]
    #[schemars(range(min = 0))]
    pub additive_increase: f64,
    /// Under `law = "dctcp"` and `"hpcc"`, the smallest rate of a flow as a share of the link's; in (0, 1] there.
    #[serde(deserialize_with = "closed_unit")]
    #[schemars(range(min = 0, max = 1))]
    pub min_rate: f64,
    /// Which bytes of a packet a window counts; `payload` under `law = "hpcc"` alone.
    pub window_counts: WindowCounts,
    /// Whose queue, capacity and flows a flow hears of. `port` is not in the paper.
    pub scope: Scope,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            u_target: 1.0,
            eta: 1.0,
            additive_increase: 0.0,
            min_rate: 0.0,
            window_counts: WindowCounts::Wire,
            scope: Scope::Class,
        }
    }
}

impl LawPart for Spec {
    type Flow = Hpcc;
    fn lacks(&self) -> Option<&'static str> {
        let keys = [
            ("additive_increase", self.additive_increase),
            ("min_rate", self.min_rate),
        ];
        keys.iter()
            .find(|(_, value)| *value == 0.0)
            .map(|(key, _)| *key)
    }
    fn scope(&self) -> Scope {
        self.scope
    }
    fn counts(&self) -> WindowCounts {
        self.window_counts
    }
    fn flow(&self, share: f64, line: &Line) -> Option<Hpcc> {
        let memory = self.eta * line.round_trip / 2.0;
        let (target, increase) = (self.u_target, self.additive_increase);
        Some(Hpcc::new(share, target, increase, self.min_rate, memory))
    }
}

/// The window of one flow, in shares of a BDP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hpcc {
    /// eta.
    target: f64,
    /// W_AI.
    increase: f64,
    /// The smallest window.
    least: f64,
    /// Seconds over which the load is averaged: T.
    memory: f64,
    w: f64,
    wc: f64,
    /// U.
    load: f64,
    /// What the last ACK brought: L.
    last: Option<Instant>,
    /// What is sent after Wc was set, and what is acked first.
    updated: Option<Mark>,
}

impl Hpcc {
    /// The share of a BDP at the start, eta, W_AI, the smallest window, and over how many seconds the
    /// load is averaged.
    pub(crate) fn new(share: f64, target: f64, increase: f64, least: f64, memory: f64) -> Self {
        Hpcc {
            target,
            increase,
            least,
            memory,
            w: share,
            wc: share,
            load: 1.0,
            last: None,
            updated: None,
        }
    }

    /// `MeasureInflight` for ACKs that come evenly, each with the smaller of its queue and the last one's.
    fn measure(&mut self, from: &Instant, to: &Instant, acks: f64) {
        let elapsed = to.at - from.at;
        if elapsed <= 0.0 {
            return;
        }
        let change = (to.waiting - from.waiting).abs() / 2.0;
        let waiting = (from.waiting + to.waiting) / 2.0 - change / acks;
        let load = (to.busy - from.busy) / elapsed + waiting;
        let weight = (elapsed / self.memory / acks).min(1.0);
        self.load = load + (self.load - load) * power(1.0 - weight, acks as u32);
    }
}

impl Reacts for Hpcc {
    fn share(&self) -> f64 {
        self.w
    }

    fn sent(&mut self, sent: &Sent) {
        if let Some(updated) = &mut self.updated {
            updated.sent(sent);
        }
    }

    #[inline(always)] // out of line it costs 3% of a run
    fn on_acks(&mut self, heard: &Heard) -> f64 {
        let packets = heard.packets();
        if packets < 1.0 {
            return 0.0;
        }
        let Acks { from, to, .. } = heard.acks;
        let last = self.last.replace(*to).unwrap_or(*from);
        if packets < 2.0 {
            self.measure(&last, to, packets);
        } else {
            // The first after a while in which none came, and those that follow it.
            self.measure(&last, from, 1.0);
            self.measure(from, to, packets);
        }
        let asked = self.wc * self.target / self.load.max(LEAST) + self.increase;
        self.w = asked.clamp(self.least, 1.0);
        if let Some(share) = self.updated.get_or_insert(Mark::Now(0.0)).passed(heard) {
            self.wc = self.w;
            self.updated = Some(Mark::Now(share));
        }
        0.5 // each ACK changes it a little
    }
}

/// `base` to the power of `n`.
fn power(mut base: f64, mut n: u32) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            product *= base;
        }
        base *= base;
        n >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a BDP waits from the beginning, and twice as much comes as leaves.
    fn at(seconds: f64) -> Instant {
        Instant {
            at: seconds,
            busy: seconds,
            waiting: 0.5 + seconds,
            ..Instant::default()
        }
    }

    fn hear(flow: &mut Hpcc, acked: f64, sent: f64, packets: f64, from: f64, to: f64) {
        flow.on_acks(&Heard {
            delivered: packets,
            acked,
            packet: 1.0,
            turn: 0.0,
            acks: &Acks {
                from: at(from),
                to: at(to),
                ..Acks::of(to - from)
            },
        });
        flow.sent(&Sent {
            before: sent,
            part: 0.0,
            first: 0.0,
            rest: 10.0,
            packet: 1.0,
        });
    }

    #[test]
    fn the_reference_moves_once_per_round_trip() {
        let mut flow = Hpcc::new(1.0, 0.95, 0.0004, 0.01, 1.0);
        // One ACK a tenth of a round trip after the first: the smaller queue is 0.5.
        hear(&mut flow, 100.0, 1000.0, 1.0, 0.0, 0.1);
        let load = 0.9 + 0.1 * 1.5;
        assert!((flow.load - load).abs() < 1e-12);
        assert!((flow.w - (0.95 / load + 0.0004)).abs() < 1e-12);
        // Two, from the same reference: queues of 0.6 and 0.65.
        hear(&mut flow, 200.0, 1010.0, 2.0, 0.1, 0.2);
        let load = 1.625 + (load - 1.625) * 0.95 * 0.95;
        assert!((flow.load - load).abs() < 1e-12);
        assert!((flow.w - (0.95 / load + 0.0004)).abs() < 1e-12);
        // None for more than a round trip: U is what there was then, with the smaller queue.
        hear(&mut flow, 1001.0, 1020.0, 1.0, 2.0, 2.0);
        assert!((flow.load - 1.7).abs() < 1e-12);
        assert_eq!(flow.wc, flow.w);
    }
}
