//! One resource of the catalog: what is stored and what goes over the wire.

use std::borrow::Cow;

use orrery_model::ids::Etag;
use orrery_model::json;
use orrery_model::resource_path::ResourceKind;
use orrery_model::rid::{ResourceId, RidKind};
use orrery_model::value::{Object, Value};

use crate::error::Error;

/// Members that the service writes; a client's own are ignored.
const SYSTEM_MEMBERS: [&str; 18] = [
    "_rid",
    "_self",
    "_etag",
    "_ts",
    "_attachments",
    "_colls",
    "_users",
    "_docs",
    "_sprocs",
    "_triggers",
    "_udfs",
    "_conflicts",
    "_permissions",
    "_keys",
    "_token",
    "_lsn",
    "_count",
    "_snapshots",
];

/// A database, container, user, permission, script, key or offer.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// What it is.
    pub kind: ResourceKind,
    /// Its resource id; names it for good.
    pub rid: ResourceId,
    /// Counts up over the catalog: feeds list in this order.
    pub sequence: u64,
    /// Changes with every write.
    pub etag: Etag,
    /// Second of the last write.
    pub ts: u64,
    /// The members that the user gave, defaults filled in; `id` among them.
    pub content: Object<'static>,
    /// What only the engine reads: the ranges of a container, the highs of an offer.
    pub internal: Value<'static>,
}

impl Record {
    /// The resource's name.
    pub fn name(&self) -> &str {
        self.content
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The resource that owns it.
    pub fn parent(&self) -> Option<ResourceId> {
        self.rid.parent()
    }

    /// The wire form: content, system properties, links to child feeds (protocol: section 1.1).
    pub fn wire(&self) -> Object<'static> {
        let mut object = self.content.clone();
        object.insert("_rid", Value::from(self.rid.to_string()));
        object.insert("_self", Value::from(self.rid.self_link()));
        object.insert("_etag", Value::from(self.etag.as_str().to_owned()));
        for feed in child_feeds(self.kind) {
            object.insert(format!("_{feed}"), Value::from(format!("{feed}/")));
        }
        object.insert(
            "_ts",
            Value::from(i64::try_from(self.ts).unwrap_or(i64::MAX)),
        );
        object
    }

    /// The key under which it is stored.
    pub fn key(&self) -> Vec<u8> {
        record_key(self.rid)
    }

    /// The stored form.
    pub fn encode(&self) -> Vec<u8> {
        let mut object = Object::new();
        object.insert(
            "sequence",
            Value::from(i64::try_from(self.sequence).unwrap_or(i64::MAX)),
        );
        object.insert("etag", Value::from(self.etag.as_str().to_owned()));
        object.insert(
            "ts",
            Value::from(i64::try_from(self.ts).unwrap_or(i64::MAX)),
        );
        object.insert("content", Value::Object(self.content.clone()));
        object.insert("internal", self.internal.clone());
        let mut bytes = Vec::new();
        json::write(&Value::Object(object), &mut bytes);
        bytes
    }

    /// Reads the stored form.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Self, Error> {
        Self::try_decode(key, value).ok_or(Error::Damaged("catalog"))
    }

    fn try_decode(key: &[u8], value: &[u8]) -> Option<Self> {
        let (&RECORD, rid) = key.split_first()? else {
            return None;
        };
        let rid = ResourceId::from_bytes(rid)?;
        let value = json::parse(value).ok()?.into_owned();
        let number = |name| {
            value
                .member(name)
                .as_i64()
                .and_then(|n| u64::try_from(n).ok())
        };
        Some(Self {
            kind: kind_of(rid)?,
            rid,
            sequence: number("sequence")?,
            etag: Etag::from_wire(value.member("etag").as_str()?),
            ts: number("ts")?,
            content: value.member("content").as_object()?.clone(),
            internal: value.member("internal").clone(),
        })
    }
}

/// First byte of the key of a record.
pub(super) const RECORD: u8 = b'r';

/// The key of a resource id.
pub(super) fn record_key(rid: ResourceId) -> Vec<u8> {
    let mut key = vec![RECORD];
    key.extend_from_slice(rid.as_bytes());
    key
}

fn kind_of(rid: ResourceId) -> Option<ResourceKind> {
    Some(match rid.kind() {
        RidKind::Offer => ResourceKind::Offer,
        RidKind::Database => ResourceKind::Database,
        RidKind::Container => ResourceKind::Container,
        RidKind::User => ResourceKind::User,
        RidKind::Permission => ResourceKind::Permission,
        RidKind::StoredProcedure => ResourceKind::StoredProcedure,
        RidKind::Trigger => ResourceKind::Trigger,
        RidKind::UserDefinedFunction => ResourceKind::UserDefinedFunction,
        RidKind::ClientEncryptionKey => ResourceKind::ClientEncryptionKey,
        _ => return None,
    })
}

fn child_feeds(kind: ResourceKind) -> &'static [&'static str] {
    match kind {
        ResourceKind::Database => &["colls", "users"],
        ResourceKind::Container => &["docs", "sprocs", "triggers", "udfs", "conflicts"],
        ResourceKind::User => &["permissions"],
        _ => &[],
    }
}

/// A body's members without those that only the service writes.
pub(super) fn user_members(object: Object<'_>) -> Object<'static> {
    let keep = |name: &Cow<'_, str>| !SYSTEM_MEMBERS.contains(&name.as_ref());
    let members = object
        .into_members()
        .into_iter()
        .filter(|(name, _)| keep(name))
        .collect();
    Object::from_members(members).into_owned()
}
