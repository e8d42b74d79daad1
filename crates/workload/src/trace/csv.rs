//! Rows of a trace in CSV, decimals read exactly.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use csv::StringRecord;
use flate2::read::MultiGzDecoder;

use crate::columns::{not_seconds, not_whole};
use crate::lines::line_of;

use super::origin::Origin;
use super::{COLUMNS, Columns, Row, no_class};

/// A CSV file of flows.
#[derive(Debug)]
pub(super) struct Reader {
    reader: csv::Reader<Text>,
    record: StringRecord,
    file: PathBuf,
    columns: Columns,
    origin: Origin,
    /// Columns that the first line names.
    fields: usize,
}

impl Reader {
    pub(crate) fn open(file: &Path) -> Result<Self, String> {
        let text = Text::open(file).map_err(|e| format!("cannot be read: {e}"))?;
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .flexible(true)
            .from_reader(text);
        let header = reader
            .headers()
            .map_err(|e| format!("cannot be read: {e}"))?;
        if header.is_empty() {
            return Err(format!(
                "is empty; its first line must name the columns {}",
                COLUMNS.join(", ")
            ));
        }
        let columns = Columns::find(header.iter())?;
        let fields = header.len();
        Ok(Reader {
            fields,
            reader,
            record: StringRecord::new(),
            file: file.to_owned(),
            columns,
            origin: Origin::default(),
        })
    }

    pub(crate) fn class_column(&self) -> Option<&'static str> {
        self.columns.class.map(|(name, _)| name)
    }

    /// The line that was read last.
    pub(crate) fn line(&self) -> u64 {
        Text::open(&self.file).map_or(0, |text| line_of(text, self.reader.position().byte()))
    }

    pub(crate) fn read(&mut self, row: &mut Row) -> Result<bool, String> {
        if !self
            .reader
            .read_record(&mut self.record)
            .map_err(|e| format!("cannot be read: {e}"))?
        {
            return Ok(false);
        }
        if self.record.len() > self.fields {
            return Err(format!(
                "has {} values; the first line names {} columns (numbers have no commas in them)",
                self.record.len(),
                self.fields
            ));
        }
        let field = |i: usize| {
            let missing = || format!("has no value for {}", COLUMNS[i]);
            self.record.get(self.columns.places[i]).ok_or_else(missing)
        };
        let whole = |i: usize| {
            let text = field(i)?;
            let exact = scaled(text, 0).filter(|(_, exact)| *exact);
            let number = exact.and_then(|(number, _)| u64::try_from(number).ok());
            number.ok_or_else(|| not_whole(COLUMNS[i], text))
        };
        let start = field(0)?;
        let (ps, _) = scaled(start, 12).ok_or_else(|| not_seconds(COLUMNS[0], start))?;
        row.start = self.origin.time(ps, || start.to_owned())?;
        (row.src, row.dst, row.size) = (whole(1)?, whole(2)?, whole(3)?);
        if let Some((name, place)) = self.columns.class {
            let class = self.record.get(place).filter(|c| !c.is_empty());
            row.class.clear();
            row.class.push_str(class.ok_or_else(|| no_class(name))?);
        }
        Ok(true)
    }
}

/// The longest line in bytes: a line is held in memory, and a few packed bytes unpack to any length.
const MOST_LINE: usize = 1 << 20;

/// What a file says, which is packed where its name ends in `.gz`.
#[derive(Debug)]
struct Text {
    file: Bytes,
    /// Bytes of the line that is being read.
    line: usize,
}

#[derive(Debug)]
enum Bytes {
    Plain(File),
    Packed(MultiGzDecoder<File>),
}

impl Text {
    fn open(file: &Path) -> io::Result<Self> {
        let open = File::open(file)?;
        let file = match file.extension() {
            Some(e) if e.eq_ignore_ascii_case("gz") => Bytes::Packed(MultiGzDecoder::new(open)),
            _ => Bytes::Plain(open),
        };
        Ok(Text { file, line: 0 })
    }
}

impl Read for Text {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.file {
            Bytes::Plain(file) => file.read(into),
            Bytes::Packed(file) => file.read(into),
        }?;
        self.line = match into[..count].iter().rposition(|&byte| byte == b'\n') {
            Some(end) => count - 1 - end,
            None => self.line + count,
        };
        if self.line > MOST_LINE {
            let message = format!("a line has more than {MOST_LINE} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(count)
    }
}

/// A decimal number of at least 0, such as `0.25` or `2.5e-1`, times
/// 10^`power`: to the nearest whole number (halves up), and whether that is exact.
/// `None` when it is no such number or too large.
fn scaled(text: &str, power: i32) -> Option<(u128, bool)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || {
        whole
            .bytes()
            .chain(fraction.bytes())
            .map(|b| b.wrapping_sub(b'0'))
    };
    if digits().next().is_none() || digits().any(|d| d > 9) {
        return None;
    }
    // The number is its digits, the first `kept` of them before the point.
    let kept = i64::from(exponent) + i64::from(power) + whole.len() as i64;
    let mut value = 0u128;
    let mut place = 0;
    let (mut up, mut exact) = (false, true);
    for digit in digits() {
        if place < kept {
            value = value.checked_mul(10)?.checked_add(u128::from(digit))?;
        } else {
            up |= place == kept && digit >= 5;
            exact &= digit == 0;
        }
        place += 1;
    }
    while place < kept && value > 0 {
        value = value.checked_mul(10)?;
        place += 1;
    }
    Some((value.checked_add(u128::from(up))?, exact))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_exact() {
        for (text, power, value) in [
            ("0", 12, Some((0, true))),
            ("0.000000000001", 12, Some((1, true))),
            ("0.0000000000005", 12, Some((1, false))),
            (
                "0.00000000000049999999999999999999999999999999999999",
                12,
                Some((0, false)),
            ),
            ("1.5e-12", 12, Some((2, false))),
            ("1e-06", 12, Some((1_000_000, true))),
            ("2.5E+2", 0, Some((250, true))),
            ("1460.0", 0, Some((1460, true))),
            ("1460.5", 0, Some((1461, false))),
            // Not a whole number of picoseconds as f64: 9007.199254740993 s.
            ("9007.199254740993", 12, Some((9_007_199_254_740_993, true))),
            ("18446744.073709551615", 12, Some((u64::MAX.into(), true))),
            ("1e27", 12, None),
            ("0e999999999", 12, Some((0, true))),
            ("1e-999999999", 12, Some((0, false))),
            (".5", 1, Some((5, true))),
            ("5.", 0, Some((5, true))),
        ] {
            assert_eq!(scaled(text, power), value, "{text}");
        }
        for text in [
            "", ".", "-1", "+1", "NaN", "inf", "1e", "1e1.5", "0x10", "1 2", "e5", "1_000",
        ] {
            assert_eq!(scaled(text, 12), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn whole_picoseconds_read_back(ps: u64) {
            let text = format!("{}.{:012}", ps / 1_000_000_000_000, ps % 1_000_000_000_000);
            prop_assert_eq!(scaled(&text, 12), Some((ps.into(), true)));
        }

        #[test]
        fn any_text_is_no_panic(text in "[0-9.eE+-]{0,30}") {
            let _ = scaled(&text, 12);
        }
    }
}
