//! Traces: what they may hold, and mistakes.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array,
};
use fctlab_core::Rate;
use fctlab_core::random::Seed;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::{Traffic, TrafficSpec};

mod memory;
mod parquet;

/// A folder for one trace.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }
    fn csv(&self, text: &str) -> PathBuf {
        let file = self.0.path().join("flows.csv");
        fs::write(&file, text).unwrap();
        file
    }
    fn parquet(&self, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
        self.compressed(columns, Compression::UNCOMPRESSED)
    }
    fn compressed(&self, columns: Vec<(&str, ArrayRef)>, how: Compression) -> PathBuf {
        let path = self.0.path().join("flows.parquet");
        let file = fs::File::create(&path).unwrap();
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let properties = WriterProperties::builder().set_compression(how).build();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        path
    }
}

/// The trace on eight hosts.
fn replay(spec: TrafficSpec) -> Result<Traffic, SpecError> {
    let layout = HostLayout {
        rack_of: vec![0; 8],
        host_rate: Rate::from_gbps(10),
        rates: Vec::new(),
        sink: None,
    };
    spec.build(&layout, &PacketFormat::default(), Seed(1))
}

fn of(file: &Path) -> TrafficSpec {
    TrafficSpec {
        trace: Some(file.to_owned().into()),
        ..TrafficSpec::default()
    }
}

/// What is wrong with a CSV trace, without the file's name.
fn csv_error(text: &str) -> String {
    let folder = Folder::new();
    let file = folder.csv(text);
    let error = replay(of(&file)).unwrap_err();
    assert_eq!(error.path, "trace");
    error
        .message
        .strip_prefix(&format!("{}: ", file.display()))
        .unwrap()
        .to_owned()
}

/// Start, source, destination, size and class of every flow.
fn rows(traffic: &mut Traffic) -> Vec<(u64, u32, u32, u64, u16)> {
    traffic
        .map(|f| (f.start.ps(), f.src, f.dst, f.size.get(), f.class))
        .collect()
}

const HEADER: &str = "start_s,src,dst,size_bytes\n";

#[test]
fn csv_is_replayed_exactly() {
    let folder = Folder::new();
    let file = folder.csv(
        "# made by hand\nsize_bytes, dst,extra,src,start_s,class\n\
         1460,1,x,0,0,web\n1,0,y,7,1.000000000001,batch\n2e3,2,z,3,1.000000000001,web\n",
    );
    let mut traffic = replay(of(&file)).unwrap();
    assert_eq!(traffic.class_names(), ["web", "batch"]);
    assert_eq!(traffic.expected_flows(), 3);
    let offered = traffic.offered();
    assert_eq!(
        (offered.mean_size_bytes, offered.mean_wire_bytes),
        (3461.0 / 3.0, 3621.0 / 3.0)
    );
    assert!((offered.flows_per_s - 2.0).abs() < 1e-9);
    let late = 1_000_000_000_001;
    assert_eq!(
        rows(&mut traffic),
        [
            (0, 0, 1, 1460, 0),
            (late, 7, 0, 1, 1),
            (late, 3, 2, 2000, 0)
        ]
    );
    assert_eq!(traffic.error(), None);
}

#[test]
fn gzip_is_read_as_what_it_packs() {
    use std::io::Write;
    let folder = Folder::new();
    let text = format!("{HEADER}0.5,0,1,10\n# x\n\n0.75,3,2,20\n");
    let packed = |text: &str| {
        let file = folder.0.path().join("flows.csv.gz");
        let out = fs::File::create(&file).unwrap();
        let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap();
        file
    };
    let plain = rows(&mut replay(of(&folder.csv(&text))).unwrap());
    assert_eq!(rows(&mut replay(of(&packed(&text))).unwrap()), plain);
    let error = replay(of(&packed(&text.replace("3,2,20", "3,9,20"))));
    let error = error.unwrap_err().message;
    assert!(
        error.ends_with("flows.csv.gz: line 5: dst 9 is not a host; hosts are 0 to 7"),
        "{error}"
    );
    let cut = packed(&text);
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 12]).unwrap();
    assert!(
        replay(of(&cut))
            .unwrap_err()
            .message
            .contains("cannot be read: ")
    );
}

