//! Classification of request paths by position (protocol: sections 0 and 1.1).

use std::borrow::Cow;
use std::fmt;

use crate::rid::{ResourceId, RidKind};

/// The kinds of resources that paths name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResourceKind {
    /// The account itself: `/`.
    Account,
    /// `dbs`
    Database,
    /// `colls`
    Container,
    /// `docs`
    Item,
    /// `pkranges`
    PartitionKeyRange,
    /// `sprocs`
    StoredProcedure,
    /// `triggers`
    Trigger,
    /// `udfs`
    UserDefinedFunction,
    /// `conflicts`
    Conflict,
    /// `users`
    User,
    /// `permissions`
    Permission,
    /// `clientencryptionkeys`
    ClientEncryptionKey,
    /// `offers`
    Offer,
    /// `addresses`
    Address,
    /// `schemas` of a container; legacy.
    Schema,
    /// `attachments` of an item; legacy.
    Attachment,
}

impl ResourceKind {
    /// The segment of a path; also the resource type in signatures.
    pub fn segment(self) -> &'static str {
        match self {
            Self::Account => "",
            Self::Database => "dbs",
            Self::Container => "colls",
            Self::Item => "docs",
            Self::PartitionKeyRange => "pkranges",
            Self::StoredProcedure => "sprocs",
            Self::Trigger => "triggers",
            Self::UserDefinedFunction => "udfs",
            Self::Conflict => "conflicts",
            Self::User => "users",
            Self::Permission => "permissions",
            Self::ClientEncryptionKey => "clientencryptionkeys",
            Self::Offer => "offers",
            Self::Address => "addresses",
            Self::Schema => "schemas",
            Self::Attachment => "attachments",
        }
    }

    /// The name of the array in a feed's envelope.
    pub fn feed_array(self) -> &'static str {
        match self {
            Self::Account => "DatabaseAccounts",
            Self::Database => "Databases",
            Self::Container => "DocumentCollections",
            Self::Item => "Documents",
            Self::PartitionKeyRange => "PartitionKeyRanges",
            Self::StoredProcedure => "StoredProcedures",
            Self::Trigger => "Triggers",
            Self::UserDefinedFunction => "UserDefinedFunctions",
            Self::Conflict => "Conflicts",
            Self::User => "Users",
            Self::Permission => "Permissions",
            Self::ClientEncryptionKey => "ClientEncryptionKeys",
            Self::Offer => "Offers",
            // The service's own spelling.
            Self::Address => "Addresss",
            Self::Schema => "Schemas",
            Self::Attachment => "Attachments",
        }
    }

    /// The kind that a segment names under a parent; which kinds there are depends on it.
    fn under(parent: Self, segment: &str) -> Option<Self> {
        let children: &[Self] = match parent {
            Self::Account => &[Self::Database, Self::Offer, Self::Address],
            Self::Database => &[Self::Container, Self::User, Self::ClientEncryptionKey],
            Self::Container => &[
                Self::Item,
                Self::PartitionKeyRange,
                Self::StoredProcedure,
                Self::Trigger,
                Self::UserDefinedFunction,
                Self::Conflict,
                Self::Schema,
            ],
            Self::User => &[Self::Permission],
            Self::Item => &[Self::Attachment],
            _ => &[],
        };
        children
            .iter()
            .copied()
            .find(|kind| kind.segment().eq_ignore_ascii_case(segment))
    }

    fn of_rid(kind: RidKind) -> Option<Self> {
        Some(match kind {
            RidKind::Offer => Self::Offer,
            RidKind::Database => Self::Database,
            RidKind::Container => Self::Container,
            RidKind::User => Self::User,
            RidKind::Document => Self::Item,
            RidKind::Conflict => Self::Conflict,
            RidKind::PartitionKeyRange => Self::PartitionKeyRange,
            RidKind::UserDefinedFunction => Self::UserDefinedFunction,
            RidKind::Trigger => Self::Trigger,
            RidKind::StoredProcedure => Self::StoredProcedure,
            RidKind::Schema => Self::Schema,
            RidKind::Permission => Self::Permission,
            RidKind::ClientEncryptionKey => Self::ClientEncryptionKey,
            RidKind::SystemChild | RidKind::UserDefinedType => return None,
        })
    }
}

/// A path that cannot be classified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourcePathError {
    /// A segment stands where no such resource is.
    #[error("The request path contains an unknown segment '{0}'.")]
    UnknownSegment(String),
    /// Percent encoding that is none, or not UTF-8.
    #[error("The request path is not correctly encoded.")]
    Encoding,
    /// More segments than any resource has.
    #[error("The request path has too many segments.")]
    TooLong,
}

