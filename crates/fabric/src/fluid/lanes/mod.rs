//! Queues that serve in order of arrival, as curves: what has come to each by the end of every step, and when
//! that had come which leaves then.
//!
//! All that a flow hears follows from the second: its bytes leave a queue at a time when they had come at another, so what
//! has left is what the flow had sent by a time that is found link by link, back along its path. Nothing is
//! kept by flow and queue, nothing blurs from link to link, and a small flow waits for exactly what was there before it.

mod lane;

use fctlab_link::Backlog;

use self::lane::{Brief, Lane, Past};
pub(super) use self::lane::{Marks, Service};
use super::clock::{end_of, step_at};
use super::histories::Histories;

/// Where the last byte of a flow is.
#[derive(Clone, Copy, Debug)]
pub(super) enum LastByte {
    /// It comes to a queue at that time, in the last step.
    At(f64),
    /// It waits, and leaves when so many bytes have left since the beginning.
    Behind(f64),
}

/// The queues of all links.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    briefs: Vec<Brief>,
    /// The last steps of each lane in which something waits or is marked.
    past: Histories<Past>,
    /// Before that nothing waited anywhere.
    begin: f64,
    /// Those that nobody uses.
    free: Vec<u32>,
}

impl Lanes {
    /// Empty ones.
    pub(super) fn new(marks: &[Marks]) -> Self {
        Lanes {
            past: Histories::new(marks.len()),
            lanes: marks.iter().copied().map(Lane::new).collect(),
            briefs: vec![Brief::default(); marks.len()],
            begin: 0.0,
            free: Vec::new(),
        }
    }

    /// An empty one more, for what comes after step `now`.
    pub(super) fn open(&mut self, marks: Marks, now: u64) -> u32 {
        let lane = self.free.pop().unwrap_or_else(|| {
            let lane = self.lanes.len() as u32;
            self.lanes.push(Lane::new(marks));
            self.briefs.push(Brief::default());
            self.past.add();
            lane
        });
        let number = lane as usize;
        self.lanes[number] = Lane::new(marks);
        self.past.forget(lane);
        self.briefs[number] = Brief::since(end_of(now));
        lane
    }

    /// Nobody uses `lane`, in which nothing waits, any more.
    pub(super) fn close(&mut self, lane: u32) {
        self.free.push(lane);
    }

    /// So many bytes come to `lane` in this step.
    #[inline]
    pub(super) fn add(&mut self, lane: u32, bytes: f64) {
        self.briefs[lane as usize].inflow += bytes;
    }

    /// So many bytes of ACKs come to `lane` in the step after `now`.
    #[inline]
    pub(super) fn add_acks(&mut self, lane: u32, now: u64, bytes: f64) {
        self.briefs[lane as usize].acks.add(now, bytes);
    }

    /// Those come that do in the step that ends at `now`; returns all that comes in it.
    #[inline]
    pub(super) fn take_acks(&mut self, lane: u32, now: u64) -> f64 {
        let brief = &mut self.briefs[lane as usize];
        brief.inflow += brief.acks.come(now);
        brief.inflow
    }

    /// Since when nothing has waited in `lane` nor been marked; infinite while something waits.
    #[inline]
    pub(super) fn quiet(&self, lane: u32) -> f64 {
        self.briefs[lane as usize].quiet
    }

    /// Whether something waits in `lane` at the end of the last step that it was served in.
    #[inline]
    pub(super) fn is_waiting(&self, lane: u32) -> bool {
        self.briefs[lane as usize].quiet == f64::INFINITY
    }

    /// What waited in `lane` before this step.
    pub(super) fn waits(&self, lane: u32) -> f64 {
        let lane = &self.lanes[lane as usize];
        lane.arrived - lane.left
    }

    /// What comes to `lane` in this step.
    #[inline]
    pub(super) fn comes(&self, lane: u32) -> f64 {
        self.briefs[lane as usize].inflow
    }

    /// What waits in `lane` or comes to it in this step.
    pub(super) fn offered(&self, lane: u32) -> f64 {
        self.waits(lane) + self.briefs[lane as usize].inflow
    }

    /// Nothing waits and nobody sends until step `now` is over.
    pub(super) fn skip(&mut self, now: u64) {
        self.begin = end_of(now);
        for brief in &mut self.briefs {
            brief.clear = end_of(now);
            brief.quiet = end_of(now);
        }
    }

    /// In the step that ends at `now` all leaves that comes to `lane`, if nothing waits and `capacity` suffices.
    #[inline]
    pub(super) fn passes(&mut self, lane: u32, now: u64, capacity: f64) -> bool {
        let brief = &mut self.briefs[lane as usize];
        let bytes = brief.inflow;
        if bytes > capacity || brief.quiet == f64::INFINITY {
            return false;
        }
        brief.inflow = 0.0;
        self.lanes[lane as usize].pass(now, bytes, capacity - bytes);
        true
    }

