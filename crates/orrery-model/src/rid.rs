//! Resource ids: the `_rid` of every resource, and the `_self` links made of them (protocol:
//! section 5).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What kind of resource an id names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RidKind {
    /// Throughput of a database or container; three bytes.
    Offer,
    /// Database; four bytes.
    Database,
    /// Container; eight bytes, the fifth with its top bit set.
    Container,
    /// User; eight bytes.
    User,
    /// Item.
    Document,
    /// Conflict of a container.
    Conflict,
    /// Partition key range of a container.
    PartitionKeyRange,
    /// User-defined function.
    UserDefinedFunction,
    /// Trigger.
    Trigger,
    /// Stored procedure.
    StoredProcedure,
    /// Schema of a container; legacy.
    Schema,
    /// Any other child of a container that the service knows (system items, historical ranges).
    SystemChild,
    /// Permission of a user.
    Permission,
    /// User-defined type of a database.
    UserDefinedType,
    /// Client encryption key of a database.
    ClientEncryptionKey,
}

impl RidKind {
    /// The top nibble of the last byte, for children of containers and of databases.
    fn nibble(self) -> Option<u8> {
        Some(match self {
            Self::Document => 0x0,
            Self::Conflict => 0x4,
            Self::PartitionKeyRange => 0x5,
            Self::UserDefinedFunction => 0x6,
            Self::Trigger => 0x7,
            Self::StoredProcedure => 0x8,
            Self::Schema => 0x9,
            Self::UserDefinedType => 0x1,
            Self::ClientEncryptionKey => 0x2,
            _ => return None,
        })
    }

    fn segment(self) -> &'static str {
        match self {
            Self::Offer => "offers",
            Self::Database => "dbs",
            Self::Container => "colls",
            Self::User => "users",
            Self::Document | Self::SystemChild => "docs",
            Self::Conflict => "conflicts",
            Self::PartitionKeyRange => "pkranges",
            Self::UserDefinedFunction => "udfs",
            Self::Trigger => "triggers",
            Self::StoredProcedure => "sprocs",
            Self::Schema => "schemas",
            Self::Permission => "permissions",
            Self::UserDefinedType => "udts",
            Self::ClientEncryptionKey => "clientencryptionkeys",
        }
    }
}

/// A resource id. Its order is the order of its bytes, not that of items (see [`Self::number`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResourceId {
    bytes: [u8; 16],
    length: u8,
}

/// A text that is no resource id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The resource id '{text}' is invalid.")]
pub struct RidError {
    /// The text, cut.
    pub text: String,
}

const OFFER_BYTES: usize = 3;
const DATABASE_BYTES: usize = 4;
const CONTAINER_BYTES: usize = 8;
const CHILD_BYTES: usize = 16;
/// Marks a container, as opposed to a user, in the fifth byte.
const CONTAINER_MARK: u8 = 0x80;
/// The part of the last eight bytes that counts resources; the kind stands above it.
const NUMBER_MASK: u64 = 0x0fff_ffff_ffff_ffff;

impl ResourceId {
    fn from_slice(slice: &[u8]) -> Self {
        let mut bytes = [0; CHILD_BYTES];
        bytes[..slice.len()].copy_from_slice(slice);
        Self {
            bytes,
            length: slice.len() as u8,
        }
    }

    /// An offer; 24 bits count.
    pub fn offer(number: u32) -> Self {
        Self::from_slice(&number.to_be_bytes()[1..])
    }

    /// A database.
    pub fn database(database: u32) -> Self {
        Self::from_slice(&database.to_be_bytes())
    }

    /// A container of a database; 31 bits count.
    pub fn container(database: u32, container: u32) -> Self {
        let mut id = Self::user(database, container);
        id.bytes[4] |= CONTAINER_MARK;
        id
    }

    /// A user of a database; 31 bits count.
    pub fn user(database: u32, user: u32) -> Self {
        let mut bytes = [0; CONTAINER_BYTES];
        bytes[..4].copy_from_slice(&database.to_be_bytes());
        bytes[4..].copy_from_slice(&user.to_be_bytes());
        bytes[4] &= !CONTAINER_MARK;
        Self::from_slice(&bytes)
    }

