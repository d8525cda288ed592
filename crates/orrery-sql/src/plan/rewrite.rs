//! The texts that clients send to each range (protocol: section 8.4).

use super::{Planner, QueryInfo};
use crate::analysis::source_name;
use crate::ast::Projection;
use crate::printer::Printer;
use std::fmt::Write as _;

/// Replaced by the client: `true`, or where the last page stopped.
pub(super) const FILTER: &str = "({documentdb-formattableorderbyquery-filter})";

impl Planner<'_> {
    /// The name of the first source.
    pub(super) fn root(&self) -> &str {
        let first = self
            .query
            .from
            .as_ref()
            .and_then(|from| from.sources.first());
        first.and_then(source_name).unwrap_or("c")
    }

    fn expr(&self, expr: &crate::ast::Expr) -> String {
        Printer::expr_text(self.text, expr)
    }

    /// `\nFROM …`, or nothing.
    pub(super) fn sources_clause(&self) -> String {
        let from = self.query.from.as_ref();
        from.map(|from| format!("\n{}", Printer::from_text(self.text, from)))
            .unwrap_or_default()
    }

    fn where_clause(&self) -> String {
        let filter = self.query.filter.as_ref();
        filter
            .map(|filter| format!("\nWHERE {}", self.expr(filter)))
            .unwrap_or_default()
    }

    /// WHERE with the client's filter, and for SELECT VALUE with the row's own existence.
    pub(super) fn filtered_clause(&self) -> String {
        let mut filter = match &self.query.filter {
            Some(filter) => format!("({} AND {FILTER})", self.expr(filter)),
            None => FILTER.to_owned(),
        };
        if let Projection::Value(expr) = &self.query.select.projection {
            filter = format!("({filter} AND IS_DEFINED({}))", self.expr(expr));
        }
        format!("\nWHERE {filter}")
    }

    /// WHERE, and for SELECT VALUE the row's own existence.
    pub(super) fn existing_clause(&self) -> String {
        match (&self.query.filter, &self.query.select.projection) {
            (Some(filter), Projection::Value(expr)) => format!(
                "\nWHERE ({} AND IS_DEFINED({}))",
                self.expr(filter),
                self.expr(expr)
            ),
            (None, Projection::Value(expr)) => format!("\nWHERE IS_DEFINED({})", self.expr(expr)),
            _ => self.where_clause(),
        }
    }

    fn group_by_clause(&self) -> String {
        let keys: Vec<String> = self
            .query
            .group_by
            .iter()
            .map(|key| self.expr(key))
            .collect();
        if keys.is_empty() {
            String::new()
        } else {
            format!("\nGROUP BY {}", keys.join(", "))
        }
    }

    fn order_by_clause(&self) -> String {
        let mut out = String::new();
        for key in self
            .query
            .order_by
            .iter()
            .flat_map(|order_by| &order_by.keys)
        {
            out.push_str(if out.is_empty() { "\nORDER BY " } else { ", " });
            out.push_str(&self.expr(&key.expr));
            match key.descending {
                Some(true) => out.push_str(" DESC"),
                Some(false) => out.push_str(" ASC"),
                None => {}
            }
        }
        out
    }

    fn distinct_word(&self) -> &'static str {
        if self.query.select.distinct {
            "DISTINCT "
        } else {
            ""
        }
    }

    /// ORDER BY: rows with their sort keys.
    pub(super) fn ordered_text(&self, info: &QueryInfo) -> String {
        let mut out = String::from("SELECT ");
        if let Some(top) = info.top
            && !self.query.select.distinct
        {
            let _ = write!(out, "TOP {top} ");
        }
        let items: Vec<String> = info
            .order_by
            .iter()
            .map(|(key, _)| format!("{{\"item\": {key}}}"))
            .collect();
        let _ = write!(
            out,
            "{}._rid, [{}] AS orderByItems, {} AS payload{}{}{}",
            self.root(),
            items.join(", "),
            self.payload(),
            self.sources_clause(),
            self.filtered_clause(),
            self.order_by_clause()
        );
        if !self.query.select.distinct {
            out.push_str(&page_text(info));
        }
        out
    }

    /// An aggregate over everything.
    pub(super) fn aggregated_text(&self) -> String {
        let value = matches!(self.query.select.projection, Projection::Value(_));
        let (before, after) = if value {
            ("VALUE ", "")
        } else {
            ("", " AS payload")
        };
        format!(
            "SELECT {}{before}{}{after}{}{}{}",
            self.distinct_word(),
            self.payload(),
            self.sources_clause(),
            self.where_clause(),
            self.order_by_clause()
        )
    }

    /// GROUP BY: rows with their group keys. With ORDER BY they are the payloads of sorted rows:
    /// clients merge the order first and then the groups, which they keep in order of appearance.
    pub(super) fn grouped_text(&self, info: &QueryInfo) -> String {
        let items = |keys: &mut dyn Iterator<Item = &String>| {
            let items: Vec<String> = keys.map(|key| format!("{{\"item\": {key}}}")).collect();
            items.join(", ")
        };
        let groups = items(&mut info.group_by_expressions.iter());
        if info.order_by.is_empty() {
            return format!(
                "SELECT [{groups}] AS groupByItems, {} AS payload{}{}{}",
                self.payload(),
                self.sources_clause(),
                self.where_clause(),
                self.group_by_clause()
            );
        }
        let filter = match &self.query.filter {
            Some(filter) => format!("({} AND {FILTER})", self.expr(filter)),
            None => FILTER.to_owned(),
        };
        format!(
            "SELECT MIN({root}._rid) AS _rid, [{}] AS orderByItems, \
             {{\"groupByItems\": [{groups}], \"payload\": {}}} AS payload{}\nWHERE {filter}{}{}",
            items(&mut info.order_by.iter().map(|(key, _)| key)),
            self.payload(),
            self.sources_clause(),
            self.group_by_clause(),
            self.order_by_clause(),
            root = self.root(),
        )
    }

    /// The query without TOP and OFFSET LIMIT.
    pub(super) fn text_without_counts(&self) -> String {
        let mut query = self.query.clone();
        query.select.top = None;
        query.page = None;
        Printer::query_text(self.text, &query)
    }

    /// The query with a page that holds everything up to the end of the asked one.
    pub(super) fn text_with_page(&self, info: &QueryInfo) -> String {
        let mut query = self.query.clone();
        query.page = None;
        format!(
            "{}{}",
            Printer::query_text(self.text, &query),
            page_text(info)
        )
    }
}

fn page_text(info: &QueryInfo) -> String {
    match (info.offset, info.limit) {
        (Some(offset), Some(limit)) => format!("\nOFFSET 0 LIMIT {}", offset + limit),
        _ => String::new(),
    }
}
