//! What the commands ask of an account: databases, containers, ranges, pages, bulk batches.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use orrery_model::container::ContainerSpec;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::partition_key::PartitionKey;
use serde_json::{Value as Json, json};

use super::{Connection, Endpoint, Request, Response, encode_segment};

/// The name of a container inside an account: `database/container`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerName {
    /// Database id.
    pub database: String,
    /// Container id.
    pub container: String,
}

impl std::str::FromStr for ContainerName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((database, container))
                if !database.is_empty() && !container.is_empty() && !container.contains('/') =>
            {
                Ok(Self {
                    database: database.to_owned(),
                    container: container.to_owned(),
                })
            }
            _ => Err("write DATABASE/CONTAINER, for example shop/orders".to_owned()),
        }
    }
}

impl std::fmt::Display for ContainerName {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.database, self.container)
    }
}

impl ContainerName {
    /// The link that signatures use.
    pub fn link(&self) -> String {
        format!("dbs/{}/colls/{}", self.database, self.container)
    }

    /// The path that requests use.
    pub fn path(&self) -> String {
        format!(
            "/dbs/{}/colls/{}",
            encode_segment(&self.database),
            encode_segment(&self.container)
        )
    }
}

/// A partition key range of a container.
#[derive(Debug, Clone)]
pub struct Range {
    /// Its id, as the range header wants it.
    pub id: String,
    /// First effective partition key.
    pub min: EffectivePartitionKey,
    /// First effective partition key beyond it.
    pub max: EffectivePartitionKey,
}

/// A container as the commands need it.
#[derive(Debug, Clone)]
pub struct ContainerInfo {
    /// Its definition.
    pub spec: ContainerSpec,
    /// Its ranges, in the order of their keys.
    pub ranges: Vec<Range>,
}

/// One page of items or rows.
#[derive(Debug)]
pub struct Page {
    /// The envelope, whole; the rows are its `Documents`.
    pub body: Vec<u8>,
    /// What it cost.
    pub charge: f64,
    /// Where the next page starts; `None` at the end.
    pub continuation: Option<String>,
}

/// What to do when a container does not exist; `None` in its place means that it has to exist, for
/// commands that only read.
#[derive(Debug, Clone, Default)]
pub struct Creation {
    /// Partition key paths; empty when the container must exist.
    pub partition_key: Vec<String>,
    /// Manual throughput.
    pub throughput: Option<u32>,
}

/// An account behind an endpoint.
#[derive(Debug)]
pub struct Account {
    endpoint: Arc<Endpoint>,
    connection: Connection,
}

impl Account {
    /// An account that is not connected yet.
    pub fn new(endpoint: Endpoint) -> Self {
        let endpoint = Arc::new(endpoint);
        Self {
            connection: Connection::new(Arc::clone(&endpoint)),
            endpoint,
        }
    }

    /// Another connection to the same account.
    pub fn another(&self) -> Self {
        Self {
            endpoint: Arc::clone(&self.endpoint),
            connection: Connection::new(Arc::clone(&self.endpoint)),
        }
    }

    /// A bare connection to the same account.
    pub fn connection(&self) -> Connection {
        Connection::new(Arc::clone(&self.endpoint))
    }

    /// Reads a container, creating it and its database first when `creation` says how.
    pub fn open_container(
        &mut self,
        name: &ContainerName,
        creation: Option<&Creation>,
    ) -> Result<ContainerInfo> {
        let body = match (self.read_container(name)?, creation) {
            (Some(body), creation) => {
                let wanted = creation.map_or(&[][..], |creation| &creation.partition_key);
                check_key_paths(name, &body, wanted)?;
                body
            }
            (None, None) => {
                bail!("container {name} does not exist; `orrery import` or an SDK makes one")
            }
            (None, Some(creation)) if creation.partition_key.is_empty() => bail!(
                "container {name} does not exist; to create it, say how it is partitioned: --partition-key /path"
            ),
            (None, Some(creation)) => {
                self.create_container(name, creation)?;
                self.read_container(name)?
                    .context("the container vanished after its creation")?
            }
        };
        let body = serde_json::to_vec(&body)?;
        let spec = ContainerSpec::parse(&json::parse(&body)?, &Limits::default())
            .map_err(|error| anyhow::anyhow!("container {name}: {error}"))?;
        let ranges = self.ranges(name)?;
        Ok(ContainerInfo { spec, ranges })
    }