    /// The same where other queues of the link leave `rest` beside it.
    pub(super) fn pass(&mut self, lane: u32, now: u64, rest: f64) {
        let bytes = std::mem::take(&mut self.briefs[lane as usize].inflow);
        self.lanes[lane as usize].pass(now, bytes, rest);
    }

    /// Serves a queue in the step that ends at `now`; returns what waits then.
    pub(super) fn serve(&mut self, lane: u32, now: u64, service: &Service) -> f64 {
        let start = end_of(now - 1);
        let known = &mut self.lanes[lane as usize];
        let brief = &mut self.briefs[lane as usize];
        let before = known.arrived - known.left;
        known.take(now, std::mem::take(&mut brief.inflow), service);
        let after = known.arrived - known.left;
        let backlog = service.port.unwrap_or(Backlog { before, after });
        let marked = backlog.above(known.marks.threshold);
        let marked = marked.map(|(from, to)| (start + from, start + to));
        if let Some((_, until)) = marked {
            brief.marked_until = until;
        }
        let (waits, waited) = (after > 0.0, brief.clear > start);
        if waits {
            brief.clear = f64::INFINITY;
        } else if waited {
            brief.clear = end_of(now);
        }
        brief.quiet = brief.clear.max(brief.marked_until);
        if waits || waited || marked.is_some() {
            if waits && !waited {
                self.begin_waiting(lane, now - 1);
            }
            let came = if waits {
                self.find(lane, now)
            } else {
                end_of(now)
            };
            let past = Past {
                step: now,
                came,
                arrived: self.lanes[lane as usize].arrived,
                marked: marked.unwrap_or_default(),
            };
            self.past.put(lane, past);
        }
        after
    }

    /// Until the end of `step` nothing waits, and then something does.
    fn begin_waiting(&mut self, lane: u32, step: u64) {
        let known = &mut self.lanes[lane as usize];
        known.head = step;
        let before = self.past.at(lane, step).copied();
        let before = before.unwrap_or(Past {
            step,
            came: end_of(step),
            ..Past::default()
        });
        let arrived = known.arrived_before;
        self.past.put(lane, Past { arrived, ..before });
    }

    /// When that had come which has left of `lane` at the end of step `now`, of which the past does not tell yet.
    fn find(&mut self, lane: u32, now: u64) -> f64 {
        let Lane {
            left,
            arrived: all,
            mut head,
            ..
        } = self.lanes[lane as usize];
        let arrived = |step| self.past.at(lane, step).map_or(all, |past| past.arrived);
        let mut before = arrived(head);
        let mut after = arrived(head + 1);
        while head + 1 < now && after <= left {
            head += 1;
            (before, after) = (after, arrived(head + 1));
        }
        self.lanes[lane as usize].head = head;
        let into = (left - before) / (after - before);
        if into.is_nan() {
            return head as f64;
        }
        head as f64 + into.clamp(0.0, 1.0)
    }

    /// When that had come to `lane` which left it at `time`, in a step that is over.
    #[inline(always)] // see `Curve::at`
    pub(super) fn came(&self, lane: u32, time: f64) -> f64 {
        if time >= self.briefs[lane as usize].clear || time <= self.begin {
            return time;
        }
        let step = step_at(time);
        let at = |step| {
            let past = self.past.at(lane, step);
            past.map_or(end_of(step), |past| past.came)
        };
        let (before, into) = (at(step), time - end_of(step));
        if into == 0.0 {
            return before;
        }
        before + into * (at(step + 1) - before)
    }

    /// When a flow's last byte leaves `lane`, if it does until the end of the last step, `now`, and at what rate at most those
    /// before it do. Of the flow `own` bytes came in that step, at a rate of `pace`.
    pub(super) fn leaves(
        &self,
        lane: u32,
        byte: &mut LastByte,
        (own, pace): (f64, f64),
        now: u64,
    ) -> Option<(f64, f64)> {
        let lane = &self.lanes[lane as usize];
        let start = end_of(now - 1);
        let time = match *byte {
            LastByte::At(time) if lane.step != now => return Some((time, f64::INFINITY)),
            LastByte::Behind(bytes) if bytes > lane.left => return None,
            LastByte::Behind(bytes) => {
                let into = (bytes - lane.left_before) / lane.rate;
                return Some((start + into.clamp(0.0, 1.0), lane.rate));
            }
            LastByte::At(time) => time,
        };
        // Others' bytes come evenly; the flow's own all come before its last one.
        let others = lane.arrived - lane.arrived_before - own;
        let bytes = lane.arrived_before + own + others * (time - start);
        // No more than has come, to the last digit: counting begins anew when all of it has left.
        let bytes = bytes.min(lane.arrived);
        if bytes > lane.left {
            *byte = LastByte::Behind(bytes);
            return None;
        }
        let growth = others - lane.rate;
        let first = if own > 0.0 {
            (time - own / pace).max(start)
        } else {
            time
        };
        let waited = lane.arrived_before - lane.left_before + growth * (first - start);
        let waits = waited.max(0.0) + own + growth * (time - first);
        let leaves = time + waits.max(0.0) / lane.rate;
        Some((leaves.min(end_of(now)).max(time), lane.rate))
    }

