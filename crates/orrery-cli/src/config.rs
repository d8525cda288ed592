//! What `serve` does: flags first, then the environment names that container images and test
//! tools set (design: section 9), then defaults. A pure function of both, so it is tested
//! without touching the process's environment.

use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use log::LevelFilter;

use crate::serve::ServeArgs;

/// The environment names that are read.
const PORT: &str = "PORT";
const PROTOCOL: &str = "PROTOCOL";
const KEY_FILE: &str = "KEY_FILE";
const DATA_PATH: &str = "DATA_PATH";
const LOG_LEVEL: &str = "LOG_LEVEL";
const PUBLIC_ENDPOINT: &str = "GATEWAY_PUBLIC_ENDPOINT";
const ENABLE_EXPLORER: &str = "ENABLE_EXPLORER";
const PERSISTENCE: &str = "AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE";
const ADDRESS_OVERRIDE: &str = "AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE";

/// Where items are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a folder.
    Folder(PathBuf),
    /// Nowhere: gone when the server ends.
    Memory,
}

/// The health port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthPort {
    /// Not asked for: fine if it is taken.
    Optional(u16),
    /// Asked for: an error if it is taken.
    Wanted(u16),
}

/// All that `serve` needs to know.
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// Address to listen on.
    pub host: IpAddr,
    /// Port to listen on; 0 lets the system choose.
    pub port: u16,
    /// Scheme of the endpoint that is printed; the port speaks both.
    pub scheme: &'static str,
    /// Where items are kept.
    pub place: Place,
    /// The master key's text.
    pub key: String,
    /// Where the health probes answer.
    pub health: HealthPort,
    /// The endpoint that the account document shows, when it is not the one that clients use.
    pub public_endpoint: Option<String>,
    /// Whether the explorer's paths answer.
    pub explorer: bool,
    /// What the log shows.
    pub log_level: LevelFilter,
}

impl ServeConfig {
    /// Merges flags and environment.
    pub fn new(args: &ServeArgs, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        // An empty variable is how compose files say "not set".
        let lookup = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
        let port = match args.port {
            Some(port) => port,
            None => lookup(PORT).map_or(Ok(8081), |text| number(PORT, &text))?,
        };
        let scheme = match lookup(PROTOCOL).as_deref() {
            None | Some("http") => "http",
            Some("https" | "https-insecure") => "https",
            Some(other) => {
                bail!("{PROTOCOL} is `{other}`; there are http, https and https-insecure")
            }
        };
        let persistent = lookup(PERSISTENCE).map_or(Ok(true), |text| truth(PERSISTENCE, &text))?;
        let place = match (&args.data, args.in_memory) {
            (_, true) => Place::Memory,
            (Some(folder), false) => Place::Folder(folder.clone()),
            (None, false) if !persistent => Place::Memory,
            (None, false) => Place::Folder(
                lookup(DATA_PATH).map_or_else(|| PathBuf::from(DEFAULT_DATA), PathBuf::from),
            ),
        };
        let public_endpoint = lookup(PUBLIC_ENDPOINT).or_else(|| lookup(ADDRESS_OVERRIDE));
        Ok(Self {
            host: args.host,
            port,
            scheme,
            place,
            key: key(args, lookup(KEY_FILE))?,
            health: args
                .health_port
                .map_or(HealthPort::Optional(8080), HealthPort::Wanted),
            public_endpoint: public_endpoint.map(|text| public_url(&text, scheme, port)),
            explorer: lookup(ENABLE_EXPLORER)
                .map_or(Ok(true), |text| truth(ENABLE_EXPLORER, &text))?,
            log_level: match (args.log_level, lookup(LOG_LEVEL)) {
                (Some(level), _) => level,
                (None, Some(text)) => level(&text)?,
                (None, None) => LevelFilter::Warn,
            },
        })
    }
}

/// The data folder of all commands unless told otherwise.
pub const DEFAULT_DATA: &str = "./orrery-data";

fn key(args: &ServeArgs, key_file: Option<String>) -> Result<String> {
    let file = args
        .key_file
        .clone()
        .or_else(|| key_file.map(PathBuf::from));
    match (&args.key, file) {
        (Some(key), _) => Ok(key.clone()),
        (None, Some(file)) => {
            let text = std::fs::read_to_string(&file).with_context(|| {
                format!(
                    "the key file {} cannot be read; it must hold the base64 key on one line",
                    file.display()
                )
            })?;
            Ok(text.trim().to_owned())
        }
        (None, None) => Ok(crate::client::PUBLISHED_KEY.to_owned()),
    }
}

