//! Flow-size tables: CSV text with the columns `size_bytes,cumulative_probability`.
//!
//! The same reader serves the tables that come with fctlab (`data/*.csv`) and
//! the user's own. Lines that start with `#` are comments; in our own tables
//! the first comment describes the table and the second gives its source.
//!
//! Files of other simulators have no header, but a size and a probability per
//! line with spaces between, and are read as they are: Homa's (where the first
//! line may be the mean alone, which follows from the rest) and HPCC's (where
//! probabilities are in percent: the last is 100).

use std::io::Read;

use super::distribution::{Interpolation, Point, SizeDistribution};
use crate::lines::line_of;

/// The header line of a table.
const COLUMNS: [&str; 2] = ["size_bytes", "cumulative_probability"];

/// Reads a table.
///
/// # Errors
/// The first mistake, with its line and what is allowed there.
pub(super) fn read(
    mut text: impl Read,
    interpolation: Interpolation,
) -> Result<SizeDistribution, String> {
    let mut bytes = Vec::new();
    text.read_to_end(&mut bytes)
        .map_err(|e| format!("cannot be read: {e}"))?;
    if let Some(rows) = without_header(&bytes) {
        return plain(&rows, interpolation);
    }
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .flexible(true)
        .has_headers(false)
        .from_reader(&bytes[..]);
    let at = |end: u64, message: String| format!("line {}: {message}", line_of(&bytes[..], end));

    let header = COLUMNS.join(",");
    let (mut points, mut ends) = (Vec::new(), Vec::new());
    let mut record = csv::StringRecord::new();
    let mut first = true;
    while reader
        .read_record(&mut record)
        .map_err(|e| format!("cannot be read: {e}"))?
    {
        let end = reader.position().byte();
        if first {
            if record.iter().ne(COLUMNS) {
                let found = record.iter().collect::<Vec<_>>().join(",");
                return Err(at(
                    end,
                    format!("the columns are {found:?}; they must be {header}"),
                ));
            }
            first = false;
            continue;
        }
        if record.len() != COLUMNS.len() {
            return Err(at(
                end,
                format!("has {} columns; they must be {header}", record.len()),
            ));
        }
        let number = |column: usize| {
            let text = &record[column];
            let wrong = |_| at(end, format!("{} {text:?} is not a number", COLUMNS[column]));
            text.parse::<f64>().map_err(wrong)
        };
        points.push(Point {
            size: number(0)?,
            probability: number(1)?,
        });
        ends.push(end);
    }
    if first {
        return Err(format!("is empty; its first line must be {header}"));
    }
    SizeDistribution::new(points, interpolation).map_err(|error| match error.index {
        Some(index) => at(ends[index], error.message),
        None => error.message,
    })
}

/// Lines with their numbers, without comments and blank ones, of a text that begins with
/// a number and has no commas there.
fn without_header(bytes: &[u8]) -> Option<Vec<(usize, &str)>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let lines = text.lines().map(str::trim).enumerate();
    let rows: Vec<_> = lines
        .map(|(i, line)| (i + 1, line))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let first = rows.first()?.1.split_whitespace().next()?;
    first.parse::<f64>().ok().map(|_| rows)
}

/// Reads lines of a size and a probability or percentage.
fn plain(rows: &[(usize, &str)], interpolation: Interpolation) -> Result<SizeDistribution, String> {
    let (mut points, mut lines) = (Vec::new(), Vec::new());
    for (i, (line, text)) in rows.iter().enumerate() {
        let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
        match numbers.as_deref() {
            Ok([_mean]) if i == 0 => {}
            Ok(&[size, probability]) => {
                points.push(Point { size, probability });
                lines.push(line);
            }
            _ => {
                return Err(format!(
                    "line {line}: {text:?} is not a size and a cumulative probability"
                ));
            }
        }
    }
    if points.last().is_some_and(|p| p.probability == 100.0) {
        for point in &mut points {
            point.probability /= 100.0;
        }
    }
    SizeDistribution::new(points, interpolation).map_err(|error| match error.index {
        Some(index) => format!("line {}: {}", lines[index], error.message),
        None => error.message,
    })
}

/// The description of one of our own tables: its first comment.
pub(super) fn description(csv: &'static str) -> &'static str {
    csv.lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches(['#', ' '])
}
