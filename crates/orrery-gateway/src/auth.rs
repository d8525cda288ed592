//! Who sends a request: signatures by the account's keys, and resource tokens
//! (protocol: section 2).

mod emulator_token;
mod keys;
mod resource_token;
mod token_header;

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use orrery_model::rid::ResourceId;

use emulator_token::EmulatorToken;
pub use keys::{EMULATOR_KEY, InvalidKey, Key, Keys};

pub use resource_token::ResourceToken;
pub use token_header::{TokenHeader, TokenKind};

use crate::request::http_date;
use crate::respond::names;

/// A signature is good for this long after its date (protocol: section 2.3).
const SIGNATURE_LIFE: Duration = Duration::from_secs(15 * 60);
/// How far the clocks of client and server may differ.
const CLOCK_SKEW: Duration = Duration::from_secs(5 * 60);

/// What the sender proved to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// Holder of a primary or secondary key (or the account asks for no proof).
    Owner,
    /// Holder of a read-only key.
    Reader,
    /// Bearer of a resource token; what it allows says its permission.
    Bearer(ResourceId),
}

/// Why a request is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AuthFailure {
    /// There is no authorization header.
    Missing,
    /// The header is not `type=…&ver=…&sig=…`.
    Malformed,
    /// A kind of token that this account does not accept.
    Unsupported,
    /// A resource token that this account did not give out.
    UnknownToken,
    /// Neither `x-ms-date` nor `Date` holds a date.
    Date,
    /// No key of the account gives this signature; the payload that was expected.
    Mismatch(String),
    /// Signed too long ago, or in the future.
    NotCurrent {
        /// The date that was signed.
        start: SystemTime,
        /// When the signature ends.
        expiry: SystemTime,
        /// The server's time.
        now: SystemTime,
    },
}

/// What a signature covers besides the date.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// HTTP method, lower case.
    pub verb: &'a str,
    /// Resource type, lower case, `""` for the account.
    pub resource_type: &'a str,
    /// Link of the resource, or of the owner of a feed.
    pub link: &'a str,
}

/// Checks the proof that a request carries.
#[derive(Debug)]
pub struct Authenticator {
    keys: Keys,
    no_auth: bool,
}

impl Authenticator {
    /// Accepts these keys; with `no_auth` every request is the owner's.
    pub fn new(keys: Keys, no_auth: bool) -> Self {
        Self { keys, no_auth }
    }

    /// Who sends this, if `signed` is what they signed.
    pub fn identify(
        &self,
        headers: &HeaderMap,
        signed: Signed<'_>,
        now: SystemTime,
    ) -> Result<Identity, AuthFailure> {
        if self.no_auth {
            return Ok(Identity::Owner);
        }
        let header = headers
            .get(http::header::AUTHORIZATION)
            .ok_or(AuthFailure::Missing)?;
        let (mut usual, mut long) = ([0; token_header::USUAL_LENGTH], Vec::new());
        let header = TokenHeader::decode(header.as_bytes(), &mut usual, &mut long)
            .ok_or(AuthFailure::Malformed)?;
        match header {
            TokenHeader {
                kind: TokenKind::Master,
                signature,
            } => self.check_signature(headers, signed, signature, now),
            TokenHeader {
                kind: TokenKind::Resource,
                signature,
            } => self.check_token(signature, now),
            TokenHeader {
                kind: TokenKind::Directory,
                signature,
            } => self.check_directory_token(signature, now),
            TokenHeader {
                kind: TokenKind::Other,
                ..
            } => Err(AuthFailure::Unsupported),
        }
    }

    fn check_token(&self, signature: &str, now: SystemTime) -> Result<Identity, AuthFailure> {
        let token = ResourceToken::open(signature, &self.keys.primary)?;
        check_life(token.issued, token.expiry, now)?;
        Ok(Identity::Bearer(token.permission))
    }

    fn check_directory_token(&self, jwt: &str, now: SystemTime) -> Result<Identity, AuthFailure> {
        let token = EmulatorToken::open(jwt, &self.keys)?;
        check_life(token.start, token.expiry, now)?;
        Ok(if token.is_owner {
            Identity::Owner
        } else {
            Identity::Reader
        })
    }

    /// A token for a permission, good from `now` for this long.
    pub fn mint(&self, permission: ResourceId, now: SystemTime, life: Duration) -> String {
        let issued = now
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let token = ResourceToken {
            permission,
            issued: issued.as_secs(),
            expiry: (issued + life).as_secs(),
        };
        token.mint(&self.keys.primary)
    }

    fn check_signature(
        &self,
        headers: &HeaderMap,
        signed: Signed<'_>,
        signature: &str,
        now: SystemTime,
    ) -> Result<Identity, AuthFailure> {
        // The date is signed as `x-ms-date`, or else as `Date`, never both.
        let by_service = headers.get(names::DATE);
        let date = by_service
            .or_else(|| headers.get(http::header::DATE))
            .and_then(|value| value.to_str().ok())
            .ok_or(AuthFailure::Date)?;
        let start = http_date::parse(date).ok_or(AuthFailure::Date)?;
        let dates = if by_service.is_some() {
            (date, "")
        } else {
            ("", date)
        };
        let identity = keys::decode_signature(signature)
            .and_then(|signature| self.keys.who_signed(&signed, dates, &signature))
            .ok_or_else(|| AuthFailure::Mismatch(payload(&signed, dates)))?;
        let expiry = start + SIGNATURE_LIFE;
        if start > now + CLOCK_SKEW || expiry + CLOCK_SKEW < now {
            return Err(AuthFailure::NotCurrent { start, expiry, now });
        }
        Ok(identity)
    }
}

/// Refuses a token outside of its life.
fn check_life(start: u64, expiry: u64, now: SystemTime) -> Result<(), AuthFailure> {
    let at = |second| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(second));
    let (Some(start), Some(expiry)) = (at(start), at(expiry)) else {
        return Err(AuthFailure::Malformed);
    };
    if start > now + CLOCK_SKEW || expiry < now {
        return Err(AuthFailure::NotCurrent { start, expiry, now });
    }
    Ok(())
}

/// The signed text (protocol: section 2.1), for the message of a mismatch.
fn payload(signed: &Signed<'_>, (date, legacy_date): (&str, &str)) -> String {
    let Signed {
        verb,
        resource_type,
        link,
    } = signed;
    let (date, legacy_date) = (date.to_ascii_lowercase(), legacy_date.to_ascii_lowercase());
    format!("{verb}\n{resource_type}\n{link}\n{date}\n{legacy_date}\n")
}