#[test]
fn times_since_1970_are_from_the_first_flow_on() {
    let folder = Folder::new();
    let flows = [
        (0, 0, 1, 10, 0),
        (1, 1, 2, 10, 0),
        (2_500_000_000_000, 0, 1, 10, 0),
    ];
    let file = folder.csv(&format!(
        "{HEADER}1764172800.000000000001,0,1,10\n1764172800.000000000002,1,2,10\n\
         1764172802.500000000001,0,1,10\n"
    ));
    assert_eq!(rows(&mut replay(of(&file)).unwrap()), flows);
    // Floats hold a quarter of a microsecond of such times.
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let starts = Arc::new(Float64Array::from(vec![1_764_172_800.25, 1_764_172_801.5]));
    let file = folder.parquet(vec![
        ("start_s", starts),
        ("src", column(vec![0, 1])),
        ("dst", column(vec![1, 2])),
        ("size_bytes", column(vec![10, 10])),
    ]);
    let flows = [(0, 0, 1, 10, 0), (1_250_000_000_000, 1, 2, 10, 0)];
    assert_eq!(rows(&mut replay(of(&file)).unwrap()), flows);
    let earlier = csv_error(&format!("{HEADER}1764172800.5,0,1,10\n1764172800,0,1,10\n"));
    assert_eq!(
        earlier,
        "line 3: start_s \"1764172800\" is not a number of seconds from 1,764,172,801 to 1,782,619,544"
    );
}

#[test]
fn limits_and_class_apply() {
    let folder = Folder::new();
    let file = folder.csv(&format!("{HEADER}0,0,1,10\n0.1,0,1,20\n0.2,0,1,30\n"));
    let mut spec = TrafficSpec {
        flows: Some(2),
        class: Some("web".into()),
        ..of(&file)
    };
    let traffic = replay(spec.clone()).unwrap();
    assert_eq!(
        (traffic.expected_flows(), traffic.offered().mean_size_bytes),
        (2, 15.0)
    );
    assert_eq!(traffic.class_names(), ["web"]);
    assert_eq!(traffic.count(), 2);
    spec.duration = "0.1s".parse().ok();
    let mut traffic = replay(spec).unwrap();
    assert_eq!((traffic.expected_flows(), traffic.by_ref().count()), (1, 1));
}

#[test]
fn csv_mistakes_name_line_value_and_what_is_allowed() {
    let bad = |row: &str| csv_error(&format!("{HEADER}0.2,0,1,10\n{row}\n"));
    for (row, error) in [
        (
            "x,0,1,10",
            "start_s \"x\" is not a number of seconds from 0 to 18,446,744",
        ),
        (
            "NaN,0,1,10",
            "start_s \"NaN\" is not a number of seconds from 0 to 18,446,744",
        ),
        (
            "-1,0,1,10",
            "start_s \"-1\" is not a number of seconds from 0 to 18,446,744",
        ),
        (
            "1e8,0,1,10",
            "start_s \"1e8\" is not a number of seconds from 0 to 18,446,744",
        ),
        (
            "0.1,0,1,10",
            "start_s 0.1 is before the 0.2 of the flow before it; starts must not decrease (fctlab trace puts rows in order)",
        ),
        ("1,a,1,10", "src \"a\" is not a whole number of at least 0"),
        (
            "1,0,1.5,10",
            "dst \"1.5\" is not a whole number of at least 0",
        ),
        ("1,8,1,10", "src 8 is not a host; hosts are 0 to 7"),
        (
            "1,0,4294967296,10",
            "dst 4294967296 is not a host; hosts are 0 to 7",
        ),
        ("1,3,3,10", "src and dst are both 3; a flow needs two hosts"),
        ("1,0,1,0", "size_bytes 0 is not in [1, 1000000000000]"),
        (
            "1,0,1,1e16",
            "size_bytes 10000000000000000 is not in [1, 1000000000000]",
        ),
        (
            "1,0,1,-5",
            "size_bytes \"-5\" is not a whole number of at least 0",
        ),
        ("1,0,1", "has no value for size_bytes"),
        (
            "1,0,1,1,000,000",
            "has 6 values; the first line names 4 columns (numbers have no commas in them)",
        ),
    ] {
        assert_eq!(bad(row), format!("line 3: {error}"));
    }
    assert_eq!(
        csv_error("start_s,src,dst,size_bytes\r\n# x\r\n\r\n0,0,1,10\r\n1,0,9,10"),
        "line 5: dst 9 is not a host; hosts are 0 to 7"
    );
    assert_eq!(
        csv_error("start_s,src,dst,size_bytes,src\n0,0,1,10,2\n"),
        "names the column src twice"
    );
    assert_eq!(
        csv_error("start_s,src,dst\n"),
        "has no column size_bytes; needed: start_s, src, dst, size_bytes"
    );
    assert_eq!(csv_error(HEADER), "has no flows; at least one is needed");
    assert_eq!(
        csv_error(""),
        "is empty; its first line must name the columns start_s, src, dst, size_bytes"
    );
    assert_eq!(
        csv_error("start_s,src,dst,size_bytes,class\n0,0,1,10,\n"),
        "line 2: class is empty; every row needs a class, or leave the column out"
    );
}

