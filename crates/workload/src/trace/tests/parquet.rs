//! Traces in Parquet, by their columns.

use super::*;

/// The columns that fctlab writes, among others.
fn own_columns() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("flow", Arc::new(UInt64Array::from(vec![0, 1]))),
        ("class", Arc::new(StringArray::from(vec!["small", "large"]))),
        (
            "traffic_class",
            Arc::new(StringArray::from(vec!["web", "batch"])),
        ),
        ("src", Arc::new(UInt32Array::from(vec![0, 7]))),
        ("dst", Arc::new(UInt32Array::from(vec![1, 0]))),
        ("size_bytes", Arc::new(UInt64Array::from(vec![1460, 1]))),
        (
            "start_s",
            Arc::new(Float64Array::from(vec![0.000_016, 123.456_789_012_345])),
        ),
    ]
}

#[test]
fn parquet_reads_back_however_it_is_compressed() {
    for how in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
    ] {
        let folder = Folder::new();
        let file = folder.compressed(own_columns(), how);
        let mut traffic = replay(of(&file)).unwrap();
        assert_eq!(traffic.class_names(), ["web", "batch"]);
        assert_eq!(
            rows(&mut traffic),
            [
                (16_000_000, 0, 1, 1460, 0),
                (123_456_789_012_345, 7, 0, 1, 1)
            ],
            "{how}"
        );
    }
}

#[test]
fn generated_flows_survive_csv_and_parquet() {
    let layout = HostLayout {
        rack_of: vec![0; 8],
        host_rate: Rate::from_gbps(10),
        rates: Vec::new(),
        sink: None,
    };
    let spec: TrafficSpec = fctlab_core::spec::read(
        serde_json::json!({"workload": "websearch", "load": 0.5, "flows": 20_000}),
    )
    .unwrap();
    let flows: Vec<Flow> = spec
        .build(&layout, &PacketFormat::default(), Seed(3))
        .unwrap()
        .collect();
    let folder = Folder::new();
    let lines = flows.iter().map(|f| {
        let (s, ps) = (
            f.start.ps() / 1_000_000_000_000,
            f.start.ps() % 1_000_000_000_000,
        );
        format!("{s}.{ps:012},{},{},{}\n", f.src, f.dst, f.size.get())
    });
    let csv = folder.csv(&lines.fold(HEADER.to_owned(), |text, line| text + &line));
    let column =
        |value: fn(&Flow) -> u64| Arc::new(UInt64Array::from_iter_values(flows.iter().map(value)));
    let parquet = folder.parquet(vec![
        (
            "start_s",
            Arc::new(Float64Array::from_iter_values(
                flows.iter().map(|f| f.start.as_secs_f64()),
            )),
        ),
        ("src", column(|f| f.src.into())),
        ("dst", column(|f| f.dst.into())),
        ("size_bytes", column(|f| f.size.get())),
    ]);
    for file in [csv, parquet] {
        // Ids and path hashes are those of the stream, hence equal too with one seed.
        let replayed = of(&file)
            .build(&layout, &PacketFormat::default(), Seed(3))
            .unwrap();
        assert!(replayed.eq(flows.iter().copied()), "{}", file.display());
    }
}

#[test]
fn parquet_numbers_may_be_floats_or_signed() {
    let folder = Folder::new();
    let mut columns = vec![
        (
            "start_s",
            Arc::new(Int64Array::from(vec![0, 2])) as ArrayRef,
        ),
        ("src", Arc::new(Float64Array::from(vec![0.0, 7.0]))),
        ("dst", Arc::new(Float32Array::from(vec![1.0, 0.0]))),
        ("size_bytes", Arc::new(Int64Array::from(vec![1460, 1]))),
    ];
    let file = folder.parquet(columns.clone());
    let flows = [(0, 0, 1, 1460, 0), (2_000_000_000_000, 7, 0, 1, 0)];
    assert_eq!(rows(&mut replay(of(&file)).unwrap()), flows);

    let mut error = |i: usize, column: ArrayRef| {
        let good = std::mem::replace(&mut columns[i].1, column);
        let file = folder.parquet(columns.clone());
        columns[i].1 = good;
        let error = replay(of(&file)).unwrap_err();
        error
            .message
            .strip_prefix(&format!("{}: ", file.display()))
            .unwrap()
            .to_owned()
    };
    let starts = |s: f64| Arc::new(Float64Array::from(vec![0.0, s])) as ArrayRef;
    let not_a_start = "is not a number of seconds from 0 to 18,446,744";
    assert_eq!(
        error(0, starts(f64::NAN)),
        format!("row 2: start_s \"NaN\" {not_a_start}")
    );
    assert_eq!(
        error(0, starts(-0.5)),
        format!("row 2: start_s \"-0.5\" {not_a_start}")
    );
    assert_eq!(
        error(0, starts(1e9)),
        format!("row 2: start_s \"1000000000.0\" {not_a_start}")
    );
    assert_eq!(
        error(1, Arc::new(Float64Array::from(vec![0.0, 6.5]))),
        "row 2: src \"6.5\" is not a whole number of at least 0"
    );
    assert_eq!(
        error(3, Arc::new(Int64Array::from(vec![Some(1460), None]))),
        "row 2: size_bytes \"null\" is not a whole number of at least 0"
    );
    assert_eq!(
        error(3, Arc::new(Int64Array::from(vec![-1, 1]))),
        "row 1: size_bytes \"-1\" is not a whole number of at least 0"
    );
    assert_eq!(
        error(2, Arc::new(StringArray::from(vec!["1", "zero"]))),
        "row 2: dst \"zero\" is not a whole number of at least 0"
    );
    assert_eq!(
        error(2, Arc::new(Int64Array::from(vec![1, 8]))),
        "row 2: dst 8 is not a host; hosts are 0 to 7"
    );
}

#[test]
fn parquet_files_with_mistakes() {
    let folder = Folder::new();
    let columns = own_columns()
        .into_iter()
        .filter(|(name, _)| *name != "dst")
        .collect();
    let error = replay(of(&folder.parquet(columns))).unwrap_err().message;
    assert!(
        error.ends_with(": has no column dst; needed: start_s, src, dst, size_bytes"),
        "{error}"
    );
    let empty = own_columns()
        .into_iter()
        .map(|(name, column)| (name, column.slice(0, 0)))
        .collect();
    let error = replay(of(&folder.parquet(empty))).unwrap_err().message;
    assert!(
        error.ends_with(": has no flows; at least one is needed"),
        "{error}"
    );
    let file = folder.0.path().join("flows.parquet");
    fs::write(&file, "start_s").unwrap();
    let error = replay(of(&file)).unwrap_err().message;
    assert!(error.contains("flows.parquet: cannot be read: "), "{error}");
}
