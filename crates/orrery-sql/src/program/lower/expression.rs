//! Expressions.

use super::{Lowered, Lowerer, Place};
use crate::ast::{BinaryOp, Expr, ExprKind, Ident, Projection as AstProjection};
use crate::environment::DistanceFunction;
use crate::errors::SqlError;
use crate::eval::like::LikePattern;
use crate::eval::operators::is_scalar;
use crate::functions;
use crate::pipeline::accumulator::AggregateKind;
use crate::program::fold::{self, Infix, fold};
use crate::program::node::{Aggregate, LikeSide, Members, Node, Prefix, Step};
use crate::signatures::BuiltIn;
use orrery_model::value::Value;

/// The operands of a chain of one operator, in order, without recursion.
fn chain(expr: &Expr, operator: BinaryOp) -> Vec<&Expr> {
    let mut pending = vec![expr];
    let mut found = Vec::new();
    while let Some(expr) = pending.pop() {
        match &expr.kind {
            ExprKind::Binary(own, left, right) if *own == operator => {
                pending.extend([&**right, &**left]);
            }
            _ => found.push(expr),
        }
    }
    found
}

impl Lowerer<'_> {
    pub(super) fn expression(&mut self, expr: &Expr) -> Lowered<Node> {
        if let Some(group) = &self.group
            && let Some(place) = group.shapes.find(&group.keys, expr)
        {
            return Ok(Node::Path(
                self.outwards(group.level),
                vec![Step::Element(place as u64)],
            ));
        }
        self.nested(|lowerer| {
            let node = lowerer.plain(expr)?;
            Ok(fold(node, &lowerer.run))
        })
    }

    fn boxed(&mut self, left: &Expr, right: &Expr) -> Lowered<Box<(Node, Node)>> {
        Ok(Box::new((self.expression(left)?, self.expression(right)?)))
    }

    fn list(&mut self, list: &[Expr]) -> Lowered<Vec<Node>> {
        list.iter().map(|expr| self.expression(expr)).collect()
    }

    fn plain(&mut self, expr: &Expr) -> Lowered<Node> {
        let negate = |negated: bool, node: Node| {
            if negated {
                Node::Prefix(Prefix::Not, Box::new(node))
            } else {
                node
            }
        };
        Ok(match &expr.kind {
            ExprKind::Literal(value) => Node::Constant(value.clone()),
            ExprKind::Parameter(name) => Node::Constant(self.parameter(name)?),
            ExprKind::Name(name) => self.name(name, expr)?,
            ExprKind::Member(base, name) => self.member(base, name)?,
            ExprKind::Index(base, index) => self.index(base, index)?,
            ExprKind::Unary(operator, operand) => {
                Node::Prefix(fold::prefix(*operator), Box::new(self.expression(operand)?))
            }
            ExprKind::Binary(BinaryOp::And, ..) => {
                let operands = chain(expr, BinaryOp::And)
                    .into_iter()
                    .map(|operand| self.expression(operand));
                fold::and(operands.collect::<Lowered<_>>()?)
            }
            ExprKind::Binary(BinaryOp::Or, ..) => {
                let operands = chain(expr, BinaryOp::Or)
                    .into_iter()
                    .map(|operand| self.expression(operand));
                fold::or(operands.collect::<Lowered<_>>()?)
            }
            ExprKind::Binary(operator, left, right) => {
                let sides = self.boxed(left, right)?;
                match fold::infix(*operator) {
                    Some(Infix::Compare(comparison)) => Node::Compare(comparison, sides),
                    Some(Infix::Compute(arithmetic)) => Node::Arithmetic(arithmetic, sides),
                    None => Node::Coalesce(sides),
                }
            }
            ExprKind::Conditional(condition, yes, no) => Node::Conditional(Box::new((
                self.expression(condition)?,
                self.expression(yes)?,
                self.expression(no)?,
            ))),
            ExprKind::Between {
                negated,
                value,
                low,
                high,
            } => {
                let parts = (
                    self.expression(value)?,
                    self.expression(low)?,
                    self.expression(high)?,
                );
                negate(*negated, fold(Node::Between(Box::new(parts)), &self.run))
            }
            ExprKind::In {
                negated,
                value,
                list,
            } => {
                let value = Box::new(self.expression(value)?);
                let members = members(self.list(list)?);
                negate(*negated, fold(Node::In(value, members), &self.run))
            }
            ExprKind::Like {
                negated,
                value,
                pattern,
                escape,
            } => {
                let value = Box::new(self.expression(value)?);
                let escape = escape.as_ref().and_then(|escape| escape.chars().next());
                let side = match self.expression(pattern)? {
                    Node::Constant(Value::String(pattern)) => {
                        LikeSide::Fixed(LikePattern::fixed(&pattern, escape))
                    }
                    other => LikeSide::Computed(Box::new(other), escape),
                };
                negate(*negated, fold(Node::Like(value, side), &self.run))
            }
            ExprKind::Array(list) => Node::Array(self.list(list)?),
            ExprKind::Object(members) => {
                let members = members
                    .iter()
                    .map(|(name, expr)| Ok((name.clone(), self.expression(expr)?)));
                Node::Object(members.collect::<Lowered<_>>()?)
            }
            ExprKind::Call { name, args } => self.call(name, args)?,
            ExprKind::Udf { name, .. } => {
                return Err(SqlError::plain(format!(
                    "The user-defined function '{}' cannot run: scripts are not supported.",
                    name.name
                )));
            }
            ExprKind::Subquery(kind, query) => Node::Subquery(*kind, Box::new(self.inner(query)?)),
            ExprKind::Let { name, value, body } => {
                let value = self.expression(value)?;
                self.bind(Some(name.name.clone()));
                let body = self.expression(body);
                self.depth -= 1;
                self.scope.pop();
                Node::Let(Box::new((value, body?)))
            }
        })
    }

    fn name(&self, name: &str, expr: &Expr) -> Lowered<Node> {
        match (self.find(name), name) {
            (Some(Place::Level(level)), _) => Ok(self.slot(level)),
            (Some(Place::Gone), _) => Ok(Node::UNDEFINED),
            (None, "NaN") => Ok(Node::Constant(Value::from(f64::NAN))),
            (None, "Infinity") => Ok(Node::Constant(Value::from(f64::INFINITY))),
            (None, _) => Err(SqlError::new(
                "SC2001",
                format!("Identifier '{name}' could not be resolved."),
                expr.span,
            )),
        }
    }

    fn member(&mut self, base: &Expr, name: &str) -> Lowered<Node> {
        if let ExprKind::Name(alias) = &base.kind
            && self.find(alias) == Some(Place::Level(0))
        {
            return self.item_member(name);
        }
        Ok(fold::step(
            self.expression(base)?,
            Step::Member(name.to_owned()),
        ))
    }

    /// A member of the item: a computed property shadows a stored one.
    pub(super) fn item_member(&mut self, name: &str) -> Lowered<Node> {
        let plain = fold::step(self.slot(0), Step::Member(name.to_owned()));
        if self.in_computed {
            return Ok(plain);
        }
        let environment = self.environment;
        let Some(computed) = environment
            .computed
            .iter()
            .find(|computed| computed.name == name)
        else {
            return Ok(plain);
        };
        let AstProjection::Value(expr) = &computed.query.select.projection else {
            return Ok(plain);
        };
        let source = computed
            .query
            .from
            .as_ref()
            .and_then(|from| from.sources.first());
        let alias = source.and_then(|source| match (&source.alias, &source.input) {
            (Some(alias), _) => Some(alias.name.clone()),
            (None, crate::ast::Input::Path { root, .. }) => Some(root.name.clone()),
            _ => None,
        });
        let scope = std::mem::replace(
            &mut self.scope,
            vec![super::Bound {
                name: alias,
                place: Place::Level(0),
            }],
        );
        let group = self.group.take();
        self.in_computed = true;
        let node = self.expression(expr);
        self.in_computed = false;
        self.group = group;
        self.scope = scope;
        node
    }

    fn index(&mut self, base: &Expr, index: &Expr) -> Lowered<Node> {
        let index = self.expression(index)?;
        let step = match index.constant() {
            Some(Value::String(name)) => Some(Step::Member(name.clone().into_owned())),
            Some(Value::Number(number)) => number
                .as_i64()
                .and_then(|index| u64::try_from(index).ok())
                .map(Step::Element),
            _ => None,
        };
        match step {
            Some(Step::Member(name)) => self.member(base, &name),
            Some(step) => Ok(fold::step(self.expression(base)?, step)),
            None if index.constant().is_some() => Ok(Node::UNDEFINED),
            None => Ok(Node::Index(Box::new((self.expression(base)?, index)))),
        }
    }

    fn call(&mut self, name: &Ident, args: &[Expr]) -> Lowered<Node> {
        let unknown = || {
            SqlError::new(
                "SC2005",
                format!(
                    "'{}' is not a recognized built-in function name.",
                    name.name
                ),
                name.span,
            )
        };
        let function = BuiltIn::lookup(&name.name).ok_or_else(unknown)?;
        if let Some(message) = function.argument_error(args.len()) {
            return Err(SqlError::new("SC2050", message, name.span));
        }
        if let Some(kind) = AggregateKind::of(function) {
            return self.aggregate(kind, &args[0], name);
        }
        if function == BuiltIn::VectorDistance {
            return self.vector_distance(args);
        }
        match functions::implementation(function) {
            Some(implementation) => Ok(Node::Call(function, implementation, self.list(args)?)),
            None if function == BuiltIn::FullTextScore => Err(SqlError::new(
                "SC2240",
                "The FullTextScore function is only allowed in the ORDER BY RANK clause.",
                name.span,
            )),
            None => Err(unknown()),
        }
    }

    /// Registers an aggregate; the projection reads its result from the group's binding.
    fn aggregate(&mut self, kind: AggregateKind, argument: &Expr, name: &Ident) -> Lowered<Node> {
        let Some(mut group) = self.group.take() else {
            return Err(SqlError::new(
                "SC2101",
                format!("'{}' is not allowed here.", name.name),
                name.span,
            ));
        };
        std::mem::swap(&mut self.scope, &mut group.row_scope);
        let depth = std::mem::replace(&mut self.depth, group.row_depth);
        let argument = self.expression(argument);
        self.depth = depth;
        std::mem::swap(&mut self.scope, &mut group.row_scope);
        let place = group.keys.len() + group.aggregates.len();
        let node = Node::Path(
            self.outwards(group.level),
            vec![Step::Element(place as u64)],
        );
        let argument = argument.map(|argument| group.aggregates.push(Aggregate { kind, argument }));
        self.group = Some(group);
        argument.map(|()| node)
    }

    /// The function of the options, else of the container's policy for the path, else cosine.
    fn vector_distance(&mut self, args: &[Expr]) -> Lowered<Node> {
        let sides = self.boxed(&args[0], &args[1])?;
        let options = args
            .get(3)
            .map(|options| self.expression(options))
            .transpose()?;
        let named = options
            .as_ref()
            .and_then(Node::constant)
            .and_then(|options| {
                DistanceFunction::from_name(options.member("distanceFunction").as_str()?)
            });
        let function = named.or_else(|| {
            [&sides.0, &sides.1]
                .into_iter()
                .find_map(|side| self.vector_policy(side))
        });
        Ok(Node::Vector(function.unwrap_or_default(), sides))
    }

    fn vector_policy(&self, node: &Node) -> Option<DistanceFunction> {
        let Node::Path(outwards, steps) = node else {
            return None;
        };
        if self.outwards(0) != *outwards {
            return None;
        }
        let is_same = |path: &[String]| {
            path.len() == steps.len()
                && path
                    .iter()
                    .zip(steps)
                    .all(|(name, step)| matches!(step, Step::Member(own) if own == name))
        };
        self.environment
            .vectors
            .iter()
            .find(|vector| is_same(&vector.path))
            .map(|vector| vector.distance)
    }
}

/// Scalar constants are sorted for search; anything else is compared one by one.
fn members(list: Vec<Node>) -> Members {
    if !list
        .iter()
        .all(|node| node.constant().is_some_and(is_scalar))
    {
        return Members::List(list);
    }
    let mut constants: Vec<Value<'static>> = list
        .into_iter()
        .filter_map(|node| {
            if let Node::Constant(value) = node {
                Some(value)
            } else {
                None
            }
        })
        .collect();
    constants.sort_by(Value::order);
    constants.dedup_by(|left, right| left.equals(right));
    Members::Sorted(constants)
}
