//! Tiny instances of the big switch: every policy sends each packet once, after it came, over ports that are free, and
//! costs no less than the optimum, of which all methods say the same.
#![no_main]

use std::collections::HashSet;

use arbitrary::{Result, Unstructured};
use fctlab_bigswitch::instance::{Burst, Flow, Instance};
use fctlab_bigswitch::metrics::Metric;
use fctlab_bigswitch::optimum::{Method, by, optimum};
use fctlab_bigswitch::policies::PolicySpec;
use libfuzzer_sys::fuzz_target;
use serde_json::json;

/// Up to 5 flows on up to 3 x 3 ports, of up to 9 packets each.
fn instance(u: &mut Unstructured<'_>) -> Result<Instance> {
    let (ingress_ports, egress_ports) = (u.int_in_range(1..=3)?, u.int_in_range(1..=3)?);
    let mut flows = Vec::new();
    for _ in 0..u.int_in_range(1..=5)? {
        let (mut bursts, mut slot) = (Vec::new(), 0);
        for _ in 0..u.int_in_range(1..=3)? {
            slot += u.int_in_range(1..=7)?;
            let count = u.int_in_range(1..=3)?;
            bursts.push(Burst { slot, count });
        }
        flows.push(Flow {
            name: None,
            ingress: u.int_in_range(0..=ingress_ports - 1)?,
            egress: u.int_in_range(0..=egress_ports - 1)?,
            weight: u.int_in_range(1..=9)?,
            bursts,
        });
    }
    Ok(Instance {
        ingress_ports,
        egress_ports,
        flows,
    })
}

/// Runs a policy; when its flows end.
fn ends(instance: &Instance, policy: &PolicySpec) -> Vec<u32> {
    let mut sent = vec![0; instance.flows.len()];
    let mut taken = HashSet::new();
    let ends = policy.run(instance, |slot, flow| {
        let of = &instance.flows[flow as usize];
        sent[flow as usize] += 1;
        let arrived = of.bursts.iter().filter(|b| b.slot <= slot);
        let arrived: u32 = arrived.map(|b| b.count).sum();
        assert!(sent[flow as usize] <= arrived, "sent before it came");
        assert!(taken.insert((slot, 0, of.ingress)), "a port is used twice");
        assert!(taken.insert((slot, 1, of.egress)), "a port is used twice");
    });
    let sizes: Vec<u32> = instance.flows.iter().map(Flow::size).collect();
    assert_eq!(sent, sizes, "packets that were sent");
    ends
}

fn check(u: &mut Unstructured<'_>) -> Result<()> {
    let instance = instance(u)?;
    assert_eq!(
        Instance::read(instance.to_json()).as_ref(),
        Ok(&instance),
        "what is written is read"
    );
    for metric in [Metric::Fpt, Metric::WeightedFpt] {
        let best = optimum(&instance, metric);
        for method in [Method::Srpt, Method::Sets, Method::States] {
            if let Ok(other) = by(&instance, metric, method, false) {
                assert_eq!(other.value, best.value, "{method:?}");
            }
        }
        for entry in PolicySpec::catalog() {
            // Some have keys without a default.
            let Ok(policy) = PolicySpec::read(json!(entry.name)) else {
                continue;
            };
            let cost = metric.of(&instance, &ends(&instance, &policy));
            assert!(cost >= best.value, "{}: {cost}", entry.name);
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let _ = check(&mut Unstructured::new(data));
});
