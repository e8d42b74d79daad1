//! Incast: a query is answered by many hosts at once (Chen et al., WREN 2009).
//!
//! The arrival process draws the instants of queries. A query has one receiver
//! and `fanin` distinct senders, whose flows all start at that instant and
//! carry the query's number. A limit on flows may cut the last query short.

use std::ops::Range;

use fctlab_core::{Bytes, SpecError, spec};
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Draw, Endpoints, Part, all_others, other, receiver};
use crate::sizes::{allowed, not_a_flow_size};
use crate::{HostLayout, draw::below};

/// Queries: `fanin` random hosts to one receiver at the same instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Senders of each query, all different.
    #[serde(deserialize_with = "spec::whole::<_, 1, 4294967295>")]
    #[schemars(range(min = 1))]
    pub fanin: u32,
    /// The receiver of every query. Default: the topology's one receiver if it
    /// has one, else drawn anew for each query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<u32>,
    /// Payload bytes of a query, split evenly over its flows (the first ones
    /// carry the odd bytes); the workload then plays no role. Default: each
    /// flow's size is drawn from the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query_size: Option<Bytes>,
}

/// Incast traffic; its load is that of the receiver's link, or spread over
/// every host's link when receivers are random.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    fixed_receiver: Option<u32>,
    query_size: Option<Bytes>,
    hosts: u32,
    /// The current query, its receiver, and how many of its flows are drawn.
    query: u32,
    receiver: u32,
    drawn: u32,
    fanin: u32,
    /// Every sender of a query, numbered without its receiver, in an order that
    /// each query shuffles a little more.
    senders: Vec<u32>,
}

impl Part for Spec {
    type Pattern = Pattern;
    fn resolve(&mut self, layout: &HostLayout) {
        self.receiver = self.receiver.or(layout.sink);
    }
    fn build(&self, layout: &HostLayout, _: &mut Pcg64) -> Result<Pattern, SpecError> {
        let (fanin, others) = (self.fanin, layout.hosts() - 1);
        if !(1..=others).contains(&fanin) {
            let message =
                format!("{fanin} is not in [1, {others}]: the hosts without the receiver");
            return Err(SpecError::new("fanin", message));
        }
        if let Some(size) = self.query_size {
            let message = match size.get() {
                _ if !allowed(size) => not_a_flow_size(size),
                n if n < u64::from(fanin) => {
                    format!("{size} is less than one byte for each of {fanin} senders")
                }
                _ => String::new(),
            };
            if !message.is_empty() {
                return Err(SpecError::new("query_size", message));
            }
        }
        let fixed = self.receiver.or(layout.sink);
        Ok(Pattern {
            fixed_receiver: fixed.map(|host| receiver(host, layout)).transpose()?,
            query_size: self.query_size,
            hosts: layout.hosts(),
            query: u32::MAX,
            receiver: 0,
            drawn: fanin,
            fanin,
            senders: (0..others).collect(),
        })
    }
}

impl Pattern {
    /// The next flow of the query, or of the next one, whose receiver `asks` names.
    fn next_of(&mut self, rng: &mut Pcg64, asks: impl Fn(&mut Pcg64) -> u32) -> Endpoints {
        if self.drawn == self.fanin {
            self.drawn = 0;
            self.query = self.query.wrapping_add(1);
            self.receiver = asks(rng);
        }
        // One step of a Fisher-Yates shuffle: uniform over those not drawn yet.
        let place = self.drawn;
        self.drawn += 1;
        let left = self.senders.len() as u32 - place;
        self.senders
            .swap(place as usize, (place + below(rng, left)) as usize);
        let src = other(self.senders[place as usize], self.receiver);
        Endpoints {
            src,
            dst: self.receiver,
            query: Some(self.query),
            place,
        }
    }
}

impl Draw for Pattern {
    fn next(&mut self, rng: &mut Pcg64) -> Endpoints {
        let (fixed, hosts) = (self.fixed_receiver, self.hosts);
        self.next_of(rng, |rng| fixed.unwrap_or_else(|| below(rng, hosts)))
    }
    fn next_at(&mut self, host: u32, rng: &mut Pcg64) -> Endpoints {
        self.next_of(rng, |_| host)
    }
    fn queries_at(&self, host: u32) -> Option<f64> {
        Some(match self.fixed_receiver {
            Some(receiver) => f64::from(u8::from(receiver == host)),
            None => 1.0 / f64::from(self.hosts),
        })
    }
    fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64)) {
        let others = f64::from(self.hosts - 1);
        match self.fixed_receiver {
            Some(receiver) if receiver == src => {}
            Some(receiver) => to(receiver..receiver + 1, 1.0 / others),
            None => all_others(self.hosts, src, f64::from(self.hosts) * others, to),
        }
    }
    fn is_loaded(&self, host: u32) -> bool {
        self.fixed_receiver.is_none_or(|receiver| receiver == host)
    }
    fn flows_per_arrival(&self) -> u32 {
        self.fanin
    }
    fn query_size(&self) -> Option<Bytes> {
        self.query_size
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{build, draw, leaf_spine, star};
    use proptest::prelude::*;
    use serde_json::json;

    proptest! {
        #[test]
        fn a_query_has_one_receiver_and_distinct_senders(hosts in 2u32..40, fanin in 1u32..39) {
            prop_assume!(fanin < hosts);
            let flows = draw(json!({"kind": "incast", "fanin": fanin}), &leaf_spine(1, hosts), 20 * fanin as usize);
            for (query, flows) in flows.chunks(fanin as usize).enumerate() {
                let mut senders: Vec<_> = flows.iter().map(|e| e.src).collect();
                senders.sort_unstable();
                senders.dedup();
                prop_assert_eq!(senders.len(), fanin as usize);
                for (place, e) in flows.iter().enumerate() {
                    prop_assert_eq!((e.query, e.place), (Some(query as u32), place as u32));
                    prop_assert!(e.dst == flows[0].dst && e.src != e.dst && e.src < hosts);
                }
            }
        }
    }

    #[test]
    fn every_sender_is_equally_likely() {
        let mut counts = [0u32; 5];
        for e in draw(
            json!({"kind": "incast", "fanin": 2, "receiver": 2}),
            &leaf_spine(1, 5),
            80_000,
        ) {
            counts[e.src as usize] += 1;
        }
        // Half of 40000 queries: five standard deviations are 500.
        for (host, n) in counts.into_iter().enumerate() {
            assert!(
                n.abs_diff(if host == 2 { 0 } else { 20_000 }) < 500,
                "{host}: {n}"
            );
        }
    }

    #[test]
    fn a_star_has_one_receiver() {
        let flows = draw(json!({"kind": "incast", "fanin": 3}), &star(8), 99);
        assert!(flows.iter().all(|e| e.dst == 7));
    }

    #[test]
    fn errors() {
        let error = |json| build(json, &leaf_spine(1, 4)).unwrap_err().to_string();
        assert_eq!(
            error(json!({"kind": "incast", "fanin": 4})),
            "fanin: 4 is not in [1, 3]: the hosts without the receiver"
        );
        assert_eq!(
            error(json!({"kind": "incast", "fanin": 0})),
            "fanin: 0 is not a whole number from 1 to 4,294,967,295"
        );
        assert_eq!(
            error(json!({"kind": "incast", "fanin": 3, "query_size": "2B"})),
            "query_size: 2B is less than one byte for each of 3 senders"
        );
        assert_eq!(
            error(json!({"kind": "incast", "fanin": 3, "receiver": 9})),
            "receiver: 9 is not a host; hosts are 0 to 3"
        );
    }
}
