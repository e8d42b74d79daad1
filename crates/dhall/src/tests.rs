#[test]
fn t() {
    println!(
        "{:?}",
        super::read("{ a = 1 }", std::path::Path::new("/tmp/x.dhall"))
    );
}
