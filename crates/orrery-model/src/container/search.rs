//! Vector and full text policies and their indexes.

use super::{ContainerError, elements, object_of, present, required_text, text_of};
use crate::container::indexing::index_path;
use crate::path::{ItemPath, PathEnd};
use crate::value::{Object, Value};

/// Most dimensions of an embedding.
const MAX_DIMENSIONS: i64 = 4096;
/// Most dimensions of a flat index.
const MAX_FLAT_DIMENSIONS: i64 = 505;
/// Most bytes that a vector is quantized to; never more than it has dimensions.
const MAX_QUANTIZATION_BYTES: i64 = 512;
/// Bounds of the candidates that building a DiskANN graph keeps.
const SEARCH_LIST: std::ops::RangeInclusive<i64> = 25..=500;
/// Most shard paths of a vector index.
const MAX_SHARD_PATHS: usize = 1;
/// Languages of full text policies.
const LANGUAGES: [&str; 7] = [
    "en-US", "fr-FR", "es-ES", "de-DE", "it-IT", "pt-PT", "pt-BR",
];

/// The numbers of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorDataType {
    /// Four bytes.
    Float32,
    /// Two bytes.
    Float16,
    /// One byte, signed.
    Int8,
    /// One byte, unsigned.
    Uint8,
}

/// How near two vectors are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistanceFunction {
    /// The cosine of their angle; the default.
    Cosine,
    /// Their dot product.
    DotProduct,
    /// The distance of their ends.
    Euclidean,
}

/// A path that holds vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorEmbedding {
    /// Where.
    pub path: ItemPath,
    /// Of which numbers.
    pub data_type: VectorDataType,
    /// How many.
    pub dimensions: u32,
    /// Compared how, unless the query says otherwise.
    pub distance: DistanceFunction,
    echo: Object<'static>,
}

/// How a vector index works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorIndexKind {
    /// Exact, over all vectors.
    Flat,
    /// Over compressed vectors.
    QuantizedFlat,
    /// A graph.
    DiskAnn,
}

/// A vector index.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorIndex {
    /// Where the vectors are.
    pub path: ItemPath,
    /// How it works.
    pub kind: VectorIndexKind,
    quantization_bytes: Option<i64>,
    echo: Object<'static>,
}

/// A path with text to search in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullTextPath {
    /// Where.
    pub path: ItemPath,
    /// In which language; `None` is the policy's default.
    pub language: Option<String>,
}

/// The full text policy.
#[derive(Debug, Clone, PartialEq)]
pub struct FullTextPolicy {
    /// The language of paths that name none.
    pub default_language: String,
    /// The paths.
    pub paths: Vec<FullTextPath>,
    echo: Object<'static>,
}

impl FullTextPolicy {
    pub(super) fn to_value(&self) -> Value<'static> {
        Value::Object(self.echo.clone())
    }
}

fn owned(object: &Object<'_>) -> Object<'static> {
    object.clone().into_owned()
}

fn property_path(text: &str) -> Option<ItemPath> {
    let path = ItemPath::parse(text).ok()?;
    (path.end() == PathEnd::Exact && !path.steps().is_empty()).then_some(path)
}

pub(super) fn embeddings(
    value: Option<&Value<'_>>,
) -> Result<Option<Vec<VectorEmbedding>>, ContainerError> {
    let Some(policy) = value else { return Ok(None) };
    let given = elements(object_of(policy)?, "vectorEmbeddings")?;
    let mut embeddings: Vec<VectorEmbedding> = Vec::with_capacity(given.len());
    for value in given {
        let embedding = embedding(object_of(value)?)?;
        if embeddings.iter().any(|other| other.path == embedding.path) {
            return Err(ContainerError::policy(format!(
                "The Vector Embedding Policy has a duplicate Path:{}",
                embedding.path
            )));
        }
        embeddings.push(embedding);
    }
    Ok(Some(embeddings))
}

fn embedding(object: &Object<'_>) -> Result<VectorEmbedding, ContainerError> {
    let invalid = |what: &str, value: &str| {
        ContainerError::policy(format!(
            "The Vector Embedding Policy has an invalid {what}:{value}"
        ))
    };
    let text = required_text(object, "path")?;
    let path = property_path(text).ok_or_else(|| invalid("Path", text))?;
    let data_type = match text_of(object, "dataType")?.unwrap_or("float32") {
        "float32" => VectorDataType::Float32,
        "float16" => VectorDataType::Float16,
        "int8" => VectorDataType::Int8,
        "uint8" => VectorDataType::Uint8,
        other => return Err(invalid("DataType", other)),
    };
    let distance = match text_of(object, "distanceFunction")?.unwrap_or("cosine") {
        "cosine" => DistanceFunction::Cosine,
        "dotproduct" => DistanceFunction::DotProduct,
        "euclidean" => DistanceFunction::Euclidean,
        other => return Err(invalid("DistanceFunction", other)),
    };
    let dimensions = present(object, "dimensions").map_or(Ok(1536), |value| {
        value.as_i64().ok_or(ContainerError::InvalidInput)
    })?;
    let bound = match dimensions {
        _ if dimensions > MAX_DIMENSIONS => {
            format!("more than the maximum supported value {MAX_DIMENSIONS}")
        }
        _ if dimensions < 1 => "less than the minimum supported value 1".to_owned(),
        _ => String::new(),
    };
    if !bound.is_empty() {
        return Err(ContainerError::policy(format!(
            "The Vector Embedding Policy has Dimensions:{dimensions} which is {bound}"
        )));
    }
    check_source(present(object, "embeddingSource"))?;
    Ok(VectorEmbedding {
        path,
        data_type,
        dimensions: dimensions as u32,
        distance,
        echo: owned(object),
    })
}

/// The service makes the vectors itself from these paths; here they are only checked.
fn check_source(value: Option<&Value<'_>>) -> Result<(), ContainerError> {
    let Some(source) = value else { return Ok(()) };
    let source = object_of(source)?;
    if elements(source, "sourcePaths")?.is_empty() {
        return Err(ContainerError::policy(
            "The source paths in the embedding source of vector policy cannot be empty.",
        ));
    }
    required_text(source, "endpoint")?;
    required_text(source, "deploymentName")?;
    match text_of(source, "authType")? {
        None | Some("ApiKey" | "Entra") => Ok(()),
        Some(_) => Err(ContainerError::policy(
            "The auth type provided in the embedding source of vector policy is invalid.",
        )),
    }
}

pub(super) fn embeddings_value(embeddings: &[VectorEmbedding]) -> Value<'static> {
    let embeddings: Vec<_> = embeddings
        .iter()
        .map(|embedding| embedding.echo.clone())
        .collect();
    Value::Object(Object::from_iter([("vectorEmbeddings", embeddings)]))
}

