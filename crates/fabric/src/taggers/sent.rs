//! Bytes sent, for LAS and for demotion (PIAS, NSDI 2015, section 3).

use serde::{Deserialize, Serialize};

use super::{Tag, View};

/// Bytes of the flow before this packet's; a retransmission keeps the value of its byte offset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Tag for Spec {
    fn tag(&self, view: &View) -> u64 {
        view.offset
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
        assert_eq!(Spec {}.tag(&view), 2_920);
    }
}
