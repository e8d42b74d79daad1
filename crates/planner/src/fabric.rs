//! SLIs and verdicts of flows that were run over a whole fabric, with the error of what ran them.
//!
//! A fluid's value is beside that of packets by a factor that was measured: between `low` and `high` of the value
//! that packets have. So the truth lies between the ends of an interval over `high` and over `low`, and a loss
//! counts at the end that is worse.

use std::io::Read;

use fctlab_core::{SpecError, spec};
use fctlab_workload::asked;
use fctlab_workload::sli::{Attr, BATCHES, Estimate, Sample, SliSpec, spent};
use fctlab_workload::slo::{Slo, Target};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use arrow_array::types::{Float64Type, UInt16Type};

use crate::predict::{ClassFound, judge_class};
use crate::tables::{batches, column};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    classes: Vec<Class>,
    /// The time over which flows started, in whatever unit `start` has.
    until: f64,
    /// How often such flows have been looked at, this time included.
    look: u32,
}

/// What is asked of a class.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    name: String,
    slis: Vec<SliSpec>,
    slo: Option<String>,
    /// Of each SLI, its value over that of packets: from, to.
    errors: Vec<(f64, f64)>,
    /// Why no verdict can rest on it.
    open: Option<String>,
}

/// A class as found.
#[derive(Serialize)]
struct Judged {
    #[serde(flatten)]
    found: ClassFound,
    /// Equation 1 at the worse end of what the values may be off by.
    worst_loss: Option<f64>,
}

/// Of a table of `class` (u16), `start`, `size_bytes`, `fct_s` and `slowdown` (f64): every class, judged.
///
/// # Errors
/// A mistake in the question, with its path; a table that cannot be read.
pub fn judge(question: Value, flows: impl Read) -> Result<Value, SpecError> {
    let question: Question = spec::read(question)?;
    let classes = &question.classes;
    let mut slos = Vec::new();
    for (i, class) in classes.iter().enumerate() {
        let slo = asked::read(&class.slis, class.slo.as_deref());
        slos.push(slo.map_err(|e| e.under(&format!("classes[{i}]")))?);
    }
    let samples = classes
        .iter()
        .map(|class| vec![Sample::default(); class.slis.len()]);
    let mut samples: Vec<Vec<Sample>> = samples.collect();
    let (mut bytes, mut squares) = (0.0, 0.0);
    for batch in batches(flows)? {
        let class = column::<UInt16Type>(&batch, "class")?.values();
        let of = |name| column::<Float64Type>(&batch, name).map(|c| c.values());
        let (start, size, fct_s) = (of("start")?, of("size_bytes")?, of("fct_s")?);
        let slowdown = of("slowdown")?;
        for row in 0..batch.num_rows() {
            let place = (start[row] / question.until * BATCHES as f64) as usize;
            bytes += size[row];
            squares += size[row] * size[row];
            let k = usize::from(class[row]);
            let unknown = || SpecError::new("flows.class", format!("{k} is no class"));
            let asked = classes.get(k).ok_or_else(unknown)?;
            for (sli, sample) in asked.slis.iter().zip(&mut samples[k]) {
                if sli.includes(size[row]) {
                    let value = match sli.attr {
                        Attr::Slowdown => slowdown[row],
                        Attr::Fct => fct_s[row],
                        Attr::Throughput => size[row] * 8.0 / fct_s[row],
                    };
                    sample.push(value, place);
                }
            }
        }
    }
    // Of bytes that come flow by flow, independently.
    let work_error = if bytes > 0.0 {
        squares.sqrt() / bytes
    } else {
        0.0
    };
    let each = classes.iter().zip(&slos).zip(&mut samples);
    let judged = each.map(|((class, slo), samples)| {
        judged(
            class,
            slo.as_ref(),
            samples,
            spent(question.look),
            work_error,
        )
    });
    Ok(json!(judged.collect::<Vec<Judged>>()))
}

