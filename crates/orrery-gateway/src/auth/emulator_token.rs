//! Directory tokens as the service's emulator takes them.
//!
//! There is no directory to ask, so the emulator's clients put the account key (its text, in
//! base64) where a JWT has its signature. Whoever can do that could sign requests as well;
//! all other directory tokens are refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orrery_model::json;

use super::{AuthFailure, Identity, Key, Keys};

/// What a token says, once its key is known to be one of the account's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EmulatorToken {
    /// Whose key it holds.
    pub(super) is_owner: bool,
    /// Second of its start.
    pub(super) start: u64,
    /// Second of its end.
    pub(super) expiry: u64,
}

impl EmulatorToken {
    /// Takes a JWT apart; `Unsupported` unless it holds a key of the account.
    pub(super) fn open(jwt: &str, keys: &Keys) -> Result<Self, AuthFailure> {
        Self::try_open(jwt, keys).ok_or(AuthFailure::Unsupported)
    }

    fn try_open(jwt: &str, keys: &Keys) -> Option<Self> {
        let mut parts = jwt.split('.');
        let (_, claims, key) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).ok();
        let key: Key = String::from_utf8(decode(key)?).ok()?.parse().ok()?;
        let identity = keys.who_holds(&key)?;
        let claims = decode(claims)?;
        let claims = json::parse(&claims).ok()?;
        let second = |name: &str| {
            claims
                .member(name)
                .as_f64()
                .filter(|second| *second >= 0.0)
                .map(|second| second as u64)
        };
        Some(Self {
            is_owner: identity == Identity::Owner,
            start: second("nbf").or_else(|| second("iat"))?,
            expiry: second("exp")?,
        })
    }
}
