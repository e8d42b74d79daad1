//! Many-to-one: one receiver, senders uniform over the other hosts (D-SRTF, figure 2).

use std::ops::Range;

use fctlab_core::SpecError;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};

use super::{Draw, Endpoints, Part, other, receiver};
use crate::{HostLayout, draw::below};

/// All hosts to one receiver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// The receiving host. Default: the topology's one receiver if it has one, else the last host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<u32>,
}

/// Many-to-one traffic; its load is that of the receiver's link.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    receiver: u32,
    senders: u32,
}

impl Part for Spec {
    type Pattern = Pattern;
    fn resolve(&mut self, layout: &HostLayout) {
        let default = layout.sink.unwrap_or(layout.hosts().saturating_sub(1));
        self.receiver.get_or_insert(default);
    }
    fn build(&self, layout: &HostLayout, _: &mut Pcg64) -> Result<Pattern, SpecError> {
        let default = layout.sink.unwrap_or(layout.hosts() - 1);
        let receiver = receiver(self.receiver.unwrap_or(default), layout)?;
        Ok(Pattern {
            receiver,
            senders: layout.hosts() - 1,
        })
    }
}

impl Draw for Pattern {
    fn next(&mut self, rng: &mut Pcg64) -> Endpoints {
        Endpoints::pair(
            other(below(rng, self.senders), self.receiver),
            self.receiver,
        )
    }
    fn receivers(&self, src: u32, to: &mut dyn FnMut(Range<u32>, f64)) {
        if src != self.receiver {
            to(
                self.receiver..self.receiver + 1,
                1.0 / f64::from(self.senders),
            );
        }
    }
    fn is_loaded(&self, host: u32) -> bool {
        host == self.receiver
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{build, draw, leaf_spine, star};
    use serde_json::json;

    #[test]
    fn one_receiver_and_every_other_host_sends() {
        for (json, layout, receiver) in [
            (json!("many-to-one"), leaf_spine(2, 2), 3),
            (json!("many-to-one"), star(4), 3),
            (json!({"kind": "many-to-one", "receiver": 1}), star(4), 1),
        ] {
            let flows = draw(json, &layout, 1000);
            assert!(flows.iter().all(|e| e.dst == receiver));
            assert!(
                (0..4)
                    .filter(|&h| h != receiver)
                    .all(|h| flows.iter().any(|e| e.src == h))
            );
        }
    }

    #[test]
    fn the_receiver_must_be_a_host() {
        let error = build(json!({"kind": "many-to-one", "receiver": 4}), &star(4)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "receiver: 4 is not a host; hosts are 0 to 3"
        );
    }
}
