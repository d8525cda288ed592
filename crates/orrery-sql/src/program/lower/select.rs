//! SELECT, FROM, WHERE, GROUP BY and ORDER BY.

use super::{Bound, GroupScope, Lowered, Lowerer, Place, Top};
use crate::analysis;
use crate::ast::{BinaryOp, Expr, ExprKind, Input, OrderKey, Query, Step as AstStep};
use crate::ast::{Projection as AstProjection, Source as AstSource};
use crate::errors::SqlError;
use crate::program::fold;
use crate::program::names;
use crate::program::node::{Grouping, Node, Projection, Select, SortKey, Source, Step};
use std::collections::HashSet;

/// The operands of nested ANDs, in order, without recursion: generated queries chain thousands.
fn conjuncts(filter: &Expr) -> Vec<&Expr> {
    let mut pending = vec![filter];
    let mut found = Vec::new();
    while let Some(expr) = pending.pop() {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::And, left, right) => pending.extend([&**right, &**left]),
            _ => found.push(expr),
        }
    }
    found
}

impl Lowerer<'_> {
    /// The outermost SELECT. Conditions that read only the item go to `item_filter`, lowered as
    /// if no source had been bound: they are asked before any JOIN.
    pub(super) fn top(&mut self, query: &Query, item_filter: &mut Vec<Node>) -> Lowered<Top> {
        let sources = self.sources(query)?;
        let mut filter = Vec::new();
        for condition in query.filter.iter().flat_map(conjuncts) {
            let only_item = names::all_names(
                condition,
                &mut |name| !matches!(self.find(name), Some(Place::Level(level)) if level > 0),
            );
            if only_item && query.from.is_some() {
                let depth = std::mem::replace(&mut self.depth, 1);
                let node = self.expression(condition);
                self.depth = depth;
                item_filter.push(node?);
            } else {
                filter.push(self.expression(condition)?);
            }
        }
        let ranked = query.order_by.as_ref().filter(|order| order.rank);
        let ranking = ranked
            .and_then(|order| order.keys.first())
            .map(|key| self.ranking(&key.expr))
            .transpose()?;
        let ranking = ranking.flatten();
        let keys = match &query.order_by {
            Some(order) if ranking.is_none() => order.keys.as_slice(),
            _ => &[],
        };
        let mut order = Vec::new();
        let (grouping, projection) = self.grouped(query, &mut |lowerer| {
            for key in keys {
                order.push(lowerer.sort_key(key)?);
            }
            Ok(())
        })?;
        let select = Select {
            sources,
            filter,
            grouping,
            distinct: query.select.distinct,
            projection,
        };
        Ok((select, order, ranking))
    }

    /// A SELECT inside an expression or a source. The scope is as before afterwards.
    pub(super) fn inner(&mut self, query: &Query) -> Lowered<Select> {
        self.nested(|lowerer| {
            if query.order_by.is_some() || query.page.is_some() || query.select.top.is_some() {
                return Err(SqlError::plain(
                    "ORDER BY, TOP and OFFSET LIMIT are not supported in subqueries.",
                ));
            }
            let (names, depth) = (lowerer.scope.len(), lowerer.depth);
            let group = lowerer.group.take();
            let result = lowerer.inner_parts(query);
            lowerer.group = group;
            lowerer.scope.truncate(names);
            lowerer.depth = depth;
            result
        })
    }

    fn inner_parts(&mut self, query: &Query) -> Lowered<Select> {
        let sources = self.sources(query)?;
        let filter = query
            .filter
            .iter()
            .flat_map(conjuncts)
            .map(|condition| self.expression(condition));
        let filter = filter.collect::<Lowered<Vec<_>>>()?;
        let (grouping, projection) = self.grouped(query, &mut |_| Ok(()))?;
        Ok(Select {
            sources,
            filter,
            grouping,
            distinct: query.select.distinct,
            projection,
        })
    }

    fn sources(&mut self, query: &Query) -> Lowered<Vec<Source>> {
        let mut sources = Vec::new();
        for source in query.from.iter().flat_map(|from| &from.sources) {
            sources.extend(self.source(source)?);
        }
        Ok(sources)
    }

    /// A source; none for the container itself, whose item is bound already.
    fn source(&mut self, source: &AstSource) -> Lowered<Option<Source>> {
        let alias = source.alias.as_ref().map(|alias| alias.name.clone());
        let lowered = match &source.input {
            Input::Subquery(query) => {
                let select = Box::new(self.inner(query)?);
                if source.iterate {
                    Source::RowElements(select)
                } else {
                    Source::Rows(select)
                }
            }
            Input::Path { root, steps } => {
                // A name that nobody bound is the container, whatever it is called.
                let place = self.find(&root.name).unwrap_or(Place::Level(0));
                let Place::Level(level) = place else {
                    return Ok(Some(Source::Value(Node::UNDEFINED)));
                };
                let name = alias.or_else(|| match steps.last() {
                    None => Some(root.name.clone()),
                    Some(AstStep::Member(name)) => Some(name.clone()),
                    Some(AstStep::Index(_)) => None,
                });
                if steps.is_empty() && !source.iterate && self.find(&root.name).is_none() {
                    self.scope.push(Bound {
                        name,
                        place: Place::Level(0),
                    });
                    return Ok(None);
                }
                let mut node = self.slot(level);
                for (place, step) in steps.iter().enumerate() {
                    node = match step {
                        AstStep::Member(name) if place == 0 && level == 0 => {
                            self.item_member(name)?
                        }
                        AstStep::Member(name) => fold::step(node, Step::Member(name.clone())),
                        AstStep::Index(index) => fold::step(node, Step::Element(*index)),
                    };
                }
                self.bind(name);
                return Ok(Some(if source.iterate {
                    Source::Elements(node)
                } else {
                    Source::Value(node)
                }));
            }
        };
        self.bind(alias);
        Ok(Some(lowered))
    }

    /// The projection, in the scope of groups when there are any; `after` lowers what else
    /// belongs to that scope.
    fn grouped(
        &mut self,
        query: &Query,
        after: &mut dyn FnMut(&mut Self) -> Lowered<()>,
    ) -> Lowered<(Option<Grouping>, Projection)> {
        let aggregates = match &query.select.projection {
            AstProjection::Star(_) => false,
            AstProjection::Value(expr) => analysis::contains_aggregate(expr),
            AstProjection::List(items) => items
                .iter()
                .any(|item| analysis::contains_aggregate(&item.expr)),
        };
        if !aggregates && query.group_by.is_empty() {
            let projection = self.projection(query)?;
            after(self)?;
            return Ok((None, projection));
        }
        let keys = query
            .group_by
            .iter()
            .map(|key| self.expression(key))
            .collect::<Lowered<Vec<_>>>()?;
        let row_scope = self.scope.clone();
        let own = query.from.as_ref().map_or(0, |from| from.sources.len());
        let first_own = self.scope.len().saturating_sub(own);
        let own_levels = self
            .scope
            .iter()
            .skip(first_own)
            .filter(|bound| bound.place != Place::Level(0))
            .count();
        let outer_depth = self.depth - own_levels as u32;
        for bound in &mut self.scope[first_own..] {
            bound.place = Place::Gone;
        }
        let row_depth = std::mem::replace(&mut self.depth, outer_depth + 1);
        let scope = GroupScope {
            keys: query.group_by.clone(),
            shapes: analysis::Shapes::of(&query.group_by),
            aggregates: Vec::new(),
            row_scope,
            row_depth,
            level: outer_depth,
        };
        let before = self.group.replace(scope);
        let projection = self.projection(query);
        let rest = after(self);
        let group = std::mem::replace(&mut self.group, before);
        self.depth = row_depth;
        let aggregates = group.map(|group| {
            self.scope.clone_from(&group.row_scope);
            group.aggregates
        });
        rest?;
        Ok((
            Some(Grouping {
                keys,
                aggregates: aggregates.unwrap_or_default(),
            }),
            projection?,
        ))
    }

    fn projection(&mut self, query: &Query) -> Lowered<Projection> {
        match &query.select.projection {
            AstProjection::Star(span) => {
                let sources = query.from.as_ref().map_or(0, |from| from.sources.len());
                match self.scope.last().map(|bound| bound.place) {
                    Some(Place::Level(level)) if sources == 1 => {
                        Ok(Projection::Value(self.slot(level)))
                    }
                    _ => Err(SqlError::new(
                        "SC2001",
                        "'SELECT *' needs exactly one source.",
                        *span,
                    )),
                }
            }
            AstProjection::Value(expr) => self.expression(expr).map(Projection::Value),
            AstProjection::List(items) => {
                let mut members: Vec<(String, Node)> = Vec::with_capacity(items.len());
                let mut unnamed = 0;
                for item in items {
                    let name = match (&item.alias, &item.expr.kind) {
                        (Some(alias), _) => alias.name.clone(),
                        (None, ExprKind::Name(name) | ExprKind::Member(_, name)) => name.clone(),
                        (None, _) => {
                            unnamed += 1;
                            format!("${unnamed}")
                        }
                    };
                    let node = self.expression(&item.expr)?;
                    members.push((name, node));
                }
                Ok(Projection::List(last_of_each(members)))
            }
        }
    }

    fn sort_key(&mut self, key: &OrderKey) -> Lowered<SortKey> {
        let node = self.expression(&key.expr)?;
        Ok(match node {
            // Most similar first, whatever is written.
            Node::Vector(function, sides) => SortKey {
                descending: !function.ascending(),
                undefined_last: true,
                node: Node::Vector(function, sides),
            },
            node => {
                let score = matches!(
                    node,
                    Node::Call(crate::signatures::BuiltIn::ComponentFullTextScore, ..)
                );
                SortKey {
                    node,
                    descending: key.descending.unwrap_or(false),
                    undefined_last: score,
                }
            }
        })
    }
}

/// Members of an object are unique: the last one of a name counts.
fn last_of_each(mut members: Vec<(String, Node)>) -> Vec<(String, Node)> {
    let mut seen = HashSet::new();
    let mut is_last: Vec<bool> = members
        .iter()
        .rev()
        .map(|(name, _)| seen.insert(name.as_str()))
        .collect();
    drop(seen);
    members.retain(|_| is_last.pop().unwrap_or(true));
    members
}
