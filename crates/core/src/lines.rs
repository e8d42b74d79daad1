//! Where in a file of TOML something is written.

use toml::de::{DeTable, DeValue};

/// The line of the byte at `place`, from 1 on.
pub fn line_at(text: &str, place: usize) -> usize {
    let before = text.get(..place).unwrap_or_default();
    1 + before.matches('\n').count()
}

/// The line that has the key at `path` (`port.discipline.kind`), or the last key on the way to it that is written.
pub fn line_of(text: &str, path: &str) -> Option<usize> {
    let parsed = DeTable::parse(text).ok()?;
    let (mut table, mut found) = (parsed.get_ref(), None);
    for key in path.split(['.', '[']) {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == key) else {
            break;
        };
        found = Some(line_at(text, name.span().start));
        let DeValue::Table(inner) = value.get_ref() else {
            break;
        };
        table = inner;
    }
    found
}
