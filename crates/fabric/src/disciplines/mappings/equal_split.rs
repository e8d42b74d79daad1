//! Equal split: every queue gets the same number of packets (ADS, section 3.2,
//! after pFabric, SIGCOMM 2013, section 7).

use serde::{Deserialize, Serialize};

use super::{Histogram, Map};

/// The same number of packets for each queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Map for Spec {
    fn thresholds(&self, seen: &Histogram<'_>, queues: usize) -> Vec<u32> {
        let total: u64 = seen.packets.iter().sum();
        let (mut below, mut value, mut last) = (0, 0, 0);
        let cut = |i: usize| {
            // Packets that should lie in the queues up to here; the nearest
            // value border, the lower of two equally near. Values that were
            // not seen belong to the queue after.
            let wanted = total * i as u64 / queues as u64;
            while let Some(&packets) = seen.packets.get(value)
                && below + packets <= wanted
            {
                if packets > 0 {
                    last = value;
                }
                below += packets;
                value += 1;
            }
            let next = below + seen.packets.get(value).copied().unwrap_or(0);
            if next > wanted && next - wanted < wanted - below {
                value as u32
            } else {
                last as u32
            }
        };
        (1..queues).map(cut).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split(packets: &[u64], queues: usize) -> Vec<u32> {
        Spec {}.thresholds(
            &Histogram {
                packets,
                capacity: 1.0,
            },
            queues,
        )
    }

    #[test]
    fn by_hand() {
        assert_eq!(split(&[0, 4, 4, 4, 4], 4), [1, 2, 3]);
        assert_eq!(split(&[0, 4, 4, 4, 4], 2), [2]);
        // A value of more than a queue's share: its neighbours stay empty.
        assert_eq!(split(&[0, 1, 98, 1], 4), [1, 1, 2]);
        assert_eq!(split(&[0, 7], 1), [0u32; 0]);
    }

    proptest! {
        /// Each queue is within one value's count of its share, on either side.
        #[test]
        fn queues_are_equal_within_one_values_count(
            packets in prop::collection::vec(0u64..100, 1..60),
            queues in 1usize..10,
        ) {
            let total: u64 = packets.iter().sum();
            prop_assume!(total > 0);
            let cuts = split(&packets, queues);
            prop_assert_eq!(cuts.len(), queues - 1);
            prop_assert!(cuts.is_sorted());
            let most = *packets.iter().max().unwrap();
            let mut from = 0;
            for i in 0..queues {
                let to = cuts.get(i).map_or(packets.len(), |&t| (t as usize + 1).max(from));
                let held: u64 = packets[from.min(packets.len())..to.min(packets.len())].iter().sum();
                prop_assert!(held.abs_diff(total / queues as u64) <= most + 1, "{cuts:?} queue {i}: {held} of {total}");
                from = to;
            }
        }
    }
}
