//! Running a query over the items of a case.

use orrery_model::json;
use orrery_model::rid::ResourceId;
use orrery_sql::analysis::{QueryLimits, analyze};
use orrery_sql::ast::Expr;
use orrery_sql::environment::{Computed, DistanceFunction, Environment, Parameters, VectorPath};
use orrery_sql::merge::{MergeError, RangeRows, merge, merge_hybrid, range_text};
use orrery_sql::parser::parse;
use orrery_sql::pipeline::{Flow, Item, PageLimits, Pipeline};
use orrery_sql::plan::{PlanContext, PlanInfo, QueryPlan, plan};
use orrery_sql::program::{Program, constant};
use serde_json::Value;
use std::ops::ControlFlow;

/// Why there are no rows.
pub enum Refusal {
    /// The query was refused or failed.
    Failed(String),
    /// It does not make sense over several ranges.
    NotDistributed,
}

impl<E: std::fmt::Display> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

fn merge_refusal(error: MergeError<Refusal>) -> Refusal {
    match error {
        MergeError::Range(refusal) => refusal,
        MergeError::Row => {
            Refusal::Failed("a row of another shape than the plan describes".to_owned())
        }
    }
}

/// The items and settings of a case.
pub struct Container {
    /// Canonical texts, in order of insertion.
    items: Vec<Vec<u8>>,
    /// For each item a number that says to which range it goes.
    owners: Vec<usize>,
    parameters: Parameters,
    environment: Environment,
}

/// A moment in 2024, fixed so that runs agree.
const NOW_TICKS: i64 = 17_180_000_000_000_000;

fn canonical(value: &Value) -> Vec<u8> {
    let text = value.to_string();
    let mut out = Vec::new();
    json::write(
        &json::parse_str(&text).expect("serde_json writes JSON"),
        &mut out,
    );
    out
}

fn model(value: &Value) -> orrery_model::value::Value<'static> {
    json::parse_str(&value.to_string())
        .expect("serde_json writes JSON")
        .into_owned()
}

