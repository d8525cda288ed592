//! Asking what a client of several ranges asks: the plan, every range page by page, the merge.

use std::ops::ControlFlow;

use orrery_engine::Failure;
use orrery_engine::catalog::feeds::QuerySpec;
use orrery_engine::page::Target;
use orrery_engine::query::QueryOptions;
use orrery_model::container;
use orrery_model::json;
use orrery_model::value::Value;
use orrery_sql::analysis::QueryLimits;
use orrery_sql::environment::{DistanceFunction, Environment, Parameters, VectorPath};
use orrery_sql::merge::{MergeError, RangeRows, merge, merge_hybrid, range_text};
use orrery_sql::plan::{PlanContext, PlanInfo, QueryPlan, plan};
use orrery_sql::routing::PlanRange;
use orrery_sql::{parser, routing};

use super::script::Case;
use crate::harness::{World, parse_key};

/// All rows of a query, or why it was refused.
pub type Outcome = Result<Answered, String>;

/// All rows of a query.
pub struct Answered {
    pub rows: Vec<String>,
    pub charge: f64,
}

/// A case, asked in pages of a size.
pub struct Question<'c> {
    case: &'c Case,
    most: Option<u32>,
    /// The number of the page before which the process ends and starts again.
    restart: usize,
    pages: usize,
    charge: f64,
}

impl<'c> Question<'c> {
    pub fn new(case: &'c Case, most: Option<u32>, restart: usize) -> Self {
        Self {
            case,
            most,
            restart,
            pages: 0,
            charge: 0.0,
        }
    }

    /// Walks to the end.
    pub fn walk(mut self, mut world: World) -> (World, Outcome) {
        let rows = self.rows(&mut world);
        let charge = self.charge;
        (world, rows.map(|rows| Answered { rows, charge }))
    }

    fn rows(&mut self, world: &mut World) -> Result<Vec<String>, String> {
        if let Some(key) = &self.case.key {
            let key = parse_key(key);
            return self.target(world, &Target::Key(key), &self.case.query.clone());
        }
        let plan = planned(world, self.case)?;
        let targets = targets(world, &plan.ranges);
        if let [only] = targets.as_slice() {
            return self.target(world, only, &self.case.query.clone());
        }
        match &plan.info {
            PlanInfo::Query(info) => {
                let text = range_text(&self.case.query, info).into_owned();
                let mut ranges: Vec<RangeRows<'_, String>> = Vec::new();
                for target in &targets {
                    let rows = self.target(world, target, &text)?;
                    ranges.push(Box::new(rows.into_iter().map(|row| Ok(row.into_bytes()))));
                }
                let mut merged = Vec::new();
                let emit = &mut |row: Vec<u8>| {
                    merged.push(utf8(row));
                    ControlFlow::Continue(())
                };
                merge(info, ranges, emit).map_err(told)?;
                Ok(merged)
            }
            PlanInfo::Hybrid(info) => {
                let mut everywhere = |text: &str| -> Result<Vec<Vec<u8>>, String> {
                    let mut all = Vec::new();
                    for target in &targets {
                        let rows = self.target(world, target, text)?;
                        all.extend(rows.into_iter().map(String::into_bytes));
                    }
                    Ok(all)
                };
                let rows = merge_hybrid(info, &mut everywhere).map_err(told)?;
                Ok(rows.into_iter().map(utf8).collect())
            }
        }
    }

    /// All rows of one target.
    fn target(
        &mut self,
        world: &mut World,
        target: &Target,
        text: &str,
    ) -> Result<Vec<String>, String> {
        let (mut rows, mut token) = (Vec::new(), None);
        for _ in 0..10_000 {
            if self.pages == self.restart {
                world.restart();
            }
            self.pages += 1;
            let options = QueryOptions {
                max_items: self.most,
                continuation: token.take(),
                cross_partition: true,
                ..QueryOptions::default()
            };
            let answer = world
                .engine
                .query(&world.container, &spec(self.case, text), target, &options)
                .map_err(|failure| message(&failure))?;
            self.charge += answer.meta.charge.units();
            let page = answer.value;
            if self.most.is_some_and(|most| page.count > most) {
                return Err(format!("a page of {} rows", page.count));
            }
            rows.extend(elements(&page.rows));
            match page.continuation {
                Some(next) => token = Some(next),
                None => return Ok(rows),
            }
        }
        Err("the walk does not end".to_owned())
    }
}

