//! The master key's request signature (protocol: section 2.1).

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// A master key, decoded and ready to sign.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl std::fmt::Debug for Key {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Key(hidden)")
    }
}

impl Key {
    /// Reads a key as the portal, the SDKs and `orrery serve` print it: base64.
    pub fn parse(text: &str) -> Result<Self> {
        let bytes = STANDARD
            .decode(text.trim())
            .context("the key is not base64; copy it whole, including the = at its end")?;
        let mac = Hmac::new_from_slice(&bytes).context("the key cannot sign")?;
        Ok(Self(mac))
    }

    /// The value of the `authorization` header, already URL-encoded.
    pub fn authorization(&self, verb: &str, resource_type: &str, link: &str, date: &str) -> String {
        let mut mac = self.0.clone();
        for part in [
            &verb.to_ascii_lowercase(),
            resource_type,
            link,
            &date.to_ascii_lowercase(),
            "",
        ] {
            mac.update(part.as_bytes());
            mac.update(b"\n");
        }
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let mut text = String::with_capacity(96);
        text.push_str("type%3Dmaster%26ver%3D1.0%26sig%3D");
        for character in signature.chars() {
            match character {
                '+' => text.push_str("%2B"),
                '/' => text.push_str("%2F"),
                '=' => text.push_str("%3D"),
                other => text.push(other),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of the service's access control page: same key, verb, link and date.
    #[test]
    fn signs_as_the_documented_example() {
        let key = Key::parse(
            "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw==",
        )
        .unwrap();
        let header = key.authorization(
            "GET",
            "dbs",
            "dbs/ToDoList",
            "Thu, 27 Apr 2017 00:51:12 GMT",
        );
        assert_eq!(
            header,
            "type%3Dmaster%26ver%3D1.0%26sig%3Dc09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu%2Bc%2Bc%3D"
        );
    }

    #[test]
    fn a_key_that_is_not_base64_is_refused() {
        assert!(Key::parse("not base64!").is_err());
    }
}
