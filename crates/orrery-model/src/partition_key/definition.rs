//! Definitions, and placement by them.

use super::{KeyComponent, PartitionKey, PartitionKeyError, encoding};
use crate::epk::{EffectivePartitionKey, EpkRange};
use crate::json::PathTree;
use crate::murmur::{murmur3_x64_128, murmur3_x86_32};
use crate::path::{ItemPath, PathEnd};
use crate::value::{Object, Value};

/// Most levels of a hierarchical key (request units: section 9).
pub const MAX_HIERARCHY_LEVELS: usize = 3;

/// How keys are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionKeyKind {
    /// One hash over the key.
    Hash,
    /// A hash per level, joined: a hierarchical key.
    MultiHash,
    /// In order of the values; legacy.
    Range,
}

impl PartitionKeyKind {
    /// The word in a definition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hash => "Hash",
            Self::MultiHash => "MultiHash",
            Self::Range => "Range",
        }
    }
}

/// The hash that follows from kind and version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementHash {
    /// Version 1: a 32-bit hash followed by the values.
    Murmur32,
    /// Version 2: a 128-bit hash.
    Murmur128,
    /// A 128-bit hash per level.
    Murmur128PerLevel,
    /// No hash: the values in order.
    Range,
}

/// The part of the key space that a key selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyRange {
    /// A full key: one position.
    Point(EffectivePartitionKey),
    /// A prefix of a hierarchical key.
    Prefix(EpkRange),
}

/// The partition key definition of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionKeyDefinition {
    paths: Vec<String>,
    parsed: Vec<ItemPath>,
    kind: PartitionKeyKind,
    version: u8,
    system_key: bool,
}

