//! Everything with JSON on both sides, for the binding.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use fctlab_core::{Rate, SpecError, edit, spec};
use fctlab_link::{Control, QueueSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::accuracy;
use crate::evaluate::{Candidate, Meter};
use crate::flows::{Flows, MOST_FLOWS, span};
use crate::limit::Limit;
use crate::look::MOST_SEEN;
use crate::packets;
use crate::plan::{self, plan};
use crate::predict::{Length, Verdict, predict};
use crate::provision::{Strategy, provision};
use crate::spec::load::Load;
use crate::spec::{Spec, schema};

/// A question, told apart by its key `ask`.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case", deny_unknown_fields)]
enum Question {
    Resolve {
        spec: Value,
        #[serde(default)]
        sets: Vec<(String, String)>,
        #[serde(default)]
        base_dir: PathBuf,
    },
    Predict {
        spec: Value,
        #[serde(default)]
        limit: Limit,
        #[serde(default)]
        fixed: bool,
        #[serde(default)]
        engine: Engine,
    },
    Plan {
        spec: Value,
        #[serde(default)]
        limit: Limit,
    },
    Weights {
        spec: Value,
        #[serde(default)]
        limit: Limit,
    },
    Provision {
        spec: Value,
        strategies: Option<Vec<Strategy>>,
        precision: Option<f64>,
        intervals: Option<bool>,
        #[serde(default)]
        limit: Limit,
    },
    Speed {
        spec: Value,
        flows: u64,
    },
    Bdp {
        spec: Value,
    },
    Thresh {
        spec: Value,
    },
    Schemes {},
    Catalog {},
    Schema {},
}

/// What runs the flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Engine {
    #[default]
    Model,
    Packet,
}

