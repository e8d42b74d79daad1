//! What-if: changes of one key, such as `classes.web.load=+20%`.

use fctlab_core::SpecError;
use fctlab_core::spec::Plain;
use serde_json::{Value, json};

/// Sets `path` (keys with dots between; a class by its name or place) to `text`:
/// TOML, bare text, or a change in percent of the number that is there.
///
/// # Errors
/// There is no such place, or nothing there that percent would change.
pub fn set(value: &mut Value, path: &str, text: &str) -> Result<(), SpecError> {
    let mut here = value;
    for key in path.split('.') {
        if key.is_empty() {
            let message = "is not a path; write keys with dots between, such as classes.web.load";
            return Err(SpecError::new(path, message));
        }
        if here.is_null() {
            *here = json!({});
        }
        if let Value::String(short) = here {
            *here = json!({ "kind": short });
        }
        here = match here {
            Value::Object(map) => map.entry(key).or_insert(Value::Null),
            Value::Array(list) => {
                let named = |item: &Value| item["name"] == key;
                let place = list.iter().position(named).or(key.parse().ok());
                let names: Vec<_> = list.iter().filter_map(|i| i["name"].as_str()).collect();
                let message = format!("{key} is not one of {}", names.join(", "));
                let known = place.filter(|&i| i < list.len());
                let place = known.ok_or_else(|| SpecError::new(path, message))?;
                &mut list[place]
            }
            other => {
                let message = format!("{other} has no key {key}");
                return Err(SpecError::new(path, message));
            }
        };
    }
    *here = match percent(text) {
        Some(change) => scaled(here, 1.0 + change / 100.0).ok_or_else(|| {
            SpecError::new(path, format!("{here} is no number to change by {text}"))
        })?,
        None => bare(text),
    };
    Ok(())
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

/// What a person typed after `path=`: TOML where it is, else the text itself.
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
        let mut value = json!({"queue": "wfq", "classes": [
            {"name": "web", "load": 0.25}, {"name": "rpc", "rate": "10Gbps"}]});
        set(&mut value, path, text).map_err(|e| e.to_string())?;
        Ok(value)
    }

    #[test]
    fn changes() {
        let of = |path, text| changed(path, text).unwrap();
        assert_eq!(of("classes.web.load", "+20%")["classes"][0]["load"], 0.3);
        assert_eq!(
            of("classes.rpc.rate", "-10%")["classes"][1]["rate"],
            "9.000000Gbps"
        );
        assert_eq!(of("classes.1.weight", "3")["classes"][1]["weight"], 3);
        assert_eq!(
            of("queue.inside", "fq")["queue"],
            json!({"kind": "wfq", "inside": "fq"})
        );
        assert_eq!(of("network.link", "40Gbps")["network"]["link"], "40Gbps");
    }

    #[test]
    fn mistakes() {
        let error = |path, text| changed(path, text).unwrap_err();
        assert_eq!(
            error("classes.wb.load", "1"),
            "classes.wb.load: wb is not one of web, rpc"
        );
        assert_eq!(
            error("classes.web.slo", "+5%"),
            "classes.web.slo: null is no number to change by +5%"
        );
        assert_eq!(
            error("classes.web.load.x", "1"),
            "classes.web.load.x: 0.25 has no key x"
        );
    }
}