    /// An item; 60 bits count.
    pub fn document(database: u32, container: u32, number: u64) -> Self {
        Self::container(database, container).with_number(0, number)
    }

    /// A child of a container, or an extended child of a database; `None` where the kind is not
    /// of that parent.
    pub fn child(self, kind: RidKind, number: u64) -> Option<Self> {
        let nibble = kind.nibble()?;
        match (self.kind(), kind) {
            (RidKind::Database, RidKind::UserDefinedType | RidKind::ClientEncryptionKey) => {
                let mut parent = self;
                parent.length = CONTAINER_BYTES as u8;
                Some(parent.with_number(nibble, number))
            }
            (_, RidKind::UserDefinedType | RidKind::ClientEncryptionKey) => None,
            (RidKind::Container, _) => Some(self.with_number(nibble, number)),
            _ => None,
        }
    }

    /// A permission of a user.
    pub fn permission(database: u32, user: u32, number: u64) -> Self {
        Self::user(database, user).with_number(0, number)
    }

    fn with_number(mut self, nibble: u8, number: u64) -> Self {
        let tail = (number & NUMBER_MASK) | (u64::from(nibble) << 60);
        self.bytes[CONTAINER_BYTES..].copy_from_slice(&tail.to_le_bytes());
        self.length = CHILD_BYTES as u8;
        self
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// From bytes of a length that ids have.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let known = [OFFER_BYTES, DATABASE_BYTES, CONTAINER_BYTES, CHILD_BYTES];
        known
            .contains(&bytes.len())
            .then(|| Self::from_slice(bytes))
    }

    /// Reads the text: standard base64 with `-` for `/`.
    pub fn parse(text: &str) -> Result<Self, RidError> {
        let error = || RidError {
            text: text.chars().take(64).collect(),
        };
        // 24 characters are 16 bytes; anything longer is no id that we make.
        if text.len() > 24 || text.contains('/') {
            return Err(error());
        }
        let bytes = STANDARD
            .decode(text.replace('-', "/"))
            .map_err(|_| error())?;
        Self::from_bytes(&bytes).ok_or_else(error)
    }

    /// The kind of resource.
    pub fn kind(&self) -> RidKind {
        let in_container = self.bytes[4] & CONTAINER_MARK != 0;
        match usize::from(self.length) {
            OFFER_BYTES => RidKind::Offer,
            DATABASE_BYTES => RidKind::Database,
            CONTAINER_BYTES if in_container => RidKind::Container,
            CONTAINER_BYTES => RidKind::User,
            _ if in_container => match self.bytes[15] >> 4 {
                0x0 => RidKind::Document,
                0x4 => RidKind::Conflict,
                0x5 => RidKind::PartitionKeyRange,
                0x6 => RidKind::UserDefinedFunction,
                0x7 => RidKind::Trigger,
                0x8 => RidKind::StoredProcedure,
                0x9 => RidKind::Schema,
                _ => RidKind::SystemChild,
            },
            _ if self.bytes[4..8] == [0; 4] => match self.bytes[15] >> 4 {
                0x1 => RidKind::UserDefinedType,
                0x2 => RidKind::ClientEncryptionKey,
                _ => RidKind::Permission,
            },
            _ => RidKind::Permission,
        }
    }

    /// The number of the database (of the offer, for offers).
    pub fn database_number(&self) -> u32 {
        let [a, b, c, d, ..] = self.bytes;
        if self.kind() == RidKind::Offer {
            u32::from_be_bytes([0, a, b, c])
        } else {
            u32::from_be_bytes([a, b, c, d])
        }
    }

    /// The number of the container or user within the database, if it names or lies in one.
    pub fn owner_number(&self) -> Option<u32> {
        let [_, _, _, _, a, b, c, d, ..] = self.bytes;
        let number = u32::from_be_bytes([a & !CONTAINER_MARK, b, c, d]);
        (usize::from(self.length) >= CONTAINER_BYTES).then_some(number)
    }

    /// The number among its siblings: items with equal sort values come in this order.
    pub fn number(&self) -> Option<u64> {
        let [.., a, b, c, d, e, f, g, h] = self.bytes;
        let tail = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        (usize::from(self.length) == CHILD_BYTES).then_some(tail & NUMBER_MASK)
    }

