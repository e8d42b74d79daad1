//! Bytes sent, for LAS and for demotion (PIAS, NSDI 2015, section 3).
//!
//! A host that tags in its operating system sees what leaves for the network card: up to 64 KB at
//! once, which the card cuts into packets (GSO, `Documentation/networking/segmentation-offloads.rst`
//! of Linux). All of these have one tag, that of the first.

use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Serialize};

use super::{Tag, View};

/// Bytes of the flow before this packet's; a retransmission keeps the value of its byte offset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// So many bytes share the tag of the first of them, as super-packets of segmentation offload
    /// do: `"64KB"`. A packet has one tag in any case.
    pub granularity: Bytes,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            granularity: Bytes::new(1),
        }
    }
}

impl Tag for Spec {
    fn tag(&self, view: &View) -> u64 {
        view.offset - view.offset % self.granularity.get()
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.granularity.get() == 0 {
            return Err(SpecError::new("granularity", "0B is not above zero"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag() {
        let view = View {
            size: 10_000,
            acknowledged: 1_460,
            offset: 2_920,
            ..View::default()
        };
        assert_eq!(Spec::default().tag(&view), 2_920);
    }

    #[test]
    fn super_packets_have_the_tag_of_their_first_byte() {
        let spec = Spec {
            granularity: Bytes::new(64_000),
        };
        let tag = |offset| {
            spec.tag(&View {
                offset,
                ..View::default()
            })
        };
        assert_eq!(
            [0, 63_999, 64_000, 130_000].map(tag),
            [0, 0, 64_000, 128_000]
        );
    }

    #[test]
    fn nothing_is_no_super_packet() {
        let spec = Spec {
            granularity: Bytes::new(0),
        };
        assert!(spec.check().is_err());
    }
}
