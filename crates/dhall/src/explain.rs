//! The library's errors in one line: where, what, and for types the first difference.
//!
//! The library draws its errors over several lines and prints both types in
//! full. Its drawing is read back here: the line with the arrow gives the
//! position, the first line (type errors) or the last (syntax errors) the message.

use dhall::error::{Error, ErrorKind};
use dhall::operations::OpKind;
use dhall::syntax::{Expr, ExprKind, Label, Span, parse_expr};
use fctlab_core::spec::hint;

/// The longest piece of text that is quoted.
const LONGEST: usize = 100;

/// The types that have a name.
pub(crate) struct Types(Vec<(String, Expr)>);

/// `line 3, column 5: ` of a span's start, if it is in a text.
pub(crate) fn position(span: &Span) -> String {
    let Span::Parsed(span) = span else {
        return String::new();
    };
    let input = span.to_input();
    let before: String = input.chars().take(span.as_char_range().0).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    format!("line {line}, column {column}: ")
}

impl Types {
    /// The types among `names` and the fields of these.
    pub(crate) fn new(names: &[(Label, Expr)]) -> Self {
        let is_type =
            |e: &Expr| matches!(e.kind(), ExprKind::UnionType(_) | ExprKind::RecordType(_));
        let mut found = Vec::new();
        for (name, value) in names {
            let name = name.as_ref();
            if is_type(value) {
                found.push((name.to_owned(), value.clone()));
            }
            if let ExprKind::RecordLit(fields) = value.kind() {
                let types = fields.iter().filter(|f| is_type(f.1));
                found.extend(types.map(|(l, e)| (format!("{name}.{}", l.as_ref()), e.clone())));
            }
        }
        Types(found)
    }

    /// What is wrong with `source`, and where.
    pub(crate) fn explain(&self, error: &Error, source: &str) -> String {
        let drawn = error.to_string();
        let message = match error.kind() {
            // Several candidates are rules of the grammar, of no use to anyone.
            ErrorKind::Parse(_) => match drawn.rsplit_once("= expected ") {
                Some((_, one)) if !one.contains([',', ' ']) => {
                    format!("syntax error: expected {}", one.trim())
                }
                _ => "syntax error".into(),
            },
            _ => self.type_error(&drawn),
        };
        match place(&drawn) {
            None => message,
            Some((line, column)) => {
                let found = source.lines().nth(line - 1).unwrap_or_default();
                let found: String = found.chars().skip(column - 1).collect();
                let quoted = match found.trim() {
                    "" => String::new(),
                    found => format!(" (at `{}`)", short(found)),
                };
                format!("line {line}, column {column}: {message}{quoted}")
            }
        }
    }

    fn type_error(&self, drawn: &str) -> String {
        let title = drawn.lines().next().unwrap_or_default();
        let title = title.trim_start_matches("Type error: ");
        let title = title.trim_start_matches("error: ");
        if let Some((found, expected)) = title
            .strip_prefix("annot mismatch: ")
            .and_then(|types| types.split_once(" != "))
        {
            return self.difference(expected, found);
        }
        let noted = |from: &str| {
            let rest = drawn.split_once(from)?.1;
            rest.split_once('`').map(|r| r.0)
        };
        if let (Some(expected), Some(found)) = (noted("expected type `"), noted("found type `")) {
            return format!("{title}: {}", self.difference(expected, found));
        }
        match title {
            "MissingRecordField" => "there is no such field".into(),
            "InvalidListElement" => "the elements of this list differ in type".into(),
            // Other titles in one word.
            word if word.chars().all(char::is_alphanumeric) => {
                let spaced = word.chars().enumerate().map(|(i, c)| match c {
                    c if c.is_uppercase() && i > 0 => format!(" {}", c.to_lowercase()),
                    c => c.to_lowercase().to_string(),
                });
                spaced.collect()
            }
            title => short(title),
        }
    }

    /// The first difference between two types, as text.
    fn difference(&self, expected: &str, found: &str) -> String {
        match (parse_expr(expected), parse_expr(found)) {
            (Ok(expected), Ok(found)) => self.differ("", &expected, &found),
            _ => format!("expected {}, found {}", short(expected), short(found)),
        }
    }

    fn differ(&self, path: &str, expected: &Expr, found: &Expr) -> String {
        let at = |message: String| match path {
            "" => message,
            path => format!("{path}: {message}"),
        };
        match (expected.kind(), found.kind()) {
            (ExprKind::RecordType(expected), ExprKind::RecordType(found)) => {
                let missing: Vec<_> = expected
                    .keys()
                    .filter(|k| !found.contains_key(*k))
                    .map(Label::as_ref)
                    .collect();
                if let Some(unknown) = found.keys().find(|k| !expected.contains_key(*k)) {
                    let unknown = unknown.as_ref();
                    let known: Vec<_> = expected.keys().map(Label::as_ref).collect();
                    let hint = hint(unknown, &missing);
                    return at(format!(
                        "{unknown}: unknown key; {hint}known here: {}",
                        known.join(", ")
                    ));
                }
                if !missing.is_empty() {
                    return at(format!("{} is missing", missing.join(", ")));
                }
                let inner = expected.iter().zip(found).find(|((_, e), (_, f))| e != f);
                inner.map_or_else(String::new, |((label, e), (_, f))| {
                    let path = match path {
                        "" => label.as_ref().to_owned(),
                        path => format!("{path}.{}", label.as_ref()),
                    };
                    self.differ(&path, e, f)
                })
            }
            (
                ExprKind::Op(OpKind::App(list, expected)),
                ExprKind::Op(OpKind::App(other, found)),
            ) if list == other && expected != found => self.differ(path, expected, found),
            _ => at(format!(
                "expected {}, found {}",
                self.name(expected),
                self.name(found)
            )),
        }
    }

    /// A type by its name, if it has one.
    fn name(&self, wanted: &Expr) -> String {
        if let ExprKind::Op(OpKind::App(outer, inner)) = wanted.kind() {
            return format!("{} ({})", short(&outer.to_string()), self.name(inner));
        }
        let known = self.0.iter().find(|(_, known)| known == wanted);
        known.map_or_else(|| short(&wanted.to_string()), |(name, _)| name.clone())
    }
}

/// Line and column, from 1, that the arrow of a drawn error shows.
fn place(drawn: &str) -> Option<(usize, usize)> {
    let arrow = drawn
        .lines()
        .find_map(|l| l.trim_start().strip_prefix("--> "))?;
    let mut parts = arrow.rsplit(':').map(|p| p.trim().parse::<usize>().ok());
    let column = parts.next()??;
    let line = parts.next()??;
    (line > 0 && column > 0).then_some((line, column))
}

/// `text` on one line and not too long.
fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST).chain(" ...".chars()).collect()
}