    /// Of what left `lane` from `from` to `to` that which was marked, between such shares of it.
    pub(super) fn marked(&self, lane: u32, from: f64, to: f64) -> Option<(f64, f64)> {
        let (from, to) = if self.lanes[lane as usize].marks.arrivals {
            (self.came(lane, from), self.came(lane, to))
        } else {
            (from, to)
        };
        let (first, last) = self.marked_between(lane, from, to)?;
        let share = |time| (time - from) / (to - from);
        Some((share(first), share(last)))
    }

    /// The part of the time from `from` to `to` in which marks were made.
    fn marked_between(&self, lane: u32, from: f64, to: f64) -> Option<(f64, f64)> {
        if from >= self.briefs[lane as usize].marked_until || from < self.begin {
            return None;
        }
        let mut all: Option<(f64, f64)> = None;
        for step in step_at(from) + 1..=step_at(to) + 1 {
            let Some(past) = self.past.at(lane, step) else {
                continue;
            };
            let (mut first, mut last) = past.marked;
            if first < from {
                first = from;
            }
            if last > to {
                last = to;
            }
            if first < last {
                all = Some((all.map_or(first, |all| all.0), last));
            }
        }
        all
    }

    /// Keeps at least the last `steps` steps from now on.
    pub(super) fn keep(&mut self, steps: u64) {
        self.past.keep(steps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lane to which so much comes in each step, served at 10 a step.
    fn lane(inflows: &[f64], threshold: f64) -> Lanes {
        let mut lanes = Lanes::new(&[Marks {
            threshold,
            arrivals: false,
        }]);
        for (now, &inflow) in (1u64..).zip(inflows) {
            lanes.add(0, inflow);
            let served = lanes.offered(0).min(10.0);
            let service = Service {
                served,
                rate: 10.0,
                port: None,
            };
            lanes.serve(0, now, &service);
        }
        lanes
    }

    #[test]
    fn what_leaves_had_come_in_its_order() {
        let lanes = lane(&[5.0, 20.0, 10.0, 0.0, 5.0], 100.0);
        let came = |time| lanes.came(0, time);
        assert_eq!([1.0, 2.0, 3.0].map(came), [1.0, 1.5, 2.0]);
        // Empty after the fourth step.
        assert_eq!([4.0, 4.5, 5.0].map(came), [4.0, 4.5, 5.0]);
        assert_eq!(came(2.5), 1.75);
    }

    #[test]
    fn a_byte_leaves_when_all_before_it_have_left() {
        // Half of the 20 bytes of a step are a flow's own, sent from 0.25 to 0.75; those of others come evenly.
        let lanes = lane(&[20.0], 100.0);
        let mut byte = LastByte::At(0.75);
        assert_eq!(lanes.leaves(0, &mut byte, (10.0, 20.0), 1), None);
        assert!(matches!(byte, LastByte::Behind(bytes) if bytes == 17.5));
        let lanes = lane(&[20.0, 10.0], 100.0);
        let leaves = lanes.leaves(0, &mut byte, (0.0, 20.0), 2);
        assert_eq!(leaves, Some((1.75, 10.0)));
        // The same where nothing is left in the end: 5 of the flow in a quarter, and 4 of others all the time.
        let lanes = lane(&[9.0], 100.0);
        let leaves = lanes.leaves(0, &mut LastByte::At(0.5), (5.0, 20.0), 1);
        assert_eq!(leaves, Some((0.5 + (5.0 + 1.0 - 2.5) / 10.0, 10.0)));
    }

    #[test]
    fn marks_begin_where_the_queue_passes_the_threshold() {
        let lanes = lane(&[20.0, 20.0, 0.0], 15.0);
        assert_eq!(lanes.marked_between(0, 0.0, 1.0), None);
        assert_eq!(lanes.marked_between(0, 1.0, 2.0), Some((1.5, 2.0)));
        assert_eq!(lanes.marked_between(0, 1.75, 2.75), Some((1.75, 2.5)));
        assert_eq!(lanes.marked_between(0, 2.5, 3.0), None);
    }

    #[test]
    fn a_queue_that_is_used_again_has_no_past() {
        let mut lanes = lane(&[20.0, 20.0], 5.0);
        let marks = lanes.lanes[0].marks;
        let other = lanes.open(marks, 2);
        assert_eq!((other, lanes.waits(other)), (1, 0.0));
        lanes.close(0);
        assert_eq!(lanes.open(marks, 2), 0);
        assert_eq!(lanes.came(0, 2.0), 2.0);
        assert_eq!(lanes.marked_between(0, 1.0, 2.0), None);
        assert!(!lanes.is_waiting(0));
    }
}
