//! Packets that meet by chance at a link that has room for all.
//!
//! A fluid of which less comes than a link sends waits nowhere. With packets one waits now and then for part of another
//! flow's.

use super::lag;

/// How busy a link is, as packets of one of its queues find it: how long they wait for others that they meet by chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chance {
    /// The share of its rate that the link sends, and that of it which goes before a packet of this queue that comes later. Both
    /// are zero where something waits in the queue, which says itself how long.
    busy: f64,
    ahead: f64,
    waits: bool,
    /// Of flows whose packets come at even distances the sum of their shares' squares, as shares of the link.
    even: f64,
    /// Of the trains of packets that come in a step the sum of their lengths' squares, in packets; zero where packets come
    /// one by one.
    trains: f64,
    /// Whether senders pace their windows.
    paced: bool,
    /// How much later a flow hears for an ACK there.
    ack_later: f64,
    /// Steps that a full packet takes, and a byte; the packet's bytes.
    slot: f64,
    byte: f64,
    packet: f64,
    /// How many NICs fill it.
    nics: i32,
    /// Full packets in a BDP of a NIC.
    window: f64,
}

/// What flows bring to a link in a step: sums of squares, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Squares {
    /// Of flows whose packets come at even distances.
    pub even: f64,
    /// Of trains.
    pub trains: f64,
}

/// More than such a share of a link are not packets that meet by chance.
const BUSIEST: f64 = 0.9;

impl Chance {
    /// Of an idle link at which a packet of so many bytes takes a `slot`, in steps, and which so many NICs fill. Of such
    /// packets a `window` is a BDP.
    pub(super) fn new(packet: f64, slot: f64, nics: f64, window: f64) -> Self {
        Chance {
            busy: 0.0,
            ahead: 0.0,
            waits: false,
            even: 0.0,
            trains: 0.0,
            paced: true,
            ack_later: 0.0,
            slot,
            byte: slot / packet,
            packet,
            nics: nics.round().max(1.0) as i32,
            window,
        }
    }

    /// Senders do not pace their windows.
    pub(super) fn expect_trains(&mut self) {
        self.paced = false;
    }

    /// Nobody meets here by chance.
    pub(super) fn clear(&mut self) {
        self.has_room(0.0, Squares::default());
    }

    /// Nothing waits at the link, which sends such a share of its rate.
    pub(super) fn has_room(&mut self, busy: f64, squares: Squares) {
        self.set((busy, busy), false, squares);
    }

    /// Something waits at the link, but not in this queue: of the rate `ahead` goes before what comes to it later.
    pub(super) fn goes_before(&mut self, ahead: f64) {
        self.set((1.0, ahead), false, Squares::default());
    }

    /// Something waits in the queue.
    pub(super) fn queues(&mut self) {
        self.set((0.0, 0.0), true, Squares::default());
    }

    #[inline]
    fn set(&mut self, (busy, ahead): (f64, f64), waits: bool, squares: Squares) {
        (self.busy, self.ahead, self.waits) = (busy, ahead, waits);
        self.even = squares.even * (self.byte * self.byte);
        self.trains = squares.trains / (self.packet * self.packet);
        self.ack_later = self.heard_later(0.0);
    }

    /// How long a packet waits for those of others where its flow brings so many bytes in the step, in steps.
    ///
    /// A flow does not wait for itself. Others' packets come by chance, as in M/D/1 (Pollaczek and Khinchine), but for what
    /// [`Self::room`] says; what they wait for more where they come in trains is in [`Self::for_trains`].
    #[inline]
    pub(super) fn wait(&self, own: f64) -> f64 {
        let others = self.others(own, self.ahead);
        let one_by_one = 0.5 * self.slot * self.others(own, self.busy) / self.room(own, others);
        if self.trains > 0.0 {
            one_by_one + self.for_trains(own / self.packet, others)
        } else {
            one_by_one
        }
    }

    /// What waits on the mean, in bytes, as a packet that leaves sees it: what has come while it waited itself.
    ///
    /// HPCC's senders take the smaller of two queues, which two packets of a flow saw one after the other. Where packets come at even
    /// distances both are the same. The packet is one of the flow that has as much as flows have on the mean, by bytes.
    pub(super) fn queue(&self) -> f64 {
        if self.busy == 0.0 {
            return 0.0;
        }
        let own = self.even / self.busy / self.byte;
        self.wait(own) * self.busy / self.byte
    }