fn judged(
    class: &Class,
    slo: Option<&Slo>,
    samples: &mut [Sample],
    share: f64,
    work_error: f64,
) -> Judged {
    let pairs = class.slis.iter().zip(samples).zip(&class.errors);
    let estimates = pairs.map(|((sli, sample), errors)| Estimate {
        work_error,
        ..truth(sample.estimate(sli.metric, share), *errors)
    });
    let estimates: Vec<Estimate> = estimates.collect();
    let mut found = judge_class(&class.name, &class.slis, slo, &estimates, &class.errors);
    if let Some(why) = &class.open {
        found.leave_open(why);
    }
    let worst_loss = slo.map(|slo| {
        let mut values: Vec<f64> = estimates.iter().map(|e| e.value).collect();
        for (sli, target) in slo.targets() {
            let (low, high) = class.errors[sli];
            let (value, flows) = (estimates[sli].value, estimates[sli].flows);
            values[sli] = match target {
                _ if flows == 0 => f64::INFINITY,
                Target::Below(_) => value / low,
                Target::Above(_) => value / high,
            };
        }
        slo.loss(&values)
    });
    Judged {
        found,
        worst_loss: worst_loss.filter(|loss| loss.is_finite()),
    }
}

/// An estimate with the intervals in which packets' value lies.
fn truth(estimate: Estimate, (low, high): (f64, f64)) -> Estimate {
    let ends = |(from, to): (f64, f64)| (from / high, to / low);
    Estimate {
        ci95: ends(estimate.ci95),
        ci99: ends(estimate.ci99),
        ..estimate
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt16Array};
    use arrow_ipc::writer::StreamWriter;

    use super::*;

    /// Flows whose slowdowns are 1.0 to 1.99, one after the other.
    fn flows(count: u32) -> Vec<u8> {
        let of = |value: &dyn Fn(u32) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values((0..count).map(value)))
        };
        let slowdown = |i: u32| 1.0 + f64::from(i % 100) / 100.0;
        let class: ArrayRef = Arc::new(UInt16Array::from_iter_values((0..count).map(|_| 0)));
        let columns = [
            ("class", class),
            ("start", of(&|i| f64::from(i) / f64::from(count))),
            ("size_bytes", of(&|_| 1000.0)),
            ("fct_s", of(&|i| slowdown(i) * 1e-6)),
            ("slowdown", of(&slowdown)),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let mut table = Vec::new();
        let mut writer = StreamWriter::try_new(&mut table, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        table
    }

    fn judge_one(slo: &str, errors: (f64, f64), open: Option<&str>) -> Value {
        let question = json!({"until": 1.0, "look": 1, "classes": [{"name": "a", "slo": slo,
            "slis": [{"name": "tail", "metric": "p99"}], "errors": [errors], "open": open}]});
        judge(question, &flows(10_000)[..]).unwrap()[0].clone()
    }

    #[test]
    fn the_error_of_a_model_widens_intervals_and_counts_in_losses() {
        // The p99 is 1.98, between 1.97 and 1.99 at most.
        let exact = judge_one("tail < 2.1", (1.0, 1.0), None);
        assert_eq!(exact["verdict"], "met");
        assert!((exact["worst_loss"].as_f64().unwrap() - (1.98 / 2.1 - 1.0)).abs() < 1e-6);
        // It may be a tenth below that of packets.
        let off = judge_one("tail < 2.1", (0.9, 1.0), None);
        assert_eq!(off["verdict"], "undecided");
        assert!((off["worst_loss"].as_f64().unwrap() - (1.98 / 0.9 / 2.1 - 1.0)).abs() < 1e-6);
        assert_eq!(off["loss"], exact["loss"]);
        assert_eq!(judge_one("tail < 2.3", (0.9, 1.0), None)["verdict"], "met");
        // Or a tenth above: it is violated only where nine tenths of it are too much.
        assert_eq!(
            judge_one("tail < 1.9", (1.0, 1.1), None)["verdict"],
            "undecided"
        );
        assert_eq!(
            judge_one("tail < 1.7", (1.0, 1.1), None)["verdict"],
            "violated"
        );
        assert_eq!(
            judge_one("tail > 1.9", (1.0, 1.1), None)["verdict"],
            "undecided"
        );
    }

    #[test]
    fn nothing_is_decided_where_the_model_is_not_known() {
        let found = judge_one("tail < 3", (1.0, 1.0), Some("verify on packets"));
        assert_eq!(
            (&found["verdict"], &found["why"]),
            (&json!("undecided"), &json!("verify on packets"))
        );
    }
}
