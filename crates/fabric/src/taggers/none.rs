//! No tag: the header says nothing about the flow.

use serde::{Deserialize, Serialize};

use super::{Tag, View};

/// Every packet is tagged 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Tag for Spec {
    fn tag(&self, _: &View) -> u64 {
        0
    }
    fn largest(&self) -> u64 {
        0
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
        assert_eq!(Spec {}.tag(&view), 0);
    }
}
