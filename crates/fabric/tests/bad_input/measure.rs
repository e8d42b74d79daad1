//! What is measured and recorded.

use serde_json::json;

use crate::with;

#[test]
fn measuring() {
    assert_eq!(
        with(&[("measure.stop", json!("measured"))]),
        "measure.stop: \"measured\" needs measure.window or measure.cooldown, or it would never end"
    );
    assert_eq!(
        with(&[
            ("measure.window", json!("1ms")),
            ("measure.cooldown", json!("1ms"))
        ]),
        "measure.cooldown: has no meaning beside window; give one of the two"
    );
    assert_eq!(
        with(&[("measure.cooldown", json!("1ms"))]),
        "measure.cooldown: needs traffic.duration, to be counted back from"
    );
    let short = [
        ("measure.cooldown", json!("1ms")),
        ("measure.warmup", json!("1ms")),
        ("traffic.duration", json!("2ms")),
    ];
    assert_eq!(
        with(&short),
        "measure.cooldown: with the warm-up nothing is left of traffic.duration (2ms)"
    );
    assert_eq!(
        with(&[("measure.window", json!("0s"))]),
        "measure.window: 0s is not above zero"
    );
}

#[test]
fn recording() {
    assert_eq!(
        with(&[("record", json!({"values": {"unit": "0B"}}))]),
        "record.values.unit: 0B is not above zero"
    );
}