    /// The database that it names or lies in; `None` for offers.
    pub fn database_id(&self) -> Option<Self> {
        (self.kind() != RidKind::Offer).then(|| Self::from_slice(&self.bytes[..DATABASE_BYTES]))
    }

    /// The container that it names or lies in.
    pub fn container_id(&self) -> Option<Self> {
        let inside =
            usize::from(self.length) >= CONTAINER_BYTES && self.bytes[4] & CONTAINER_MARK != 0;
        inside.then(|| Self::from_slice(&self.bytes[..CONTAINER_BYTES]))
    }

    /// The resource that it is a child of; `None` for databases and offers.
    pub fn parent(&self) -> Option<Self> {
        match self.kind() {
            RidKind::Offer | RidKind::Database => None,
            RidKind::Container
            | RidKind::User
            | RidKind::UserDefinedType
            | RidKind::ClientEncryptionKey => Some(Self::from_slice(&self.bytes[..DATABASE_BYTES])),
            _ => Some(Self::from_slice(&self.bytes[..CONTAINER_BYTES])),
        }
    }

    /// The `_self` link, with its trailing slash.
    pub fn self_link(&self) -> String {
        let parent = self
            .parent()
            .map_or_else(String::new, |parent| parent.self_link());
        format!("{parent}{}/{self}/", self.kind().segment())
    }
}

impl fmt::Display for ResourceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0_u8; 24];
        let length = STANDARD
            .encode_slice(self.as_bytes(), &mut text)
            .expect("24 characters hold 16 bytes");
        let text = &mut text[..length];
        text.iter_mut()
            .filter(|byte| **byte == b'/')
            .for_each(|byte| *byte = b'-');
        formatter.write_str(std::str::from_utf8(text).expect("base64 is ASCII"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_example() {
        let id = ResourceId::parse("HpxDAL+dzLQBAAAAAAAAAA==").expect("document");
        assert_eq!((id.kind(), id.number()), (RidKind::Document, Some(1)));
        let container = id.parent().expect("container");
        assert_eq!(container.to_string(), "HpxDAL+dzLQ=");
        assert_eq!(
            container.parent().expect("database").to_string(),
            "HpxDAA=="
        );
        assert_eq!(
            id.self_link(),
            "dbs/HpxDAA==/colls/HpxDAL+dzLQ=/docs/HpxDAL+dzLQBAAAAAAAAAA==/"
        );
    }

    #[test]
    fn kinds_survive_text() {
        let container = ResourceId::container(7, 9);
        let database = ResourceId::database(7);
        let in_container = [
            RidKind::Document,
            RidKind::Conflict,
            RidKind::PartitionKeyRange,
            RidKind::UserDefinedFunction,
            RidKind::Trigger,
            RidKind::StoredProcedure,
        ];
        let mut ids: Vec<_> = in_container
            .map(|kind| (kind, container.child(kind, u64::MAX).expect("child")))
            .to_vec();
        let key = database
            .child(RidKind::ClientEncryptionKey, 3)
            .expect("child");
        ids.push((RidKind::ClientEncryptionKey, key));
        ids.push((RidKind::Permission, ResourceId::permission(7, 1, 2)));
        ids.push((RidKind::User, ResourceId::user(7, u32::MAX)));
        ids.push((RidKind::Offer, ResourceId::offer(0xfb_ffff)));
        for (kind, id) in ids {
            let text = id.to_string();
            assert!(!text.contains('/'), "{text}");
            assert_eq!(ResourceId::parse(&text).expect("own text"), id);
            assert_eq!(id.kind(), kind);
        }
        assert_eq!(database.child(RidKind::Document, 1), None);
        assert_eq!(container.child(RidKind::ClientEncryptionKey, 1), None);
        assert_eq!(key.parent(), Some(database));
    }

    #[test]
    fn refuses_what_is_no_id() {
        for text in [
            "",
            "abc",
            "abcde",
            "////",
            "HpxDA",
            "HpxDAL+dzLQBAAAAAAAAAAA=",
            "é",
        ] {
            assert!(ResourceId::parse(text).is_err(), "{text}");
        }
    }
}
