//! One key of a specification, set from text: `traffic.load=0.8`, `classes.web.load=+20%`.
//!
//! A path is keys with dots between. An item of a list is named by its place, or by its `name`.

use serde_json::{Value, json};

use crate::SpecError;
use crate::spec::{Plain, hint};

/// Puts `text` at `path`, making tables on the way; the shorthand `"dctcp"` on the way becomes the
/// table that it stands for. `text` is TOML, bare text, or a change in percent (`+20%`, `-5%`) of the number
/// that is written there.
///
/// # Errors
/// There is no such place, or nothing there that percent would change.
pub fn set(value: &mut Value, path: &str, text: &str) -> Result<(), SpecError> {
    let mut here = value;
    let (mut above, mut parent) = ("", "");
    for key in path.split('.') {
        if key.is_empty() {
            let message = "is not a path; write keys with dots between, such as traffic.load";
            return Err(SpecError::new(path, message));
        }
        if let Value::String(short) = here {
            let is_scheme = parent == "scheme" || above == "schemes";
            let word = if is_scheme { "preset" } else { "kind" };
            *here = json!({ word: short });
        }
        if here.is_null() {
            *here = json!({});
        }
        here = match here {
            Value::Object(map) => map.entry(key).or_insert(Value::Null),
            Value::Array(list) => {
                let i = place(list, key).map_err(|e| SpecError::new(path, e))?;
                &mut list[i]
            }
            other => {
                let message = format!("{parent} is {other} and has no key {key}");
                return Err(SpecError::new(path, message));
            }
        };
        (above, parent) = (parent, key);
    }
    *here = match percent(text) {
        Some(change) => {
            let scaled = scaled(here, 1.0 + change / 100.0);
            scaled.ok_or_else(|| SpecError::new(path, no_number(here, text)))?
        }
        None => bare(text),
    };
    Ok(())
}

fn no_number(value: &Value, text: &str) -> String {
    match value {
        Value::Null => format!("is not written, so {text} changes nothing; write a value"),
        other => format!("{other} is no number to change by {text}"),
    }
}

/// Where in `list` the item is that `key` names.
fn place(list: &[Value], key: &str) -> Result<usize, String> {
    let named = list.iter().position(|item| item["name"] == key);
    let place = named.or_else(|| key.parse().ok());
    place.filter(|&i| i < list.len()).ok_or_else(|| {
        let names: Vec<_> = list.iter().filter_map(|i| i["name"].as_str()).collect();
        if names.is_empty() {
            format!("{key} is not in 0..{}", list.len())
        } else {
            let hint = hint(key, &names);
            format!("{key} is not there; {hint}known: {}", names.join(", "))
        }
    })
}

/// `+20%` as 20.
fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?;
    let signed = number.starts_with(['+', '-']);
    number.parse().ok().filter(|_| signed)
}

/// A number, or a text that begins with one, times `factor`.
fn scaled(value: &Value, factor: f64) -> Option<Value> {
    match value {
        Value::Number(n) => Some(json!(n.as_f64()? * factor)),
        Value::String(text) => {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let number: f64 = text[..end].parse().ok()?;
            Some(json!(format!("{:.6}{}", number * factor, &text[end..])))
        }
        _ => None,
    }
}

/// What a person typed: TOML where it is, else the text itself.
fn bare(text: &str) -> Value {
    match toml::from_str(&format!("value = {text}")) {
        Ok(Plain(Value::Object(mut table))) if table.len() == 1 => table["value"].take(),
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, text: &str) -> Result<Value, String> {
        let mut value = json!({"queue": "wfq", "scheme": "dctcp", "schemes": {"mine": "pias"}, "links": [{"up": 1}], "classes": [
            {"name": "web", "load": 0.25}, {"name": "rpc", "rate": "10Gbps"}]});
        set(&mut value, path, text).map_err(|e| e.to_string())?;
        Ok(value)
    }

    #[test]
    fn values_and_changes_in_percent() {
        let of = |path, text| changed(path, text).unwrap();
        assert_eq!(of("classes.web.load", "+20%")["classes"][0]["load"], 0.3);
        assert_eq!(
            of("classes.rpc.rate", "-10%")["classes"][1]["rate"],
            "9.000000Gbps"
        );
        assert_eq!(of("classes.1.weight", "3")["classes"][1]["weight"], 3);
        assert_eq!(of("links.0.up", "[1, 2]")["links"][0]["up"], json!([1, 2]));
        assert_eq!(of("network.link", "40Gbps")["network"]["link"], "40Gbps");
        assert_eq!(of("a.b", "5%")["a"]["b"], "5%");
    }

    #[test]
    fn shorthands_on_the_way() {
        let of = |path, text| changed(path, text).unwrap();
        assert_eq!(
            of("queue.inside", "fq")["queue"],
            json!({"kind": "wfq", "inside": "fq"})
        );
        assert_eq!(
            of("scheme.ecn_threshold", "30KB")["scheme"],
            json!({"preset": "dctcp", "ecn_threshold": "30KB"})
        );
        assert_eq!(
            of("schemes.mine.transport.g", "0.5")["schemes"]["mine"],
            json!({"preset": "pias", "transport": {"g": 0.5}})
        );
    }

    #[test]
    fn mistakes() {
        let error = |path, text| changed(path, text).unwrap_err();
        assert_eq!(
            error("classes.wb.load", "1"),
            "classes.wb.load: wb is not there; did you mean \"web\"? known: web, rpc"
        );
        assert_eq!(error("links.1.up", "1"), "links.1.up: 1 is not in 0..1");
        assert_eq!(
            error("classes.web.slo", "+5%"),
            "classes.web.slo: is not written, so +5% changes nothing; write a value"
        );
        assert_eq!(
            error("classes.web.name", "+5%"),
            "classes.web.name: \"web\" is no number to change by +5%"
        );
        assert_eq!(
            error("classes.web.load.x", "1"),
            "classes.web.load.x: load is 0.25 and has no key x"
        );
        assert!(error("classes..load", "1").starts_with("classes..load: is not a path"));
    }
}
