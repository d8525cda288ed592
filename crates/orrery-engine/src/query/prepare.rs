//! From text to something that runs: parsing and analysis (kept per text), parameters and the
//! container's policies put in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use orrery_model::container::DistanceFunction as PolicyDistance;
use orrery_model::murmur::murmur3_x64_128;
use orrery_model::partition_key::PartitionKey;
use orrery_model::path::Step;
use orrery_sql::advice;
use orrery_sql::analysis::{QueryLimits, analyze};
use orrery_sql::ast::{Projection, Query};
use orrery_sql::environment::{Computed, DistanceFunction, Environment, Parameters, VectorPath};
use orrery_sql::filter::steps;
use orrery_sql::index_metrics::{IndexMetrics, Offered};
use orrery_sql::plan::{Features, PlanContext, QueryPlan};
use orrery_sql::printer::Printer;
use orrery_sql::program::Program;
use orrery_sql::routing::{KeyFilter, constant, key_filter};

use crate::catalog::feeds::QuerySpec;
use crate::container::{Container, ContainerState};
use crate::engine::Engine;
use crate::error::Error;

/// Texts kept parsed. Applications have tens of query shapes; when texts are not parametrised the
/// cache is simply emptied now and then.
const MAX_TEXTS: usize = 512;
/// Longer texts are not worth keeping.
const MAX_TEXT_BYTES: usize = 16 << 10;
/// Texts of so many bytes together are kept: parsed they take tens of times as much.
const MAX_BYTES: usize = 1 << 20;

/// Parsed and analysed queries by text.
#[derive(Debug, Default)]
pub struct QueryCache {
    texts: Mutex<Texts>,
}

#[derive(Debug, Default)]
struct Texts {
    parsed: HashMap<String, Arc<Query>>,
    bytes: usize,
}

impl QueryCache {
    fn parsed(&self, text: &str) -> Result<Arc<Query>, Error> {
        let lock = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().parsed.get(text) {
            return Ok(Arc::clone(known));
        }
        let query =
            orrery_sql::parser::parse(text).map_err(|errors| Error::Sql(errors.locate(text)))?;
        analyze(text, &query, &QueryLimits::default())
            .map_err(|errors| Error::Sql(errors.locate(text)))?;
        let query = Arc::new(query);
        if text.len() <= MAX_TEXT_BYTES {
            let mut texts = lock();
            if texts.parsed.len() >= MAX_TEXTS || texts.bytes + text.len() > MAX_BYTES {
                *texts = Texts::default();
            }
            texts.bytes += text.len();
            texts.parsed.insert(text.to_owned(), Arc::clone(&query));
        }
        Ok(query)
    }
}

/// A query ready to run over one container.
pub struct Prepared {
    text: String,
    query: Arc<Query>,
    parameters: Parameters,
    environment: Environment,
    /// The program.
    pub program: Program,
}

impl Engine {
    pub(super) fn prepare(
        &self,
        state: &ContainerState,
        spec: &QuerySpec,
    ) -> Result<Prepared, Error> {
        let query = self.query_cache().parsed(&spec.text)?;
        let parameters = Parameters::new(spec.parameters.clone());
        let environment = environment(self, state)?;
        let program = Program::compile(&query, &parameters, &environment)
            .map_err(|errors| Error::Sql(errors.locate(&spec.text)))?;
        Ok(Prepared {
            text: spec.text.clone(),
            query,
            parameters,
            environment,
            program,
        })
    }
}

/// The plan of a query that need not be run.
pub(super) fn plan(
    engine: &Engine,
    state: &ContainerState,
    spec: &QuerySpec,
    features: Option<Features>,
) -> Result<QueryPlan, Error> {
    let query = engine.query_cache().parsed(&spec.text)?;
    let parameters = Parameters::new(spec.parameters.clone());
    let environment = environment(engine, state)?;
    plan_of(
        &spec.text,
        &query,
        state,
        &parameters,
        &environment,
        features,
    )
}

fn plan_of(
    text: &str,
    query: &Query,
    state: &ContainerState,
    parameters: &Parameters,
    environment: &Environment,
    features: Option<Features>,
) -> Result<QueryPlan, Error> {
    let fold = |expr: &orrery_sql::ast::Expr| constant(expr, parameters, environment);
    let context = PlanContext {
        definition: Some(state.key_definition()),
        parameters,
        environment,
        features,
        limits: QueryLimits::default(),
        fold: &fold,
    };
    orrery_sql::plan::plan(text, query, &context).map_err(|errors| Error::Sql(errors.locate(text)))
}