/// A classified path. Paths are told apart by position, so a database may be called `colls`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePath {
    kind: ResourceKind,
    /// Kinds and ids of the owner chain, ending with the resource for resource paths.
    chain: Chain,
    is_feed: bool,
    is_rid_based: bool,
    operation: Option<String>,
}

/// `dbs/a/colls/b/docs/c/attachments/d` and `dbs/a/colls/b/operations/x` have at most these.
const MAX_SEGMENTS: usize = 8;

/// Letters of a database's rid: four bytes in base64.
const DATABASE_RID_LENGTH: usize = 8;

/// The owner chain as one text, its link, with the places of the ids in it: a path is taken apart
/// for every request, so it is one allocation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Chain {
    /// `dbs/a/colls/b`, decoded.
    link: String,
    places: [Place; MAX_SEGMENTS / 2],
    length: usize,
}

/// Where an id lies in the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    kind: ResourceKind,
    start: usize,
    end: usize,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            kind: ResourceKind::Account,
            start: 0,
            end: 0,
        }
    }
}

impl Chain {
    /// Adds a member; no resource has more ancestors than there are places.
    fn push(&mut self, kind: ResourceKind, id: &str) {
        let Some(place) = self.places.get_mut(self.length) else {
            return;
        };
        self.length += 1;
        if !self.link.is_empty() {
            self.link.push('/');
        }
        self.link.push_str(kind.segment());
        self.link.push('/');
        let start = self.link.len();
        self.link.push_str(id);
        let end = self.link.len();
        *place = Place { kind, start, end };
    }

    /// Takes the last member off.
    fn pop(&mut self) {
        let Some(last) = self.length.checked_sub(1) else {
            return;
        };
        self.length = last;
        self.places[last] = Place::default();
        let end = last.checked_sub(1).map_or(0, |at| self.places[at].end);
        self.link.truncate(end);
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = (ResourceKind, &str)> {
        self.places[..self.length]
            .iter()
            .map(|place| (place.kind, &self.link[place.start..place.end]))
    }

    fn last(&self) -> Option<(ResourceKind, &str)> {
        self.iter().next_back()
    }
}

/// The segments of a path, empty ones left out.
struct Segments<'p>(&'p str);

impl<'p> Iterator for Segments<'p> {
    type Item = &'p str;

    fn next(&mut self) -> Option<&'p str> {
        let rest = self.0.trim_start_matches('/');
        // Segments are short: looking at each byte beats a search by words.
        let end = rest.bytes().position(|byte| byte == b'/');
        let (segment, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.0 = rest;
        (!segment.is_empty()).then_some(segment)
    }
}

impl ResourcePath {
    /// Classifies a raw path (without its query): splits, drops empty segments, decodes.
    pub fn parse(raw: &str) -> Result<Self, ResourcePathError> {
        // One look for all segments: most paths have nothing to decode.
        if !raw.contains('%') {
            return Self::from_link(raw);
        }
        Self::from_segments(Segments(raw).map(percent_decode), raw.len())
    }

    /// Classifies a link as it stands in bodies: not percent-encoded.
    pub fn from_link(link: &str) -> Result<Self, ResourcePathError> {
        let segments = Segments(link).map(|segment| Ok(Cow::Borrowed(segment)));
        Self::from_segments(segments, link.len())
    }