    fn read_container(&mut self, name: &ContainerName) -> Result<Option<Json>> {
        let response = self.connection.send(&Request {
            verb: "GET",
            path: &name.path(),
            resource_type: "colls",
            link: &name.link(),
            headers: &[],
            body: b"",
        })?;
        match response.status {
            200 => Ok(Some(serde_json::from_slice(&response.body)?)),
            404 => Ok(None),
            _ => Err(refusal("reading the container", response)),
        }
    }

    fn create_container(&mut self, name: &ContainerName, creation: &Creation) -> Result<()> {
        let body = json!({ "id": name.database }).to_string();
        self.create("/dbs", "dbs", "", &[], body.as_bytes())
            .with_context(|| format!("creating database {}", name.database))?;
        let kind = if creation.partition_key.len() > 1 {
            "MultiHash"
        } else {
            "Hash"
        };
        let body = json!({
            "id": name.container,
            "partitionKey": { "paths": creation.partition_key, "kind": kind, "version": 2 },
        })
        .to_string();
        let throughput = creation.throughput.map(|number| number.to_string());
        let headers: Vec<(&str, &str)> = throughput
            .iter()
            .map(|text| ("x-ms-offer-throughput", text.as_str()))
            .collect();
        let path = format!("/dbs/{}/colls", encode_segment(&name.database));
        let link = format!("dbs/{}", name.database);
        self.create(&path, "colls", &link, &headers, body.as_bytes())
            .with_context(|| format!("creating container {name}"))
    }

