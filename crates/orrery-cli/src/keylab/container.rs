//! A running container as data: a sample of its items, read without haste and within a budget.
//!
//! Our own client reads it, from an OrreryDB server or an account of the service alike: the official
//! SDK would bring a second HTTP stack and runtime into the binary for two requests of the protocol.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use orrery_keylab::iac::Declared;
use orrery_model::json;

use crate::client::account::{Account, ContainerInfo, ContainerName};
use crate::client::{Endpoint, PUBLISHED_KEY, Trust};
use crate::import::json_array::elements;
use crate::report::{self, SYSTEM_PROPERTIES};

/// The member that tells when an item was written last: it stays, as the order of arrival.
const TIME: &str = "_ts";

/// Which account.
#[derive(Debug, Args)]
pub struct AccountArgs {
    /// A server with the published key of emulators, such as http://127.0.0.1:8081.
    #[arg(long, value_name = "URL", conflicts_with = "connection_string")]
    pub endpoint: Option<String>,
    /// An account, as its portal prints it: AccountEndpoint=…;AccountKey=…
    #[arg(long, value_name = "TEXT")]
    pub connection_string: Option<String>,
    /// Authorities to trust for an https endpoint beyond this machine, as PEM: the system's bundle.
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<PathBuf>,
}

/// A container to sample.
#[derive(Debug, Args)]
pub struct SampleArgs {
    #[command(flatten)]
    pub account: AccountArgs,
    /// Request units that the sample may cost.
    #[arg(long, value_name = "RU", default_value_t = 10_000.0)]
    pub sample_ru: f64,
    /// Request units a second that reading it may take.
    #[arg(long, value_name = "RU/S", default_value_t = 400.0)]
    pub sample_rate: f64,
}

/// What was read.
pub struct Sampled {
    /// Items as JSON text.
    pub items: Vec<Vec<u8>>,
    /// How much was read, for people.
    pub note: String,
}

impl AccountArgs {
    /// Whether one is named.
    pub fn is_given(&self) -> bool {
        self.endpoint.is_some() || self.connection_string.is_some()
    }

    fn open(&self) -> Result<Account> {
        let mut endpoint = match (&self.connection_string, &self.endpoint) {
            (Some(text), _) => of_connection_string(text)?,
            (None, Some(url)) => Endpoint::parse(url, Some(PUBLISHED_KEY))?,
            (None, None) => bail!("--endpoint is missing"),
        };
        if let (Some(trust), Some(file)) = (&mut endpoint.trust, &self.certificate) {
            let pem =
                std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            *trust = Trust::Authority(pem);
        }
        Ok(Account::new(endpoint))
    }

    /// The key of a container, as infrastructure code would declare it.
    pub fn declared(&self, container: &str) -> Result<Declared> {
        let name = name(container)?;
        let info = self.open()?.open_container(&name, None)?;
        Ok(declared(container, &info))
    }
}

fn name(container: &str) -> Result<ContainerName> {
    container
        .parse::<ContainerName>()
        .map_err(|error| anyhow::anyhow!("--in {container}: {error}"))
}

fn declared(container: &str, info: &ContainerInfo) -> Declared {
    let definition = info.spec.partition_key.to_value();
    let member = |name: &str| definition.as_object().and_then(|object| object.get(name));
    Declared {
        name: container.rsplit('/').next().unwrap_or(container).to_owned(),
        line: 0,
        paths: info.spec.partition_key.paths().to_vec(),
        kind: member("kind")
            .and_then(|kind| kind.as_str())
            .unwrap_or("Hash")
            .to_owned(),
        version: member("version")
            .and_then(orrery_model::value::Value::as_f64)
            .map(|version| version as u8),
    }
}

