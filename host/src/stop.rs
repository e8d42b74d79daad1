//! Until when the program runs: SIGINT or SIGTERM.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether the program was told to end.
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// # Errors
    /// The signals cannot be heard.
    pub fn listen() -> Result<Stop> {
        let told = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&told))?;
        }
        Ok(Stop(told))
    }

    /// It was.
    pub fn told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