pub(super) fn vector_indexes(policy: &Object<'_>) -> Result<Vec<VectorIndex>, ContainerError> {
    elements(policy, "vectorIndexes")?
        .iter()
        .map(|value| vector_index(object_of(value)?))
        .collect()
}

fn vector_index(object: &Object<'_>) -> Result<VectorIndex, ContainerError> {
    let text = required_text(object, "path")?;
    let path = property_path(text).ok_or_else(|| {
        ContainerError::policy(format!(
            "The Vector Indexing Policy has an invalid Path: {text}."
        ))
    })?;
    let kind = match required_text(object, "type")? {
        "flat" => VectorIndexKind::Flat,
        "quantizedFlat" => VectorIndexKind::QuantizedFlat,
        "diskANN" => VectorIndexKind::DiskAnn,
        other => {
            return Err(ContainerError::policy(format!(
                "The Vector Indexing Policy's Index Type::{other} is invalid."
            )));
        }
    };
    let number = |name: &str| {
        present(object, name)
            .map(|value| value.as_i64().ok_or(ContainerError::InvalidInput))
            .transpose()
    };
    if let Some(size) = number("indexingSearchListSize")?.filter(|size| !SEARCH_LIST.contains(size))
    {
        return Err(out_of_range(
            "IndexingSearchListSize",
            size,
            *SEARCH_LIST.start(),
            *SEARCH_LIST.end(),
        ));
    }
    match text_of(object, "quantizerType")? {
        None | Some("product" | "spherical") => {}
        Some(other) => {
            return Err(ContainerError::policy(format!(
                "The Vector Indexing Policy's Quantizer Type::{other} is invalid."
            )));
        }
    }
    check_shard_paths(elements(object, "vectorIndexShardKey")?)?;
    let quantization_bytes = number("quantizationByteSize")?;
    Ok(VectorIndex {
        path,
        kind,
        quantization_bytes,
        echo: owned(object),
    })
}

fn out_of_range(parameter: &str, value: i64, min: i64, max: i64) -> ContainerError {
    ContainerError::policy(format!(
        "The Vector Indexing Policy parameter {parameter} value :: {value} is out of range. The allowed range is between {min} and {max}."
    ))
}

