//! On which line of a file a key is written, whatever the file's format.

use fctlab_core::lines;
use fctlab_core::spec::Plain;

use super::text::Format;

/// The line, counted from 1, of what `path` names in `text`; see [`lines::line_of`].
pub fn line_of(text: &str, format: Format, path: &str) -> Option<usize> {
    let Plain(value) = format.read(text).ok()?;
    lines::line_of(&value, path, |seek| format.seek(text, seek).err()?.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = r#"name = "two"

[network]
link = "100Gbps"

[[classes]]
name = "web"
load = 0.3

[[classes]]
name = "rpc"
slis = [
    { name = "small", below = "1KB" },
    { name = "large", from = "1KB" },
]

[axes]
"network.rtt" = ["10us"]
queue.kind = "wfq"
"#;
    const YAML: &str = "name: two\nnetwork:\n  link: 100Gbps\nclasses:\n  - name: web\n    load: 0.3\n  - name: rpc\n    slis:\n      - {name: small}\n      - {name: large, from: 1KB}\n";
    const JSON: &str = "{\"name\": \"two\",\n \"network\": {\n  \"link\": \"100Gbps\"},\n \"classes\": [\n  {\"name\": \"web\",\n   \"load\": 0.3},\n  {\"name\": \"rpc\", \"slis\": [\n   {\"name\": \"small\"},\n   {\"from\": \"1KB\",\n    \"name\": \"large\"}]}]}";

    fn lines(text: &str, format: Format, asked: &[(&str, Option<usize>)]) {
        for (path, line) in asked {
            assert_eq!(line_of(text, format, path), *line, "{path} in {format:?}");
        }
    }

    #[test]
    fn keys_of_toml() {
        let asked = [
            ("name", Some(1)),
            ("network", Some(3)),
            ("network.link", Some(4)),
            ("network.rtt", Some(3)), // not there: its table
            ("classes", Some(6)),
            ("classes[0]", Some(6)),
            ("classes[0].load", Some(8)),
            ("classes.web.load", Some(8)),
            ("classes.1.name", Some(11)),
            ("classes.rpc.slis[1].from", Some(14)),
            ("classes.rpc.slis.large", Some(14)),
            ("classes.rpc.slo", Some(10)),
            ("axes.network.rtt[0]", Some(18)),
            ("axes.queue.kind.inside", Some(19)),
            ("nothing", None),
            ("", None),
        ];
        lines(TOML, Format::Toml, &asked);
    }

    #[test]
    fn keys_of_yaml_and_json() {
        let yaml = [
            ("network", Some(2)),
            ("network.link", Some(3)),
            ("classes.web.load", Some(6)),
            ("classes.rpc.slis[1].from", Some(10)),
            ("classes[1].slo", Some(7)),
        ];
        lines(YAML, Format::Yaml, &yaml);
        let json = [
            ("network", Some(2)),
            ("network.link", Some(3)),
            ("classes.web.load", Some(6)),
            ("classes.rpc.slis[1].from", Some(9)),
            ("classes.rpc.slis[1].name", Some(10)),
            ("classes[1].slo", Some(7)),
        ];
        lines(JSON, Format::Json, &json);
        // A few commas too many make no difference to who asks: there is no value.
        assert_eq!(line_of("{,}", Format::Json, "a"), None);
    }
}
