//! The indexing policy.

use super::policies::GeospatialType;
use super::search::{self, VectorIndex};
use super::{ContainerError, array_of, elements, object_of, present, required_text, text_of};
use crate::geo::{Bounds, Grid};
use crate::limits::Limits;
use crate::path::{ItemPath, PathEnd};
use crate::value::{Object, Value};

/// When items enter the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexingMode {
    /// With the write.
    Consistent,
    /// Later; kept for the echo, served as consistent.
    Lazy,
    /// Never.
    None,
}

impl IndexingMode {
    /// The word in the policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Lazy => "lazy",
            Self::None => "none",
        }
    }
}

/// One path of a composite index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CompositePath {
    /// A path to a scalar.
    pub path: ItemPath,
    /// Whether its order is reversed.
    pub descending: bool,
}

/// The shapes that a spatial index knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpatialType {
    /// A position.
    Point,
    /// A line.
    LineString,
    /// An area.
    Polygon,
    /// Several areas.
    MultiPolygon,
}

impl SpatialType {
    /// The type of a GeoJSON name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "Point" => Some(Self::Point),
            "LineString" => Some(Self::LineString),
            "Polygon" => Some(Self::Polygon),
            "MultiPolygon" => Some(Self::MultiPolygon),
            _ => None,
        }
    }
}

/// A spatial index.
#[derive(Debug, Clone, PartialEq)]
pub struct SpatialIndex {
    /// Where shapes are.
    pub path: ItemPath,
    /// Which shapes.
    pub types: Vec<SpatialType>,
    /// How their surface is divided.
    pub grid: Grid,
}

/// What of an item is indexed, and how. Paths are compiled for use by [`crate::index`].
#[derive(Debug, Clone, PartialEq)]
pub struct IndexingPolicy {
    mode: IndexingMode,
    automatic: bool,
    included: Vec<ItemPath>,
    excluded: Vec<ItemPath>,
    composites: Vec<Vec<CompositePath>>,
    spatial: Vec<SpatialIndex>,
    vectors: Vec<VectorIndex>,
    full_text: Vec<ItemPath>,
    echo: Object<'static>,
}

/// The service never indexes etags by default and says so in every policy.
const ETAG_PATH: &str = "/\"_etag\"/?";

impl IndexingPolicy {
    /// The policy of a container that gives none.
    pub fn default_policy() -> Self {
        Self::parse(None, GeospatialType::Geography, &Limits::default())
            .expect("the default policy is valid")
    }

    /// Reads a policy and fills in its defaults.
    pub(super) fn parse(
        value: Option<&Value<'_>>,
        geospatial: GeospatialType,
        limits: &Limits,
    ) -> Result<Self, ContainerError> {
        let nothing = Object::new();
        let policy = value.map_or(Ok(&nothing), object_of)?;
        let mode = mode(policy)?;
        let automatic = match present(policy, "automatic") {
            None => mode != IndexingMode::None,
            Some(value) => value.as_bool().ok_or(ContainerError::InvalidInput)?,
        };
        let (mut included, mut included_echo) = paths(policy, "includedPaths", limits)?;
        let (mut excluded, mut excluded_echo) = paths(policy, "excludedPaths", limits)?;
        if mode == IndexingMode::None {
            if included.iter().any(|path| !is_root(path)) {
                return Err(ContainerError::policy(
                    "The indexing mode 'none' cannot have included paths.",
                ));
            }
            included.clear();
            included_echo.clear();
            excluded.clear();
            excluded_echo.clear();
        } else {
            let has_root = included.iter().chain(&excluded).any(is_root);
            if !has_root && included.is_empty() {
                included.push(root());
                included_echo.push(path_value("/*"));
            } else if !has_root {
                return Err(ContainerError::policy(
                    "The special mandatory indexing path \"/\" is not provided in any of the path type sets. Please provide this path in one of the sets.",
                ));
            }
            let etag = ItemPath::parse(ETAG_PATH).expect("the path is valid");
            if !included
                .iter()
                .chain(&excluded)
                .any(|path| path.steps() == etag.steps())
            {
                excluded.push(etag);
                excluded_echo.push(path_value(ETAG_PATH));
            }
        }
        let mut parsed = Self {
            mode,
            automatic,
            included,
            excluded,
            composites: composites(policy, limits)?,
            spatial: spatial(policy, geospatial)?,
            vectors: search::vector_indexes(policy)?,
            full_text: search::full_text_indexes(policy)?,
            echo: Object::new(),
        };
        parsed.echo = parsed.echo_of(policy, included_echo, excluded_echo);
        Ok(parsed)
    }

