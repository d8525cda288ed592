//! Hashes in the place of values that must not leave the machine: equal values have equal hashes
//! within one trace, and nobody who has only the trace can try values out, for the secret of the
//! hash is not written anywhere.

use hmac::{Hmac, KeyInit as _, Mac as _};
use orrery_engine::Entropy as _;
use sha2::Sha256;

use crate::ambient::SystemEntropy;

/// Hashes values with a secret of its own.
pub struct KeyHasher(Hmac<Sha256>);

impl KeyHasher {
    /// A hasher with a secret that is gone with it.
    pub fn random() -> Self {
        let mut secret = [0; 32];
        SystemEntropy.fill(&mut secret);
        Self(Hmac::new_from_slice(&secret).expect("HMAC takes keys of any length"))
    }

    /// The hash of a value: `#` and 16 hexadecimal digits.
    pub fn hash(&self, value: &[u8]) -> String {
        let mut mac = self.0.clone();
        mac.update(value);
        let digest = mac.finalize().into_bytes();
        let digits = digest[..8].iter().map(|byte| format!("{byte:02x}"));
        std::iter::once("#".to_owned()).chain(digits).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::KeyHasher;

    #[test]
    fn equal_values_have_equal_hashes_in_one_trace_only() {
        let (one, other) = (KeyHasher::random(), KeyHasher::random());
        assert_eq!(one.hash(b"ada"), one.hash(b"ada"));
        assert_ne!(one.hash(b"ada"), one.hash(b"bob"));
        assert_ne!(one.hash(b"ada"), other.hash(b"ada"));
        assert_eq!(one.hash(b"").len(), 17);
    }
}
