//! Line numbers for errors in CSV files.
//!
//! The line that the csv crate reports for a record is that of the end of the
//! record before, which differs after comments, blank lines and CRLF. Byte
//! positions are reliable; lines are counted from them when an error needs one.

use std::io::{BufReader, Read};

/// The line, from 1, that holds the last of the first `end` bytes of `text`.
pub(crate) fn line_of(text: impl Read, end: u64) -> u64 {
    let before = BufReader::new(text.take(end.saturating_sub(1)));
    1 + before
        .bytes()
        .filter(|byte| matches!(byte, Ok(b'\n')))
        .count() as u64
}
