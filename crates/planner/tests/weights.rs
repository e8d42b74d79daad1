//! `plan` under HPCC, whose flows hear of the whole port: a class's loss may rise with its own weight.

use std::path::Path;

use fctlab_planner::evaluate::Meter;
use fctlab_planner::limit::Limit;
use fctlab_planner::plan::{Plan, plan};
use fctlab_planner::predict::Verdict;
use fctlab_planner::spec::Spec;
use serde_json::json;

fn planned(large: [f64; 2], seed: u64, most_flows: u64) -> Plan {
    let class = |name: &str, large: f64| {
        json!({"name": name, "flowsizes": "facebook_hadoop_bytes", "load": 0.3,
            "interarrivals": {"kind": "lognormal", "sigma": 2.0},
            "slis": [{"name": "small_p99", "metric": "p99", "below": "125KB"},
                     {"name": "large_p99", "metric": "p99", "from": "125KB"}],
            "slo": format!("small_p99 < 12 and large_p99 < {large}")})
    };
    let value = json!({"seed": seed, "network": {"link": "100Gbps", "rtt": "10us"}, "queue": "wfq", "cc": "hpcc",
        "classes": [class("a", large[0]), class("b", large[1])]});
    let limit = Limit {
        most_flows: Some(most_flows),
        ..Limit::default()
    };
    let spec = Spec::read(value.clone(), Path::new("")).unwrap();
    plan(&spec, &value, &limit, &Meter::default()).unwrap()
}

fn is_the_best_of_those_compared(plan: &Plan) {
    let names = plan.compared.iter().map(|c| c.name);
    let names: Vec<_> = names.filter(|name| *name != "step").collect();
    assert_eq!(names, ["search", "algorithm 1", "equal weights"]);
    let least = plan
        .compared
        .iter()
        .map(|c| c.worst_loss)
        .fold(f64::INFINITY, f64::min);
    let chosen = plan
        .compared
        .iter()
        .find(|c| c.weights == plan.weights)
        .unwrap();
    assert_eq!(chosen.worst_loss, least, "{:?}", plan.compared);
}

#[test]
fn weights_are_found_where_a_loss_rises_with_the_weight() {
    // Equal weights leave a fifth to spare.
    let plan = planned([32.0, 32.0], 1, 400_000);
    println!("{:?} {:?} {:?}", plan.weights, plan.verdict, plan.compared);
    println!("{:?}\n{:?}", plan.search, plan.algorithm_1);
    assert!(
        plan.success && plan.verdict != Verdict::Violated,
        "{plan:?}"
    );
    is_the_best_of_those_compared(&plan);
    let (first, second) = (f64::from(plan.weights[0]), f64::from(plan.weights[1]));
    assert!((first / second).ln().abs() < 1.0, "{:?}", plan.weights);
}

#[test]
fn where_none_are_found_the_best_known_are_told() {
    let plan = planned([32.0, 9.0], 2, 100_000);
    assert!(!plan.success, "{plan:?}");
    is_the_best_of_those_compared(&plan);
}
