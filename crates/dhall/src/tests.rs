//! Reading, importing and refusing; what specifications mean is tested from Python.

use serde_json::json;

use super::*;

/// Reads `main` among `files`.
fn among(files: &[(&str, &str)], main: &str) -> Result<Value, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let file = folder.path().join("main.dhall");
    std::fs::write(&file, main).unwrap();
    let inside = format!("{}/", folder.path().display());
    read(main, &file).map_err(|e| e.to_string().replace(&inside, ""))
}

fn error(main: &str) -> String {
    among(&[], main).unwrap_err()
}

#[test]
fn values_are_json() {
    let text = r#"{ a = 1, b = -2, c = 0.5, d = True, e = "x" ++ "y", f = [ 1, 2 ]
        , g = [] : List Text, h = None Text, i = Some 3, j = < A | B : Natural >.A
        , k = < A | B : Natural >.B 4, l.m = 5 }"#;
    let expected = json!({"a": 1, "b": -2, "c": 0.5, "d": true, "e": "xy", "f": [1, 2],
        "g": [], "i": 3, "j": "A", "k": 4, "l": {"m": 5}});
    assert_eq!(among(&[], text).unwrap(), expected);
}

#[test]
fn names_are_in_scope_everywhere() {
    let files = [
        ("one.dhall", "{ rate = T.Gbps 3, up = ./deep/two.dhall }"),
        ("deep/two.dhall", "[ T.Us 5, ../three.dhall ]"),
        ("three.dhall", "let T = { S = T.Ms } in T.S 7"),
    ];
    let read = among(&files, "./one.dhall /\\ { size = T.KB 9 }").unwrap();
    assert_eq!(
        read,
        json!({"rate": "3Gbps", "up": ["5us", "7ms"], "size": "9KB"})
    );
}

#[test]
fn imports_are_closed_checked_and_read_as_text() {
    let files = [("leak.dhall", "{ b = a }"), ("x.txt", "line\n")];
    assert_eq!(
        among(&files, "let a = 3 in ./leak.dhall").unwrap_err(),
        "leak.dhall: line 1, column 7: unbound variable `a` (at `a }`)"
    );
    let text = "{ t = ./x.txt as Text, e = ./none.dhall ? 1 }";
    assert_eq!(among(&files, text).unwrap(), json!({"t": "line\n", "e": 1}));
    // The hash of `1`, as the standard's tests have it, and another.
    let hash = "d60d8415e36e86dae7f42933d3b0c4fe3ca238f057fba206c7e9fbf5d784fe15";
    let one = [("one.dhall", "1")];
    let with = |hash: &str| format!("{{ a = ./one.dhall sha256:{hash} }}");
    assert_eq!(among(&one, &with(hash)).unwrap(), json!({"a": 1}));
    assert_eq!(
        among(&one, &with(&hash.replace('d', "e"))).unwrap_err(),
        "line 1, column 7: one.dhall does not have the sha256 given here"
    );
}

#[test]
fn only_local_files_are_imported() {
    let only = "is not read: imports are files on the local disk, such as ./foo.dhall";
    assert_eq!(
        error("{ a = https://example.com/x.dhall }"),
        format!("line 1, column 7: example.com {only}")
    );
    assert_eq!(
        error("{ a = env:HOME as Text }"),
        format!("line 1, column 7: env:HOME {only}")
    );
    assert_eq!(
        error("{ a =\n missing }"),
        "line 2, column 2: `missing` names no file: imports are files on the local disk, such as ./foo.dhall"
    );
    assert_eq!(
        error("{ a = ./x.dhall as Location }"),
        "line 1, column 7: `as Location` is not supported"
    );
    assert_eq!(
        error("{ a = ./x.dhall }"),
        "line 1, column 7: x.dhall: no such file"
    );
}

