//! The traffic class, for queues with thresholds: what an operator's marking
//! (DSCP, IEEE 802.1p) says.

use serde::{Deserialize, Serialize};

use super::{Tag, View};

/// Index of the flow's traffic class, from 0, in the order of the classes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {}

impl Tag for Spec {
    const IN_BYTES: bool = false;

    fn tag(&self, view: &View) -> u64 {
        view.class.into()
    }
    fn largest(&self) -> u64 {
        u16::MAX.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag() {
        let view = View {
            class: 3,
            size: 10_000,
            ..View::default()
        };
        assert_eq!(Spec {}.tag(&view), 3);
    }
}
