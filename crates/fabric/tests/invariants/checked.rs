//! What must hold of any run, on a scenario that bytes choose.

use arbitrary::Unstructured;
use fctlab_fabric::engine;
use fctlab_fabric::prepare::prepare;
use fctlab_fabric::prepared::{End, Prepared};
use fctlab_fabric::records::{Fct, Record};
use fctlab_fabric::run::{RunOptions, run};
use fctlab_fabric::scenario::EngineSpec;
use serde_json::{Value, json};

use crate::draw;
use crate::seen::Seen;

/// Draws a scenario and runs it: packets are conserved, as an equality; no flow is faster than alone; what is
/// unfinished lasts to the end; packets sent once arrive in order where the path and the queues keep it; and
/// disciplines keep a link busy as FIFO does.
///
/// # Errors
/// The bytes are at an end.
pub(crate) fn check(u: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let flows = draw::flows(u)?;
    std::fs::write(folder.path().join("flows.csv"), draw::trace(&flows)).expect("a file");
    if u.ratio(1, 4)? {
        let (one, other) = draw::at_once(u)?;
        let last = [one, other].map(|scenario| {
            let prepared = prepare(scenario, &[], folder.path()).expect("a scenario of ours");
            packets(&prepared)
                .iter()
                .map(|r| r.flow.start + r.fct())
                .max()
        });
        assert_eq!(last[0], last[1], "a discipline does not keep the link busy");
        return Ok(());
    }
    let scenario = draw::scenario(u)?;
    // What does not fit each other is refused.
    let Ok(prepared) = prepare(scenario, &[], folder.path()) else {
        return Ok(());
    };
    if let EngineSpec::Packet(_) = prepared.scenario.engine {
        packets(&prepared);
    } else if let Ok(outcome) = run(&prepared, RunOptions::default()) {
        let (started, finished) = (
            outcome.counters.flows_started,
            outcome.counters.flows_finished,
        );
        assert!(finished <= started && started <= flows.len() as u64);
        for row in &outcome.summary {
            assert!(
                row.flows == 0 || row.avg_slowdown >= 1.0,
                "{}",
                row.avg_slowdown
            );
        }
    }
    Ok(())
}

/// The records of a run packet by packet, of which all that must hold does.
fn packets(prepared: &Prepared) -> Vec<Record> {
    let mut records = Vec::new();
    let mut seen = Seen::new(in_order(&json!(prepared.scenario.scheme)));
    let mut sink = |record: &Record| {
        records.push(*record);
        Ok(())
    };
    let mut observe = |_: &_| std::ops::ControlFlow::Continue(());
    let ended = engine::run(prepared, &mut seen, &mut sink, &mut observe).expect("traffic");
    assert!(matches!(ended.end, End::Complete));
    let c = ended.counters;
    assert_eq!(records.len() as u64, c.flows_started);
    seen.check(prepared.scenario.scheme.shaper.is_some(), c.drops);
    let mut finished = 0;
    for record in &records {
        match record.fct {
            Fct::Finished(fct) => {
                finished += 1;
                assert!(fct >= record.ideal, "faster than alone: {record:?}");
            }
            Fct::Unfinished(lasted, _) => {
                assert_eq!(
                    record.flow.start + lasted,
                    ended.now,
                    "not censored: {record:?}"
                );
            }
        }
        assert!(record.slowdown() >= 1.0, "{record:?}");
    }
    assert_eq!(finished, c.flows_finished);
    let again: u64 = records.iter().map(|r| u64::from(r.retransmissions)).sum();
    assert_eq!(again, c.retransmissions);
    records
}

/// Whether a flow's packets that are sent once arrive in order: one path, and queues that keep it.
fn in_order(scheme: &Value) -> bool {
    let keeps = ["fifo", "fq", "strict", "wrr", "drr", "wfq"];
    let kind =
        |place: &str| keeps.contains(&scheme[place]["discipline"]["kind"].as_str().unwrap_or(""));
    scheme["routing"]["kind"] == "ecmp" && kind("port") && kind("nic")
}
