//! Traffic classes at one port.

use serde_json::{Value, json};

use crate::common::{Folder, US, star, try_run, unlimited};

/// Two flows of 6 packets, of classes a and b, meet at a port of this discipline.
fn two_classes(discipline: &Value, tagger: &str) -> Vec<u64> {
    let folder = Folder::new();
    let flows = "start_s,src,dst,size_bytes,class\n0,0,2,8760,a\n0,1,2,8760,b\n";
    folder.write("flows.csv", flows);
    let mut scenario = star(2, unlimited("tcp"));
    scenario["traffic"] = json!({"trace": "flows.csv"});
    scenario["scheme"]["port"]["discipline"] = discipline.clone();
    scenario["scheme"]["tagger"] = json!(tagger);
    try_run(scenario, folder.path()).unwrap().fcts()
}

#[test]
fn classes_share_a_port() {
    // Both flows' packet i is at the switch at 2.2 + 1.2 i us; a transmission takes
    // 1.2 us and what it sends is delivered 1 us later. a0 finds the port idle, b0
    // is alone at 3.4 us (a1 comes as that choice is made); from 4.6 us on both
    // wait. The n-th transmission ends at 2.2 + 1.2 n us.
    let delivered = |n: u64| 2_200_000 + n * 1_200_000 + US;
    for (discipline, tagger, a, b) in [
        // a0 b0 a1 a2, a3 b1 a4 a5, then b alone.
        (json!({"kind": "wrr", "weights": [3, 1]}), "none", 8, 12),
        // a0 b0 a1 a2 a3 a4 a5, then b alone; the other way round.
        (json!({"kind": "strict", "classes": 2}), "none", 7, 12),
        (
            json!({"kind": "strict", "classes": 2, "inside": "fq"}),
            "none",
            7,
            12,
        ),
        (
            json!({"kind": "priority", "thresholds": [0]}),
            "class",
            7,
            12,
        ),
        // One packet per turn of a, three per turn of b: a0 b0, then b has two more
        // but b1 and a1 have just come: a0 b0 b1 a1 b2 b3 b4 a2 b5, then a alone.
        (
            json!({"kind": "drr", "weights": [1, 3], "quantum": "1500B"}),
            "none",
            12,
            9,
        ),
    ] {
        let found = two_classes(&discipline, tagger);
        assert_eq!(found, [delivered(a), delivered(b)], "{discipline}");
    }
}