    fn from_segments<'s>(
        segments: impl Iterator<Item = Result<Cow<'s, str>, ResourcePathError>>,
        bytes: usize,
    ) -> Result<Self, ResourcePathError> {
        let chain = Chain {
            link: String::with_capacity(bytes),
            ..Chain::default()
        };
        let mut path = Self {
            kind: ResourceKind::Account,
            chain,
            is_feed: false,
            is_rid_based: false,
            operation: None,
        };
        // One beyond the limit, to tell.
        let mut segments = segments.take(MAX_SEGMENTS + 1).enumerate();
        let mut next = || match segments.next() {
            Some((MAX_SEGMENTS, _)) => Err(ResourcePathError::TooLong),
            Some((_, segment)) => segment.map(Some),
            None => Ok(None),
        };
        while let Some(segment) = next()? {
            if path.kind == ResourceKind::Container && segment.eq_ignore_ascii_case("operations") {
                path.operation = Some(next()?.unwrap_or_default().into_owned());
                return match next()? {
                    Some(extra) => Err(ResourcePathError::UnknownSegment(extra.into_owned())),
                    None => Ok(path),
                };
            }
            let Some(kind) = ResourceKind::under(path.kind, &segment) else {
                return Err(ResourcePathError::UnknownSegment(segment.into_owned()));
            };
            path.kind = kind;
            match next()? {
                Some(id) => path.chain.push(kind, &id),
                None => path.is_feed = true,
            }
        }
        let first = path.chain.iter().next();
        path.is_rid_based = first.is_some_and(|(kind, id)| match kind {
            ResourceKind::Offer => true,
            // Most names differ from rids in their length.
            ResourceKind::Database if id.len() == DATABASE_RID_LENGTH => {
                ResourceId::parse(id).is_ok_and(|rid| rid.kind() == RidKind::Database)
            }
            _ => false,
        });
        Ok(path)
    }

    /// The path of a resource id.
    pub fn of_rid(rid: ResourceId) -> Option<Self> {
        let mut ids = Vec::new();
        let mut next = Some(rid);
        while let Some(rid) = next {
            ids.push((ResourceKind::of_rid(rid.kind())?, rid.to_string()));
            next = rid.parent();
        }
        let kind = ids.first()?.0;
        let mut chain = Chain::default();
        for (kind, id) in ids.iter().rev() {
            chain.push(*kind, id);
        }
        Some(Self {
            kind,
            chain,
            is_feed: false,
            is_rid_based: true,
            operation: None,
        })
    }

    /// What the path names: for a feed, the kind of its members.
    pub fn kind(&self) -> ResourceKind {
        self.kind
    }

    /// Whether it names a feed and not one resource. The account is no feed.
    pub fn is_feed(&self) -> bool {
        self.is_feed
    }

    /// Whether ids in it are resource ids and not names.
    pub fn is_rid_based(&self) -> bool {
        self.is_rid_based
    }

    /// The operation on a container, as in `…/operations/partitionkeydelete`.
    pub fn operation(&self) -> Option<&str> {
        self.operation.as_deref()
    }

    /// The id of the resource itself; `None` for feeds and the account.
    pub fn id(&self) -> Option<&str> {
        if self.is_feed {
            None
        } else {
            self.chain.last().map(|(_, id)| id)
        }
    }

    /// The id of the resource of that kind on the path.
    pub fn id_of(&self, kind: ResourceKind) -> Option<&str> {
        self.ids().find(|(own, _)| *own == kind).map(|(_, id)| id)
    }

    /// The database's id.
    pub fn database(&self) -> Option<&str> {
        self.id_of(ResourceKind::Database)
    }

    /// The container's id.
    pub fn container(&self) -> Option<&str> {
        self.id_of(ResourceKind::Container)
    }

    /// Kinds and ids from the top.
    pub fn ids(&self) -> impl Iterator<Item = (ResourceKind, &str)> {
        self.chain.iter()
    }

    /// The path of the resource that owns this one, or of a feed's owner.
    pub fn parent(&self) -> Option<Self> {
        if self.kind == ResourceKind::Account {
            return None;
        }
        let mut chain = self.chain.clone();
        if !self.is_feed && self.operation.is_none() {
            chain.pop();
        }
        let last = chain.last();
        let kind = last.map_or(ResourceKind::Account, |(kind, _)| kind);
        let is_rid_based = self.is_rid_based && last.is_some();
        Some(Self {
            kind,
            chain,
            is_feed: false,
            is_rid_based,
            operation: None,
        })
    }

    /// The path of the feed that this resource is in, or this feed itself.
    pub fn feed(&self) -> Self {
        let mut feed = self.clone();
        if !self.is_feed && self.kind != ResourceKind::Account {
            feed.chain.pop();
            feed.is_feed = true;
            feed.operation = None;
        }
        feed
    }

    /// The path of a child feed of this resource.
    pub fn child_feed(&self, kind: ResourceKind) -> Self {
        Self {
            kind,
            is_feed: true,
            operation: None,
            ..self.clone()
        }
    }

    /// The path of a member of this feed.
    pub fn member(&self, id: impl AsRef<str>) -> Self {
        let mut member = self.feed();
        member.chain.push(member.kind, id.as_ref());
        member.is_feed = false;
        member
    }

    /// The link without leading or trailing slash, decoded: of the resource, or of a feed's
    /// owner.
    pub fn owner_link(&self) -> &str {
        &self.chain.link
    }

    /// The resource type in signatures.
    pub fn signing_type(&self) -> &'static str {
        self.kind.segment()
    }

    /// The resource link in signatures: the decoded link, or only the last resource id in lower
    /// case where the path is made of them (protocol: section 2.1).
    pub fn signing_link(&self) -> Cow<'_, str> {
        if !self.is_rid_based {
            return Cow::Borrowed(self.owner_link());
        }
        let last = self.chain.last().map(|(_, id)| id.to_ascii_lowercase());
        Cow::Owned(last.unwrap_or_default())
    }
}