    /// How much later the flow hears of a packet for that, where it brings so many bytes in the step, in steps.
    ///
    /// A sender that paces its window loses more than the mean: [`lag`]. Where something waits the fluid's queue is as long as
    /// it is for the flow that fills it. Others find one packet of that on its way more.
    #[inline(always)] // out of line it costs 2% of a run
    pub(super) fn heard_later(&self, own: f64) -> f64 {
        if !self.paced {
            return self.wait(own);
        }
        if self.waits {
            return 0.5 * self.slot * (1.0 - self.share(own)).max(0.0);
        }
        let meetings = self.window * self.others(own, self.busy);
        if meetings == 0.0 {
            return 0.0;
        }
        lag::of(self.slot, 1.0 - self.others(own, self.ahead), meetings)
    }

    /// The same for its ACKs, which are small.
    #[inline]
    pub(super) fn ack_later(&self) -> f64 {
        self.ack_later
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
        let meet = own / self.packet * self.others(own, self.busy);
        self.slot * meet.min(1.0)
    }

    /// What others that go first and take such a share of the link leave for those that have met.
    ///
    /// Packets of one paced flow come at even distances and do not wait for each other. Of a single other flow one finds half a
    /// packet while it is on its way, and no queue, however busy the link is. Where n flows share it a packet waits for half of
    /// the square root of n on a full link (the mean of a Brownian bridge's maximum is a quarter more). The inverse of n is the
    /// sum of the squares of shares over the square of the sum.
    #[inline]
    fn room(&self, own: f64, others: f64) -> f64 {
        let own = self.share(own);
        let even = (self.even - own * own).clamp(0.0, others * others);
        1.0 - others + even.sqrt()
    }

    /// What a flow that brings so many bytes takes of the link.
    #[inline]
    fn share(&self, own: f64) -> f64 {
        own * self.byte
    }

    /// Of such a share of the link what others take.
    #[inline]
    fn others(&self, own: f64, all: f64) -> f64 {
        (all - self.share(own)).clamp(0.0, BUSIEST)
    }
}

#[cfg(test)]
mod tests {
    use fctlab_core::random::{mix, unit_interval};

    use super::*;

    #[test]
    fn a_packet_waits_for_those_of_others() {
        let link = |busy| {
            let mut chance = Chance::new(1000.0, 0.5, 1.0, 12.0);
            chance.has_room(busy, Squares::default());
            chance
        };
        // Half of its link is its own: two packets a step, which take half of it.
        assert_eq!(link(0.5).wait(1000.0), 0.0);
        assert_eq!(link(0.5).wait(0.0), 0.25);
        assert_eq!(link(1.0).wait(1000.0), 0.25);
        // One of its packets a step meets another half of the time.
        assert_eq!(link(1.0).longest(1000.0), 0.25);
        assert_eq!(link(0.75).longest(500.0), 0.125);
        // Who paces a window waits for nearly the longest one.
        let longest = 0.5 / 0.5;
        assert_eq!(link(0.5).heard_later(0.0), longest * lag::of_longest(6.0));
        assert_eq!(link(0.5).ack_later(), link(0.5).heard_later(0.0));
        let mut trains = Chance::new(1000.0, 0.5, 1.0, 12.0);
        trains.expect_trains();
        trains.has_room(0.5, Squares::default());
        assert_eq!((trains.heard_later(0.0), trains.ack_later()), (0.25, 0.25));
    }

