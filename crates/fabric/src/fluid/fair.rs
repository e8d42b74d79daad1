//! Ports that serve the flows of a queue fairly: a queue of its own for each of them, ACKs before all.
//!
//! As a fluid that is generalised processor sharing (Parekh and Gallager, ToN 1(3), 1993). Packets leave whole, the one
//! with the smallest finish tag first (Demers, Keshav and Shenker, SIGCOMM 1989, as the packet engine's `fq` has them).

/// A step in which flows of a class wait.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// How many of them have a packet there, on average.
    busy: f64,
    /// Bytes that each gets at most.
    level: f64,
    /// What a packet of the class takes.
    slot: f64,
}

/// The flows at fair ports. Times are in steps.
#[derive(Debug)]
pub(super) struct Fair {
    /// By queue of a class the queues of its flows.
    members: Vec<Vec<u32>>,
    /// The last step of each class.
    last: Vec<Last>,
    wants: Vec<f64>,
}

impl Fair {
    /// Of ports with so many queues of classes, in which nobody waits.
    pub(super) fn new(queues: usize) -> Self {
        Fair {
            members: vec![Vec::new(); queues],
            last: vec![Last::default(); queues],
            wants: Vec::new(),
        }
    }

    /// A flow of the class of `queue` has its own queue `lane` there.
    pub(super) fn join(&mut self, queue: u32, lane: u32) {
        self.members[queue as usize].push(lane);
    }

    /// It has ended.
    pub(super) fn leave(&mut self, queue: u32, lane: u32) {
        let members = &mut self.members[queue as usize];
        members.retain(|&member| member != lane);
        if members.is_empty() {
            self.rest(queue);
        }
    }

    /// The queues of the flows of a class.
    pub(super) fn members(&self, queue: u32) -> &[u32] {
        &self.members[queue as usize]
    }

    /// What each flow of a class gets of `all` at most, of whose queues so much could be sent; infinite if it suffices.
    pub(super) fn level(&mut self, queue: u32, could: impl Fn(u32) -> f64, all: f64) -> f64 {
        let members = self.members[queue as usize].iter();
        self.wants.clear();
        self.wants.extend(members.map(|&lane| could(lane)));
        level(&mut self.wants, all)
    }

    /// In a step so many flows of a class have a packet there on average, each gets `level` at most, and a packet takes a
    /// `slot`.
    pub(super) fn note(&mut self, queue: u32, busy: f64, level: f64, slot: f64) {
        self.last[queue as usize] = Last { busy, level, slot };
    }

    /// In a step nobody of a class waits.
    pub(super) fn rest(&mut self, queue: u32) {
        self.last[queue as usize] = Last::default();
    }

    /// How long a packet waits that waits for so long in the fluid, of a flow that brings `own` in the step and waits or
    /// not.
    ///
    /// The fluid has served half of a packet of each other flow that waits when it takes the next of this one. By then
    /// packets of half of them are gone, those of the others go first: what waits leaves earlier by as much, what
    /// comes more slowly than it may waits for as much.
    pub(super) fn waits(&self, queue: u32, (own, waits): (f64, bool), fluid: f64) -> f64 {
        let Last { busy, level, slot } = self.last[queue as usize];
        let itself = if waits { 1.0 } else { (own / level).min(1.0) };
        let half = 0.5 * (busy - itself).max(0.0) * slot;
        half.max(fluid - half)
    }
}

/// What each gets at most when `all` is divided among those who want so much; infinite if it suffices.
pub(super) fn level(wants: &mut [f64], all: f64) -> f64 {
    if wants.iter().sum::<f64>() <= all {
        return f64::INFINITY;
    }
    wants.sort_unstable_by(f64::total_cmp);
    let (mut rest, mut waiting) = (all, wants.len() as f64);
    for &want in wants.iter() {
        if want * waiting > rest {
            break;
        }
        rest -= want;
        waiting -= 1.0;
    }
    rest / waiting.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_want_less_get_it() {
        assert_eq!(level(&mut [5.0, 1.0, 9.0], 9.0), 4.0);
        assert_eq!(level(&mut [5.0, 5.0], 4.0), 2.0);
        assert_eq!(level(&mut [5.0, 1.0], 6.0), f64::INFINITY);
        let mut fair = Fair::new(1);
        fair.join(0, 4);
        fair.join(0, 5);
        assert_eq!(fair.level(0, f64::from, 9.0), f64::INFINITY);
        assert_eq!(fair.level(0, f64::from, 6.0), 3.0);
    }

    #[test]
    fn half_of_the_packets_of_others_go_first() {
        let mut fair = Fair::new(1);
        fair.note(0, 4.0, 1000.0, 0.5);
        // Four others wait: two of their packets go first.
        assert_eq!(fair.waits(0, (0.0, false), 0.0), 1.0);
        // Alone in the fluid one of its own takes as long as five.
        assert_eq!(fair.waits(0, (0.0, false), 2.0), 1.0);
        // It is one of the four, or as good as one half of the time.
        assert_eq!(fair.waits(0, (0.0, true), 10.0), 9.25);
        assert_eq!(fair.waits(0, (500.0, false), 0.0), 0.875);
    }

    #[test]
    fn who_has_left_does_not_wait() {
        let mut fair = Fair::new(2);
        fair.join(1, 7);
        fair.join(1, 8);
        fair.leave(1, 7);
        assert_eq!((fair.members(0), fair.members(1)), (&[][..], &[8][..]));
        fair.note(1, 1.0, 1.0, 1.0);
        fair.leave(1, 8);
        assert_eq!(fair.waits(1, (1.0, true), 0.0), 0.0);
    }
}
