//! Quantities as people write them: a decimal number and a unit.

use serde::{Deserialize, Deserializer};

/// One unit of a quantity: its suffix and how many base units it holds, as a
/// power of ten in numerator or denominator.
pub(super) struct Unit {
    pub suffix: &'static str,
    pub scale: u64,
}

/// A decimal number as an exact integer over a power of ten.
pub(super) fn decimal(text: &str) -> Option<(u128, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    if whole.len() + fraction.len() > 24 {
        return None;
    }
    let value = format!("{whole}{fraction}").parse().ok()?;
    Some((value, fraction.len() as u32))
}

/// Reads `text` as a non-negative decimal number followed by one of `units`,
/// rounded to the nearest base unit.
///
/// # Errors
/// What is wrong with it: it is not `what`, or more than can be said.
pub(super) fn quantity(text: &str, units: &[Unit], what: &str) -> Result<u64, String> {
    let written = text.trim();
    let read = units.iter().find_map(|u| {
        let number = written.strip_suffix(u.suffix)?;
        Some((u, decimal(number.trim_end())?))
    });
    let Some((unit, (value, places))) = read else {
        return Err(format!("{text:?} is not {what}"));
    };
    let divisor = 10u128.pow(places);
    let scaled = value.checked_mul(u128::from(unit.scale));
    scaled
        .and_then(|scaled| u64::try_from((scaled + divisor / 2) / divisor).ok())
        .ok_or_else(|| {
            let most = grouped(u64::MAX / unit.scale);
            format!("{text:?} is too much: at most {most} {}", unit.suffix)
        })
}

/// A count as people write it: `"65,535"`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The shortest text that reads back as the same quantity.
pub(super) fn quantity_text(value: u64, units: &[Unit]) -> String {
    let base = units.iter().find(|u| u.scale == 1).map_or("", |u| u.suffix);
    let mut best = format!("{value}{base}");
    for unit in units.iter().filter(|u| u.scale > 1) {
        let (whole, rest) = (value / unit.scale, value % unit.scale);
        let places = unit.scale.ilog10() as usize;
        let fraction = format!("{rest:0places$}");
        let fraction = fraction.trim_end_matches('0');
        let text = match fraction {
            "" => format!("{whole}{}", unit.suffix),
            _ => format!("{whole}.{fraction}{}", unit.suffix),
        };
        if text.len() < best.len() {
            best = text;
        }
    }
    best
}

/// Serde and JSON Schema of a type by its `Display` and `FromStr`.
macro_rules! written_as_text {
    ($type:ident, $what:expr, $pattern:literal) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                $crate::units::text::text(d, $what)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern, "description": $what})
            }
        }
    };
}

/// A quantity with units of its own, some of which may not be allowed.
macro_rules! text_unit {
    ($type:ident, $units:ident, $what:literal, $pattern:literal, |$value:ident| $allowed:expr) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&$crate::units::text::quantity_text(self.0, $units))
            }
        }
        impl ::std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let $value = $crate::units::text::quantity(text, $units, $what)?;
                if $allowed {
                    Ok($type($value))
                } else {
                    Err(format!("{text:?} is not {}", $what))
                }
            }
        }
        written_as_text!($type, $what, $pattern);
    };
}

/// Reads `"2.5xyz"` with the suffix `xyz` as 2.5.
pub(super) fn factor(text: &str, suffix: &str) -> Option<f64> {
    let number = text.trim().strip_suffix(suffix)?.trim_end();
    decimal(number)?;
    number.parse().ok()
}

/// Deserializes a value that is written as text; a bare number is an error
/// that says which text is wanted.
pub(super) fn text<'de, T, D>(d: D, what: &'static str) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err = String>,
    D: Deserializer<'de>,
{
    let value = serde_json::Value::deserialize(d)?;
    let read = match &value {
        serde_json::Value::String(s) => s.parse(),
        other => Err(format!("{other} is not {what}")),
    };
    read.map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use crate::{Bytes, Duration, Rate};

    #[test]
    fn text_reads_back_exactly() {
        for text in ["85.2us", "16us", "0s", "1ps", "1.5s", "250ms", "20.2us"] {
            let d: Duration = text.parse().unwrap();
            assert_eq!(d.to_string().parse::<Duration>().unwrap(), d, "{text}");
        }
        assert_eq!("85.2us".parse::<Duration>().unwrap().ps(), 85_200_000);
        assert_eq!("500KB".parse::<Bytes>().unwrap().get(), 500_000);
        assert_eq!("10Gbps".parse::<Rate>().unwrap().bps(), 10_000_000_000);
        assert_eq!(Rate::from_gbps(40).to_string(), "40Gbps");
        assert_eq!(Duration::from_us(16).to_string(), "16us");
    }

    #[test]
    fn too_much_is_told_with_the_most() {
        let error = |text: &str| text.parse::<Duration>().unwrap_err();
        assert_eq!(
            error("18446745s"),
            "\"18446745s\" is too much: at most 18,446,744 s"
        );
        assert_eq!(
            error("99999999999 ms"),
            "\"99999999999 ms\" is too much: at most 18,446,744,073 ms"
        );
        assert!("18446744s".parse::<Duration>().is_ok());
        assert_eq!(
            "20000000000GB".parse::<Bytes>().unwrap_err(),
            "\"20000000000GB\" is too much: at most 18,446,744,073 GB"
        );
        let counts = [0, 999, 1_000, 65_535, 1_234_567].map(super::grouped);
        assert_eq!(counts, ["0", "999", "1,000", "65,535", "1,234,567"]);
    }

    #[test]
    fn nonsense_is_refused_with_a_remedy() {
        for text in [
            "16",
            "16 parsecs",
            "-1us",
            "us",
            "1e3us",
            "NaN",
            "",
            ".",
            "1.2.3us",
        ] {
            let err = text.parse::<Duration>().unwrap_err();
            assert!(err.contains(text) && err.contains("85.2us"), "{err}");
        }
        assert!("0Gbps".parse::<Rate>().is_err());
    }
}
