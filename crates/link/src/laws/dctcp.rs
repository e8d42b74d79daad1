//! DCTCP on a window and a paced rate, as RDMA NICs and the HPCC simulator run it: the congestion
//! control of swp's packet-level runs (section 5.1), from ACKs instead of as a rate that is approached.
//!
//! The estimate (RFC 8257) begins with the first window of data: alpha <- (1 - g) alpha + g F, once per
//! window, F being the share of its bytes that are marked. On a mark, at most once per window:
//! window x (1 - alpha / 2), but never below the smallest rate's. At the end of a window without
//! that: as much as the rise more.

use fctlab_core::Bytes;
use fctlab_core::spec::{OrNone, closed_unit, or_none};
use serde::{Deserialize, Serialize};

use super::{LawPart, Reacts};
use crate::heard::{Heard, Line, Sent};
use crate::marks::{Event, Marks};

/// They have windows that marks shrink, as DCTCP's; see `dctcp`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Under `law = "dctcp"`, the gain g of the estimated share of marks; in (0, 1] there.
    #[serde(deserialize_with = "closed_unit")]
    #[schemars(range(min = 0, max = 1))]
    pub gain: f64,
    /// Under `law = "dctcp"`, by how much a flow's window rises per round trip without a mark; `"none"` elsewhere.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Bytes>")]
    pub rise: Option<Bytes>,
    /// Under `law = "dctcp"` and `"hpcc"`, the smallest rate of a flow as a share of the link's; in (0, 1] there.
    #[serde(deserialize_with = "closed_unit")]
    #[schemars(range(min = 0, max = 1))]
    pub min_rate: f64,
}

impl LawPart for Spec {
    type Flow = Dctcp;
    const MARKS: bool = true;
    fn lacks(&self) -> Option<&'static str> {
        let keys = [
            ("gain", self.gain == 0.0),
            ("rise", self.rise.is_none()),
            ("min_rate", self.min_rate == 0.0),
        ];
        keys.iter().find(|(_, lacks)| *lacks).map(|(key, _)| *key)
    }
    fn flow(&self, share: f64, line: &Line) -> Option<Dctcp> {
        let rise = self.rise.map_or(0.0, |bytes| bytes.get() as f64);
        Some(Dctcp::new(
            share,
            self.gain,
            rise / line.bdp(),
            self.min_rate,
        ))
    }
}

/// The window of one flow. Bytes are counted from its first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dctcp {
    /// By how much the window rises, as a share of a BDP.
    rise: f64,
    /// The smallest window, likewise.
    least: f64,
    share: f64,
    marks: Marks,
}

impl Dctcp {
    /// The share of a BDP at the start, g, and as shares of a BDP the rise and the smallest window.
    pub(crate) fn new(share: f64, gain: f64, rise: f64, least: f64) -> Self {
        Dctcp {
            rise,
            least,
            share,
            marks: Marks::new(gain, 1.0),
        }
    }
}

impl Reacts for Dctcp {
    fn share(&self) -> f64 {
        self.share
    }

    fn sent(&mut self, sent: &Sent) {
        self.marks.sent(sent);
    }

    #[inline(always)] // out of line it costs 3% of a run
    fn on_acks(&mut self, heard: &Heard) -> f64 {
        let (share, rise, least) = (&mut self.share, self.rise, self.least);
        let changes = self.marks.on_acks(heard, |event| match event {
            Event::Unmarked => *share = (*share + rise).min(1.0),
            Event::Cut(factor) => *share = (*share * factor).max(least),
        });
        changes.cut.or(changes.over).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acks::Acks;

    /// A flow that sends as much as is acked, times its window.
    struct Run {
        flow: Dctcp,
        acked: f64,
        sent: f64,
    }

    impl Run {
        fn new(share: f64) -> Self {
            Run {
                flow: Dctcp::new(share, 1.0 / 16.0, 0.008, 0.01),
                acked: 0.0,
                sent: 1000.0,
            }
        }

        /// So many packets are acked in a step, marked or not; the window then, and the share of the step
        /// after which it changed.
        fn hear(&mut self, delivered: f64, marked: bool) -> (f64, f64) {
            self.acked += delivered;
            let acks = Acks {
                marked,
                ..Acks::of(1.0)
            };
            let part = self.flow.on_acks(&Heard {
                delivered,
                acked: self.acked,
                packet: 1.0,
                turn: 0.0,
                acks: &acks,
            });
            let bytes = delivered * self.flow.share();
            self.flow.sent(&Sent {
                before: self.sent,
                part,
                first: part * bytes,
                rest: (1.0 - part) * bytes,
                packet: 1.0,
            });
            self.sent += bytes;
            (self.flow.share(), part)
        }
    }

    #[test]
    fn one_cut_per_window_and_a_rise_after_one_without() {
        let mut run = Run::new(1.0);
        // Alpha is still 1.
        assert_eq!(run.hear(50.0, true).0, 0.5);
        assert_eq!(run.hear(50.0, false).0, 0.5);
        assert_eq!(run.hear(300.0, true).0, 0.5);
        // The first window of data ends with packet 1001, and so does what the cut was for.
        assert_eq!(run.hear(600.0, false).0, 0.5);
        assert_eq!(run.hear(1.0, false), (0.508, 1.0));
        let alpha = 15.0 / 16.0 + 350.0 / 1001.0 / 16.0;
        assert!((run.flow.marks.alpha() - alpha).abs() < 1e-12);
        let share = 0.508 * (1.0 - alpha / 2.0);
        assert!((run.hear(1.0, true).0 - share).abs() < 1e-12);
        for _ in 0..10_000 {
            run.hear(100.0, true);
        }
        assert_eq!(run.flow.share(), 0.01);
        for _ in 0..10_000 {
            run.hear(100.0, false);
        }
        assert_eq!(run.flow.share(), 1.0);
    }

    #[test]
    fn events_of_one_step_happen_in_their_order() {
        // The first window is over with packet 1001, and the packet after it brings the first mark: a window
        // without a mark, so the window rises; then it is cut, by an estimate that has heard of that window.
        let mut run = Run::new(0.5);
        run.hear(1000.5, false);
        let alpha = 15.0 / 16.0;
        let mark = Acks {
            marked: true,
            ..Acks::of(1.0)
        };
        run.flow.on_acks(&Heard {
            delivered: 10.0,
            acked: 1010.5,
            packet: 1.0,
            turn: 0.0,
            acks: &mark,
        });
        // The ACK that ends it is marked itself, so there is no rise.
        let marked = 0.5 / 1001.0 / 16.0;
        let share = 0.5 * (1.0 - (alpha + marked) / 2.0);
        assert!((run.flow.share() - share).abs() < 1e-12);
    }
}
