//! What a query needs besides its text: parameters and everything ambient, all handed in.

use crate::ast::Query;
use orrery_model::container::GeospatialType;
use orrery_model::value::Value;
use std::collections::HashMap;

/// The parameters of a request, names with their `@`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parameters {
    list: Vec<(String, Value<'static>)>,
    places: HashMap<String, usize>,
}

impl Parameters {
    /// Wraps a list; of a repeated name the last value counts.
    pub fn new(list: Vec<(String, Value<'static>)>) -> Self {
        let names = list.iter().enumerate();
        let places = names
            .map(|(place, (name, _))| (name.clone(), place))
            .collect();
        Self { list, places }
    }

    /// The value of `@name`.
    pub fn get(&self, name: &str) -> Option<&Value<'static>> {
        let place = self.places.get(name)?;
        self.list.get(*place).map(|(_, value)| value)
    }

    /// All of them, as given.
    pub fn iter(&self) -> impl Iterator<Item = &(String, Value<'static>)> {
        self.list.iter()
    }
}

/// A computed property of the container (query-language: section 10).
#[derive(Debug, Clone, PartialEq)]
pub struct Computed {
    /// The property that queries read.
    pub name: String,
    /// `SELECT VALUE e FROM alias`.
    pub query: Query,
}

/// The distance functions of vector search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DistanceFunction {
    /// Cosine similarity.
    #[default]
    Cosine,
    /// Dot product.
    DotProduct,
    /// Euclidean distance.
    Euclidean,
}

impl DistanceFunction {
    /// The function of a policy's or an option's word, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            ("cosine", Self::Cosine),
            ("dotproduct", Self::DotProduct),
            ("euclidean", Self::Euclidean),
        ]
        .into_iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, function)| function)
    }

    /// True when the smallest value is the most similar one.
    pub fn ascending(self) -> bool {
        self == Self::Euclidean
    }
}

/// A path of the container's vector policy.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorPath {
    /// Member names from the top of the item.
    pub path: Vec<String>,
    /// Its distance function.
    pub distance: DistanceFunction,
}

/// The moment, the randomness and the container's policies that a query runs under.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Environment {
    /// Now, in units of 100 ns since 1970-01-01T00:00:00Z.
    pub now_ticks: i64,
    /// Seed of `RAND()`.
    pub seed: u64,
    /// Computed properties of the container.
    pub computed: Vec<Computed>,
    /// How spatial functions measure.
    pub surface: GeospatialType,
    /// The vector policy.
    pub vectors: Vec<VectorPath>,
}
