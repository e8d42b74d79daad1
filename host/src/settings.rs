//! What the tagger is told: thresholds, code points, priorities; as the map `settings` has them.

use anyhow::{Result, bail, ensure};

/// Bands that the tagger has room for.
pub const MOST_BANDS: usize = 16;
const SIZE: usize = MOST_BANDS * (8 + 1 + 4) + 8;

/// `struct settings` of `tagger.bpf.c`.
pub type Bytes = [u8; SIZE];

/// Bands, the first one for flows that have sent least.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Largest bytes of each band but the last, ascending.
    pub thresholds: Vec<u64>,
    /// Code point of each band.
    pub codes: Vec<u8>,
    /// `skb->priority` of each band.
    pub priorities: Vec<u32>,
    /// Microseconds without a packet after which a connection begins anew; 0 for never.
    pub idle_us: u32,
}

impl Settings {
    /// # Errors
    /// A mistake, in words.
    pub fn check(&self) -> Result<()> {
        let bands = self.thresholds.len() + 1;
        ensure!(
            bands <= MOST_BANDS,
            "{bands} bands are more than {MOST_BANDS}"
        );
        ensure!(
            self.thresholds.is_sorted_by(|a, b| a < b),
            "thresholds have to ascend: {:?}",
            self.thresholds
        );
        for (name, count) in [
            ("code points", self.codes.len()),
            ("priorities", self.priorities.len()),
        ] {
            if count != bands {
                bail!("{count} {name} for {bands} bands: one more than thresholds");
            }
        }
        if let Some(code) = self.codes.iter().find(|code| **code > 63) {
            bail!("code point {code} is not in [0, 63]");
        }
        Ok(())
    }

    /// As the kernel reads it.
    pub fn bytes(&self) -> Bytes {
        let mut out = [0; SIZE];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        for (band, value) in self.thresholds.iter().enumerate() {
            put(8 * band, &value.to_ne_bytes());
        }
        put(8 * MOST_BANDS, &self.codes);
        for (band, value) in self.priorities.iter().enumerate() {
            put(9 * MOST_BANDS + 4 * band, &value.to_ne_bytes());
        }
        put(13 * MOST_BANDS, &(self.codes.len() as u32).to_ne_bytes());
        put(13 * MOST_BANDS + 4, &self.idle_us.to_ne_bytes());
        out
    }

    /// Of what the kernel has.
    pub fn read(bytes: &Bytes) -> Settings {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        let long = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight"));
        let bands = (word(13 * MOST_BANDS) as usize).min(MOST_BANDS);
        Settings {
            thresholds: (1..bands).map(|band| long(8 * (band - 1))).collect(),
            codes: bytes[8 * MOST_BANDS..][..bands].to_vec(),
            priorities: (0..bands)
                .map(|band| word(9 * MOST_BANDS + 4 * band))
                .collect(),
            idle_us: word(13 * MOST_BANDS + 4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(thresholds: &[u64]) -> Settings {
        Settings {
            thresholds: thresholds.to_vec(),
            codes: vec![10, 18],
            priorities: vec![0, 1],
            idle_us: 500,
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let given = two(&[100_000]);
        assert_eq!(Settings::read(&given.bytes()), given);
    }

    #[test]
    fn mistakes_are_told() {
        two(&[1]).check().unwrap();
        let told = |settings: Settings| settings.check().unwrap_err().to_string();
        assert_eq!(told(two(&[2, 2])), "thresholds have to ascend: [2, 2]");
        assert_eq!(
            told(two(&[2, 3])),
            "2 code points for 3 bands: one more than thresholds"
        );
        let mut wrong = two(&[1]);
        wrong.codes = vec![10, 64];
        assert_eq!(told(wrong), "code point 64 is not in [0, 63]");
    }
}
