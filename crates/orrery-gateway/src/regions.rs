//! What an account of several regions shows of them: the endpoints in its document, and session
//! tokens that say how far each region is.

use std::sync::{Arc, OnceLock};

use http::uri::Authority;
use orrery_engine::Engine;
use orrery_model::json;

use crate::config::GatewayConfig;
use crate::respond::{Reply, names};

/// The ports of the regions' own endpoints, in the engine's order of regions. They are known when
/// all of them are bound, which is after the gateways were made.
#[derive(Debug, Clone, Default)]
pub struct RegionPorts(Arc<OnceLock<Vec<u16>>>);

impl RegionPorts {
    /// Sets them, once.
    pub fn set(&self, ports: Vec<u16>) {
        // A second call would be a mistake of the caller that changes nothing.
        let _ = self.0.set(ports);
    }

    /// The port of the region at this place.
    pub(crate) fn of(&self, place: usize) -> Option<u16> {
        self.0.get()?.get(place).copied()
    }
}

/// The two lists of locations in the account document, as JSON.
pub(crate) struct Locations {
    pub(crate) writable: String,
    pub(crate) readable: String,
}

impl Locations {
    /// Those of an account that a client reaches at `endpoint`: the write region first, as SDKs
    /// without a preference go down the list.
    pub(crate) fn of(engine: &Engine, config: &GatewayConfig, endpoint: &str) -> Self {
        let regions = engine.regions();
        if regions.is_empty() {
            let only = format!("[{}]", location(&config.region, endpoint));
            return Self {
                writable: only.clone(),
                readable: only,
            };
        }
        let shown = |(place, region): (usize, &orrery_engine::regions::RegionInfo)| {
            let at = match config.region_ports.of(place) {
                Some(port) => with_port(endpoint, port),
                None => endpoint.to_owned(),
            };
            (!region.writes, location(&region.name, &at))
        };
        let mut all: Vec<(bool, String)> = regions.iter().enumerate().map(shown).collect();
        all.sort_by_key(|(reads_only, _)| *reads_only);
        let join = |texts: Vec<&str>| format!("[{}]", texts.join(","));
        let writable = all.iter().filter(|(reads_only, _)| !reads_only);
        Self {
            writable: join(writable.map(|(_, text)| text.as_str()).collect()),
            readable: join(all.iter().map(|(_, text)| text.as_str()).collect()),
        }
    }
}

fn location(name: &str, endpoint: &str) -> String {
    let mut text = b"{\"name\":".to_vec();
    json::write_string(name, &mut text);
    text.extend_from_slice(b",\"databaseAccountEndpoint\":");
    json::write_string(endpoint, &mut text);
    text.push(b'}');
    String::from_utf8(text).expect("JSON text is UTF-8")
}

/// The same endpoint on another port.
pub(crate) fn with_port(endpoint: &str, port: u16) -> String {
    let (scheme, rest) = endpoint.split_once("://").unwrap_or(("http", endpoint));
    let authority = rest.trim_end_matches('/').parse::<Authority>();
    let host = authority.as_ref().map_or("localhost", Authority::host);
    format!("{scheme}://{host}:{port}/")
}

/// Gives a container's answer the session token of an account of several regions.
pub(crate) fn with_session(reply: Reply, engine: &Engine) -> Reply {
    let meta = *reply.measured();
    let Some(range) = meta.range else {
        return reply;
    };
    let Some((version, others)) = engine.session_vector(meta.merges, meta.lsn) else {
        return reply;
    };
    let readers = u64::try_from(engine.regions().len().saturating_sub(1)).unwrap_or(0);
    reply
        .header_text(
            names::SESSION_TOKEN,
            format!("{range}:{version}#{}{others}", meta.lsn),
        )
        .header(names::NUMBER_OF_READ_REGIONS, readers.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_differ_by_port_alone() {
        for (endpoint, expected) in [
            ("https://shop.example:8081/", "https://shop.example:9/"),
            ("http://127.0.0.1/", "http://127.0.0.1:9/"),
            ("http://[::1]:80/", "http://[::1]:9/"),
            ("https://cosmos.example", "https://cosmos.example:9/"),
        ] {
            assert_eq!(with_port(endpoint, 9), expected);
        }
    }
}
