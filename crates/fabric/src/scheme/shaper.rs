//! What a scenario writes about leaky buckets at the sources.

use fctlab_core::units::{DataLength, PathScale};
use fctlab_core::{Rate, SpecError};
use serde::{Deserialize, Serialize};

/// A leaky bucket at every source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShaperSpec {
    /// Bits per second, headers included, that may be sent in the long run.
    pub rate: Rate,
    /// What may be sent at once after a pause; a full packet or more.
    pub bucket: DataLength,
    /// Who has a bucket.
    #[serde(default)]
    pub per: Per,
}

/// Who has a bucket.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each host, for all that it sends.
    #[default]
    Host,
    /// Each traffic class at each host.
    Class,
}

impl ShaperSpec {
    /// Checks the numbers.
    ///
    /// # Errors
    /// A bucket through which no full packet ever passes.
    pub fn check(&self, scale: &PathScale) -> Result<(), SpecError> {
        if self.bucket.bytes(scale) < scale.packet_bytes {
            let message = format!("{} holds less than one full packet", self.bucket);
            return Err(SpecError::new("bucket", message));
        }
        Ok(())
    }
}