/// Items are dealt out like cards, so that merging has work to do; those with the same defined
/// partition key stay together.
fn owners(case: &Value, documents: &[Value]) -> Vec<usize> {
    let path = case["partitionKeyPaths"][0].as_str().unwrap_or("/pk");
    let mut known: Vec<&Value> = Vec::new();
    let owner = |(place, item): (usize, &'_ Value)| (place, item.pointer(path).cloned());
    let keys: Vec<(usize, Option<Value>)> = documents.iter().enumerate().map(owner).collect();
    keys.iter()
        .map(|(place, key)| match key {
            None => *place,
            Some(key) => known
                .iter()
                .position(|known| *known == key)
                .unwrap_or_else(|| {
                    known.push(key);
                    known.len() - 1
                }),
        })
        .collect()
}

impl Container {
    /// Items without `id` get "1", "2", …
    pub fn of(case: &Value) -> Self {
        let documents = case["documents"].as_array().cloned().unwrap_or_default();
        let owners = owners(case, &documents);
        let items = documents.into_iter().enumerate().map(|(place, mut item)| {
            if let Some(members) = item.as_object_mut() {
                members
                    .entry("id")
                    .or_insert_with(|| Value::from((place + 1).to_string()));
            }
            canonical(&item)
        });
        let parameters = case["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|parameter| {
                (
                    parameter["name"].as_str().unwrap_or_default().to_owned(),
                    model(&parameter["value"]),
                )
            });
        let computed = case["computedProperties"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|computed| {
                Some(Computed {
                    name: computed["name"].as_str()?.to_owned(),
                    query: parse(computed["query"].as_str()?).ok()?,
                })
            });
        let embeddings = case["vectorEmbeddingPolicy"]["vectorEmbeddings"].as_array();
        let vectors = embeddings.into_iter().flatten().filter_map(|embedding| {
            let path = embedding["path"]
                .as_str()?
                .split('/')
                .skip(1)
                .map(str::to_owned)
                .collect();
            let distance = DistanceFunction::from_name(embedding["distanceFunction"].as_str()?)?;
            Some(VectorPath { path, distance })
        });
        let environment = Environment {
            now_ticks: NOW_TICKS,
            seed: 1,
            computed: computed.collect(),
            vectors: vectors.collect(),
            ..Environment::default()
        };
        Self {
            items: items.collect(),
            owners,
            parameters: Parameters::new(parameters.collect()),
            environment,
        }
    }

    /// The rows of a query; over several ranges as a client merges them.
    pub fn run(&self, text: &str, ranges: usize, page: usize) -> Result<Vec<Value>, Refusal> {
        let query = parse(text)?;
        let fold = |expr: &Expr| constant(expr, &self.parameters, &self.environment);
        let context = PlanContext {
            definition: None,
            parameters: &self.parameters,
            environment: &self.environment,
            features: None,
            limits: QueryLimits::default(),
            fold: &fold,
        };
        if query.from.is_none() && ranges > 1 {
            return Err(Refusal::NotDistributed);
        }
        // What the planner refuses is refused, except that nobody plans what reads no items.
        let plan = match &query.from {
            Some(_) => Some(plan(text, &query, &context)?),
            None => analyze(text, &query, &context.limits).map(|()| None)?,
        };
        let rows = match plan {
            Some(plan) if ranges > 1 => self.distributed(text, &plan, ranges)?,
            _ => {
                let program = Program::compile(&query, &self.parameters, &self.environment)?;
                self.pages(&program, &|_| true, page)?
            }
        };
        rows.iter()
            .map(|row| serde_json::from_slice(row).map_err(Refusal::from))
            .collect()
    }

    /// Runs the plan's text in each range and merges the rows.
    fn distributed(
        &self,
        text: &str,
        plan: &QueryPlan,
        ranges: usize,
    ) -> Result<Vec<Vec<u8>>, Refusal> {
        let run = |text: &str, range: usize| -> Result<Vec<Vec<u8>>, Refusal> {
            let query =
                parse(text).map_err(|errors| Refusal::Failed(format!("{errors} in {text}")))?;
            let program = Program::compile(&query, &self.parameters, &self.environment)?;
            self.pages(
                &program,
                &|place| self.owners[place] % ranges == range,
                usize::MAX,
            )
        };
        match &plan.info {
            PlanInfo::Hybrid(info) => {
                let mut all = |text: &str| -> Result<Vec<Vec<u8>>, Refusal> {
                    let mut rows = Vec::new();
                    for range in 0..ranges {
                        rows.extend(run(text, range)?);
                    }
                    Ok(rows)
                };
                merge_hybrid(info, &mut all).map_err(merge_refusal)
            }
            PlanInfo::Query(info) => {
                let text = range_text(text, info);
                let streams = (0..ranges).map(|range| -> RangeRows<'_, Refusal> {
                    match run(&text, range) {
                        Ok(rows) => Box::new(rows.into_iter().map(Ok)),
                        Err(refusal) => Box::new(std::iter::once(Err(refusal))),
                    }
                });
                let mut rows = Vec::new();
                merge(info, streams.collect(), &mut |row| {
                    rows.push(row);
                    ControlFlow::Continue(())
                })
                .map_err(merge_refusal)?;
                Ok(rows)
            }
        }
    }

    /// All rows of the items of one range, page by page.
    fn pages(
        &self,
        program: &Program,
        mine: &dyn Fn(usize) -> bool,
        page: usize,
    ) -> Result<Vec<Vec<u8>>, Refusal> {
        let limits = PageLimits {
            rows: page,
            bytes: usize::MAX,
            ..PageLimits::default()
        };
        let mut rows = Vec::new();
        let mut state: Option<Vec<u8>> = None;
        let mut next = 0;
        loop {
            let mut pipeline = Pipeline::new(program, limits, false, state.as_deref(), None)?;
            let mut flow = Flow::More;
            while flow == Flow::More {
                let Some(text) = self.items.get(next) else {
                    break;
                };
                if mine(next) {
                    flow = pipeline.push(Item {
                        doc: next as u64 + 1,
                        text,
                        system: Some(&system(next)),
                    })?;
                }
                next += usize::from(flow != Flow::PageFullInside);
            }
            if flow == Flow::More {
                flow = pipeline.finish()?;
            }
            rows.extend(pipeline.take_rows());
            if flow == Flow::Done {
                return Ok(rows);
            }
            state = Some(pipeline.resume_state());
            if pipeline.restarts() {
                next = 0;
            }
        }
    }
}

fn system(place: usize) -> impl Fn(&mut Vec<u8>) {
    move |out| {
        let rid = ResourceId::document(1, 1, place as u64 + 1);
        let text = format!(
            r#""_rid":"{rid}","_self":"","_etag":"\"{place}\"","_attachments":"attachments/","_ts":1"#
        );
        out.extend_from_slice(text.as_bytes());
    }
}
