//! The bytes under a connection: a socket, plain or with TLS, and an end of patience.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    StreamOwned,
};

/// Which certificates an https endpoint may show.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Any: this machine's own server, whose certificate nobody else vouches for, or what the user
    /// says.
    Anything,
    /// Those of this authority, as PEM text.
    Authority(Vec<u8>),
    /// None yet: the host is not this machine.
    Nothing,
}

impl Trust {
    /// What a host gets unless the user says more.
    pub fn of_host(host: &str) -> Self {
        let is_loopback = host == "localhost"
            || host
                .parse()
                .is_ok_and(|address: IpAddr| address.is_loopback());
        if is_loopback {
            Self::Anything
        } else {
            Self::Nothing
        }
    }

    fn config(&self) -> Result<ClientConfig> {
        let provider = Arc::new(crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        Ok(match self {
            Self::Nothing => bail!(
                "the server's certificate cannot be checked: give its authority with --certificate FILE, or --insecure to accept any"
            ),
            Self::Anything => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
                .with_no_client_auth(),
            Self::Authority(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in CertificateDer::pem_slice_iter(pem) {
                    roots.add(certificate.context("--certificate is not PEM")?)?;
                }
                if roots.is_empty() {
                    bail!("--certificate holds no certificate");
                }
                builder.with_root_certificates(roots).with_no_client_auth()
            }
        })
    }
}

/// Accepts every certificate; that the server has its key is still proved.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// An open connection. Single reads have their own time-outs, but a server that sends a byte now
/// and then would keep us for ever: nothing is read or written after `until`.
#[derive(Debug)]
pub(super) struct Wire {
    socket: Socket,
    pub(super) until: Instant,
}

#[derive(Debug)]
enum Socket {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Wire {
    /// Over a socket; with TLS when `trust` is given.
    pub(super) fn new(stream: TcpStream, host: &str, trust: Option<&Trust>) -> Result<Self> {
        let socket = match trust {
            None => Socket::Plain(stream),
            Some(trust) => {
                let name = ServerName::try_from(host.to_owned())
                    .with_context(|| format!("`{host}` cannot be in a certificate"))?;
                let connection = ClientConnection::new(Arc::new(trust.config()?), name)?;
                Socket::Tls(Box::new(StreamOwned::new(connection, stream)))
            }
        };
        Ok(Self {
            socket,
            until: Instant::now(),
        })
    }

    fn check(&self) -> io::Result<()> {
        if Instant::now() < self.until {
            return Ok(());
        }
        let message = "the server took too long";
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    }
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        match &mut self.socket {
            Socket::Plain(stream) => stream.read(buffer),
            Socket::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        match &mut self.socket {
            Socket::Plain(stream) => stream.write(bytes),
            Socket::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.socket {
            Socket::Plain(stream) => stream.flush(),
            Socket::Tls(stream) => stream.flush(),
        }
    }
}
