//! The account's keys as ready HMAC states.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{Identity, Signed};

/// The key that Microsoft publishes for its emulator; every sample knows it.
pub const EMULATOR_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// Longest date that is worth hashing.
const DATE_LIMIT: usize = 64;

/// One key: the HMAC state after its key block, so that a request hashes only its own
/// payload.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

/// The text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is the base64 text of at least 16 bytes")]
pub struct InvalidKey;

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl std::str::FromStr for Key {
    type Err = InvalidKey;

    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| InvalidKey)?;
        if bytes.len() < 16 {
            return Err(InvalidKey);
        }
        Hmac::new_from_slice(&bytes)
            .map(Self)
            .map_err(|_| InvalidKey)
    }
}

impl Key {
    fn sign(&self, signed: &Signed<'_>, (date, legacy_date): (&str, &str)) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in [
            signed.verb,
            "\n",
            signed.resource_type,
            "\n",
            signed.link,
            "\n",
        ] {
            mac.update(part.as_bytes());
        }
        for date in [date, legacy_date] {
            let mut lower = [0; DATE_LIMIT];
            let length = date.len().min(DATE_LIMIT - 1);
            lower[..length].copy_from_slice(&date.as_bytes()[..length]);
            lower[..length].make_ascii_lowercase();
            lower[length] = b'\n';
            mac.update(&lower[..=length]);
        }
        mac.finalize().into_bytes().into()
    }
}

impl Key {
    /// The HMAC of some bytes.
    pub(super) fn authenticate(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

/// The keys of an account. Only the primary key is needed.
#[derive(Debug, Clone)]
pub struct Keys {
    /// May do everything.
    pub primary: Key,
    /// The other key that may do everything, for rotation.
    pub secondary: Option<Key>,
    /// May read.
    pub primary_readonly: Option<Key>,
    /// The other key that may read.
    pub secondary_readonly: Option<Key>,
}

impl Keys {
    /// An account with one key.
    pub fn single(primary: Key) -> Self {
        Self {
            primary,
            secondary: None,
            primary_readonly: None,
            secondary_readonly: None,
        }
    }

    /// Whose signature this is, if anybody's.
    pub(super) fn who_signed(
        &self,
        signed: &Signed<'_>,
        dates: (&str, &str),
        signature: &[u8; 32],
    ) -> Option<Identity> {
        self.who(|key| bool::from(key.sign(signed, dates).ct_eq(signature)))
    }

    /// Whose key this is, if anybody's. Keys are kept as hash states: equal ones are those
    /// that give the same HMAC.
    pub(super) fn who_holds(&self, candidate: &Key) -> Option<Identity> {
        let proof = candidate.authenticate(&[b"key"]);
        self.who(|key| bool::from(key.authenticate(&[b"key"]).ct_eq(&proof)))
    }

    fn who(&self, matches: impl Fn(&Key) -> bool) -> Option<Identity> {
        let owners = [Some(&self.primary), self.secondary.as_ref()];
        let readers = [
            self.primary_readonly.as_ref(),
            self.secondary_readonly.as_ref(),
        ];
        if owners.into_iter().flatten().any(&matches) {
            Some(Identity::Owner)
        } else if readers.into_iter().flatten().any(&matches) {
            Some(Identity::Reader)
        } else {
            None
        }
    }
}

/// The 32 bytes of a signature.
pub(super) fn decode_signature(text: &str) -> Option<[u8; 32]> {
    // 44 characters decode to at most 33 bytes; the crate wants room for the estimate.
    let mut bytes = [0; 36];
    if text.len() > 44 {
        return None;
    }
    let length = STANDARD.decode_slice(text, &mut bytes).ok()?;
    bytes[..length].try_into().ok()
}
