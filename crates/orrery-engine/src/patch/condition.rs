//! The condition of a patch: a query without its SELECT, over the item alone.

use orrery_sql::environment::{Environment, Parameters};
use orrery_sql::errors::SqlErrors;
use orrery_sql::parser;
use orrery_sql::pipeline::{ExecutionError, Item, PageLimits, Pipeline};
use orrery_sql::program::Program;

use crate::error::Error;

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
        let environment = Environment::default();
        let program = Program::compile(&query, &Parameters::default(), &environment);
        Ok(Self {
            program: program.map_err(refused)?,
        })
    }

    /// Whether it holds for the item: whether the query would return it.
    pub fn holds(&self, item: &[u8]) -> Result<bool, Error> {
        let refused = |error: ExecutionError| Error::bad_request(error.to_string());
        let limits = PageLimits::default();
        let mut pipeline =
            Pipeline::new(&self.program, limits, false, None, None).map_err(refused)?;
        let item = Item {
            doc: 0,
            text: item,
            system: None,
        };
        pipeline.push(item).map_err(refused)?;
        pipeline.finish().map_err(refused)?;
        Ok(!pipeline.take_rows().is_empty())
    }
}