/// Reads a log level as container tools name them.
pub fn level(text: &str) -> Result<LevelFilter> {
    match text.to_ascii_lowercase().as_str() {
        "quiet" | "off" | "none" => Ok(LevelFilter::Off),
        "error" => Ok(LevelFilter::Error),
        "warn" | "warning" => Ok(LevelFilter::Warn),
        "info" => Ok(LevelFilter::Info),
        "debug" => Ok(LevelFilter::Debug),
        "trace" => Ok(LevelFilter::Trace),
        other => {
            bail!("`{other}` is no log level; there are quiet, error, warn, info, debug, trace")
        }
    }
}

/// A bare host becomes an endpoint with the server's scheme and port.
fn public_url(text: &str, scheme: &str, port: u16) -> String {
    if text.contains("://") {
        return text.to_owned();
    }
    let has_port = text
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port {
        format!("{scheme}://{text}/")
    } else {
        format!("{scheme}://{text}:{port}/")
    }
}

fn number(name: &str, text: &str) -> Result<u16> {
    text.trim()
        .parse()
        .ok()
        .with_context(|| format!("{name} is `{text}`, which is no port"))
}

fn truth(name: &str, text: &str) -> Result<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => bail!("{name} is `{text}`; write true or false"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        args: ServeArgs,
    }

    fn config(flags: &[&str], environment: &[(&str, &str)]) -> Result<ServeConfig> {
        let line = Line::parse_from(["serve"].iter().chain(flags));
        let lookup = |name: &str| {
            environment
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        ServeConfig::new(&line.args, &lookup)
    }

    #[test]
    fn flags_win_over_the_environment_and_the_environment_over_defaults() {
        let plain = config(&[], &[]).unwrap();
        assert_eq!(
            (plain.port, plain.scheme, plain.health),
            (8081, "http", HealthPort::Optional(8080))
        );
        assert_eq!(plain.place, Place::Folder(PathBuf::from(DEFAULT_DATA)));
        assert_eq!(plain.key, crate::client::PUBLISHED_KEY);
        let set = [
            ("PORT", "9000"),
            ("DATA_PATH", "/d"),
            ("PROTOCOL", "https"),
            ("LOG_LEVEL", "debug"),
        ];
        let from_environment = config(&[], &set).unwrap();
        assert_eq!(
            (from_environment.port, from_environment.scheme),
            (9000, "https")
        );
        assert_eq!(from_environment.place, Place::Folder(PathBuf::from("/d")));
        assert_eq!(from_environment.log_level, LevelFilter::Debug);
        let flags = config(&["--port", "0", "--data", "x", "--health-port", "1"], &set).unwrap();
        assert_eq!((flags.port, flags.health), (0, HealthPort::Wanted(1)));
        assert_eq!(flags.place, Place::Folder(PathBuf::from("x")));
    }

    #[test]
    fn emulator_names_are_understood() {
        let memory = config(&[], &[(PERSISTENCE, "false")]).unwrap();
        assert_eq!(memory.place, Place::Memory);
        let public = config(&[], &[(ADDRESS_OVERRIDE, "10.0.0.5")]).unwrap();
        assert_eq!(public.public_endpoint.unwrap(), "http://10.0.0.5:8081/");
        let named = config(&[], &[(PUBLIC_ENDPOINT, "cosmos:443"), (PROTOCOL, "https")]).unwrap();
        assert_eq!(named.public_endpoint.unwrap(), "https://cosmos:443/");
        assert!(config(&[], &[(PORT, "")]).is_ok());
    }

    #[test]
    fn mistakes_name_the_variable() {
        for (name, value) in [
            (PORT, "x"),
            (PROTOCOL, "ftp"),
            (PERSISTENCE, "maybe"),
            (LOG_LEVEL, "loud"),
        ] {
            let error = config(&[], &[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(value), "{error}");
        }
        assert!(
            config(&["--key-file", "/nowhere/key"], &[])
                .unwrap_err()
                .to_string()
                .contains("/nowhere/key")
        );
    }
}
