//! ORDER BY RANK (query-language: section 9.2).

use super::clauses::direction_error;
use crate::ast::{Expr, ExprKind, Input, OrderBy, Query, Span, UnaryOp};
use crate::environment::Parameters;
use crate::errors::SqlError;
use crate::signatures::BuiltIn;
use crate::visit;
use orrery_model::value::Value;

/// SC2223 to SC2225: a ranking query reads one container and nothing else. SC2224 comes before
/// the sources, the others with them.
pub(super) fn check_joins(query: &Query, errors: &mut Vec<SqlError>) {
    let Some([first, .., last]) = query.from.as_ref().map(|from| from.sources.as_slice()) else {
        return;
    };
    let span = Span {
        start: first.span.start,
        end: last.span.end,
    };
    errors.push(SqlError::new(
        "SC2224",
        "The JOIN operator is not allowed with the ORDER BY RANK clause.",
        span,
    ));
}

pub(super) fn check_source(source: &crate::ast::Source, errors: &mut Vec<SqlError>) {
    if source.iterate {
        let message =
            "The FROM clause with the IN operator is not allowed with the ORDER BY RANK clause.";
        errors.push(SqlError::new("SC2223", message, source.span));
    } else if let Input::Subquery(query) = &source.input {
        let message =
            "Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.";
        errors.push(SqlError::new("SC2225", message, query.span));
    }
}

/// The scored functions of the clause: the call itself, or the components of RRF.
pub(crate) struct Scores<'a> {
    /// `FullTextScore(…)` and `VectorDistance(…)` calls.
    pub(crate) components: Vec<&'a Expr>,
    /// One weight for each component.
    pub(crate) weights: Option<Vec<f64>>,
}

/// Takes the clause apart, or says what is wrong with it. Without the values of parameters, weights
/// that are one stay unchecked and unknown.
pub(crate) fn scores<'a>(
    order_by: &'a OrderBy,
    parameters: Option<&Parameters>,
) -> Result<Scores<'a>, SqlError> {
    let unranked = || {
        let message = "The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore function call.";
        SqlError::new("SC2221", message, order_by.span)
    };
    let [key] = order_by.keys.as_slice() else {
        return Err(unranked());
    };
    let scores = match scored(&key.expr) {
        Some(BuiltIn::FullTextScore | BuiltIn::VectorDistance) => Scores {
            components: vec![&key.expr],
            weights: None,
        },
        Some(BuiltIn::Rrf) => fusion(order_by, &key.expr, parameters)?.ok_or_else(unranked)?,
        _ => return Err(unranked()),
    };
    if key.descending.is_some() {
        return Err(direction_error());
    }
    Ok(scores)
}

fn scored(expr: &Expr) -> Option<BuiltIn> {
    match &expr.kind {
        ExprKind::Call { name, .. } => BuiltIn::lookup(&name.name),
        _ => None,
    }
}

/// The components of RRF; `None` when they are not two or more scores.
fn fusion<'a>(
    order_by: &OrderBy,
    call: &'a Expr,
    parameters: Option<&Parameters>,
) -> Result<Option<Scores<'a>>, SqlError> {
    let mut components = Vec::new();
    visit::children(call, &mut |argument| components.push(argument));
    let weights = components
        .pop_if(|last| scored(last).is_none())
        .filter(|last| !matches!(last.kind, ExprKind::Parameter(_)) || parameters.is_some())
        .map(|last| weights(last, parameters));
    let all_scores = components.iter().all(|component| {
        matches!(
            scored(component),
            Some(BuiltIn::FullTextScore | BuiltIn::VectorDistance)
        )
    });
    if components.len() < 2 || !all_scores {
        return Ok(None);
    }
    let weights = match weights {
        None => None,
        Some(Some(weights)) if weights.len() == components.len() => Some(weights),
        Some(_) => {
            let message = "The last parameter of the RRF function is an optional array of weights. When present, it must be a literal array of numbers, one for each of the component scores used for the RRF function. The length of this array must be the same as the number of the component scores.";
            return Err(SqlError::new("SC2229", message, order_by.span));
        }
    };
    Ok(Some(Scores {
        components,
        weights,
    }))
}

fn weights(expr: &Expr, parameters: Option<&Parameters>) -> Option<Vec<f64>> {
    match &expr.kind {
        ExprKind::Array(items) => items.iter().map(weight).collect(),
        ExprKind::Parameter(name) => {
            let list = parameters?.get(name)?.as_array()?;
            list.iter().map(Value::as_f64).collect()
        }
        _ => None,
    }
}

fn weight(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Literal(Value::Number(number)) => Some(number.as_f64()),
        ExprKind::Unary(UnaryOp::Minus, inner) => weight(inner).map(|value| -value),
        _ => None,
    }
}