/// `AccountEndpoint=https://…:443/;AccountKey=…;`
fn of_connection_string(text: &str) -> Result<Endpoint> {
    let part = |wanted: &str| {
        text.split(';').find_map(|part| {
            let (name, value) = part.split_once('=')?;
            name.trim()
                .eq_ignore_ascii_case(wanted)
                .then_some(value.trim())
        })
    };
    let (Some(endpoint), Some(key)) = (part("AccountEndpoint"), part("AccountKey")) else {
        bail!("a connection string has AccountEndpoint=…;AccountKey=…");
    };
    let mut endpoint = Endpoint::parse(endpoint, Some(key))?;
    if !text.contains(&format!(":{}", endpoint.port)) && endpoint.trust.is_some() {
        endpoint.port = 443;
    }
    Ok(endpoint)
}

impl SampleArgs {
    /// Reads the sample: the same budget for each range, its oldest items first.
    pub fn read(&self, container: Option<&str>) -> Result<Sampled> {
        let container = container.context("name the container with --in DATABASE/CONTAINER")?;
        for (option, value) in [
            ("--sample-ru", self.sample_ru),
            ("--sample-rate", self.sample_rate),
        ] {
            if !value.is_finite() || value <= 0.0 {
                bail!("{option} must be more than nothing");
            }
        }
        let name = name(container)?;
        let mut account = self.account.open()?;
        let info = account.open_container(&name, None)?;
        let budget = self.sample_ru / info.ranges.len().max(1) as f64;
        let (mut items, mut charge, mut whole) = (Vec::new(), 0.0, true);
        for range in &info.ranges {
            let (mut spent, mut continuation) = (0.0, None);
            loop {
                let page = account.feed_page(&name, &range.id, continuation.as_deref())?;
                spent += page.charge;
                let rows = json::member_slice(&page.body, "Documents")
                    .context("a page without Documents")?;
                for row in elements(rows) {
                    items.push(without_system(row)?);
                }
                // Others use the container too: no more of it than was granted.
                std::thread::sleep(Duration::from_secs_f64(page.charge / self.sample_rate));
                continuation = page.continuation;
                if continuation.is_none() {
                    break;
                }
                if spent >= budget {
                    whole = false;
                    break;
                }
            }
            charge += spent;
        }
        if items.is_empty() {
            bail!("{container} holds no items");
        }
        let extent = if whole {
            "all of them"
        } else {
            "the oldest of each range"
        };
        let note = format!(
            "{} of {container}, {extent}, from {} for {charge:.0} RU",
            report::plural(items.len() as u64, "item"),
            report::plural(info.ranges.len() as u64, "range"),
        );
        Ok(Sampled { items, note })
    }
}

fn without_system(row: &[u8]) -> Result<Vec<u8>> {
    let mut item = json::parse(row)?;
    if let Some(object) = item.as_object_mut() {
        for name in SYSTEM_PROPERTIES.iter().filter(|name| **name != TIME) {
            object.remove(name);
        }
    }
    Ok(json::to_string(&item).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_strings_are_read() {
        let key = "d3JvbmcgYnV0IGxvbmcgZW5vdWdoIHRvIGJlIGEga2V5";
        let text =
            format!("AccountEndpoint=https://shop.documents.azure.com:443/;AccountKey={key};");
        let endpoint = of_connection_string(&text).expect("the test's string is whole");
        assert_eq!(
            (endpoint.host.as_str(), endpoint.port),
            ("shop.documents.azure.com", 443)
        );
        let text = format!("accountkey={key};accountendpoint=https://shop.documents.azure.com/");
        assert_eq!(
            of_connection_string(&text)
                .expect("the test's string is whole")
                .port,
            443
        );
        assert!(of_connection_string("AccountEndpoint=https://x/").is_err());
    }

    #[test]
    fn items_keep_their_time() {
        let row = br#"{"id":"a","_rid":"x","_ts":17,"_etag":"e","_self":"s","_attachments":"a"}"#;
        assert_eq!(
            without_system(row).expect("the test's row is an object"),
            br#"{"id":"a","_ts":17}"#
        );
    }
}
