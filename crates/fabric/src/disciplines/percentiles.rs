//! What AWAFS's thresholds follow: percentiles of the sizes of completed flows.
//!
//! Fixed percentiles are the paper's; how to find them is its first item of
//! future work (Gutierrez et al., section 5). `percentiles = "equal-bytes"` needs none: thresholds
//! a_1 < a_2 < ... with which each queue would have carried the same part of the
//! bytes of the flows in the list, sum of min(size, a_k) = k / queues of the
//! total, as ADS splits packets equally.

use std::borrow::Cow;

use fctlab_core::{SpecError, spec, stats};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

/// What the thresholds follow: a list of percentiles, or `"equal-bytes"`.
#[derive(Clone, Debug, PartialEq)]
pub enum Percentiles {
    /// The percentile, in (0, 1), of each threshold; not decreasing.
    Given(Vec<f64>),
    /// The same bytes in every queue.
    EqualBytes,
}

const EQUAL_BYTES: &str = "equal-bytes";

impl Serialize for Percentiles {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Percentiles::Given(list) => list.serialize(s),
            Percentiles::EqualBytes => s.serialize_str(EQUAL_BYTES),
        }
    }
}

impl<'de> Deserialize<'de> for Percentiles {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            list @ Value::Array(_) => spec::read(list)
                .map(Percentiles::Given)
                .map_err(SpecError::into_serde),
            Value::String(s) if s == EQUAL_BYTES => Ok(Percentiles::EqualBytes),
            other => {
                let message =
                    format!("{other} is neither a list of percentiles nor \"{EQUAL_BYTES}\"");
                Err(serde::de::Error::custom(message))
            }
        }
    }
}

impl schemars::JsonSchema for Percentiles {
    fn schema_name() -> Cow<'static, str> {
        "Percentiles".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let list = json!({
            "type": "array",
            "items": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        });
        schemars::json_schema!({"anyOf": [list, {"const": EQUAL_BYTES}]})
    }
}

impl Percentiles {
    /// Checks a list for so many thresholds.
    ///
    /// # Errors
    /// Another number of percentiles, one outside (0, 1), or one below its predecessor.
    pub fn check(&self, thresholds: usize) -> Result<(), SpecError> {
        let Percentiles::Given(list) = self else {
            return Ok(());
        };
        if list.len() != thresholds {
            let message = format!("{} for {thresholds} thresholds; each needs one", list.len());
            return Err(SpecError::new("percentiles", message));
        }
        for (i, percentile) in list.iter().enumerate() {
            let wrong = |message| Err(SpecError::new(format!("percentiles[{i}]"), message));
            if !(*percentile > 0.0 && *percentile < 1.0) {
                return wrong(format!("{percentile} is not in (0, 1)"));
            }
            if let Some(before) = list[..i].last().filter(|before| *before > percentile) {
                return wrong(format!(
                    "{percentile} after {before}; percentiles must not fall"
                ));
            }
        }
        Ok(())
    }

    /// The new thresholds, as many as `thresholds`; `None` without any size.
    pub fn cuts(&self, mut sizes: Vec<u32>, thresholds: usize) -> Option<Vec<u32>> {
        sizes.sort_unstable();
        match self {
            Percentiles::Given(list) => {
                let cut = |&share: &f64| stats::quantile(&sizes, share);
                list.iter().map(cut).collect()
            }
            Percentiles::EqualBytes => {
                (!sizes.is_empty()).then(|| equal_bytes(&sizes, thresholds as u64))
            }
        }
    }
}

/// Where the sum of min(size, cut) is 1, 2, ... of `thresholds` + 1 parts of the
/// total, rounded up; sizes ascend.
fn equal_bytes(sizes: &[u32], thresholds: u64) -> Vec<u32> {
    let total: u64 = sizes.iter().map(|&size| u64::from(size)).sum();
    // Below the size at `place` all flows before it are complete, with `before` bytes.
    let (mut place, mut before) = (0, 0);
    let part = |k: u64| {
        let wanted = (total * k).div_ceil(thresholds + 1);
        while place + 1 < sizes.len() {
            let flows = (sizes.len() - place) as u64;
            if before + u64::from(sizes[place]) * flows >= wanted {
                break;
            }
            before += u64::from(sizes[place]);
            place += 1;
        }
        let flows = (sizes.len() - place) as u64;
        (wanted.saturating_sub(before)).div_ceil(flows) as u32
    };
    (1..=thresholds).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_bytes_by_hand() {
        // 1, 2, 3, 4 and 30 KB: 40 KB, four queues of 10 KB. With a cut of 2 KB: 1 +
        // 4 x 2 = 9 KB, and 3 more flows bring 1 KB at 2333.3 B more each.
        let sizes = [1000, 2000, 3000, 4000, 30_000];
        assert_eq!(equal_bytes(&sizes, 3), [2334, 10_000, 20_000]);
        assert_eq!(equal_bytes(&[500], 1), [250]);
        assert_eq!(equal_bytes(&[7, 7, 7], 2), [3, 5]);
    }

    proptest! {
        /// Each queue gets its part of the bytes, to a byte per flow.
        #[test]
        fn every_queue_carries_the_same_bytes(
            sizes in prop::collection::vec(1u32..1_000_000, 1..80), thresholds in 1u64..16,
        ) {
            let mut sizes = sizes;
            sizes.sort_unstable();
            let cuts = equal_bytes(&sizes, thresholds);
            let total: u64 = sizes.iter().map(|&s| u64::from(s)).sum();
            for (k, cut) in (1..).zip(&cuts) {
                let below: u64 = sizes.iter().map(|s| u64::from(*s.min(cut))).sum();
                let wanted = (total * k).div_ceil(thresholds + 1);
                prop_assert!(below >= wanted && below < wanted + sizes.len() as u64, "{below} {wanted}");
            }
            prop_assert!(cuts.windows(2).all(|w| w[0] <= w[1]));
        }
    }
}
