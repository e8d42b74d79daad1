//! Time that a core has spent.

use fctlab_core::Duration;

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::from_ps(spent.tv_sec as u64 * 1_000_000_000_000 + spent.tv_nsec as u64 * 1_000)
}