    #[test]
    fn packets_of_one_paced_flow_do_not_wait_for_each_other() {
        // Of two packets a step half are others': of many flows, of four, and of one.
        let link = |busy: f64, flows: f64| {
            let mut chance = Chance::new(1000.0, 0.5, 1.0, 12.0);
            let even = flows * (2000.0 * busy / flows).powi(2);
            chance.has_room(busy, Squares { even, trains: 0.0 });
            chance
        };
        assert!((link(0.5, 1e12).wait(0.0) / 0.25 - 1.0).abs() < 1e-5);
        assert_eq!(link(0.5, 4.0).wait(0.0), 0.25 * 0.5 / (0.5 + 0.25));
        // Half of a packet's time for the one that is on its way, half of the time.
        assert_eq!(link(0.5, 1.0).wait(0.0), 0.5 * 0.5 * 0.5);
        // Its own are not among them.
        assert_eq!(link(0.5, 2.0).wait(500.0), 0.5 * 0.25 * 0.5);
        // While one of a flow of many waits for half a packet half of a packet's rate comes, and of two half of that.
        assert!((link(0.5, 1e12).queue() / (1000.0 * 0.5 * 0.5) - 1.0).abs() < 1e-5);
        assert_eq!(link(0.5, 2.0).queue(), 1000.0 * 0.5 * 0.125);
        assert_eq!(link(0.95, 1.0).queue(), 0.0);
        assert_eq!(link(0.0, 1.0).queue(), 0.0);
    }

    #[test]
    fn paced_flows_wait_as_packets_of_even_distances_do() {
        // The mean of what is ahead of a packet that comes at any time, where so many flows of one rate have any phases.
        let simulated = |flows: usize, busy: f64| {
            let period = flows as f64 / busy;
            let mut seed = 1;
            let rounds = 2000;
            let area = |_| {
                let mut comes: Vec<f64> = (0..flows)
                    .map(|_| {
                        seed = mix(seed);
                        unit_interval(seed) * period
                    })
                    .collect();
                comes.sort_by(f64::total_cmp);
                let (mut ahead, mut last, mut area) = (0.0, 0.0, 0.0);
                for round in 0..3 {
                    for &at in &comes {
                        let time = at + f64::from(round) * period;
                        if round == 2 {
                            let served = f64::min(ahead, time - last);
                            area += served * (ahead - served / 2.0);
                        }
                        ahead = f64::max(ahead - (time - last), 0.0) + 1.0;
                        last = time;
                    }
                }
                area / period
            };
            (0..rounds).map(area).sum::<f64>() / f64::from(rounds)
        };
        for flows in [2, 3, 5, 10] {
            for busy in [0.3, 0.5, 0.7, 0.9] {
                let mut chance = Chance::new(1.0, 1.0, 1.0, 12.0);
                let even = flows as f64 * (busy / flows as f64).powi(2);
                chance.has_room(busy, Squares { even, trains: 0.0 });
                let (truth, told) = (simulated(flows, busy), chance.wait(0.0));
                assert!(
                    told > 0.8 * truth && told < 1.02 * truth,
                    "{flows} {busy}: {told} {truth}"
                );
            }
        }
    }

    #[test]
    fn a_queue_that_goes_first_waits_for_the_packet_on_its_way() {
        let mut chance = Chance::new(1000.0, 0.5, 1.0, 12.0);
        chance.goes_before(0.5);
        assert_eq!(chance.wait(0.0), 0.5 * 0.5 * BUSIEST / 0.5);
        assert_eq!(chance.wait(1000.0), 0.5 * 0.5 * 0.5);
        chance.queues();
        assert_eq!(chance.wait(0.0), 0.0);
        // Its own packets are not on their way when one more of them comes.
        assert_eq!(chance.heard_later(0.0), 0.25);
        assert_eq!(chance.heard_later(2000.0), 0.0);
        chance.expect_trains();
        assert_eq!(chance.heard_later(0.0), 0.0);
    }

    #[test]
    fn trains_wait_where_they_meet() {
        // Half of the link is two packets a step of one other flow.
        let link = |nics, busy, trains| {
            let mut chance = Chance::new(1000.0, 0.25, nics, 12.0);
            let trains = trains * (1000.0 * 1000.0);
            chance.has_room(busy, Squares { trains, even: 0.0 });
            chance
        };
        assert_eq!(link(1.0, 0.5, 2.0).wait(0.0), 0.125);
        // In M/G/1 0.125 (4 x 0.25) / 0.5, of which half is yet to come.
        assert_eq!(link(1.0, 0.5, 4.0).wait(0.0), 0.125 + 0.0625);
        assert_eq!(link(2.0, 0.5, 4.0).wait(0.0), 0.125 + 0.03125);
        // A train of three meets it: as many more packets come while it does.
        let met = link(1.0, 1.25, 4.0 + 9.0);
        assert_eq!(met.wait(3000.0), 0.125 + 0.0625 + 0.125 * 2.0 * 0.5);
    }
}
