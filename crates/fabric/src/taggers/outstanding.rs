//! Bytes written and outstanding, in MTUs: what ADS's hosts can know of the
//! remaining size without help from applications (Mushtaq et al., section 3.2).
//!
//! "We track the number of bytes the application has written to a socket which
//! are still outstanding at the sender. We use this as an estimate of the
//! remaining flow size, capping it at 2MB and configuring the network stack to
//! have write buffers of at least 3MB." The application writes as fast as the
//! buffer lets it, so what is written is what is acknowledged and a buffer
//! more, or the whole flow. "\[We\] divide the number of outstanding bytes by
//! the MTU": rounded up here, so that no data has the value 0. Their "about
//! 1400 possible values" is 2 MiB / 1500 B.

use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Serialize};

use super::{Tag, View};

/// Bytes written by the application and not yet acknowledged, capped, in MTUs; a retransmission is evaluated anew (ADS).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// The largest estimate.
    pub cap: Bytes,
    /// What the application can write ahead of the acknowledgements.
    pub write_buffer: Bytes,
    /// The unit of the tag.
    pub mtu: Bytes,
}

impl Default for Spec {
    fn default() -> Self {
        Spec {
            cap: Bytes::new(2 << 20),
            write_buffer: Bytes::new(3 << 20),
            mtu: Bytes::new(1500),
        }
    }
}

impl Tag for Spec {
    const IN_BYTES: bool = false;

    fn tag(&self, view: &View) -> u64 {
        let outstanding = (view.written - view.acknowledged).min(self.write_buffer.get());
        outstanding.min(self.cap.get()).div_ceil(self.mtu.get())
    }

    fn largest(&self) -> u64 {
        self.cap
            .get()
            .min(self.write_buffer.get())
            .div_ceil(self.mtu.get().max(1))
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.mtu.get() == 0 {
            return Err(SpecError::new("mtu", "0B is not above zero"));
        }
        for (key, bytes) in [("cap", self.cap), ("write_buffer", self.write_buffer)] {
            if bytes < self.mtu {
                let message = format!("{bytes} is less than one MTU ({})", self.mtu);
                return Err(SpecError::new(key, message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag() {
        let tag = |size, acknowledged| {
            Spec::default().tag(&View {
                size,
                written: size,
                acknowledged,
                offset: 0,
                ..View::default()
            })
        };
        assert_eq!(tag(1, 0), 1);
        assert_eq!(tag(1500, 0), 1);
        assert_eq!(tag(1501, 0), 2);
        assert_eq!(tag(10_000, 8_760), 1);
        // 2 MiB / 1500 B = 1398.1.
        assert_eq!(tag(3_000_000, 0), 1399);
        assert_eq!(tag(1_000_000_000, 0), 1399);
        assert_eq!(tag(3_000_000, 1_000_000), 1334);
        // A small write buffer hides what has not been written.
        let small = Spec {
            write_buffer: Bytes::new(30_000),
            ..Spec::default()
        };
        assert_eq!(
            small.tag(&View {
                size: 1_000_000,
                written: 1_000_000,
                acknowledged: 0,
                offset: 0,
                ..View::default()
            }),
            20
        );
    }
}
