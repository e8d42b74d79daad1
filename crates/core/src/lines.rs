//! On which line of a file a key is written.
//!
//! None of the readers keeps lines, but every one of them says where reading failed. So the text is read
//! along the path, and reading made to fail at its end.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::spec::Plain;

/// The line of the byte at `place`, from 1 on.
pub fn line_at(text: &str, place: usize) -> usize {
    let before = text.get(..place).unwrap_or_default();
    1 + before.matches('\n').count()
}

/// The line, counted from 1, of what `path` names, or of the innermost table of it that is written there;
/// `None` where not even its first key is. An item of a list is named by its place (`classes[1]`) or by
/// its name (`classes.web`). `value` is what the file holds; `fails` reads it, and says where that failed.
pub fn line_of(
    value: &Value,
    path: &str,
    fails: impl FnOnce(Seek<'_>) -> Option<usize>,
) -> Option<usize> {
    let steps = steps(value, path);
    if steps.is_empty() {
        return None;
    }
    fails(Seek(&steps))
}

/// The same in a text of TOML.
pub fn line_in_toml(text: &str, path: &str) -> Option<usize> {
    let Plain(value) = toml::from_str(text).ok()?;
    line_of(&value, path, |seek| {
        let reader = toml::Deserializer::parse(text).ok()?;
        let error = seek.deserialize(reader).err()?;
        Some(line_at(text, error.span()?.start))
    })
}

/// One key, or the place of an item.
#[derive(Debug, PartialEq)]
enum Step {
    Key(String),
    Item(usize),
}

/// The steps of `path` that are there.
fn steps(mut value: &Value, mut path: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    loop {
        let next = match value {
            // A key may hold dots itself.
            Value::Object(map) => map.iter().find_map(|(key, inner)| {
                let rest = rest(path, key)?;
                Some((Step::Key(key.clone()), inner, rest))
            }),
            Value::Array(list) => list.iter().enumerate().find_map(|(i, inner)| {
                let named = inner["name"].as_str().and_then(|name| rest(path, name));
                let rest = named.or_else(|| rest(path, &format!("[{i}]")));
                let rest = rest.or_else(|| self::rest(path, &i.to_string()));
                Some((Step::Item(i), inner, rest?))
            }),
            _ => None,
        };
        let Some((step, inner, rest)) = next else {
            return steps;
        };
        steps.push(step);
        (value, path) = (inner, rest);
    }
}

/// What follows `first` in `path`, if it begins so.
fn rest<'a>(path: &'a str, first: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(first).filter(|_| !first.is_empty())?;
    match rest.strip_prefix('.') {
        Some(rest) => Some(rest),
        None => (rest.is_empty() || rest.starts_with('[')).then_some(rest),
    }
}

/// Goes along steps, and makes reading fail at the end of them.
#[derive(Debug)]
pub struct Seek<'a>(&'a [Step]);

fn found<E: Error>() -> E {
    E::custom("here")
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what is looked for")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let [Step::Key(wanted), rest @ ..] = self.0 else {
            return Err(found());
        };
        let last = rest.is_empty();
        while let Some(is_it) = map.next_key_seed(Key { wanted, last })? {
            if is_it {
                return map.next_value_seed(Seek(rest));
            }
            map.next_value::<IgnoredAny>()?;
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let [Step::Item(place), rest @ ..] = self.0 else {
            return Err(found());
        };
        for _ in 0..*place {
            list.next_element::<IgnoredAny>()?;
        }
        list.next_element_seed(Seek(rest))?;
        Ok(())
    }
    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Err(found())
    }
    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Err(found())
    }
    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Err(found())
    }
    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Err(found())
    }
    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Err(found())
    }
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Err(found())
    }
}

/// Whether a key is the wanted one; it fails there if it is the last.
struct Key<'a> {
    wanted: &'a str,
    last: bool,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<bool, D::Error> {
        d.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        let is_it = key == self.wanted;
        if is_it && self.last {
            return Err(found());
        }
        Ok(is_it)
    }
}
