//! Times are counted in steps. Both become each other as signed numbers: for those without a sign a conversion takes several
//! instructions.

/// The time at which `step` is over.
#[inline]
pub(super) fn end_of(step: u64) -> f64 {
    step as i64 as f64
}

/// The last step that is over at `time`, which is not negative.
#[inline]
pub(super) fn step_at(time: f64) -> u64 {
    time as i64 as u64
}
