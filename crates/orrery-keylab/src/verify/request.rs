//! What a request asks, as an application would send it.

use orrery_model::partition_key::KeyComponent;
use orrery_model::value::Value;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The place of its pattern in the workload.
    pub pattern: usize,
    /// What is asked.
    pub action: Action,
}

/// What a request asks.
#[derive(Debug, Clone)]
pub enum Action {
    /// The item of this id in a logical partition.
    Read(Address),
    /// Queries that the application sends at once: one, or one for each value of a made key.
    Query(Vec<Question>),
    /// A new item; several for copies.
    Create(Vec<(Address, Vec<u8>)>),
    /// A new version of an item.
    Replace(Address, Vec<u8>),
    /// A change of one member.
    Patch(Address, Vec<u8>),
    /// The end of an item.
    Delete(Address),
    /// New items in one logical partition, all or none.
    Batch(Vec<KeyComponent>, Vec<Vec<u8>>),
}

impl Action {
    /// The item that must be there before, with its text.
    pub fn target(&self) -> Option<&Address> {
        match self {
            Self::Read(address)
            | Self::Replace(address, _)
            | Self::Patch(address, _)
            | Self::Delete(address) => Some(address),
            Self::Query(_) | Self::Create(_) | Self::Batch(..) => None,
        }
    }
}

/// An item by its full key and id.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    /// A value for each level of the key.
    pub key: Vec<KeyComponent>,
    /// The id.
    pub id: String,
    /// The values of the members, for the item's text.
    pub(super) values: Vec<KeyComponent>,
}

/// A query with what it should visit.
#[derive(Debug, Clone)]
pub struct Question {
    /// The text.
    pub text: String,
    /// Its parameters.
    pub parameters: Vec<(String, Value<'static>)>,
    /// The keys or prefixes of keys that it names; `None` visits every partition.
    pub keys: Option<Vec<Vec<KeyComponent>>>,
}