    fn echo_of(
        &self,
        policy: &Object<'_>,
        included: Vec<Value<'static>>,
        excluded: Vec<Value<'static>>,
    ) -> Object<'static> {
        let mut echo = Object::new();
        echo.insert("indexingMode", self.mode.as_str());
        echo.insert("automatic", self.automatic);
        echo.insert("includedPaths", Value::Array(included));
        echo.insert("excludedPaths", Value::Array(excluded));
        for name in [
            "compositeIndexes",
            "spatialIndexes",
            "vectorIndexes",
            "fullTextIndexes",
        ] {
            if let Some(value) = present(policy, name) {
                echo.insert(name, value.clone().into_owned());
            }
        }
        echo
    }

    /// The policy with its defaults, as the service echoes it.
    pub fn to_value(&self) -> Value<'static> {
        Value::Object(self.echo.clone())
    }

    /// When items enter the index.
    pub fn mode(&self) -> IndexingMode {
        self.mode
    }

    /// Whether writes are indexed unless they say otherwise.
    pub fn automatic(&self) -> bool {
        self.automatic
    }

    /// Paths that are indexed.
    pub fn included(&self) -> &[ItemPath] {
        &self.included
    }

    /// Paths that are not.
    pub fn excluded(&self) -> &[ItemPath] {
        &self.excluded
    }

    /// Composite indexes.
    pub fn composites(&self) -> &[Vec<CompositePath>] {
        &self.composites
    }

    /// Spatial indexes.
    pub fn spatial_indexes(&self) -> &[SpatialIndex] {
        &self.spatial
    }

    /// Vector indexes.
    pub fn vector_indexes(&self) -> &[VectorIndex] {
        &self.vectors
    }

    /// Paths with a full text index.
    pub fn full_text_indexes(&self) -> &[ItemPath] {
        &self.full_text
    }
}

fn root() -> ItemPath {
    ItemPath::parse("/*").expect("the path is valid")
}

fn is_root(path: &ItemPath) -> bool {
    path.steps().is_empty() && path.end() == PathEnd::Subtree
}

fn path_value(path: &'static str) -> Value<'static> {
    Value::Object(Object::from_iter([("path", path)]))
}

fn mode(policy: &Object<'_>) -> Result<IndexingMode, ContainerError> {
    let Some(mode) = text_of(policy, "indexingMode")? else {
        return Ok(IndexingMode::Consistent);
    };
    [
        IndexingMode::Consistent,
        IndexingMode::Lazy,
        IndexingMode::None,
    ]
    .into_iter()
    .find(|known| known.as_str().eq_ignore_ascii_case(mode))
    .ok_or_else(|| ContainerError::policy(format!("The indexing mode '{mode}' is invalid.")))
}

/// Parsed paths and what is echoed of them: `/` is the old way to write `/*`, and the `indexes`
/// of old policies no longer mean anything.
fn paths(
    policy: &Object<'_>,
    name: &str,
    limits: &Limits,
) -> Result<(Vec<ItemPath>, Vec<Value<'static>>), ContainerError> {
    let given = elements(policy, name)?;
    if given.len() > limits.index_paths {
        return Err(ContainerError::policy(format!(
            "The number of paths in '{name}' {} exceeds the maximum: {}.",
            given.len(),
            limits.index_paths
        )));
    }
    let mut parsed = Vec::with_capacity(given.len());
    let mut echo = Vec::with_capacity(given.len());
    for entry in given {
        let text = required_text(object_of(entry)?, "path")?;
        let text = if text == "/" { "/*" } else { text };
        let path = index_path(text)?;
        if path.end() == PathEnd::Exact {
            return Err(not_accepted(text, text.len()));
        }
        if parsed.contains(&path) {
            return Err(ContainerError::policy(format!(
                "The indexing path '{text}' is specified twice."
            )));
        }
        parsed.push(path);
        echo.push(Value::Object(Object::from_iter([(
            "path",
            text.to_owned(),
        )])));
    }
    Ok((parsed, echo))
}

pub(super) fn index_path(text: &str) -> Result<ItemPath, ContainerError> {
    ItemPath::parse(text).map_err(|error| not_accepted(text, error.position))
}

fn not_accepted(path: &str, position: usize) -> ContainerError {
    ContainerError::policy(format!(
        "The indexing path '{path}' could not be accepted, failed near position '{position}'. Please ensure that the path is a valid path. Common errors include invalid characters or absence of quotes around labels."
    ))
}

fn composites(
    policy: &Object<'_>,
    limits: &Limits,
) -> Result<Vec<Vec<CompositePath>>, ContainerError> {
    let given = elements(policy, "compositeIndexes")?;
    if given.len() > limits.composite_indexes {
        return Err(ContainerError::policy(format!(
            "The number of composite indexes {} exceeds the maximum: {}.",
            given.len(),
            limits.composite_indexes
        )));
    }
    let composite = |index: &Value<'_>| {
        let paths = array_of(index)?;
        if paths.len() < 2 || paths.len() > limits.composite_paths {
            return Err(ContainerError::policy(format!(
                "A composite index must have between 2 and {} paths, not {}.",
                limits.composite_paths,
                paths.len()
            )));
        }
        paths.iter().map(composite_path).collect()
    };
    given.iter().map(composite).collect()
}