#[test]
fn class_key_and_class_column_exclude_each_other() {
    let folder = Folder::new();
    let file = folder.csv("start_s,src,dst,size_bytes,class\n0,0,1,10,web\n");
    let spec = TrafficSpec {
        class: Some("web".into()),
        ..of(&file)
    };
    let error = replay(spec).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "class: has no meaning: {} has a column class",
            file.display()
        )
    );
}

#[test]
fn unreadable_files() {
    let error = replay(of(Path::new("/no/such/flows.csv")))
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "trace: /no/such/flows.csv: cannot be read: No such file or directory (os error 2)"
    );
}

#[test]
fn a_file_that_changes_during_the_replay_is_reported() {
    let folder = Folder::new();
    let text = (0..5000).fold(HEADER.to_owned(), |text, i| format!("{text}{i},0,1,10\n"));
    let file = folder.csv(&text);
    let mut traffic = replay(of(&file)).unwrap();
    fs::write(&file, HEADER).unwrap();
    assert!(traffic.by_ref().count() < 5000);
    let error = traffic.error().unwrap().to_string();
    assert!(
        error.contains("flows.csv: has changed since it was checked: line "),
        "{error}"
    );
    assert_eq!(traffic.next(), None);
}

fn asked(names: &[&str], trace: &Path) -> TrafficSpec {
    let classes: Vec<_> = names.iter().map(|name| json!({"class": name})).collect();
    let spec = json!({"trace": trace, "classes": classes});
    fctlab_core::spec::read(spec).unwrap()
}

#[test]
fn classes_of_a_trace_have_the_order_of_the_scenario() {
    let folder = Folder::new();
    let file = folder.csv("start_s,src,dst,size_bytes,class\n0,0,1,9,b\n1,1,0,9,a\n");
    let traffic = replay(asked(&["a", "b", "c"], &file)).unwrap();
    assert_eq!(traffic.class_names(), ["a", "b", "c"]);
    assert_eq!(traffic.map(|flow| flow.class).collect::<Vec<_>>(), [1, 0]);

    let error = replay(asked(&["a", "c"], &file)).unwrap_err().to_string();
    assert!(
        error.ends_with("line 2: class \"b\" is none of classes (a, c)"),
        "{error}"
    );
    let plain = folder.csv("start_s,src,dst,size_bytes\n0,0,1,9\n");
    let traffic = replay(asked(&["a"], &plain)).unwrap();
    assert_eq!(traffic.class_names(), ["a"]);
    let error = replay(asked(&["a", "b"], &plain)).unwrap_err().to_string();
    assert!(error.ends_with("has no column traffic_class or class that tells classes apart"));
}

#[test]
fn classes_of_a_trace_have_no_flows_of_their_own() {
    let wrong = |class: serde_json::Value| {
        let spec = json!({"trace": "flows.csv", "classes": [class]});
        let spec: TrafficSpec = fctlab_core::spec::read(spec).unwrap();
        spec.check().unwrap_err().to_string()
    };
    let load = wrong(json!({"class": "a", "load": 0.5}));
    assert_eq!(
        load,
        "classes[0].load: has no meaning with a trace; its classes have class, dscp, slis and slo"
    );
    assert!(wrong(json!({"class": "a", "slo": "tail < 3"})).starts_with("classes[0].slo: "));
    let spec = json!({"trace": "flows.csv", "class": "a", "classes": [{"class": "b"}]});
    let spec: TrafficSpec = fctlab_core::spec::read(spec).unwrap();
    assert_eq!(spec.check().unwrap_err().path, "class");
}
