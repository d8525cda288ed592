//! What the binary decides for the gateway.

use crate::auth::Keys;
use crate::regions::RegionPorts;
use crate::trace::Trace;

/// How an account is served. Sockets are configured by
/// [`ServerConfig`](crate::server::ServerConfig).
#[derive(Debug, Clone)]
pub struct GatewayConfig {
    /// The account's keys.
    pub keys: Keys,
    /// Accept requests without proof of identity.
    pub no_auth: bool,
    /// Name of the account where the request's host does not give one.
    pub account: String,
    /// Name of the only region, on an account for whose engine none is named.
    pub region: String,
    /// Where the regions of an account of several answer.
    pub region_ports: RegionPorts,
    /// Address that the account document shows instead of the one the client used,
    /// such as `https://cosmos.example:8081`.
    pub public_endpoint: Option<String>,
    /// Default consistency level that the account document shows.
    pub consistency: Consistency,
    /// What `/_explorer/emulator.pem` answers.
    pub authority_pem: Option<String>,
    /// Whether `/_explorer/` answers.
    pub explorer: bool,
    /// Who writes down the requests to items.
    pub trace: Trace,
    /// Refuse queries of ranges that are gone to every client, as the service does. Without it
    /// SDKs that lose their way then get an answer from the ranges that took over.
    pub strict_splits: bool,
}

impl GatewayConfig {
    /// An account with these keys and defaults for the rest.
    pub fn new(keys: Keys) -> Self {
        Self {
            keys,
            no_auth: false,
            account: "localhost".to_owned(),
            region: "Local".to_owned(),
            region_ports: RegionPorts::default(),
            public_endpoint: None,
            consistency: Consistency::Session,
            authority_pem: None,
            explorer: true,
            trace: Trace::default(),
            strict_splits: false,
        }
    }
}

/// Consistency levels, strongest first (protocol: section 13). One replica satisfies
/// all of them; SDKs behave by the level that the account document shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Consistency {
    /// Reads see every acknowledged write.
    Strong,
    /// Reads lag by a bound.
    BoundedStaleness,
    /// Reads see the session's own writes.
    Session,
    /// Reads see writes in order.
    ConsistentPrefix,
    /// Reads see writes in any order.
    Eventual,
}

impl Consistency {
    /// The level of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Strong,
            Self::BoundedStaleness,
            Self::Session,
            Self::ConsistentPrefix,
            Self::Eventual,
        ]
        .into_iter()
        .find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Strong => "Strong",
            Self::BoundedStaleness => "BoundedStaleness",
            Self::Session => "Session",
            Self::ConsistentPrefix => "ConsistentPrefix",
            Self::Eventual => "Eventual",
        }
    }
}
