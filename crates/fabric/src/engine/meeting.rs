//! Where threads meet: each waits until all have come.
//!
//! A window takes microseconds, so who waits looks again and again where each thread may have a core of its own, and
//! goes to sleep only after many of them. The standard library's barrier sleeps at once, and waits for ever for a thread
//! that has panicked.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{available_parallelism, panicking};

/// Looks before a thread sleeps: a millisecond's, about. Few of them are pauses, which a virtual machine's host may
/// take for a reason to give the core to somebody else.
const PATIENCE: u32 = 1 << 20;
const PAUSE_EVERY: u32 = 1 << 6;

/// A place where `count` threads meet, any number of times.
pub(super) struct Meeting {
    count: usize,
    patience: u32,
    came: AtomicUsize,
    /// Meetings that are over.
    over: AtomicUsize,
    /// A thread will not come any more.
    broken: AtomicBool,
    /// Threads that sleep, or are about to.
    asleep: AtomicUsize,
    bed: Mutex<()>,
    bell: Condvar,
}

impl Meeting {
    pub(super) fn of(count: usize) -> Self {
        let cores = available_parallelism().map_or(1, usize::from);
        Meeting {
            count,
            patience: if count > cores { 0 } else { PATIENCE },
            came: AtomicUsize::new(0),
            over: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            bed: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// Comes, and waits for the others.
    ///
    /// # Panics
    /// When another thread has.
    pub(super) fn wait(&self) {
        let meeting = self.over.load(Ordering::SeqCst);
        if self.came.fetch_add(1, Ordering::SeqCst) + 1 == self.count {
            self.came.store(0, Ordering::SeqCst);
            self.over.store(meeting.wrapping_add(1), Ordering::SeqCst);
            return self.wake();
        }
        let is_on = || self.over.load(Ordering::SeqCst) == meeting && !self.is_broken();
        for look in 0..self.patience {
            if !is_on() {
                break;
            }
            if look % PAUSE_EVERY == 0 {
                spin_loop();
            }
        }
        if is_on() {
            self.sleep_while(is_on);
        }
        assert!(!self.is_broken(), "another part of the fabric failed");
    }

    fn sleep_while(&self, is_on: impl Fn() -> bool) {
        // Who ends the meeting sees a sleeper, or the sleeper sees that it has ended.
        self.asleep.fetch_add(1, Ordering::SeqCst);
        let mut bed = self.bed();
        while is_on() {
            bed = self.bell.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        drop(bed);
        self.asleep.fetch_sub(1, Ordering::SeqCst);
    }

    fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            drop(self.bed());
            self.bell.notify_all();
        }
    }

    fn bed(&self) -> MutexGuard<'_, ()> {
        self.bed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }
}

/// While it is there, its thread comes to a meeting; a panic says that it will not.
pub(super) struct Promise<'a>(pub(super) &'a Meeting);

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
            self.0.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody is ahead of anybody by more than a meeting.
    #[test]
    fn all_come_before_any_goes() {
        let (meeting, total) = (Meeting::of(3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..1000 {
                        total.fetch_add(1, Ordering::Relaxed);
                        meeting.wait();
                        assert_eq!(total.load(Ordering::Relaxed), 3 * (round + 1));
                        meeting.wait();
                    }
                });
            }
        });
    }

    /// A thread that fails leaves nobody waiting.
    #[test]
    fn a_panic_is_heard() {
        let meeting = Meeting::of(2);
        let heard = std::thread::scope(|scope| {
            let waits = scope.spawn(|| meeting.wait());
            let fails = scope.spawn(|| {
                let _promise = Promise(&meeting);
                panic!("on purpose");
            });
            (waits.join().is_err(), fails.join().is_err())
        });
        assert_eq!(heard, (true, true));
    }
}
