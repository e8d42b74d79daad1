//! From where a trace counts time.
//!
//! Times since 1970, as logs have them, are taken relative to the first flow's; others are from the
//! start of the run.

use fctlab_core::Time;
use fctlab_core::units::{PS_PER_S, grouped};

use super::COLUMNS;

/// Picoseconds in a second.
const SECOND: u128 = PS_PER_S as u128;
/// From here on a first start is since 1970: no run takes so long.
const EPOCH: u128 = 1_000_000_000 * SECOND;

/// The instant that is zero; known from the first row on.
#[derive(Debug, Default)]
pub(super) struct Origin(Option<u128>);

impl Origin {
    /// The start of the run, whatever the first row has.
    pub(super) fn of_run() -> Self {
        Origin(Some(0))
    }

    /// When it is `ps` picoseconds, which `text` says.
    ///
    /// # Errors
    /// It is before the origin, or too long after it.
    pub(super) fn time(&mut self, ps: u128, text: impl Fn() -> String) -> Result<Time, String> {
        let first = if ps >= EPOCH { ps } else { 0 };
        let origin = *self.0.get_or_insert(first);
        let since = ps.checked_sub(origin).and_then(|ps| u64::try_from(ps).ok());
        since.map(Time::from_ps).ok_or_else(|| {
            let whole = |seconds: u128| grouped(seconds.try_into().unwrap_or(u64::MAX));
            let (first, last) = (
                origin.div_ceil(SECOND),
                (origin + u128::from(u64::MAX)) / SECOND,
            );
            format!(
                "{} {:?} is not a number of seconds from {} to {}",
                COLUMNS[0],
                text(),
                whole(first),
                whole(last)
            )
        })
    }
}
