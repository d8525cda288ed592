//! Which account a command works on: a server's, or the one in a data folder.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use orrery_engine::Engine;
use orrery_storage::Durability;

use crate::client::account::Account;
use crate::client::{Endpoint, PUBLISHED_KEY, Trust};
use crate::config::DEFAULT_DATA;
use crate::data_folder::{self, Opened};
use crate::instance::Instance;

/// Options that name the account.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Data folder; when a server holds it, the command asks that server.
    #[arg(long, default_value = DEFAULT_DATA, value_name = "DIR", conflicts_with = "endpoint")]
    data: PathBuf,
    /// Server to ask instead of a data folder.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Master key of --endpoint; the published emulator key by default.
    #[arg(long, value_name = "BASE64", requires = "endpoint")]
    key: Option<String>,
    /// Authority of the certificate of an https --endpoint, as PEM.
    #[arg(long, value_name = "FILE", requires = "endpoint")]
    certificate: Option<PathBuf>,
    /// Accept any certificate of an https --endpoint; those of this machine are accepted anyway.
    #[arg(long, requires = "endpoint", conflicts_with = "certificate")]
    insecure: bool,
}

/// An account to work on.
pub enum Target {
    /// Somebody else's server.
    Server(Endpoint),
    /// A folder that this process has opened. It serves itself on a loopback port, so that every
    /// command has one way of asking, whoever holds the folder.
    Folder(Instance),
}

impl TargetArgs {
    /// Opens the account; `create` allows a data folder that does not exist yet.
    pub fn open(&self, create: bool) -> Result<Target> {
        if let Some(endpoint) = &self.endpoint {
            let key = self.key.as_deref().unwrap_or(PUBLISHED_KEY);
            let mut endpoint = Endpoint::parse(endpoint, Some(key))?;
            if let Some(trust) = &mut endpoint.trust {
                if let Some(file) = &self.certificate {
                    let pem = std::fs::read(file)
                        .with_context(|| format!("cannot read {}", file.display()))?;
                    *trust = Trust::Authority(pem);
                } else if self.insecure {
                    *trust = Trust::Anything;
                }
            }
            return Ok(Target::Server(endpoint));
        }
        if !create && !self.data.is_dir() {
            bail!(
                "there is no data folder {}; name another with --data, or a server with --endpoint http://127.0.0.1:8081",
                self.data.display()
            );
        }
        match data_folder::open_or_find(&self.data, Durability::Strict)? {
            Opened::Served(endpoint) => Ok(Target::Server(endpoint)),
            Opened::Ours(store) => Ok(Target::Folder(Instance::private(store)?)),
        }
    }
}

impl Target {
    /// The account over HTTP.
    pub fn account(&self) -> Account {
        match self {
            Self::Server(endpoint) => Account::new(endpoint.clone()),
            Self::Folder(instance) => Account::new(instance.endpoint().clone()),
        }
    }

    /// The engine, when it is ours.
    pub fn engine(&self) -> Option<Engine> {
        match self {
            Self::Server(_) => None,
            Self::Folder(instance) => Some(instance.engine()),
        }
    }

    /// Ends the work; a folder of ours is synced and closed.
    pub fn close(self) -> Result<()> {
        match self {
            Self::Server(_) => Ok(()),
            Self::Folder(instance) => instance.stop(),
        }
    }
}
