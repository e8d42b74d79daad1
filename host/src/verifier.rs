//! What the kernel's verifier says of a program that it refuses, kept in a file.

use std::fs;

use anyhow::Error;

/// The error with the name of the file that has the log; without one where it cannot be written.
pub fn kept(log: &str, error: impl Into<Error>) -> Error {
    let file = std::env::temp_dir().join("fctlab-verifier.log");
    if fs::write(&file, log).is_err() {
        return error.into();
    }
    error
        .into()
        .context(format!("the verifier's log is {}", file.display()))
}
