//! Remaining time as D-SRTF estimates it (Gao et al., sections 4.3.1 and 5.6).
//!
//! "Use the number of bytes sent as the estimated remaining size"; the
//! available bandwidth is B <- L (1 - alpha), "where [...] L is the link
//! capacity" and alpha DCTCP's estimate of congestion. The remaining time is one
//! over the other. D-SRTF-IA knows sizes: "the remaining flow size is the flow
//! size minus the bytes sent" (section 5.6.2). Bytes sent are those before the
//! packet, under both; a retransmission keeps the value of its byte offset.
//!
//! With `bandwidth = "available"` the tag is that of an ideal scheduler, which
//! knows what is left of the sender's link now (case study 3.1.2).
//!
//! With alpha = 1 there is no bandwidth, so the time is the largest that a tag
//! holds, but for a flow that has sent nothing (0 / 0), whose time is 0.

use serde::{Deserialize, Serialize};

use super::{Tag, View};

/// Estimated remaining time in nanoseconds: bytes sent (or left) over capacity x (1 - alpha) (D-SRTF).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Which bytes stand for the remaining size.
    pub size: Size,
    /// Which bandwidth they are divided by.
    pub bandwidth: Bandwidth,
}

/// Which bandwidth the bytes are divided by.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Bandwidth {
    /// Capacity x (1 - alpha) (D-SRTF).
    #[default]
    Estimated,
    /// What is available of the sender's link now: an oracle.
    Available,
}

/// Which bytes stand for the remaining size.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// Those sent before the packet: sizes are unknown (D-SRTF).
    #[default]
    Sent,
    /// Those not yet sent, the packet's own among them: sizes are known (D-SRTF-IA).
    Remaining,
}

impl Tag for Spec {
    const IN_BYTES: bool = false;
    const SEES_BANDWIDTH: bool = true;

    fn tag(&self, view: &View) -> u64 {
        let bytes = match self.size {
            Size::Sent => view.offset,
            Size::Remaining => view.size - view.offset,
        };
        let bandwidth = match self.bandwidth {
            Bandwidth::Estimated => view.capacity * (1.0 - view.alpha),
            Bandwidth::Available => view.available,
        };
        match (bytes, bandwidth > 0.0) {
            (0, _) => 0,
            (_, true) => (bytes as f64 * 8e9 / bandwidth) as u64,
            (_, false) => u64::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag() {
        let view = |offset, acknowledged, alpha| View {
            size: 1_000_000,
            written: 1_000_000,
            acknowledged,
            offset,
            alpha,
            class: 0,
            capacity: 10e9,
            available: 2.5e9,
        };
        let sent = Spec::default();
        // 150 KB at 10 Gbps: 120 us; at half of it, 240 us.
        assert_eq!(sent.tag(&view(150_000, 0, 0.0)), 120_000);
        assert_eq!(sent.tag(&view(150_000, 0, 0.5)), 240_000);
        assert_eq!(sent.tag(&view(0, 0, 1.0)), 0);
        assert_eq!(sent.tag(&view(1460, 0, 1.0)), u64::MAX);
        let known = Spec {
            size: Size::Remaining,
            ..Spec::default()
        };
        assert_eq!(known.tag(&view(850_000, 0, 0.0)), 120_000);
        // A window in flight does not count as remaining, whatever is acknowledged.
        assert_eq!(known.tag(&view(850_000, 800_000, 0.0)), 120_000);
        let oracle = Spec {
            bandwidth: Bandwidth::Available,
            ..known
        };
        assert_eq!(oracle.tag(&view(850_000, 0, 1.0)), 480_000);
    }
}