fn utf8(row: Vec<u8>) -> String {
    String::from_utf8(row).expect("rows are UTF-8")
}

fn told(error: MergeError<String>) -> String {
    error.to_string()
}

fn message(failure: &Failure) -> String {
    match &failure.error {
        orrery_engine::Error::Sql(errors) => errors.body(),
        other => other.to_string(),
    }
}

fn elements(rows: &[u8]) -> Vec<String> {
    let text = [b"[", rows, b"]"].concat();
    let list = json::parse(&text).expect("rows are JSON");
    let list = list.as_array().expect("an array");
    list.iter().map(json::to_string).collect()
}

fn parameters(case: &Case) -> Vec<(String, Value<'static>)> {
    let list = case.parameters.iter().map(|(name, text)| {
        let value = json::parse_str(text).expect("a parameter is JSON");
        (name.clone(), value.into_owned())
    });
    list.collect()
}

fn spec(case: &Case, text: &str) -> QuerySpec {
    QuerySpec {
        text: text.to_owned(),
        parameters: parameters(case),
        resume_filter: None,
    }
}

/// The plan of a case as the server answers it.
pub fn plan_json(world: &World, case: &Case) -> String {
    let features = "Aggregate, CompositeAggregate, CountIf, DCount, Distinct, GroupBy, \
        HybridSearch, ListAndSetAggregate, MultipleAggregates, MultipleOrderBy, NonStreamingOrderBy, \
        NonValueAggregate, OffsetAndLimit, OrderBy, Top, WeightedRankFusion";
    let spec = spec(case, &case.query);
    let answer = world.engine.query_plan(&world.container, &spec, features);
    utf8(answer.expect("a plan").value)
}

fn planned(world: &World, case: &Case) -> Result<QueryPlan, String> {
    let parameters = Parameters::new(parameters(case));
    let state = world.container.state();
    let embeddings = state.spec().vector_embeddings.iter().flatten();
    let vectors = embeddings.filter_map(|embedding| {
        let path = embedding.path.properties()?;
        let distance = match embedding.distance {
            container::DistanceFunction::Cosine => DistanceFunction::Cosine,
            container::DistanceFunction::DotProduct => DistanceFunction::DotProduct,
            container::DistanceFunction::Euclidean => DistanceFunction::Euclidean,
        };
        let path = path.into_iter().map(str::to_owned).collect();
        Some(VectorPath { path, distance })
    });
    let environment = Environment {
        vectors: vectors.collect(),
        ..Environment::default()
    };
    let query = parser::parse(&case.query).map_err(|errors| errors.body())?;
    let context = PlanContext {
        definition: Some(state.key_definition()),
        parameters: &parameters,
        environment: &environment,
        features: None,
        limits: QueryLimits::default(),
        fold: &|expression| routing::literal(expression, &parameters),
    };
    plan(&case.query, &query, &context).map_err(|errors| errors.body())
}

/// The ranges that a plan visits, in the order of their keys.
fn targets(world: &World, plan: &[PlanRange]) -> Vec<Target> {
    let ranges = world.container.ranges();
    let visited = ranges.partitions().iter().filter(|partition| {
        plan.iter().any(|wanted| {
            let range = partition.range();
            wanted.range.min < range.max
                && (wanted.range.max > range.min
                    || (wanted.max_inclusive && wanted.range.max == range.min))
        })
    });
    visited
        .map(|partition| Target::Range {
            id: partition.id(),
            epk: None,
        })
        .collect()
}
