//! The priorities that ports see.

use fctlab_core::{Bytes, SpecError};
use serde::{Deserialize, Serialize};

use crate::disciplines::mappings::VALUES;

/// The priorities that ports see.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Tags in bytes are divided by this; those in another unit are values already.
    pub unit: Bytes,
    /// The largest value; larger ones count as it.
    #[schemars(range(min = 1, max = 4095))]
    pub largest: u32,
}

impl Default for Spec {
    /// Remaining bytes in MTUs, capped at 2 MiB (ADS, section 3.2).
    fn default() -> Self {
        Spec {
            unit: Bytes::new(1500),
            largest: 1399,
        }
    }
}

impl Spec {
    /// Checks the numbers.
    ///
    /// # Errors
    /// A number that makes no sense, with its path.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.unit.get() == 0 {
            return Err(SpecError::new("unit", "0B is not above zero"));
        }
        if self.largest == 0 || self.largest as usize >= VALUES {
            let message = format!("{} is not in [1, {}]", self.largest, VALUES - 1);
            return Err(SpecError::new("largest", message));
        }
        Ok(())
    }
}