impl Prepared {
    /// The keys that WHERE pins; `None` when it pins none.
    pub fn keys(&self, state: &ContainerState) -> Option<Vec<PartitionKey>> {
        let fold =
            |expr: &orrery_sql::ast::Expr| constant(expr, &self.parameters, &self.environment);
        match key_filter(&self.query, &fold, state.key_definition()) {
            KeyFilter::Unconstrained => None,
            KeyFilter::Contradictory => Some(Vec::new()),
            KeyFilter::Keys(keys) => Some(keys),
        }
    }

    /// What continuations of the query over this container have in common. WHERE does not count,
    /// for clients put their own filter into it when they go on (protocol: section 8.4).
    pub fn origin(&self, container: &Container) -> u64 {
        let mut query = Query::clone(&self.query);
        query.filter = None;
        let shape = Printer::query_text(&self.text, &query);
        murmur3_x64_128(
            shape.as_bytes(),
            (
                u64::from(container.database()) << 32 | u64::from(container.number()),
                1,
            ),
        )
        .0
    }

    /// What the query asks of the index, and what it could; `key` is the one that the request
    /// names.
    pub fn index_metrics(
        &self,
        state: &ContainerState,
        key: Option<&PartitionKey>,
    ) -> IndexMetrics {
        let offered = Offered {
            includes: &|path| state.coverage(path).scalars,
            composites: state.composites().collect(),
            shapes: &|path| state.shapes(path).map(|shapes| shapes.path().to_string()),
        };
        let mut metrics = IndexMetrics::new(&self.program, &offered);
        let levels = key.map_or(0, |key| key.components().len());
        for path in state.key_definition().item_paths().iter().take(levels) {
            metrics.add_key(path.steps(), &offered);
        }
        metrics
    }

    /// Query advice, as JSON.
    pub fn advice(&self) -> String {
        advice::to_json(&advice::advice(&self.query))
    }

    /// Whether rows are items as they are stored.
    pub fn returns_items(&self) -> bool {
        matches!(self.query.select.projection, Projection::Star(_))
    }

    /// The plan that a client would merge by.
    pub fn plan(&self, state: &ContainerState) -> Result<QueryPlan, Error> {
        plan_of(
            &self.text,
            &self.query,
            state,
            &self.parameters,
            &self.environment,
            None,
        )
    }

    /// Refuses what the service refuses without an index (query language: sections 7.5 and 11).
    pub fn check_index(&self, state: &ContainerState) -> Result<(), Error> {
        let Some(keys) = self.program.order_keys() else {
            return Ok(());
        };
        let tree = state.index().tree();
        match keys {
            [] => Ok(()),
            [(path, _)] => {
                if tree.coverage(&steps(path)).scalars {
                    return Ok(());
                }
                Err(Error::bad_request(
                    "The index path corresponding to the specified order-by item is excluded.",
                ))
            }
            several => {
                if super::access::find_composite(tree.composites().iter(), several).is_some() {
                    return Ok(());
                }
                Err(Error::bad_request(
                    "The order by query does not have a corresponding composite index that it can be served from.",
                ))
            }
        }
    }
}

fn environment(engine: &Engine, state: &ContainerState) -> Result<Environment, Error> {
    let spec = state.spec();
    let computed = spec.computed_properties.iter().flatten().map(|property| {
        let query = engine.query_cache().parsed(&property.query)?;
        Ok(Computed {
            name: property.name.clone(),
            query: Query::clone(&query),
        })
    });
    let vectors = spec
        .vector_embeddings
        .iter()
        .flatten()
        .map(|embedding| VectorPath {
            path: embedding
                .path
                .steps()
                .iter()
                .filter_map(|step| match step {
                    Step::Property(name) => Some(name.clone()),
                    Step::Element => None,
                })
                .collect(),
            distance: match embedding.distance {
                PolicyDistance::Cosine => DistanceFunction::Cosine,
                PolicyDistance::DotProduct => DistanceFunction::DotProduct,
                PolicyDistance::Euclidean => DistanceFunction::Euclidean,
            },
        });
    Ok(Environment {
        now_ticks: i64::try_from(engine.clock().now_us())
            .unwrap_or(i64::MAX)
            .saturating_mul(10),
        seed: engine.entropy().next_u64(),
        computed: computed.collect::<Result<_, Error>>()?,
        surface: spec.geospatial,
        vectors: vectors.collect(),
    })
}