impl fmt::Display for ResourcePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let link = self.owner_link();
        formatter.write_str(link)?;
        let separator = if link.is_empty() { "" } else { "/" };
        if let Some(operation) = &self.operation {
            write!(formatter, "{separator}operations/{operation}")
        } else if self.is_feed {
            write!(formatter, "{separator}{}", self.kind.segment())
        } else {
            Ok(())
        }
    }
}

fn percent_decode(segment: &str) -> Result<Cow<'_, str>, ResourcePathError> {
    if !segment.contains('%') {
        return Ok(Cow::Borrowed(segment));
    }
    let mut decoded = Vec::with_capacity(segment.len());
    let mut bytes = segment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(ResourcePathError::Encoding);
        };
        decoded.push((high << 4 | low) as u8);
    }
    let decoded = String::from_utf8(decoded).map_err(|_| ResourcePathError::Encoding)?;
    Ok(Cow::Owned(decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(raw: &str) -> ResourcePath {
        ResourcePath::parse(raw).expect(raw)
    }

    #[test]
    fn position_decides() {
        let path = parse("/dbs/colls/colls/dbs/docs/a%2Fb%20c");
        assert_eq!(path.kind(), ResourceKind::Item);
        assert_eq!(path.id(), Some("a/b c"));
        assert_eq!(
            (path.database(), path.container()),
            (Some("colls"), Some("dbs"))
        );
        assert!(!path.is_feed() && !path.is_rid_based());
        let feed = parse("//dbs/a/colls/b/docs/");
        assert!(feed.is_feed());
        assert_eq!(
            feed.parent().expect("container").to_string(),
            "dbs/a/colls/b"
        );
        assert_eq!(feed.member("x").to_string(), "dbs/a/colls/b/docs/x");
        assert_eq!(path.feed().to_string(), "dbs/colls/colls/dbs/docs");
        assert_eq!(parse("/").kind(), ResourceKind::Account);
        let truncate = parse("/dbs/a/colls/b/operations/partitionkeydelete");
        assert_eq!(truncate.operation(), Some("partitionkeydelete"));
        assert_eq!(truncate.kind(), ResourceKind::Container);
        assert_eq!(parse("//addresses/").kind(), ResourceKind::Address);
        for bad in [
            "/x",
            "/dbs/a/docs",
            "/dbs/a/colls/b/docs/c/x",
            "/dbs/%zz",
            "/dbs/%ff",
        ] {
            assert!(ResourcePath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn signatures_name_the_link() {
        // The rows of protocol section 2.1.
        for (raw, kind, link) in [
            ("/", "", ""),
            ("/dbs", "dbs", ""),
            ("/dbs/a", "dbs", "dbs/a"),
            ("/dbs/a/colls", "colls", "dbs/a"),
            ("/dbs/A/colls/b", "colls", "dbs/A/colls/b"),
            ("/dbs/a/colls/b/docs", "docs", "dbs/a/colls/b"),
            ("/dbs/a/colls/b/docs/c", "docs", "dbs/a/colls/b/docs/c"),
            ("/dbs/a/colls/b/pkranges", "pkranges", "dbs/a/colls/b"),
            (
                "/dbs/a/colls/b/operations/partitionkeydelete",
                "colls",
                "dbs/a/colls/b",
            ),
            ("/offers", "offers", ""),
            ("/offers/AbCd", "offers", "abcd"),
            (
                "/dbs/HpxDAA==/colls/HpxDAL+dzLQ=/docs",
                "docs",
                "hpxdal+dzlq=",
            ),
        ] {
            let path = parse(raw);
            assert_eq!(
                (path.signing_type(), path.signing_link().as_ref()),
                (kind, link),
                "{raw}"
            );
        }
    }

    #[test]
    fn resource_ids_have_paths() {
        let rid = ResourceId::document(1, 2, 3);
        let path = ResourcePath::of_rid(rid).expect("path");
        assert_eq!(format!("{path}/"), rid.self_link());
        assert!(path.is_rid_based());
        assert_eq!(
            ResourcePath::from_link(&rid.self_link()).expect("link"),
            path
        );
    }
}
