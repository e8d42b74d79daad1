//! The receiving end of a flow: which packets have arrived, and the ACK for each.
//!
//! One ACK per data packet, with the cumulative ACK and one SACK block, the
//! one that holds the packet being acknowledged (RFC 2018, section 4: the
//! first block).

/// What an ACK says about sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Every packet before this one has arrived.
    pub cumulative: u32,
    /// First packet of the SACK block and its end, exclusive; empty when the
    /// packet being acknowledged is covered by `cumulative`.
    pub block: (u32, u32),
}

/// The receiving end of one flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    /// Every packet before this one has arrived.
    cumulative: u32,
    /// Packets that have arrived, each counted once.
    distinct: u32,
    /// Runs of packets beyond the cumulative ACK, disjoint, not adjacent, ascending.
    runs: Vec<(u32, u32)>,
}

impl Receiver {
    /// Packets that have arrived, each counted once.
    #[inline]
    pub fn distinct(&self) -> u32 {
        self.distinct
    }

    /// Whether data packet `number` is the next one and nothing is missing.
    #[inline]
    pub fn expects(&self, number: u32) -> bool {
        number == self.cumulative && self.runs.is_empty()
    }

    /// Data packet `number` has arrived.
    #[inline]
    pub fn on_data(&mut self, number: u32) -> Acknowledgement {
        if self.expects(number) {
            self.cumulative += 1;
            self.distinct += 1;
            return self.acknowledge((0, 0));
        }
        self.out_of_order(number)
    }

    /// A probe has arrived: the ACK says what is known.
    pub fn on_probe(&self) -> Acknowledgement {
        self.acknowledge(self.runs.first().copied().unwrap_or((0, 0)))
    }

    fn acknowledge(&self, block: (u32, u32)) -> Acknowledgement {
        Acknowledgement {
            cumulative: self.cumulative,
            block,
        }
    }

    fn out_of_order(&mut self, number: u32) -> Acknowledgement {
        if number < self.cumulative {
            return self.acknowledge((0, 0));
        }
        // The first run that ends at or after the packet.
        let i = self.runs.partition_point(|run| run.1 < number);
        match self.runs.get(i) {
            Some(&run) if run.0 <= number && number < run.1 => return self.acknowledge(run),
            _ => self.distinct += 1,
        }
        let touches_below = self.runs.get(i).is_some_and(|run| run.1 == number);
        let above = i + usize::from(touches_below);
        let touches_above = self.runs.get(above).is_some_and(|run| run.0 == number + 1);
        let run = match (touches_below, touches_above) {
            (true, true) => {
                let (_, end) = self.runs.remove(above);
                self.runs[i].1 = end;
                self.runs[i]
            }
            (true, false) => {
                self.runs[i].1 = number + 1;
                self.runs[i]
            }
            (false, true) => {
                self.runs[i].0 = number;
                self.runs[i]
            }
            (false, false) => {
                self.runs.insert(i, (number, number + 1));
                (number, number + 1)
            }
        };
        if run.0 == self.cumulative {
            self.cumulative = run.1;
            self.runs.remove(0);
            return self.acknowledge((0, 0));
        }
        self.acknowledge(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Against a plain set of packet numbers.
        #[test]
        fn acknowledges_what_has_arrived(numbers in prop::collection::vec(0u32..40, 1..200)) {
            let (mut receiver, mut arrived) = (Receiver::default(), BTreeSet::new());
            for n in numbers {
                arrived.insert(n);
                let ack = receiver.on_data(n);
                let cumulative = (0..).find(|i| !arrived.contains(i)).unwrap();
                prop_assert_eq!(ack.cumulative, cumulative);
                prop_assert_eq!(receiver.distinct() as usize, arrived.len());
                let mut block = (0, 0);
                if n >= cumulative {
                    let first = (0..=n).rev().take_while(|i| arrived.contains(i)).last().unwrap();
                    block = (first, (n..).find(|i| !arrived.contains(i)).unwrap());
                }
                prop_assert_eq!(ack.block, block);
            }
        }
    }
}
