//! Regions of a served account: each has an endpoint of its own behind the account's.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use orrery_engine::Engine;
use orrery_engine::regions::{RegionId, RegionsConfig, Staleness};
use orrery_gateway::config::{Consistency, GatewayConfig};
use orrery_gateway::gateway::Gateway;
use orrery_gateway::server::{Server, ServerConfig};
use orrery_model::charge::ReadCost;
use tokio::sync::watch;

use super::{port_advice, shown};
use crate::instance;
use crate::load::duration;

/// Most regions: each has a port and answers for itself.
const MOST_REGIONS: usize = 16;
/// How often the present is noted for read regions, at most and at least.
const STEPS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
/// Into how many steps a lag is divided.
const STEPS_OF_LAG: u32 = 16;

/// Options of regions and consistency.
#[derive(Debug, Args)]
pub struct RegionArgs {
    /// Regions of the account, such as "East US,West US"; the first takes the writes. Each gets an
    /// endpoint on a port behind --port, and the account tells SDKs of them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    regions: Vec<String>,
    /// How far read regions are behind; `orrery regions` changes it while the server runs.
    #[arg(long, default_value = "100ms", value_name = "TIME", value_parser = duration, requires = "regions")]
    replication_lag: Duration,
    /// Default consistency level of the account.
    #[arg(long, value_enum, default_value = "session", value_name = "LEVEL")]
    consistency: Level,
}

/// Consistency levels, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Reads in every region see every acknowledged write.
    Strong,
    /// Read regions are at most 300 s and 100,000 writes behind.
    BoundedStaleness,
    /// Clients see their own writes.
    Session,
    /// Reads see writes in their order.
    ConsistentPrefix,
    /// Reads may see any earlier state.
    Eventual,
}

impl RegionArgs {
    /// The engine's view.
    pub fn engine_config(&self) -> Result<RegionsConfig> {
        let names: Vec<String> = self
            .regions
            .iter()
            .map(|name| name.trim().to_owned())
            .collect();
        if names.len() > MOST_REGIONS {
            bail!(
                "--regions names {} regions; {MOST_REGIONS} are the most",
                names.len()
            );
        }
        let letters = |name: &String| name.to_lowercase().replace(' ', "");
        for (place, name) in names.iter().enumerate() {
            if name.is_empty() || name.len() > 60 || name.chars().any(char::is_control) {
                bail!("--regions: `{name}` is no name of a region; write \"East US,West US\"");
            }
            if names[..place]
                .iter()
                .any(|other| letters(other) == letters(name))
            {
                bail!("--regions names `{name}` twice");
            }
        }
        let staleness = match self.consistency {
            Level::Strong => Staleness::Never,
            Level::BoundedStaleness => Staleness::Bounded,
            Level::Session | Level::ConsistentPrefix | Level::Eventual => Staleness::Any,
        };
        Ok(RegionsConfig {
            names,
            lag_ms: u64::try_from(self.replication_lag.as_millis()).unwrap_or(u64::MAX),
            staleness,
        })
    }

    /// The level as clients see it.
    pub fn consistency(&self) -> Consistency {
        match self.consistency {
            Level::Strong => Consistency::Strong,
            Level::BoundedStaleness => Consistency::BoundedStaleness,
            Level::Session => Consistency::Session,
            Level::ConsistentPrefix => Consistency::ConsistentPrefix,
            Level::Eventual => Consistency::Eventual,
        }
    }

    /// What reads cost at that level.
    pub fn read_cost(&self) -> ReadCost {
        match self.consistency {
            Level::Strong | Level::BoundedStaleness => ReadCost::Double,
            Level::Session | Level::ConsistentPrefix | Level::Eventual => ReadCost::Single,
        }
    }
}

/// The listeners of the regions, bound but not yet serving.
pub struct RegionServers {
    servers: Vec<Server<Gateway>>,
    lines: String,
}