#[test]
fn cycles_and_files_that_cannot_be_read() {
    let cycle = [("a.dhall", "./b.dhall"), ("b.dhall", "./main.dhall")];
    assert_eq!(
        among(&cycle, "{ a = ./a.dhall }").unwrap_err(),
        "b.dhall: line 1, column 1: import cycle: main.dhall -> a.dhall -> b.dhall -> main.dhall"
    );
    // Twice is not a cycle.
    let twice = [("a.dhall", "1")];
    assert!(among(&twice, "{ a = ./a.dhall, b = ./a.dhall }").is_ok());
    let long = "x".repeat((1 << 20) + 1);
    assert_eq!(
        among(&[("long.txt", &long)], "{ a = ./long.txt as Text }").unwrap_err(),
        "line 1, column 7: long.txt: has more than 1,048,576 bytes"
    );
    assert_eq!(
        error("{ a = /dev/zero as Text }"),
        "line 1, column 7: /dev/zero is outside the specification's folder; FCTLAB_IMPORTS may name \
         more folders"
    );
    assert_eq!(
        error(&format!("{{ a = {}1 }}", " ".repeat(70_000))),
        "has more than the 65,536 bytes of Dhall that are read"
    );
    let bad = [("a.dhall", "{ a = ")];
    let found = among(&bad, "{ a = ./a.dhall }").unwrap_err();
    assert_eq!(
        found,
        "a.dhall: line 1, column 7: syntax error: expected expression"
    );
}

#[test]
fn syntax_errors_have_a_place() {
    assert_eq!(
        error("{ a = 1\n, b 2 }"),
        "line 2, column 3: syntax error (at `b 2 }`)"
    );
    assert_eq!(
        error(""),
        "line 1, column 1: syntax error: expected expression"
    );
}

#[test]
fn type_errors_name_the_first_difference() {
    for (text, expected) in [
        (
            "{ link = T.Gbps 100, rtt = T.KB 10 } : { link : T.Rate, rtt : T.Duration }",
            "line 1, column 1: rtt: expected T.Duration, found T.Size \
             (at `{ link = T.Gbps 100, rtt = T.KB 10 } : { link : T.Rate, rtt : T.Duration }`)",
        ),
        (
            "{ a = CC.Normal { r_init = T.Line, utarget = 1.0, thresh = T.B 0, beta = 0.0, eta = 1.0 } }",
            "line 1, column 7: wrong type of function argument: utarget: unknown key; did you mean \
             \"u_target\"? known here: beta, eta, r_init, thresh, u_target (at `CC.Normal { r_init \
             = T.Line, utarget = 1.0, thresh = T.B 0, beta = 0.0, eta = 1.0 } }`)",
        ),
        (
            "Sli::{ name = \"x\" }",
            "line 1, column 1: metric is missing (at `Sli::{ name = \"x\" }`)",
        ),
        (
            "{ a = Metric.Percentile 1 }",
            "line 1, column 7: wrong type of function argument: expected Double, found Natural \
             (at `Metric.Percentile 1 }`)",
        ),
        (
            "{ a = T.gbps 1 }",
            "line 1, column 7: there is no such field (at `T.gbps 1 }`)",
        ),
        (
            "{ a = [ 1, \"x\" ] }",
            "line 1, column 7: the elements of this list differ in type (at `[ 1, \"x\" ] }`)",
        ),
        (
            "{ a = CC.Norml }",
            "line 1, column 7: missing union field (at `CC.Norml }`)",
        ),
    ] {
        assert_eq!(error(text), expected);
    }
}

#[test]
fn what_is_not_data() {
    assert_eq!(error("{ a = [ T.Gbps ] }"), "a[0]: a function is not data");
    assert_eq!(error("{ a.b = T.Rate }"), "a.b: a type is not data");
    assert_eq!(error("{ a = NaN }"), "a: NaN is not data");
    assert_eq!(error("[ 1 ]"), "[1] is not a record of keys and values");
    assert!(error("{ a = Workload.Sizes.Cdf }").starts_with("a: the union's Cdf without"));
}

#[test]
fn a_panic_of_the_library_is_an_error() {
    assert!(error(r#"{ a = "\u{110000}" }"#).starts_with("is not Dhall that can be read here"));
}
