//! Calls into the engines, which all end with Ctrl-C.
//!
//! Signals and Python's callbacks belong to the thread that called; the work is done by another. Ctrl-C
//! and what a callback raises set a flag that the engines read, and the call returns when they have, or
//! without them after [`GRACE`]: a thread that reads a file or sorts learns of the flag later, and what
//! it finds is dropped.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::errors::{broken, guarded};

/// How often the caller listens, at first and later on: most calls are short.
const LISTEN_EVERY: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));
/// How long it waits for the work to notice that it is to stop.
const GRACE: Duration = Duration::from_millis(400);
/// As much as a main thread has.
const STACK: usize = 8 << 20;

/// Whether the work is to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For engines, which know nothing of calls.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work` with the interpreter released.
pub(crate) fn call<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    call_with(py, work, |_| Ok(()))
}

/// The same; the caller's thread also calls `listen` again and again, which may end it.
pub(crate) fn call_with<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> PyResult<T> + Send + 'static,
    mut listen: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    let stop = Stop::default();
    let (answer, answers) = sync_channel(1);
    let heard = stop.clone();
    let worker = move || {
        // Nobody takes it when the call has ended without it.
        let _ = answer.send(guarded(|| work(&heard)));
    };
    let builder = thread::Builder::new().name("engine".into());
    let worker = builder.stack_size(STACK).spawn(worker);
    worker.map_err(|e| no_thread(&e))?;
    py.detach(move || {
        let mut every = LISTEN_EVERY.0;
        loop {
            match answers.recv_timeout(every) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Disconnected) => return Err(broken()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            every = (every * 2).min(LISTEN_EVERY.1);
            let heard = Python::attach(|py| py.check_signals().and_then(|()| listen(py)));
            if let Err(error) = heard {
                stop.set();
                // An answer that came meanwhile is too late.
                let _ = answers.recv_timeout(GRACE);
                return Err(error);
            }
        }
    })
}

/// The same; `told`, if there is one, is called with None again and again.
pub(crate) fn call_telling<T: Send + 'static>(
    py: Python<'_>,
    told: Option<Py<PyAny>>,
    work: impl FnOnce(&Stop) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    call_with(py, work, move |py| match &told {
        Some(told) => told.call1(py, (py.None(),)).map(drop),
        None => Ok(()),
    })
}

fn no_thread(error: &io::Error) -> PyErr {
    PyMemoryError::new_err(format!("no thread for the engine: {error}"))
}