impl RegionServers {
    /// Binds a listener for each region, on the ports behind the account's (or where the system
    /// likes, if it chose that one too).
    pub async fn bind(
        engine: &Engine,
        gateway: &GatewayConfig,
        account: &ServerConfig,
        scheme: &str,
    ) -> Result<Self> {
        let mut servers = Vec::new();
        let mut ports = Vec::new();
        let mut lines = String::new();
        for (place, region) in engine.regions().iter().enumerate() {
            let behind = u16::try_from(place + 1).ok();
            let next = behind.and_then(|behind| account.address.port().checked_add(behind));
            let port = match (account.address.port(), next) {
                (0, _) => 0,
                (_, Some(port)) => port,
                (port, None) => bail!("no ports are left behind {port}: choose a lower --port"),
            };
            let mut config = account.clone();
            config.address = SocketAddr::new(account.address.ip(), port);
            let handler = instance::gateway(&engine.in_region(RegionId(place)), gateway.clone());
            let server = Server::bind(config, handler).await.map_err(port_advice)?;
            let address = server.local_addr();
            ports.push(address.port());
            let role = if region.writes { "writes" } else { "reads" };
            let _ = writeln!(
                lines,
                "Region             {scheme}://{}/  {} ({role})",
                shown(address),
                region.name
            );
            servers.push(server);
        }
        gateway.region_ports.set(ports);
        Ok(Self { servers, lines })
    }

    /// What to tell of them at the start; empty without regions.
    pub fn lines(&self) -> &str {
        &self.lines
    }

    /// Serves until told to stop.
    pub async fn run(self, engine: Engine, stopping: watch::Receiver<bool>) {
        let mut serving = tokio::task::JoinSet::new();
        for server in self.servers {
            let mut stopping = stopping.clone();
            serving.spawn(server.run_until(async move {
                let _ = stopping.wait_for(|stop| *stop).await;
            }));
        }
        if engine.regions().len() > 1 {
            serving.spawn(replicate(engine, stopping));
        }
        while serving.join_next().await.is_some() {}
    }
}

/// Notes the present again and again, so that read regions move on.
async fn replicate(engine: Engine, mut stopping: watch::Receiver<bool>) {
    loop {
        let lags = engine.regions();
        let lags = lags.iter().map(|region| region.lag_ms);
        let lag = Duration::from_millis(lags.min().unwrap_or(0));
        let pause = (lag / STEPS_OF_LAG).clamp(STEPS.0, STEPS.1);
        let stop = stopping.wait_for(|stop| *stop);
        if tokio::time::timeout(pause, stop).await.is_ok() {
            return;
        }
        let worker = engine.clone();
        match tokio::task::spawn_blocking(move || worker.replicate()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => log::warn!("read regions stand still: {error}"),
            Err(error) => {
                log::error!("read regions stand still from now on: {error}");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: RegionArgs,
    }

    fn parse(text: &[&str]) -> Result<RegionsConfig> {
        let line = std::iter::once("serve").chain(text.iter().copied());
        Line::try_parse_from(line)?.args.engine_config()
    }

    #[test]
    fn names_are_read_and_checked() {
        let config = parse(&["--regions", "East US, West US", "--replication-lag", "2s"]);
        let config = config.expect("two regions");
        assert_eq!(config.names, ["East US", "West US"]);
        assert_eq!((config.lag_ms, config.staleness), (2_000, Staleness::Any));
        assert_eq!(parse(&[]).expect("none").names, Vec::<String>::new());
        for wrong in ["East US,east us", "East US,,West US", "a\u{7}"] {
            assert!(parse(&["--regions", wrong]).is_err(), "{wrong}");
        }
        assert!(parse(&["--replication-lag", "1s"]).is_err());
        let strong = parse(&["--regions", "A,B", "--consistency", "strong"]).expect("strong");
        assert_eq!(strong.staleness, Staleness::Never);
    }
}
