//! Remaining bytes (pFabric, SIGCOMM 2013, section 4.2: "remaining flow size").

use serde::{Deserialize, Serialize};

use super::{Tag, View};

/// Bytes of the flow not yet cumulatively acknowledged when the packet is sent; a retransmission is evaluated anew.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Tag for Spec {
    fn tag(&self, view: &View) -> u64 {
        view.size - view.acknowledged
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
        assert_eq!(Spec {}.tag(&view), 8_540);
    }
}
