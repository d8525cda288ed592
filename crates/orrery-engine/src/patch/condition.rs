//! The condition of a patch: a query without its SELECT, over the item alone.

use orrery_sql::ast::{Input, Query};
use orrery_sql::environment::{Environment, Parameters};
use orrery_sql::errors::SqlErrors;
use orrery_sql::parser;
use orrery_sql::pipeline::{Item, PageLimits, Pipeline};
use orrery_sql::program::Program;

use crate::error::Error;

/// Bytes that a condition may hold: it is asked in the partition's write order.
const MEMORY: usize = 16 << 20;
/// Steps that it may take, for the same reason.
const STEPS: u64 = 1_000_000;

/// A compiled condition.
#[derive(Debug, Clone)]
pub struct Condition {
    program: Program,
}

impl Condition {
    /// Compiles `from c where …`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refused = |errors: SqlErrors| {
            let reason = errors
                .list()
                .first()
                .map_or("", |error| error.message.as_str());
            Error::bad_request(format!("The patch condition is invalid: {reason}"))
        };
        let begins = text.trim_start().get(..4);
        if !begins.is_some_and(|word| word.eq_ignore_ascii_case("from")) {
            return Err(Error::bad_request(
                "The patch condition is invalid: it begins with FROM.",
            ));
        }
        let query = parser::parse(&format!("SELECT VALUE 1 {text}")).map_err(refused)?;
        if !is_plain(&query) {
            return Err(Error::bad_request(
                "The patch condition is invalid: it consists of FROM with one alias and WHERE.",
            ));
        }
        let environment = Environment::default();
        let program = Program::compile(&query, &Parameters::default(), &environment);
        Ok(Self {
            program: program.map_err(refused)?,
        })
    }

    /// Whether it holds for the item: whether the query would return it.
    pub fn holds(&self, item: &[u8]) -> Result<bool, Error> {
        let limits = PageLimits {
            memory: MEMORY,
            steps: STEPS,
            ..PageLimits::default()
        };
        let mut pipeline = Pipeline::new(&self.program, limits, false, None, None)?;
        let item = Item {
            doc: 0,
            text: item,
            system: None,
        };
        pipeline.push(item)?;
        pipeline.finish()?;
        Ok(!pipeline.take_rows().is_empty())
    }
}

/// `FROM c WHERE …` and no other clause.
fn is_plain(query: &Query) -> bool {
    let is_single = query.from.as_ref().is_some_and(|from| {
        matches!(from.sources.as_slice(), [source]
            if !source.iterate && matches!(&source.input, Input::Path { steps, .. } if steps.is_empty()))
    });
    is_single && query.group_by.is_empty() && query.order_by.is_none() && query.page.is_none()
}
