//! The file of a topology, as the tables that it has.

use std::fs;
use std::path::Path;

use fctlab_core::{SpecError, spec};
use serde_json::{Map, Value, json};

use crate::network::topology::TopologySpec;
use crate::scenario::{Format, parse};

/// Reads the file that a topology names, from `folder` if it is relative, and puts its tables in its place.
///
/// # Errors
/// A file that cannot be read, or what is wrong in it.
pub(super) fn read(topology: &mut TopologySpec, folder: &Path) -> Result<(), SpecError> {
    let TopologySpec::Graph(graph) = topology else {
        return Ok(());
    };
    let Some(file) = graph.file.clone() else {
        return Ok(());
    };
    let name = file.display();
    let wrong = |message: String| SpecError::new("file", format!("{name}: {message}"));
    let path = folder.join(&file);
    let text = fs::read_to_string(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
    let end = file.extension().unwrap_or_default().to_string_lossy();
    let tables = match end.to_lowercase().as_str() {
        "toml" => parse(&text, Format::Toml).map_err(|e| wrong(e.to_string()))?,
        "yaml" | "yml" => parse(&text, Format::Yaml).map_err(|e| wrong(e.to_string()))?,
        "json" => parse(&text, Format::Json).map_err(|e| wrong(e.to_string()))?,
        "csv" => of_csv(&text).map_err(wrong)?,
        _ => return Err(wrong("is not a .toml, .yaml, .json or .csv file".into())),
    };
    let tables = spec::read(tables).map_err(|e| wrong(e.to_string()))?;
    graph.fill(tables)
}

/// The table of links with these columns.
fn of_csv(text: &str) -> Result<Value, String> {
    const COLUMNS: [&str; 4] = ["a", "b", "rate", "delay"];
    let mut rows = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let header = rows.headers().map_err(|e| e.to_string())?.clone();
    let unknown = header.iter().find(|column| !COLUMNS.contains(column));
    let missing = COLUMNS[..3]
        .iter()
        .any(|column| !header.iter().any(|known| known == *column));
    if unknown.is_some() || missing {
        let found = header.iter().collect::<Vec<_>>().join(",");
        return Err(format!(
            "line 1: the columns are {found:?}; they must be a,b,rate and may be delay"
        ));
    }
    let mut links = Vec::new();
    for row in rows.records() {
        let row = row.map_err(|e| e.to_string())?;
        let cells = header.iter().zip(&row).filter(|(_, cell)| !cell.is_empty());
        let cells = cells.map(|(column, cell)| (column.to_owned(), cell.into()));
        links.push(Value::Object(cells.collect::<Map<_, _>>()));
    }
    Ok(json!({ "links": links }))
}
