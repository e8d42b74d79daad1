//! Reading a specification: one validator whose errors name the path, the
//! value and what is allowed.
//!
//! Every specification is a serde type. [`read`] deserializes a JSON value
//! into it and turns whatever goes wrong into a [`SpecError`] with the full
//! path, however deep; an unknown key comes with the nearest known one.

use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::units::grouped;

/// A mistake in a specification, told to the person who wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SpecError {
    /// Where: `traffic.load`, `port[3].buffer`; empty for the whole.
    pub path: String,
    /// What was found there and what is allowed.
    pub message: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl SpecError {
    /// An error at `path`.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        SpecError {
            path: path.into(),
            message: message.into(),
        }
    }
    /// The same error, seen from outside `parent`.
    pub fn under(mut self, parent: &str) -> Self {
        self.path = join(parent, &self.path);
        self
    }
    /// As an error of serde that [`read`] decodes again, path included: this
    /// is how a part that reads itself (see [`mod@crate::parts`]) reports.
    pub fn into_serde<E: serde::de::Error>(self) -> E {
        E::custom(format!("{MARK}{}{MARK}{}", self.path, self.message))
    }
}

/// Separates path and message inside a serde error; never occurs in input
/// that a person types.
const MARK: char = '\u{1f}';

/// `parent` and `child` as one path.
pub fn join(parent: &str, child: &str) -> String {
    match (parent, child) {
        ("", _) => child.to_owned(),
        (_, "") => parent.to_owned(),
        (_, c) if c.starts_with('[') => format!("{parent}{c}"),
        _ => format!("{parent}.{child}"),
    }
}

/// Reads `value` as a `T`.
///
/// # Errors
/// The first mistake, with its path relative to `value`.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, SpecError> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let path = match e.path().to_string() {
            p if p == "." => String::new(),
            p => p,
        };
        explain(path, &e.into_inner().to_string())
    })
}

/// What a file holds, as a JSON value: numbers that JSON lacks (`nan`, `inf`) become text, so
/// that an error shows what was written.
#[derive(Debug)]
pub struct Plain(pub Value);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(PlainVisitor).map(Plain)
    }
}

struct PlainVisitor;

impl<'de> serde::de::Visitor<'de> for PlainVisitor {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        let number = serde_json::Number::from_f64(value).map(Value::Number);
        Ok(number.unwrap_or_else(|| value.to_string().to_lowercase().into()))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: serde::Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }
    fn visit_newtype_struct<D: serde::Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }
    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut found = Vec::new();
        while let Some(Plain(value)) = list.next_element()? {
            found.push(value);
        }
        Ok(found.into())
    }
    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut found = serde_json::Map::new();
        while let Some((key, Plain(value))) = map.next_entry::<String, _>()? {
            found.insert(key, value);
        }
        Ok(found.into())
    }
}

/// Turns serde's message into ours.
fn explain(path: String, message: &str) -> SpecError {
    if let Some(rest) = message.strip_prefix(MARK)
        && let Some((inner, text)) = rest.split_once(MARK)
    {
        return SpecError::new(join(&path, inner), text);
    }
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field")
        && let [key, known @ ..] = &quoted[..]
    {
        // serde_path_to_error already points at the key itself.
        let parent = match path.strip_suffix(key) {
            Some(p) => p.trim_end_matches('.').to_owned(),
            None => path,
        };
        return unknown_key(&parent, key, known);
    }
    if message.starts_with("unknown variant")
        && let [word, known @ ..] = &quoted[..]
    {
        let (hint, known) = (hint(word, known), known.join(", "));
        return SpecError::new(path, format!("{word:?} is not known; {hint}known: {known}"));
    }
    if message.starts_with("missing field")
        && let [key] = quoted[..]
    {
        return SpecError::new(join(&path, key), "is missing and has no default");
    }
    SpecError::new(path, in_plain_words(message).as_deref().unwrap_or(message))
}

/// What serde says of a value of the wrong type, without the names of Rust's types.
fn in_plain_words(message: &str) -> Option<String> {
    let (_, rest) = message
        .split_once("invalid type: ")
        .or_else(|| message.split_once("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let found = match found {
        "map" => "a table",
        "sequence" => "a list",
        "unit value" | "null" => "nothing",
        value => ["string ", "integer ", "floating point ", "boolean "]
            .iter()
            .find_map(|kind| value.strip_prefix(kind))?
            .trim_matches('`'),
    };
    let up_to = |max: u64| format!("a whole number from 0 to {}", grouped(max));
    let expected = match expected {
        "f64" | "f32" => "a number".to_owned(),
        "u8" => up_to(u8::MAX.into()),
        "u16" => up_to(u16::MAX.into()),
        "u32" => up_to(u32::MAX.into()),
        "u64" | "usize" => up_to(u64::MAX),
        "a boolean" => "true or false".to_owned(),
        "a string" => "text".to_owned(),
        "a sequence" => "a list".to_owned(),
        what if what.starts_with("struct ") => "a table".to_owned(),
        _ => return None,
    };
    Some(format!("{found} is not {expected}"))
}

/// The error for a key that is not known at `path`, naming the nearest of `known`.
pub fn unknown_key(path: &str, key: &str, known: &[&str]) -> SpecError {
    let hint = hint(key, known);
    let message = match known {
        [] => "unknown key; no other keys are known here".to_owned(),
        known => format!("unknown key; {hint}known here: {}", known.join(", ")),
    };
    SpecError::new(join(path, key), message)
}

/// What a message says of the known word that `word` was probably meant to be: a
/// question and a space, or nothing.
pub fn hint(word: &str, known: &[&str]) -> String {
    nearest(word, known).map_or(String::new(), |near| format!("did you mean {near:?}? "))
}

/// The known word that `word` was probably meant to be.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(word, k), *k))
        .min()
        .filter(|(distance, k)| *distance <= 1 + k.len() / 3)
        .map(|(_, k)| k)
}

