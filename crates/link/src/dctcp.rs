//! DCTCP on a window and a paced rate, as RDMA NICs and the HPCC simulator run it: the congestion
//! control of swp's packet-level runs (section 5.1), from ACKs instead of as a rate that is approached.
//!
//! The estimate (RFC 8257) begins with the first window of data: alpha <- (1 - g) alpha + g F, once per
//! window, F being the share of its bytes that are marked. On a mark, at most once per window:
//! window x (1 - alpha / 2), but never below the smallest rate's. At the end of a window without
//! that: as much as the rise more.

use crate::window::{Heard, Mark};

/// The window of one flow. Bytes are counted from its first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dctcp {
    gain: f64,
    /// By how much the window rises, as a share of a BDP.
    rise: f64,
    /// The smallest window, likewise.
    least: f64,
    share: f64,
    alpha: f64,
    /// What ends the window of data under observation; there is none before the first ACK.
    over: Option<Mark>,
    /// Bytes of it that were acked, and that were marked.
    delivered: f64,
    marked: f64,
    /// What is sent after the last cut.
    reduced: Mark,
}

impl Dctcp {
    /// The share of a BDP at the start, g, and as shares of a BDP the rise and the smallest window.
    pub fn new(share: f64, gain: f64, rise: f64, least: f64) -> Self {
        Dctcp {
            gain,
            rise,
            least,
            share,
            alpha: 1.0,
            over: None,
            delivered: 0.0,
            marked: 0.0,
            reduced: Mark::Byte(0.0),
        }
    }

    pub fn share(&self) -> f64 {
        self.share
    }

    /// In the step `bytes` were sent, after `before`, in packets of so many.
    pub fn sent(&mut self, before: f64, bytes: f64, packet: f64) {
        if let Some(over) = &mut self.over {
            over.sent(before, bytes, packet);
        }
        self.reduced.sent(before, bytes, packet);
    }

    /// The share of the step after which the window is another one.
    pub fn on_acks(&mut self, heard: &Heard) -> f64 {
        let marks = &heard.acks.marks;
        let marked = heard.delivered * marks.share;
        let is_over = self.over.get_or_insert(Mark::Now(0.0)).passed(heard);
        if let Some(share) = is_over {
            let before = marks.until(share) * marked;
            let delivered = self.delivered + share * heard.delivered;
            self.alpha += self.gain * ((self.marked + before) / delivered - self.alpha);
            self.delivered = (1.0 - share) * heard.delivered;
            self.marked = marked - before;
            self.over = Some(Mark::Now(share));
        } else {
            self.delivered += heard.delivered;
            self.marked += marked;
        }
        let Some(share) = self.reduced.passed(heard) else {
            return 0.0;
        };
        if marked > 0.0 {
            let first = heard.next_ack(share.max(marks.first));
            if first <= marks.last {
                self.share = (self.share * (1.0 - self.alpha / 2.0)).max(self.least);
                self.reduced = Mark::Now(first);
                return first;
            }
        }
        let Some(share) = is_over else {
            return 0.0;
        };
        self.share = (self.share + self.rise).min(1.0);
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acks::{Acks, Marks};

    #[test]
    fn one_cut_per_window_and_a_rise_after_one_without() {
        let mut flow = Dctcp::new(1.0, 1.0 / 16.0, 0.008, 0.01);
        let (mut acked, mut sent) = (0.0, 1000.0);
        let mut hear = |flow: &mut Dctcp, delivered: f64, marked: f64| {
            acked += delivered;
            let acks = Acks {
                marks: Marks {
                    share: marked,
                    first: 0.0,
                    last: if marked > 0.0 { 1.0 } else { 0.0 },
                },
                ..Acks::of(1.0)
            };
            let heard = Heard {
                delivered,
                acked,
                packet: 1.0,
                acks: &acks,
            };
            flow.on_acks(&heard);
            flow.sent(sent, delivered * flow.share, 1.0);
            sent += delivered * flow.share;
            flow.share()
        };
        // Alpha is still 1.
        assert_eq!(hear(&mut flow, 100.0, 0.5), 0.5);
        assert_eq!(hear(&mut flow, 300.0, 1.0), 0.5);
        // The first window of data ends with packet 1001, and so does what the cut was for.
        assert_eq!(hear(&mut flow, 600.0, 0.0), 0.5);
        assert_eq!(hear(&mut flow, 1.0, 0.0), 0.508);
        let alpha = 15.0 / 16.0 + 350.0 / 1001.0 / 16.0;
        assert!((flow.alpha - alpha).abs() < 1e-12);
        let share = 0.508 * (1.0 - alpha / 2.0);
        assert!((hear(&mut flow, 10.0, 0.1) - share).abs() < 1e-12);
        for _ in 0..10_000 {
            hear(&mut flow, 100.0, 1.0);
        }
        assert_eq!(flow.share(), 0.01);
        for _ in 0..10_000 {
            hear(&mut flow, 100.0, 0.0);
        }
        assert_eq!(flow.share(), 1.0);
    }
}
