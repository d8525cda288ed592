//! Feeds of resources: listing them page by page, and SQL over them. SDKs look offers up by
//! query; the plain list envelope is the answer to both (protocol: section 1.4).

use std::sync::Arc;

use orrery_model::charge::Charge;
use orrery_model::json;
use orrery_model::resource_path::{ResourceKind, ResourcePath};
use orrery_model::rid::ResourceId;
use orrery_model::value::Value;
use orrery_sql::environment::{Environment, Parameters};
use orrery_sql::errors::SqlErrors;
use orrery_sql::pipeline::{ExecutionError, Flow, Item, PageLimits, Pipeline};
use orrery_sql::program::Program;

use super::Catalog;
use super::record::Record;
use crate::answer::{Answer, Failure, Meta};
use crate::engine::Engine;
use crate::error::Error;
use crate::page::{FeedPage, Page};

/// A query as a request body holds it.
#[derive(Debug, Clone)]
pub struct QuerySpec {
    /// The SQL text.
    pub text: String,
    /// Names with `@`, and values.
    pub parameters: Vec<(String, Value<'static>)>,
    /// `resumeFilter`, unread (protocol: section 8.1).
    pub resume_filter: Option<Value<'static>>,
}

/// How many resources a page has when the client does not say (protocol: section 3.1).
const DEFAULT_PAGE: usize = 100;

/// A feed of resources and the rid of its owner, for the envelope.
#[derive(Debug, Clone)]
pub struct ResourceFeed {
    /// The rid of the owner; `None` for the feeds of the account.
    pub owner: Option<ResourceId>,
    /// The path of the owner by names.
    pub alt_path: String,
    /// The rows.
    pub page: FeedPage,
}

impl Catalog<'_> {
    /// Lists the resources of a feed.
    pub fn list(&self, feed: &ResourcePath, page: &Page) -> Result<Answer<ResourceFeed>, Failure> {
        let (owner, records) = self.members(feed, page)?;
        let most = page
            .max_items
            .map_or(DEFAULT_PAGE, |items| items as usize)
            .max(1);
        let mut answered = FeedPage::default();
        let most_bytes = self.engine.limits().response_bytes;
        for record in records.iter().take(most) {
            let row = wire_text(record);
            if answered.is_crossed_by(row.len(), most_bytes) {
                break;
            }
            answered.push(&row);
        }
        let taken = answered.count as usize;
        if records.len() > taken {
            let last = taken.checked_sub(1).and_then(|last| records.get(last));
            answered.continuation = last.map(|last| token(last.sequence));
        }
        Ok(self.feed_answer(owner.as_deref(), answered))
    }

    /// Runs a query over the resources of a feed.
    pub fn query(
        &self,
        feed: &ResourcePath,
        query: &QuerySpec,
        page: &Page,
    ) -> Result<Answer<ResourceFeed>, Failure> {
        // Feeds are small: a query reads all of it, and a page goes on after a number of rows.
        let skip = page.continuation.as_deref().map_or(Ok(0), parse_token)?;
        let all = Page {
            continuation: None,
            ..page.clone()
        };
        let (owner, records) = self.members(feed, &all)?;
        let rows = run(query, &records, self.engine)?;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(rows.len());
        let rows = rows.get(skip..).unwrap_or_default();
        let most = page
            .max_items
            .map_or(DEFAULT_PAGE, |items| items as usize)
            .max(1);
        let most_bytes = self.engine.limits().response_bytes;
        let mut answered = FeedPage::default();
        for row in rows.iter().take(most) {
            if answered.is_crossed_by(row.len(), most_bytes) {
                break;
            }
            answered.push(row);
        }
        let taken = answered.count as usize;
        if rows.len() > taken {
            answered.continuation = Some(token((skip + taken) as u64));
        }
        Ok(self.feed_answer(owner.as_deref(), answered))
    }

    /// The owner of a feed and its members, after the continuation.
    #[allow(clippy::type_complexity)] // an owner and its members need no name
    fn members(
        &self,
        feed: &ResourcePath,
        page: &Page,
    ) -> Result<(Option<Arc<Record>>, Vec<Arc<Record>>), Error> {
        match feed.kind() {
            ResourceKind::Database
            | ResourceKind::Container
            | ResourceKind::User
            | ResourceKind::Permission
            | ResourceKind::StoredProcedure
            | ResourceKind::Trigger
            | ResourceKind::UserDefinedFunction
            | ResourceKind::ClientEncryptionKey
            | ResourceKind::Offer
            // Only accounts with several write regions have conflicts: the feed is empty.
            | ResourceKind::Conflict => {}
            _ => return Err(Error::MethodNotAllowed),
        }
        let after = page.continuation.as_deref().map(parse_token).transpose()?;
        self.read_tree(|tree| {
            let owner = tree.resolve_owner(feed)?;
            let parent = owner.as_ref().map(|record| record.rid);
            let members = tree.children(parent, feed.kind(), after).cloned().collect();
            Ok((owner, members))
        })
    }

    fn feed_answer(&self, owner: Option<&Record>, page: FeedPage) -> Answer<ResourceFeed> {
        let alt_path = owner.map_or_else(String::new, |owner| {
            self.read_tree(|tree| tree.alt_path(owner))
        });
        let feed = ResourceFeed {
            owner: owner.map(|owner| owner.rid),
            alt_path,
            page,
        };
        Answer {
            value: feed,
            meta: Meta::of_charge(Charge::ONE),
        }
    }
}

fn token(position: u64) -> String {
    format!("1.m.{position:x}")
}

fn parse_token(text: &str) -> Result<u64, Error> {
    text.strip_prefix("1.m.")
        .and_then(|position| u64::from_str_radix(position, 16).ok())
        .ok_or_else(|| Error::bad_request("Invalid Continuation Token"))
}

fn wire_text(record: &Record) -> Vec<u8> {
    let mut text = Vec::new();
    json::write(&Value::Object(record.wire()), &mut text);
    text
}

/// All rows of a query over records. They have to fit a query's memory.
fn run(query: &QuerySpec, records: &[Arc<Record>], engine: &Engine) -> Result<Vec<Vec<u8>>, Error> {
    let sql = |errors: SqlErrors| Error::Sql(errors);
    let parsed = orrery_sql::parser::parse(&query.text).map_err(sql)?;
    let parameters = Parameters::new(query.parameters.clone());
    let program = Program::compile(&parsed, &parameters, &Environment::default()).map_err(sql)?;
    let bounds = engine.limits();
    let limits = PageLimits {
        rows: usize::MAX,
        bytes: bounds.query_memory / 4,
        memory: bounds.query_memory / 4,
        ..PageLimits::default()
    };
    let clock = engine.clock();
    let late = clock
        .now_us()
        .saturating_add(bounds.execution_ms.saturating_mul(1_000));
    let is_late = || clock.now_us() >= late;
    let mut pipeline = Pipeline::new(&program, limits, false, None, None)?;
    pipeline.share(engine.query_memory());
    pipeline.watch(&is_late);
    let mut rows = Vec::new();
    for record in records {
        let text = wire_text(record);
        let item = Item {
            doc: record.sequence,
            text: &text,
            system: None,
        };
        let flow = pipeline.push(item)?;
        rows.append(&mut pipeline.take_rows());
        match flow {
            Flow::More => {}
            Flow::Done => break,
            // There is no way to go on within so many rows.
            Flow::PageFull | Flow::PageFullInside => {
                return Err(ExecutionError::TooMuchMemory.into());
            }
        }
    }
    pipeline.finish()?;
    rows.append(&mut pipeline.take_rows());
    Ok(rows)
}
