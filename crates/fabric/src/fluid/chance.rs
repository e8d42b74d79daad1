//! Packets that meet by chance at a link that has room for all.
//!
//! A fluid of which less comes than a link sends waits nowhere. With packets one waits now and then for part of another
//! flow's.

/// How busy a link is where nothing waits, which says how long packets wait that meet by chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    /// The share of its rate that it sends; zero where something waits, and its queue says how long.
    pub busy: f64,
    /// Of the trains of packets that come in a step the sum of their lengths' squares, in packets; zero where packets come
    /// one by one.
    pub trains: f64,
    /// Steps that a full packet takes, and its bytes.
    slot: f64,
    packet: f64,
    /// How many NICs fill it.
    nics: i32,
}

/// More than such a share of a link are not packets that meet by chance.
const BUSIEST: f64 = 0.9;

impl Chance {
    /// Of an idle link at which a packet of so many bytes takes a `slot`, in steps, and which so many NICs fill.
    pub(super) fn new(packet: f64, slot: f64, nics: f64) -> Self {
        Chance {
            busy: 0.0,
            trains: 0.0,
            slot,
            packet,
            nics: nics.round().max(1.0) as i32,
        }
    }

    /// Nobody meets here by chance.
    pub(super) fn clear(&mut self) {
        (self.busy, self.trains) = (0.0, 0.0);
    }

    /// How long a packet waits for those of others where its flow brings so many bytes in the step, in steps.
    ///
    /// A flow does not wait for itself. Others' packets come by chance, as in M/D/1 (Pollaczek and Khinchine); what they
    /// wait for more where they come in trains is in [`Self::for_trains`].
    #[inline]
    pub(super) fn wait(&self, own: f64) -> f64 {
        let others = self.others(own);
        let one_by_one = 0.5 * self.slot * others / (1.0 - others);
        if self.trains > 0.0 {
            one_by_one + self.for_trains(own / self.packet, others)
        } else {
            one_by_one
        }
    }

    /// How much longer a packet of a train of `own` waits where `others` come in trains, too, each at the rate of a NIC.
    ///
    /// Where that is the link's as well, the link sends as long as any train comes. So what waits is what would wait in
    /// M/G/1, where trains come at once, less what is yet to come of those under way. The packets of a train that others
    /// meet wait for what comes of these meanwhile. A link of several times that rate waits only if so many meet: the power is
    /// an estimate, right where it is almost idle and where it is almost full.
    fn for_trains(&self, own: f64, others: f64) -> f64 {
        let trains = (self.slot * (self.trains - own * own)).max(others);
        let before = others * (trains - others) / (1.0 - others);
        let meanwhile = (own - 1.0).max(0.0) * others;
        let several: f64 = (1..self.nics).map(|_| others).product();
        0.5 * self.slot * (before + meanwhile) * several
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
            ..Chance::new(1000.0, 0.5, 1.0)
        };
        // Half of its link is its own: two packets a step, which take half of it.
        assert_eq!(link(0.5).wait(1000.0), 0.0);
        assert_eq!(link(0.5).wait(0.0), 0.25);
        assert_eq!(link(1.0).wait(1000.0), 0.25);
        // One of its packets a step meets another half of the time.
        assert_eq!(link(1.0).longest(1000.0), 0.25);
        assert_eq!(link(0.75).longest(500.0), 0.125);
    }

    #[test]
    fn trains_wait_where_they_meet() {
        // Half of the link is two packets a step of one other flow.
        let link = |nics| Chance {
            busy: 0.5,
            trains: 4.0,
            ..Chance::new(1000.0, 0.25, nics)
        };
        let one_by_one = Chance {
            trains: 2.0,
            ..link(1.0)
        };
        assert_eq!(one_by_one.wait(0.0), 0.125);
        // In M/G/1 0.125 (4 x 0.25) / 0.5, of which half is yet to come.
        assert_eq!(link(1.0).wait(0.0), 0.125 + 0.0625);
        assert_eq!(link(2.0).wait(0.0), 0.125 + 0.03125);
        // A train of three meets it: as many more packets come while it does.
        let met = Chance {
            busy: 1.25,
            trains: 4.0 + 9.0,
            ..link(1.0)
        };
        assert_eq!(met.wait(3000.0), 0.125 + 0.0625 + 0.125 * 2.0 * 0.5);
    }
}