fn check_shard_paths(paths: &[Value<'_>]) -> Result<(), ContainerError> {
    if paths.len() > MAX_SHARD_PATHS {
        return Err(ContainerError::policy(format!(
            "The number of shard paths defined in the Vector Indexing Policy: {} exceeds the maximum: {MAX_SHARD_PATHS}.",
            paths.len()
        )));
    }
    for path in paths {
        let path = path.as_str().ok_or(ContainerError::InvalidInput)?;
        if property_path(path).is_none() {
            return Err(ContainerError::policy(format!(
                "The Vector Indexing Policy has an invalid Shard Path: {path}."
            )));
        }
    }
    Ok(())
}

/// Every vector index needs an embedding, whose dimensions bound it.
pub(super) fn check_vector_indexes(
    indexes: &[VectorIndex],
    embeddings: &[VectorEmbedding],
) -> Result<(), ContainerError> {
    for index in indexes {
        let path = &index.path;
        let embedding = embeddings.iter().find(|embedding| embedding.path == *path);
        let Some(embedding) = embedding else {
            return Err(ContainerError::policy(format!(
                "The Vector Indexing Policy's path::{path} not matching in Embedding's path."
            )));
        };
        let dimensions = i64::from(embedding.dimensions);
        if index.kind == VectorIndexKind::Flat && dimensions > MAX_FLAT_DIMENSIONS {
            return Err(ContainerError::policy(format!(
                "The Vector Indexing Policy's path::{path} has Dimensions:{dimensions} which is more than the maximum supported value {MAX_FLAT_DIMENSIONS} of the flat index type."
            )));
        }
        let max = dimensions.min(MAX_QUANTIZATION_BYTES);
        if let Some(size) = index
            .quantization_bytes
            .filter(|size| !(1..=max).contains(size))
        {
            return Err(out_of_range("QuantizationByteSize", size, 1, max));
        }
    }
    Ok(())
}

pub(super) fn full_text(
    value: Option<&Value<'_>>,
) -> Result<Option<FullTextPolicy>, ContainerError> {
    let Some(policy) = value else { return Ok(None) };
    let policy = object_of(policy)?;
    let default_language = text_of(policy, "defaultLanguage")?.unwrap_or("en-US");
    check_language(default_language)?;
    let path = |value: &Value<'_>| {
        let object = object_of(value)?;
        let text = required_text(object, "path")?;
        let path = property_path(text).ok_or_else(|| invalid_full_text_path(text))?;
        let language = text_of(object, "language")?;
        language.map_or(Ok(()), check_language)?;
        Ok(FullTextPath {
            path,
            language: language.map(str::to_owned),
        })
    };
    let paths = elements(policy, "fullTextPaths")?.iter().map(path);
    let paths = paths.collect::<Result<Vec<_>, ContainerError>>()?;
    Ok(Some(FullTextPolicy {
        default_language: default_language.to_owned(),
        paths,
        echo: owned(policy),
    }))
}

fn invalid_full_text_path(text: &str) -> ContainerError {
    ContainerError::policy(format!(
        "The Full Text Policy contains an invalid Path: {text}"
    ))
}

fn check_language(language: &str) -> Result<(), ContainerError> {
    if LANGUAGES.contains(&language) {
        return Ok(());
    }
    Err(ContainerError::policy(format!(
        "The Full Text Policy contains an unsupported language {language}. Supported languages are: {}",
        LANGUAGES.join(", ")
    )))
}

pub(super) fn full_text_indexes(policy: &Object<'_>) -> Result<Vec<ItemPath>, ContainerError> {
    let index = |value: &Value<'_>| index_path(required_text(object_of(value)?, "path")?);
    elements(policy, "fullTextIndexes")?
        .iter()
        .map(index)
        .collect()
}

pub(super) fn check_full_text_indexes(
    indexes: &[ItemPath],
    policy: Option<&FullTextPolicy>,
) -> Result<(), ContainerError> {
    let paths = policy.map_or(&[][..], |policy| &policy.paths);
    for index in indexes {
        if !paths.iter().any(|path| path.path == *index) {
            return Err(ContainerError::policy(format!(
                "The Full Text Indexing Policy's path::{index} not matching in Full Text Policy's path."
            )));
        }
    }
    Ok(())
}

type Vectors<'s> = (&'s [VectorIndex], Option<&'s [VectorEmbedding]>);

/// Existing vector paths stay as they are; new ones may come, old ones may go.
pub(super) fn check_replace(old: Vectors<'_>, new: Vectors<'_>) -> Result<(), ContainerError> {
    let embeddings = |vectors: Vectors<'_>| {
        let all = vectors.1.unwrap_or(&[]).iter();
        all.map(|one| (one.path.clone(), Value::Object(one.echo.clone())))
            .collect::<Vec<_>>()
    };
    let indexes = |vectors: Vectors<'_>| {
        let all = vectors.0.iter();
        all.map(|one| (one.path.clone(), Value::Object(one.echo.clone())))
            .collect::<Vec<_>>()
    };
    if modifies(&embeddings(old), &embeddings(new)) {
        return Err(ContainerError::policy(
            "Paths in existing embedding policy cannot be modified in Collection Replace",
        ));
    }
    if modifies(&indexes(old), &indexes(new)) {
        return Err(ContainerError::policy(
            "Paths in existing vector indexing policy cannot be modified in Collection Replace",
        ));
    }
    Ok(())
}

type ByPath = [(ItemPath, Value<'static>)];

fn modifies(old: &ByPath, new: &ByPath) -> bool {
    new.iter().any(|(path, value)| {
        old.iter()
            .any(|(own, before)| own == path && !before.equals(value))
    })
}