    /// Creates a metadata resource; that it exists already is fine.
    fn create(
        &mut self,
        path: &str,
        resource_type: &'static str,
        link: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<()> {
        let request = Request {
            verb: "POST",
            path,
            resource_type,
            link,
            headers,
            body,
        };
        let response = self.connection.send(&request)?;
        match response.status {
            201 | 409 => Ok(()),
            _ => Err(refusal("creating", response)),
        }
    }

    /// The container's ranges, in the order of their keys.
    pub fn ranges(&mut self, name: &ContainerName) -> Result<Vec<Range>> {
        let response = self.connection.send(&Request {
            verb: "GET",
            path: &format!("{}/pkranges", name.path()),
            resource_type: "pkranges",
            link: &name.link(),
            headers: &[("x-ms-max-item-count", "-1")],
            body: b"",
        })?;
        if response.status != 200 {
            return Err(refusal("reading the partition key ranges", response));
        }
        let body: Json = serde_json::from_slice(&response.body)?;
        let text = |range: &Json, name: &str| -> Result<String> {
            let member = range.get(name).and_then(Json::as_str);
            Ok(member
                .with_context(|| format!("a partition key range has no {name}"))?
                .to_owned())
        };
        let mut ranges = Vec::new();
        for range in body["PartitionKeyRanges"].as_array().into_iter().flatten() {
            ranges.push(Range {
                id: text(range, "id")?,
                min: bound(&text(range, "minInclusive")?)?,
                max: bound(&text(range, "maxExclusive")?)?,
            });
        }
        ranges.sort_by(|a, b| a.min.cmp(&b.min));
        Ok(ranges)
    }

    /// A page of a container's items, of one range.
    pub fn feed_page(
        &mut self,
        name: &ContainerName,
        range: &str,
        continuation: Option<&str>,
    ) -> Result<Page> {
        let mut headers = vec![
            ("x-ms-documentdb-partitionkeyrangeid", range),
            ("x-ms-max-item-count", "1000"),
        ];
        headers.extend(continuation.map(|token| ("x-ms-continuation", token)));
        let response = self.connection.send(&Request {
            verb: "GET",
            path: &format!("{}/docs", name.path()),
            resource_type: "docs",
            link: &name.link(),
            headers: &headers,
            body: b"",
        })?;
        page("reading the items", response)
    }

    /// A page of a query's rows, of one range.
    pub fn query_page(
        &mut self,
        name: &ContainerName,
        query: &[u8],
        range: &str,
        continuation: Option<&str>,
    ) -> Result<Page> {
        let mut headers = vec![
            ("content-type", "application/query+json"),
            ("x-ms-documentdb-isquery", "True"),
            ("x-ms-documentdb-query-enablecrosspartition", "True"),
            ("x-ms-max-item-count", "1000"),
            ("x-ms-documentdb-partitionkeyrangeid", range),
        ];
        headers.extend(continuation.map(|token| ("x-ms-continuation", token)));
        let response = self.connection.send(&Request {
            verb: "POST",
            path: &format!("{}/docs", name.path()),
            resource_type: "docs",
            link: &name.link(),
            headers: &headers,
            body: query,
        })?;
        page("querying", response)
    }

    /// Whether there is an item of this id and key.
    pub fn has_item(&mut self, name: &ContainerName, id: &str, key: &PartitionKey) -> Result<bool> {
        let response = self.connection.send(&Request {
            verb: "GET",
            path: &format!("{}/docs/{}", name.path(), encode_segment(id)),
            resource_type: "docs",
            link: &format!("{}/docs/{id}", name.link()),
            headers: &[("x-ms-documentdb-partitionkey", key.to_json().as_str())],
            body: b"",
        })?;
        match response.status {
            200 => Ok(true),
            404 => Ok(false),
            _ => Err(refusal("reading an item", response)),
        }
    }

    /// Sends a bulk batch to one range: every operation for itself (protocol: section 10.1).
    pub fn bulk(
        &mut self,
        name: &ContainerName,
        range: &str,
        operations: &[u8],
    ) -> Result<&Response> {
        self.connection.send(&Request {
            verb: "POST",
            path: &format!("{}/docs", name.path()),
            resource_type: "docs",
            link: &name.link(),
            headers: &[
                ("content-type", "application/json"),
                ("x-ms-cosmos-is-batch-request", "True"),
                ("x-ms-cosmos-batch-atomic", "False"),
                ("x-ms-cosmos-batch-continue-on-error", "True"),
                ("x-ms-documentdb-partitionkeyrangeid", range),
            ],
            body: operations,
        })
    }
}

fn check_key_paths(name: &ContainerName, body: &Json, wanted: &[String]) -> Result<()> {
    let paths: Vec<&str> = body["partitionKey"]["paths"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    if wanted.is_empty() || paths == wanted {
        return Ok(());
    }
    bail!(
        "container {name} exists with partition key {}, not {}; leave --partition-key out, or import into another container",
        paths.join(","),
        wanted.join(",")
    )
}

fn bound(hex: &str) -> Result<EffectivePartitionKey> {
    EffectivePartitionKey::from_hex(hex).with_context(|| {
        format!("a partition key range has the bound {hex:?}, which is not hexadecimal")
    })
}

fn page(what: &str, response: &Response) -> Result<Page> {
    if response.status != 200 {
        return Err(refusal(what, response));
    }
    Ok(Page {
        body: response.body.clone(),
        charge: response.charge(),
        continuation: response.header("x-ms-continuation").map(str::to_owned),
    })
}

/// An error for an answer that says no, with what to do where that is known.
pub fn refusal(what: &str, response: &Response) -> anyhow::Error {
    let hint = match response.status {
        401 => "; give the server's key with --key",
        _ => "",
    };
    anyhow::anyhow!("{what}: the server answered {}{hint}", response.failure())
}