fn composite_path(value: &Value<'_>) -> Result<CompositePath, ContainerError> {
    let object = object_of(value)?;
    let text = required_text(object, "path")?;
    let path = index_path(text)?;
    if path.end() == PathEnd::Subtree || path.properties().is_none() || path.steps().is_empty() {
        return Err(not_accepted(text, text.len()));
    }
    let descending = match text_of(object, "order")? {
        None => false,
        Some(order) if order.eq_ignore_ascii_case("ascending") => false,
        Some(order) if order.eq_ignore_ascii_case("descending") => true,
        Some(order) => {
            return Err(ContainerError::policy(format!(
                "The composite index order '{order}' is invalid. Supported orders are ascending and descending."
            )));
        }
    };
    Ok(CompositePath { path, descending })
}

fn spatial(
    policy: &Object<'_>,
    geospatial: GeospatialType,
) -> Result<Vec<SpatialIndex>, ContainerError> {
    let index = |value: &Value<'_>| {
        let object = object_of(value)?;
        let text = required_text(object, "path")?;
        let path = index_path(text)?;
        let types = elements(object, "types")?;
        if types.is_empty() {
            return Err(ContainerError::policy(format!(
                "The spatial data types array cannot be empty. Assign at least one spatial type for the 'types' array for the path '{text}'."
            )));
        }
        let types = types.iter().map(spatial_type).collect::<Result<_, _>>()?;
        let grid = match geospatial {
            GeospatialType::Geography => Grid::Globe,
            GeospatialType::Geometry => {
                let given = present(object, "boundingBox").ok_or_else(|| ContainerError::policy(format!(
                    "A bounding box must be specified for the spatial index on path '{text}' because the geospatial config type is Geometry."
                )))?;
                Grid::Plane(bounds(given, text)?)
            }
        };
        Ok(SpatialIndex { path, types, grid })
    };
    elements(policy, "spatialIndexes")?
        .iter()
        .map(index)
        .collect()
}

fn bounds(value: &Value<'_>, path: &str) -> Result<Bounds, ContainerError> {
    let number = |name: &str| {
        let number = value.member(name).as_f64();
        number.filter(|number| number.is_finite())
    };
    let read = || {
        Some(Bounds {
            min: [number("xmin")?, number("ymin")?],
            max: [number("xmax")?, number("ymax")?],
        })
    };
    read()
        .filter(|read| read.min[0] < read.max[0] && read.min[1] < read.max[1])
        .ok_or_else(|| {
            ContainerError::policy(format!(
                "The bounding box of the spatial index on path '{path}' is invalid."
            ))
        })
}

fn spatial_type(value: &Value<'_>) -> Result<SpatialType, ContainerError> {
    let name = value.as_str().ok_or(ContainerError::InvalidInput)?;
    SpatialType::from_name(name).ok_or_else(|| {
        ContainerError::policy(format!("The spatial data type '{name}' is invalid."))
    })
}
