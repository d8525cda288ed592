//! The certificate of a first start: made once, kept in a folder, reloaded later.
//!
//! A throw-away authority signs one server certificate, and its private key is
//! dropped at once. So clients may trust the authority (strict TLS stacks refuse a
//! self-signed end-entity certificate as an anchor) and nobody can sign another
//! certificate with it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Apple's TLS stack refuses server certificates that live longer than 825 days.
const LIFE: Duration = Duration::from_secs(800 * 86_400);
/// A certificate is replaced when less than this is left.
const RENEWAL: Duration = Duration::from_secs(30 * 86_400);
/// Clients whose clock is behind must accept it too.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(86_400);
const CHAIN_FILE: &str = "certificate.pem";
const KEY_FILE: &str = "certificate.key";

/// A server certificate, its key, and the authority that clients may trust.
#[derive(Clone)]
pub struct Certificate {
    chain_pem: String,
    key_pem: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").finish_non_exhaustive()
    }
}

/// Why there is no usable certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// It could not be generated.
    #[error("cannot generate a certificate: {0}")]
    Generate(#[from] rcgen::Error),
    /// It could not be read from or written to its folder.
    #[error("cannot keep the certificate in {path}: {source}")]
    File {
        /// The file concerned.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// What was handed in or found is not a certificate with its key.
    #[error("the certificate or its key cannot be used: {0}")]
    Unusable(String),
}

impl Certificate {
    /// The certificate kept in `folder`, or a new one for localhost, the loopback
    /// addresses and `extra_names`, which is then kept there.
    pub fn load_or_create(
        folder: &Path,
        extra_names: &[String],
        now: SystemTime,
    ) -> Result<Self, CertificateError> {
        let names = all_names(extra_names);
        if let Some(kept) = Self::load(folder)?
            && kept.serves(&names, now)
        {
            return Ok(kept);
        }
        let fresh = Self::create(&names, now)?;
        fresh.save(folder)?;
        Ok(fresh)
    }

    /// A new certificate that is kept nowhere.
    pub fn ephemeral(extra_names: &[String], now: SystemTime) -> Result<Self, CertificateError> {
        Self::create(&all_names(extra_names), now)
    }

    /// A certificate chain (server certificate first) and key that the user brings.
    pub fn from_pem(chain_pem: String, key_pem: String) -> Result<Self, CertificateError> {
        let certificate = Self { chain_pem, key_pem };
        certificate.server_config()?;
        Ok(certificate)
    }

    /// What a client has to trust, as PEM: the last certificate of the chain.
    pub fn authority_pem(&self) -> &str {
        let start = self
            .chain_pem
            .rfind("-----BEGIN CERTIFICATE-----")
            .unwrap_or(0);
        &self.chain_pem[start..]
    }

    /// The TLS set-up: HTTP/2 preferred, HTTP/1.1 otherwise.
    pub(super) fn server_config(&self) -> Result<rustls::ServerConfig, CertificateError> {
        let unusable = |what: &dyn std::fmt::Display| CertificateError::Unusable(what.to_string());
        let chain = CertificateDer::pem_slice_iter(self.chain_pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unusable(&error))?;
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes())
            .map_err(|error| unusable(&error))?;
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| unusable(&error))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|error| unusable(&error))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }

    fn load(folder: &Path) -> Result<Option<Self>, CertificateError> {
        let read = |name: &str| {
            let path = folder.join(name);
            match std::fs::read_to_string(&path) {
                Ok(text) => Ok(Some(text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(source) => Err(CertificateError::File { path, source }),
            }
        };
        let (Some(chain_pem), Some(key_pem)) = (read(CHAIN_FILE)?, read(KEY_FILE)?) else {
            return Ok(None);
        };
        // A damaged file is replaced, not a reason to refuse to start.
        Ok(Self::from_pem(chain_pem, key_pem).ok())
    }

    fn save(&self, folder: &Path) -> Result<(), CertificateError> {
        let failed = |path: &Path, source| CertificateError::File {
            path: path.to_owned(),
            source,
        };
        std::fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
        let key = folder.join(KEY_FILE);
        write_private(&key, &self.key_pem).map_err(|source| failed(&key, source))?;
        let chain = folder.join(CHAIN_FILE);
        std::fs::write(&chain, &self.chain_pem).map_err(|source| failed(&chain, source))
    }

    /// Whether the note at the head of a kept chain covers these names and this time.
    fn serves(&self, names: &[String], now: SystemTime) -> bool {
        let note = |key: &str| {
            self.chain_pem
                .lines()
                .find_map(|line| line.strip_prefix(key))
        };
        let Some(expiry) = note("# expires ").and_then(|text| text.parse::<u64>().ok()) else {
            // Not made by us: the user put it there and knows.
            return true;
        };
        let fresh = UNIX_EPOCH
            .checked_add(Duration::from_secs(expiry))
            .is_some_and(|expiry| now + RENEWAL < expiry);
        let covered: Vec<&str> = note("# names ").unwrap_or_default().split(' ').collect();
        fresh && names.iter().all(|name| covered.contains(&name.as_str()))
    }

    fn create(names: &[String], now: SystemTime) -> Result<Self, CertificateError> {
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let instant = |offset: Duration| rcgen::date_time_ymd(1970, 1, 1) + offset;
        let expiry = since_epoch + LIFE;

        let mut authority = CertificateParams::default();
        authority
            .distinguished_name
            .push(DnType::CommonName, "OrreryDB local authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        authority.not_before = instant(since_epoch.saturating_sub(CLOCK_TOLERANCE));
        authority.not_after = instant(expiry);
        let authority_key = KeyPair::generate()?;
        let authority_certificate = authority.self_signed(&authority_key)?;
        let issuer = rcgen::Issuer::new(authority, authority_key);

        let mut server = CertificateParams::new(names.to_vec())?;
        server
            .distinguished_name
            .push(DnType::CommonName, "localhost");
        server.use_authority_key_identifier_extension = true;
        server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.not_before = instant(since_epoch.saturating_sub(CLOCK_TOLERANCE));
        server.not_after = instant(expiry);
        let server_key = KeyPair::generate()?;
        let server_certificate = server.signed_by(&server_key, &issuer)?;

        let chain_pem = format!(
            "# expires {}\n# names {}\n{}{}",
            expiry.as_secs(),
            names.join(" "),
            server_certificate.pem(),
            authority_certificate.pem(),
        );
        Ok(Self {
            chain_pem,
            key_pem: server_key.serialize_pem(),
        })
    }
}

fn all_names(extra_names: &[String]) -> Vec<String> {
    let mut names = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    for name in extra_names {
        let valid = name.parse::<IpAddr>().is_ok()
            || (!name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)));
        if valid && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
