//! Packets that meet by chance at a link that has room for all.
//!
//! A fluid of which less comes than a link sends waits nowhere. With packets one waits now and then for part of another
//! flow's.

/// How busy a link is where nothing waits, which says how long packets wait that meet by chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    /// The share of its rate that it sends; zero where something waits, and its queue says how long.
    pub busy: f64,
    /// Steps that a full packet takes, and its bytes.
    slot: f64,
    packet: f64,
}

/// More than such a share of a link are not packets that meet by chance.
const BUSIEST: f64 = 0.9;

impl Chance {
    /// Of an idle link at which a packet of so many bytes takes a `slot`, in steps.
    pub(super) fn new(packet: f64, slot: f64) -> Self {
        Chance {
            busy: 0.0,
            slot,
            packet,
        }
    }

    /// How long a packet waits for those of others where its flow brings so many bytes in the step, in steps.
    ///
    /// A flow does not wait for itself; others come by chance, as in M/D/1 (Pollaczek and Khinchine).
    #[inline]
    pub(super) fn wait(&self, own: f64) -> f64 {
        let others = self.others(own);
        0.5 * self.slot * others / (1.0 - others)
    }

    /// How long the one waits that waits longest: for a whole packet, if one meets another at all.
    #[inline]
    pub(super) fn longest(&self, own: f64) -> f64 {
        let meet = own / self.packet * self.others(own);
        self.slot * meet.min(1.0)
    }

    #[inline]
    fn others(&self, own: f64) -> f64 {
        (self.busy - own * self.slot / self.packet).clamp(0.0, BUSIEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_waits_for_those_of_others() {
        let link = |busy| Chance {
            busy,
            ..Chance::new(1000.0, 0.5)
        };
        // Half of its link is its own: two packets a step, which take half of it.
        assert_eq!(link(0.5).wait(1000.0), 0.0);
        assert_eq!(link(0.5).wait(0.0), 0.25);
        assert_eq!(link(1.0).wait(1000.0), 0.25);
        // One of its packets a step meets another half of the time.
        assert_eq!(link(1.0).longest(1000.0), 0.25);
        assert_eq!(link(0.75).longest(500.0), 0.125);
    }
}
