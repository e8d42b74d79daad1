//! Normal forms to JSON, as `dhall-to-json` has it.

use dhall::builtins::Builtin;
use dhall::operations::OpKind;
use dhall::syntax::{Expr, ExprKind, NumKind};
use fctlab_core::SpecError;
use serde_json::{Map, Value};

/// `expr`, which is in normal form, as JSON.
///
/// # Errors
/// What is not data (a function, a type, a number that is not finite), with its path.
pub(crate) fn value(expr: &Expr) -> Result<Value, SpecError> {
    let not_data = |what: &str| Err(SpecError::new("", format!("{what} is not data")));
    Ok(match expr.kind() {
        ExprKind::Num(NumKind::Bool(b)) => (*b).into(),
        ExprKind::Num(NumKind::Natural(n)) => (*n).into(),
        ExprKind::Num(NumKind::Integer(n)) => (*n).into(),
        ExprKind::Num(NumKind::Double(x)) => match serde_json::Number::from_f64((*x).into()) {
            Some(number) => Value::Number(number),
            None => return not_data(&f64::from(*x).to_string()),
        },
        ExprKind::TextLit(text) => match (text.tail().is_empty(), text.head()) {
            (true, text) => text.into(),
            (false, _) => return not_data("text with a hole"),
        },
        ExprKind::SomeLit(inner) => value(inner)?,
        ExprKind::EmptyListLit(_) => Value::Array(Vec::new()),
        ExprKind::NEListLit(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(i, e)| value(e).map_err(|e| e.under(&format!("[{i}]"))));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        ExprKind::RecordLit(fields) => {
            let mut object = Map::new();
            for (label, field) in fields {
                let field = value(field).map_err(|e| e.under(label.as_ref()))?;
                if !field.is_null() {
                    object.insert(label.into(), field);
                }
            }
            Value::Object(object)
        }
        // A union's alternative, with what it holds and without.
        ExprKind::Op(OpKind::App(function, held)) => match function.kind() {
            ExprKind::Builtin(Builtin::OptionalNone) => Value::Null,
            ExprKind::Op(OpKind::Field(..)) => value(held)?,
            _ => return not_data("a function"),
        },
        ExprKind::Op(OpKind::Field(union, label)) => match union.kind() {
            ExprKind::UnionType(kinds) if matches!(kinds.get(label), Some(None)) => {
                Value::String(label.into())
            }
            _ => {
                let name = label.as_ref();
                return not_data(&format!("the union's {name} without what it holds"));
            }
        },
        ExprKind::Lam(..) | ExprKind::Builtin(_) => return not_data("a function"),
        _ => return not_data("a type"),
    })
}
