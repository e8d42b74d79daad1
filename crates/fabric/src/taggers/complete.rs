//! ASCC's tag: remaining bytes of complete flows, the largest tag for others
//! (Kogan et al., section VII).
//!
//! "We say that a flow f is complete if its last packet is available for
//! transmission at the source of f; otherwise, f is incomplete. [...] Each
//! source implementing ASCC marks packets by a special bit that allows other
//! network elements to determine whether the packet is from a complete or an
//! incomplete flow." The bit is the tag [`INCOMPLETE`]; a complete flow's tag is
//! its SRPT priority, so that queues with thresholds can serve both as well.

use serde::{Deserialize, Serialize};

use super::{Tag, View};

/// Remaining bytes once the flow's last packet is available, else the lowest priority (ASCC).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spec {}

/// The tag of an incomplete flow; larger than any of a complete one.
pub const INCOMPLETE: u32 = u32::MAX;

impl Tag for Spec {
    fn tag(&self, view: &View) -> u64 {
        if view.written < view.size {
            INCOMPLETE.into()
        } else {
            (view.size - view.acknowledged).min(u64::from(INCOMPLETE) - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag() {
        let tag = |size, written, acknowledged| {
            Spec {}.tag(&View {
                size,
                written,
                acknowledged,
                ..View::default()
            })
        };
        assert_eq!(tag(10_000, 8_760, 4_380), u64::from(INCOMPLETE));
        assert_eq!(tag(10_000, 10_000, 4_380), 5_620);
        assert_eq!(tag(1 << 40, 1 << 40, 0), u64::from(INCOMPLETE) - 1);
    }
}