/// Answers a question; `meter` counts, and stops it from outside.
///
/// # Errors
/// A mistake in it, with its path.
pub fn answer(question: Value, meter: &Meter) -> Result<Value, SpecError> {
    let question: Question = spec::read(question)?;
    let begin = Instant::now();
    let read = |value: &Value| Spec::read(value.clone(), Path::new(""));
    let cost = || {
        json!({
            "wall_s": begin.elapsed().as_secs_f64(),
            "evaluations": meter.evaluations.load(Ordering::Relaxed),
            "flows": meter.flows.load(Ordering::Relaxed),
        })
    };
    // Beside what was found: the load that it was found at, and what to beware of in the model.
    let with_load = |spec: &Spec, mut found: Value| {
        let load = Load::of(spec, &spec.classes()?);
        let warnings = found["warnings"].take();
        let warnings = warnings.as_array().into_iter().flatten();
        let warnings = load
            .warning(spec)
            .map(Value::String)
            .into_iter()
            .chain(warnings.cloned());
        found["warnings"] = warnings.collect();
        if found["inaccurate"].is_null() {
            found["inaccurate"] = json!(accuracy::warnings(spec, &load, spec.network.link));
        }
        found["load"] = json!(load);
        Ok(found)
    };
    match question {
        Question::Resolve {
            mut spec,
            sets,
            base_dir,
        } => {
            for (path, text) in sets {
                edit::set(&mut spec, &path, &text)?;
            }
            Ok(json!(Spec::read(spec, &base_dir)?))
        }
        Question::Predict {
            spec,
            limit,
            fixed,
            engine,
        } => {
            let spec = read(&spec)?;
            let classes = spec.classes()?;
            if classes.iter().all(|class| class.slis.is_empty()) {
                let message = "no class has an SLI to predict; write slis, such as \
                               [{ name = \"p99\", metric = \"p99\" }]";
                return Err(SpecError::new("classes", message));
            }
            let candidate = Candidate::of(&spec, &classes);
            let whole = limit;
            let limit = limit.beside_traces(&classes, 1)?;
            let most = limit.flows(MOST_FLOWS, &classes, 1);
            let length = if fixed {
                Length::Exactly(most)
            } else {
                Length::UntilDecided(most)
            };
            let (found, flows) = predict(&candidate, spec.seed, length, meter)?;
            let open = found.iter().any(|c| c.verdict == Some(Verdict::Undecided));
            let warning = limit.warning(flows.len(), MOST_FLOWS, &classes, 1);
            let mut found = json!({
                "warnings": Vec::from_iter(warning.filter(|_| open)),
                "spec": spec,
                "classes": found,
                "flows": flows.len(),
                "simulated_s": flows.until().as_secs_f64(),
                "engine": engine,
            });
            if engine == Engine::Packet {
                whole.check_packets(flows.len())?;
                let packets = packets::judged(&spec, &candidate, &flows, meter)?;
                found["classes"] = json!(packets.classes);
                found["packet_hops"] = packets.packet_hops.into();
                found["inaccurate"] = packets.warnings.into();
            }
            found["cost"] = cost();
            with_load(&spec, found)
        }
        Question::Plan { spec, limit } => {
            let resolved = read(&spec)?;
            let found = plan(&resolved, &spec, &limit, meter)?;
            let classes = resolved.classes()?;
            let warning = limit.warning(found.flows, MOST_SEEN, &classes, 1);
            let warning = warning.filter(|_| found.verdict == Verdict::Undecided);
            let found = json!({
                "warnings": Vec::from_iter(warning),
                "spec": resolved,
                "plan": found,
                "cost": cost(),
            });
            with_load(&resolved, found)
        }
        Question::Weights { spec, limit } => {
            Ok(json!(plan::weights(&read(&spec)?, &limit, meter)?))
        }
        Question::Provision {
            spec,
            strategies,
            precision,
            intervals,
            limit,
        } => {
            let spec = read(&spec)?;
            let strategies = strategies.unwrap_or_else(|| Strategy::ALL.to_vec());
            let precision = precision.unwrap_or(1.0);
            if !(precision > 0.0 && precision.is_finite()) {
                let message = format!("{precision} is not in (0, inf)");
                return Err(SpecError::new("precision", message));
            }
            let classes = spec.classes()?;
            let most = limit.flows(MOST_FLOWS, &classes, strategies.len());
            let (found, fewer) = provision(
                &spec,
                &strategies,
                precision,
                most,
                intervals.unwrap_or(true),
                meter,
            )?;
            // Of the slowest link that all classes share, where the model is farthest off.
            let shared = found.iter().filter(|p| p.strategy != Strategy::Static);
            let slowest = shared.filter_map(|p| p.capacity_bps);
            let slowest = slowest.fold(f64::INFINITY, f64::min);
            let load = Load::of(&spec, &classes);
            let inaccurate = if slowest.is_finite() {
                let whole = (slowest / 1e6).round() as u64 * 1_000_000;
                accuracy::warnings(&spec, &load, Rate::from_bps(whole))
            } else {
                Vec::new()
            };
            Ok(json!({
                "spec": spec,
                "strategies": found,
                "warnings": Vec::from_iter(fewer),
                "inaccurate": inaccurate,
                "cost": cost(),
            }))
        }
        Question::Speed { spec, flows } => {
            let spec = read(&spec)?;
            let classes = spec.classes()?;
            let flows = Flows::generate(&classes, spec.seed, span(&classes, flows))?;
            Candidate::of(&spec, &classes).run(&flows, meter);
            Ok(json!({"flows": flows.len(), "cost": cost()}))
        }
        Question::Bdp { spec } => Ok(json!(read(&spec)?.link().bdp_bytes())),
        Question::Thresh { spec } => {
            let spec = read(&spec)?;
            Ok(json!(spec.cc.threshold_on(&spec.link())))
        }
        Question::Schemes {} => Ok(packets::schemes()),
        Question::Catalog {} => Ok(json!({
            "congestion controls": Control::catalog()?,
            "queues": QueueSpec::catalog(),
        })),
        Question::Schema {} => Ok(schema()),
    }
}
