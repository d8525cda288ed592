//! Resource tokens: `type=resource&ver=1&sig=<proof>;<claim>;`.
//!
//! The claim names a permission and an end, the proof is the claim's HMAC by the
//! account's primary key. Nothing is kept: what a token allows is read from its
//! permission at each use, so that deleting the permission or changing the key ends it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orrery_model::rid::ResourceId;
use subtle::ConstantTimeEq;

use super::{AuthFailure, Key};

/// Sets the claims of tokens apart from everything else that the key signs.
const PURPOSE: &[u8] = b"resource token 1\n";

/// A permission, from one second to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceToken {
    /// The permission.
    pub permission: ResourceId,
    /// Second of its making.
    pub issued: u64,
    /// Second of its end.
    pub expiry: u64,
}

impl ResourceToken {
    /// The token's text.
    pub fn mint(self, key: &Key) -> String {
        let claim = URL_SAFE_NO_PAD.encode(format!(
            "{} {} {}",
            self.issued, self.expiry, self.permission
        ));
        let proof = URL_SAFE_NO_PAD.encode(key.authenticate(&[PURPOSE, claim.as_bytes()]));
        format!("type=resource&ver=1&sig={proof};{claim};")
    }

    /// Reads the `sig` of a token, if it is one of ours.
    pub fn open(signature: &str, key: &Key) -> Result<Self, AuthFailure> {
        Self::try_open(signature, key).ok_or(AuthFailure::UnknownToken)
    }

    fn try_open(signature: &str, key: &Key) -> Option<Self> {
        let (proof, rest) = signature.split_once(';')?;
        let claim = rest.strip_suffix(';').unwrap_or(rest);
        let proof = URL_SAFE_NO_PAD.decode(proof).ok()?;
        let expected = key.authenticate(&[PURPOSE, claim.as_bytes()]);
        if !bool::from(expected.ct_eq(proof.as_slice())) {
            return None;
        }
        let claim = String::from_utf8(URL_SAFE_NO_PAD.decode(claim).ok()?).ok()?;
        let (issued, rest) = claim.split_once(' ')?;
        let (expiry, permission) = rest.split_once(' ')?;
        Some(Self {
            permission: ResourceId::parse(permission).ok()?,
            issued: issued.parse().ok()?,
            expiry: expiry.parse().ok()?,
        })
    }
}