impl PartitionKeyDefinition {
    /// A definition whose paths parse; other rules are those of [`Self::from_value`].
    pub fn new<S: Into<String>>(
        paths: impl IntoIterator<Item = S>,
        kind: PartitionKeyKind,
        version: u8,
    ) -> Result<Self, PartitionKeyError> {
        let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        let parsed = paths
            .iter()
            .map(|path| parse_path(path))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            paths,
            parsed,
            kind,
            version,
            system_key: false,
        })
    }

    /// `{"paths":["/pk"],"kind":"Hash","version":2}`.
    pub fn hash(path: &str) -> Result<Self, PartitionKeyError> {
        Self::new([path], PartitionKeyKind::Hash, 2)
    }

    /// Reads and checks the `partitionKey` of a container body. An absent version is 2, which
    /// the echo then says (protocol: section 6.1).
    pub fn from_value(value: &Value<'_>) -> Result<Self, PartitionKeyError> {
        let invalid = |text: &str| PartitionKeyError::Definition(text.to_owned());
        let object = value.as_object().ok_or_else(|| {
            invalid("The partition key definition is invalid: it must be an object.")
        })?;
        let no_paths = || {
            invalid("The partition key definition is invalid: 'paths' must be an array of paths.")
        };
        let paths = object
            .get("paths")
            .and_then(Value::as_array)
            .ok_or_else(no_paths)?;
        let paths: Vec<String> = paths
            .iter()
            .map(|path| path.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(no_paths)?;
        let kind = match object.get("kind").map(Value::as_str) {
            None | Some(Some("Hash")) => PartitionKeyKind::Hash,
            Some(Some("MultiHash")) => PartitionKeyKind::MultiHash,
            Some(Some("Range")) => PartitionKeyKind::Range,
            Some(_) => return Err(invalid("The partition key kind is invalid.")),
        };
        let version = match object.get("version").map(Value::as_i64) {
            None | Some(Some(2)) => 2,
            Some(Some(1)) => 1,
            Some(_) => return Err(invalid("The partition key version must be 1 or 2.")),
        };
        let mut definition = Self::new(paths, kind, version)?;
        definition.system_key = object
            .get("systemKey")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        definition.check()?;
        Ok(definition)
    }

    fn check(&self) -> Result<(), PartitionKeyError> {
        let invalid = |text: String| Err(PartitionKeyError::Definition(text));
        let count = self.paths.len();
        if count == 0 {
            return invalid("The partition key definition has no paths.".to_owned());
        }
        if self.kind == PartitionKeyKind::MultiHash {
            if self.version != 2 {
                return invalid("MultiHash partition keys must have version 2.".to_owned());
            }
            if count > MAX_HIERARCHY_LEVELS {
                return invalid(format!(
                    "Too many partition key paths specified: {count}. A hierarchical partition key has at most {MAX_HIERARCHY_LEVELS}."
                ));
            }
        } else if count > 1 {
            return invalid(format!(
                "Too many partition key paths specified: {count}. Use kind MultiHash for more than one."
            ));
        }
        for (place, path) in self.parsed.iter().enumerate() {
            if self.parsed[..place].contains(path) {
                return invalid(format!("The partition key path {path} is specified twice."));
            }
        }
        Ok(())
    }

    /// The definition with its defaults, as the service echoes it.
    pub fn to_value(&self) -> Value<'static> {
        let mut object = Object::new();
        object.insert("paths", self.paths.clone());
        object.insert("kind", self.kind.as_str());
        object.insert("version", i64::from(self.version));
        if self.system_key {
            object.insert("systemKey", true);
        }
        Value::Object(object)
    }

    /// The paths as written.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The paths as steps.
    pub fn item_paths(&self) -> &[ItemPath] {
        &self.parsed
    }

    /// Hash, MultiHash or Range.
    pub fn kind(&self) -> PartitionKeyKind {
        self.kind
    }

    /// Version 1 or 2 of the hash.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Whether the container was made without a key.
    pub fn system_key(&self) -> bool {
        self.system_key
    }

    /// Marks a container that was made without a key.
    pub fn with_system_key(mut self) -> Self {
        self.system_key = true;
        self
    }

    /// The hash that kind and version choose.
    pub fn placement(&self) -> PlacementHash {
        match (self.kind, self.version) {
            (PartitionKeyKind::MultiHash, _) => PlacementHash::Murmur128PerLevel,
            (PartitionKeyKind::Range, _) => PlacementHash::Range,
            (PartitionKeyKind::Hash, 1) => PlacementHash::Murmur32,
            (PartitionKeyKind::Hash, _) => PlacementHash::Murmur128,
        }
    }

    /// The members that [`Self::extract`] reads.
    pub fn path_tree(&self) -> PathTree {
        let mut tree = PathTree::none();
        for names in self.parsed.iter().filter_map(ItemPath::properties) {
            tree.add(&names);
        }
        tree
    }

    /// The key of an item; refuses values that are too long.
    pub fn extract(&self, item: &Value<'_>) -> Result<PartitionKey, PartitionKeyError> {
        let component = |path: &ItemPath| KeyComponent::from(path.evaluate(item));
        let key: PartitionKey = self.parsed.iter().map(component).collect();
        key.check_length()?;
        Ok(key)
    }

    /// Whether the key has a value for every path. The "none" key of a container without a key
    /// counts as full.
    pub fn is_full(&self, key: &PartitionKey) -> bool {
        key.len() == self.paths.len() || (self.system_key && key.is_empty())
    }

    /// The key with "none" replaced by what it stands for: undefined in every path.
    pub fn complete(&self, key: PartitionKey) -> PartitionKey {
        if key.is_empty() {
            self.paths.iter().map(|_| KeyComponent::Undefined).collect()
        } else {
            key
        }
    }

    /// The position of a key, or of a prefix of a hierarchical key.
    pub fn effective(&self, key: &PartitionKey) -> EffectivePartitionKey {
        let components = key.components();
        if components.is_empty() {
            return EffectivePartitionKey::MIN;
        }
        if matches!(components, [KeyComponent::Infinity]) {
            return EffectivePartitionKey::max();
        }
        let mut bytes = Vec::with_capacity(48);
        match self.placement() {
            PlacementHash::Murmur128 => {
                bytes.extend_from_slice(&masked(hash_v2(components)).to_be_bytes());
            }
            PlacementHash::Murmur128PerLevel => {
                for component in components.chunks(1) {
                    bytes.extend_from_slice(&masked(hash_v2(component)).to_be_bytes());
                }
            }
            PlacementHash::Murmur32 => {
                let cut: Vec<_> = components.iter().map(encoding::truncated_v1).collect();
                encoding::write_number(f64::from(hash_v1(&cut)), &mut bytes);
                for component in &cut {
                    encoding::write_ordered(component, &mut bytes);
                }
            }
            PlacementHash::Range => {
                for component in components {
                    encoding::write_ordered(component, &mut bytes);
                }
            }
        }
        EffectivePartitionKey::from_bytes(bytes)
    }

    /// Whether different keys may share an effective partition key, as only their first bytes count.
    pub fn cuts_keys(&self) -> bool {
        matches!(
            self.placement(),
            PlacementHash::Murmur32 | PlacementHash::Range
        )
    }

    /// The part of the key space that a key selects: a point for a full key, a range for a
    /// prefix of a hierarchical key.
    pub fn key_range(&self, key: &PartitionKey) -> KeyRange {
        let position = self.effective(key);
        if self.is_full(key) {
            KeyRange::Point(position)
        } else {
            KeyRange::Prefix(EpkRange::of_prefix(position))
        }
    }

    /// The half-open range that holds the key, or everything under the prefix, and no other key.
    pub fn prefix_range(&self, key: &PartitionKey) -> EpkRange {
        EpkRange::of_prefix(self.effective(key))
    }
}

fn parse_path(path: &str) -> Result<ItemPath, PartitionKeyError> {
    let invalid = |reason: &str| {
        PartitionKeyError::Definition(format!(
            "The partition key path '{path}' is invalid: {reason}."
        ))
    };
    let parsed = ItemPath::parse(path).map_err(|error| invalid(error.reason))?;
    if parsed.steps().is_empty() || parsed.end() != PathEnd::Exact || parsed.properties().is_none()
    {
        return Err(invalid(
            "it must name a property, without wildcards or array steps",
        ));
    }
    Ok(parsed)
}

/// The version-2 hash of the components together, before its top two bits are cleared.
pub(super) fn hash_v2(components: &[KeyComponent]) -> u128 {
    let mut bytes = Vec::with_capacity(64);
    for component in components {
        encoding::write_hashed_v2(component, &mut bytes);
    }
    let (low, high) = murmur3_x64_128(&bytes, (0, 0));
    (u128::from(high) << 64) | u128::from(low)
}

/// The version-1 hash of components that were cut before.
pub(super) fn hash_v1(components: &[KeyComponent]) -> u32 {
    let mut bytes = Vec::with_capacity(64);
    for component in components {
        encoding::write_hashed_v1(component, &mut bytes);
    }
    murmur3_x86_32(&bytes, 0)
}

fn masked(hash: u128) -> u128 {
    hash & (u128::MAX >> 2)
}