/// The keys of the table that a `T` is read from; none where it is read from something else.
pub fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut asked = Asked(&[]);
    // It has nothing to give: what counts is what it was asked for.
    let _ = T::deserialize(&mut asked);
    asked.0
}

/// Notes the keys that it is asked for.
struct Asked(&'static [&'static str]);

impl<'de> serde::Deserializer<'de> for &mut Asked {
    type Error = serde::de::value::Error;
    fn deserialize_struct<V: serde::de::Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0 = fields;
        self.deserialize_any(visitor)
    }
    fn deserialize_any<V: serde::de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("nothing is read"))
    }
    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// A number that must lie in a range, for `#[serde(deserialize_with)]`.
fn number<'de, D, F>(d: D, allowed: F, range: &str) -> Result<f64, D::Error>
where
    D: serde::Deserializer<'de>,
    F: Fn(f64) -> bool,
{
    let value = Value::deserialize(d)?;
    match value.as_f64() {
        Some(x) if allowed(x) => Ok(x),
        _ => Err(serde::de::Error::custom(format!(
            "{value} is not in {range}"
        ))),
    }
}

/// A number in (0, 1).
pub fn open_unit<'de, D: serde::Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    number(d, |x| x > 0.0 && x < 1.0, "(0, 1)")
}
/// A number in (0, 1].
pub fn half_open_unit<'de, D: serde::Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    number(d, |x| x > 0.0 && x <= 1.0, "(0, 1]")
}
/// A number in [0, 1].
pub fn closed_unit<'de, D: serde::Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    number(d, |x| (0.0..=1.0).contains(&x), "[0, 1]")
}
/// A finite number above zero.
pub fn positive<'de, D: serde::Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    number(d, |x| x > 0.0 && x.is_finite(), "(0, inf)")
}
/// A finite number of at least zero.
pub fn non_negative<'de, D: serde::Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    number(d, |x| x >= 0.0 && x.is_finite(), "[0, inf)")
}

/// A whole number in `[LOW, HIGH]`, for `#[serde(deserialize_with)]`.
pub fn whole<'de, D, const LOW: u64, const HIGH: u64>(d: D) -> Result<u32, D::Error>
where
    D: serde::Deserializer<'de>,
{
    const { assert!(HIGH <= u32::MAX as u64) };
    let value = Value::deserialize(d)?;
    match value.as_u64() {
        Some(n) if (LOW..=HIGH).contains(&n) => Ok(n as u32),
        _ => Err(serde::de::Error::custom(format!(
            "{value} is not a whole number from {} to {}",
            grouped(LOW),
            grouped(HIGH)
        ))),
    }
}

/// An option that is written `"none"` when empty, since TOML has no null; for
/// `#[serde(with = "spec::or_none")]`, with [`OrNone`] for its schema.
pub mod or_none {
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    use crate::SpecError;

    /// `null` and `"none"` are empty.
    ///
    /// # Errors
    /// As the value's own.
    pub fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Option<T>, D::Error> {
        match Value::deserialize(d)? {
            Value::Null => Ok(None),
            Value::String(s) if s == "none" => Ok(None),
            value => super::read(value).map(Some).map_err(SpecError::into_serde),
        }
    }

    /// Empty is `"none"`.
    ///
    /// # Errors
    /// As the value's own.
    pub fn serialize<T: Serialize, S: Serializer>(
        value: &Option<T>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(s),
            None => s.serialize_str("none"),
        }
    }
}

/// The schema of an option that is written `"none"` when empty.
pub struct OrNone<T>(std::marker::PhantomData<T>);

impl<T: schemars::JsonSchema> schemars::JsonSchema for OrNone<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}OrNone", T::schema_name()).into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let value = generator.subschema_for::<T>();
        schemars::json_schema!({"anyOf": [value, {"const": "none"}, {"type": "null"}]})
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Duration;
    use serde_json::json;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Inner {
        #[serde(deserialize_with = "open_unit")]
        load: f64,
        min_rto: Duration,
    }
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)]
    struct Outer {
        traffic: Vec<Inner>,
    }

    fn error(value: Value) -> String {
        read::<Outer>(value).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_path_value_and_what_is_allowed() {
        assert_eq!(
            error(json!({"traffic": [{"load": 1.3, "min_rto": "1us"}]})),
            "traffic[0].load: 1.3 is not in (0, 1)"
        );
        assert_eq!(
            error(json!({"traffic": {"load": 0.3}})),
            "traffic: a table is not a list"
        );
        assert_eq!(
            error(json!({"traffic": [{"laod": 0.3}]})),
            "traffic[0].laod: unknown key; did you mean \"load\"? known here: load, min_rto"
        );
        assert_eq!(
            error(json!({"traffic": [{"load": 0.3}]})),
            "traffic[0].min_rto: is missing and has no default"
        );
        let text = error(json!({"traffic": [{"load": 0.3, "min_rto": 5}]}));
        assert!(
            text.starts_with("traffic[0].min_rto: 5 is not a time"),
            "{text}"
        );
    }

    #[test]
    fn the_keys_of_a_table_are_those_that_it_reads() {
        assert_eq!(keys::<Inner>(), ["load", "min_rto"]);
        assert_eq!(keys::<Outer>(), ["traffic"]);
        assert!(keys::<Vec<Inner>>().is_empty());
    }
}
