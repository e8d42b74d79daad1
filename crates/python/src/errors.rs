//! What went wrong, as Python's exceptions.

use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::path::Path;

use fctlab_core::SpecError;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::Value;

mod python {
    pyo3::import_exception!(fctlab.errors, SpecError);
    pyo3::import_exception!(fctlab.errors, InternalError);
}

/// JSON that this package wrote itself.
pub(crate) fn value(json: &str) -> PyResult<Value> {
    serde_json::from_str(json).map_err(|e| PyValueError::new_err(e.to_string()))
}

pub(crate) fn spec_error(error: SpecError) -> PyErr {
    python::SpecError::new_err((error.path, error.message))
}

pub(crate) fn os_error(path: &Path, source: &io::Error) -> PyErr {
    match source.raw_os_error() {
        // Python picks the subclass and the text from the number.
        Some(number) => PyOSError::new_err((number, os_text(source), path.to_owned())),
        None => PyOSError::new_err(format!("{}: {source}", path.display())),
    }
}

/// What the system says, without Rust's " (os error 28)".
fn os_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps what a panic says for [`guarded`] instead of printing it.
pub(crate) fn remember_panics() {
    set_hook(Box::new(|info| LAST_PANIC.set(info.to_string())));
}

/// Runs `f`; a panic (a broken invariant of the engine) becomes an `InternalError`.
pub(crate) fn guarded<T>(f: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| Err(broken()))
}

/// The last panic of this thread, as an error.
pub(crate) fn broken() -> PyErr {
    python::InternalError::new_err(LAST_PANIC.take())
}
