//! Specifications in Dhall, the configuration language of swp (section 3.2, figure 4).
//!
//! The figure uses names such as `T.Gbps` without importing them, in its main
//! file and in those that it imports. So every file is read with the names of
//! `prelude.dhall` in scope, and since the language's library would read imports
//! without them, imports are resolved here: each file is parsed, its imports are
//! replaced by the normal forms of the files that they name, then it is checked
//! and normalised by itself (an error belongs to one file). Imports are files on
//! the local disk, in the specification's folder or one that the user names; nothing else is ever opened.
//!
//! A normal form becomes JSON as `dhall-to-json` has it: a union is what its
//! alternative holds, or the alternative's name; a key that is `None` is left out.
//!
//! * [`read`]: text to JSON, on a thread of its own with a time limit: a few lines of Dhall can
//!   compute for longer than anyone waits.
//! * `imports`: files and what they import.
//! * `explain`: the library's errors in one line.
//! * `json`: normal forms to JSON.

mod explain;
mod imports;
mod json;

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use fctlab_core::SpecError;
use serde_json::Value;

/// The names in scope.
pub const PRELUDE: &str = include_str!("prelude.dhall");

/// How long reading may take.
const LONGEST: Duration = Duration::from_secs(10);
/// The stack of the thread that reads: the library recurses over expressions.
const STACK_BYTES: usize = 1 << 28;

/// Reads the `text` of `file`, whose folder is where its imports start from.
///
/// # Errors
/// The first mistake: its path is the imported file that has it, or empty.
pub fn read(text: &str, file: &Path) -> Result<Value, SpecError> {
    let wrong = |message: String| SpecError::new("", message);
    let (send, receive) = channel();
    let (text, file) = (text.to_owned(), file.to_owned());
    let reader = thread::Builder::new().stack_size(STACK_BYTES);
    let reader = reader.spawn(move || {
        let value = imports::Files::new(&file)
            .and_then(|mut files| files.main(&text))
            .and_then(|expr| json::value(&expr));
        // Nobody listens any more when it took too long.
        let _ = send.send(value);
    });
    reader.map_err(|e| wrong(format!("cannot be read: no thread: {e}")))?;
    let value = match receive.recv_timeout(LONGEST) {
        Ok(value) => value?,
        Err(RecvTimeoutError::Timeout) => {
            return Err(wrong(format!(
                "takes more than {} s to read; brackets nested a dozen deep do (put what is inside \
                 into a `let` or a file of its own), or what it computes",
                LONGEST.as_secs()
            )));
        }
        // The library panicked, which it does on some malformed escapes in text.
        Err(RecvTimeoutError::Disconnected) => {
            return Err(wrong(
                "is not Dhall that can be read here (the Dhall library gave up without saying \
                 where; look for escapes such as \\u{...} in text)"
                    .into(),
            ));
        }
    };
    if value.is_object() {
        Ok(value)
    } else {
        Err(wrong(format!("{value} is not a record of keys and values")))
    }
}

#[cfg(test)]
mod tests;
