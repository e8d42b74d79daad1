//! The flows of a table in memory: the rows of a trace, in any order.

use arrow_array::RecordBatch;

use crate::Flow;

use super::origin::Origin;
use super::rows::Rows;
use super::{CLASS_COLUMNS, Columns, Row};

/// The flows of `table`, row by row, each with the number of its row as its id. They are of
/// `classes`, by the name in column `traffic_class` or `class`.
///
/// # Errors
/// A column that is missing; the first row that is no flow between `hosts`, or is of another class.
pub fn flows_of(table: &RecordBatch, hosts: u32, classes: &[String]) -> Result<Vec<Flow>, String> {
    let schema = table.schema();
    let names = schema.fields().iter().map(|f| f.name().as_str());
    let class = Columns::find(names)?.class.map(|(name, _)| name);
    if class.is_none() && classes.len() > 1 {
        return Err(format!(
            "has no column {}, which says of which class a flow is: {}",
            CLASS_COLUMNS[0],
            classes.join(", ")
        ));
    }
    let rows = Rows::of(table, class)?;
    let mut row = Row::default();
    let mut flow = |i: usize| {
        rows.read(i, &mut Origin::of_run(), &mut row)?;
        let mut flow = row.flow(hosts)?;
        flow.id = i as u64;
        if let Some(column) = class {
            let place = classes.iter().position(|name| *name == row.class);
            flow.class = place
                .and_then(|place| u16::try_from(place).ok())
                .ok_or_else(|| {
                    let (name, known) = (&row.class, classes.join(", "));
                    format!("{column} {name:?} is not a class of the traffic: {known}")
                })?;
        }
        Ok(flow)
    };
    (0..rows.count)
        .map(|i| flow(i).map_err(|message: String| format!("row {}: {message}", i + 1)))
        .collect()
}
