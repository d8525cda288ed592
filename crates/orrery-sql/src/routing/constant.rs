//! Expressions without an item.

use crate::ast::{Expr, ExprKind, UnaryOp};
use crate::environment::{Environment, Parameters};
use crate::program;
use orrery_model::value::{Number, Object, Value};

/// Computes an expression that reads no item; `None` when it does, or cannot be computed.
pub type Fold<'a> = &'a dyn Fn(&Expr) -> Option<Value<'static>>;

/// The value of any expression that reads no item: the `fold` of a request.
pub fn constant(
    expr: &Expr,
    parameters: &Parameters,
    environment: &Environment,
) -> Option<Value<'static>> {
    literal(expr, parameters).or_else(|| program::constant(expr, parameters, environment))
}

/// The value of an expression made of literals, parameters and constructors only. Unknown
/// parameters are no constants: whoever runs the query refuses them.
pub fn literal(expr: &Expr, parameters: &Parameters) -> Option<Value<'static>> {
    match &expr.kind {
        ExprKind::Literal(value) => Some(value.clone()),
        ExprKind::Parameter(name) => parameters.get(name).cloned(),
        ExprKind::Unary(UnaryOp::Minus, inner) => match literal(inner, parameters)? {
            Value::Number(Number::Int(value)) => {
                let negated = value
                    .checked_neg()
                    .map_or(-(value as f64), |value| value as f64);
                Some(Value::from(negated))
            }
            Value::Number(Number::Double(value)) => Some(Value::from(-value)),
            _ => Some(Value::Undefined),
        },
        ExprKind::Array(items) => {
            let items: Option<Vec<_>> =
                items.iter().map(|item| literal(item, parameters)).collect();
            Some(Value::Array(
                items?
                    .into_iter()
                    .filter(|item| !item.is_undefined())
                    .collect(),
            ))
        }
        ExprKind::Object(members) => {
            let mut values = Vec::with_capacity(members.len());
            for (name, member) in members {
                let member = literal(member, parameters)?;
                if !member.is_undefined() {
                    values.push((name.clone().into(), member));
                }
            }
            Some(Value::Object(Object::from_members(values)))
        }
        _ => None,
    }
}
