//! Rows that are in memory, without a file.

use super::*;

/// A file's rows in memory.
fn in_memory(classes: &[&str], flows: &[(u64, u32, u32, u64, u16)]) -> TrafficSpec {
    let row = |&(ps, src, dst, size, class)| RowOfFlow {
        start: Time::from_ps(ps),
        src,
        dst,
        size: Bytes::new(size),
        class,
    };
    let rows = Rows {
        classes: classes.iter().map(|&name| name.into()).collect(),
        flows: flows.iter().map(row).collect(),
    };
    TrafficSpec {
        trace: Some(TraceSource::Rows(Arc::new(rows))),
        ..TrafficSpec::default()
    }
}

#[test]
fn rows_in_memory_are_replayed_as_those_of_a_file() {
    let folder = Folder::new();
    let text = "start_s,src,dst,size_bytes,class\n0.5e-6,0,1,10,b\n1e-6,7,2,1460,a\n1e-6,1,0,3,b\n";
    let mut file = replay(of(&folder.csv(text))).unwrap();
    let flows = [
        (500_000, 0, 1, 10, 2),
        (1_000_000, 7, 2, 1460, 0),
        (1_000_000, 1, 0, 3, 2),
    ];
    let mut memory = replay(in_memory(&["a", "unused", "b"], &flows)).unwrap();
    // In the order of their appearance.
    assert_eq!(memory.class_names(), ["b", "a"]);
    assert_eq!(memory.class_names(), file.class_names());
    assert_eq!(memory.class_column(), Some("traffic_class"));
    assert_eq!(memory.expected_flows(), 3);
    assert_eq!(memory.offered(), file.offered());
    assert_eq!(rows(&mut memory), rows(&mut file));
}

#[test]
fn rows_in_memory_are_checked_and_have_no_text() {
    let error = |flows: &[_]| replay(in_memory(&["a"], flows)).unwrap_err().to_string();
    assert_eq!(
        error(&[]),
        "trace: flows in memory: has no flows; at least one is needed"
    );
    assert_eq!(
        error(&[(0, 0, 1, 10, 0), (0, 8, 1, 10, 0)]),
        "trace: flows in memory: row 2: src 8 is not a host; hosts are 0 to 7"
    );
    assert_eq!(
        error(&[(0, 0, 1, 10, 1)]),
        "trace: flows in memory: row 1: class 1 is not one of the 1 that have names"
    );
    let mut named = in_memory(&["a"], &[(0, 0, 1, 10, 0)]);
    assert_eq!(serde_json::to_value(&named).unwrap(), serde_json::json!({}));
    named.class = Some("a".into());
    assert_eq!(
        replay(named).unwrap_err().to_string(),
        "class: has no meaning: flows in memory has a column traffic_class"
    );
}
