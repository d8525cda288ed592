//! `orrery serve`: an account over HTTP and HTTPS, until a signal ends it.

mod metering;
mod regions;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use log::LevelFilter;
use orrery_engine::{Engine, EngineConfig};
use orrery_gateway::auth::{Key, Keys};
use orrery_gateway::config::GatewayConfig;
use orrery_gateway::server::{
    BindError, Certificate, Health, MetricsSource, Readiness, Server, ServerConfig,
};
use orrery_model::limits::Limits;
use orrery_storage::{Durability, MemoryStore, Options, Store};
use tokio::sync::watch;

use crate::config::{self, HealthPort, Place, ServeConfig};
use crate::data_folder::{self, EndpointNote};
use crate::instance;
use crate::load::duration;
use crate::logger;
use crate::output;
use crate::patience::Patience;
use metering::MeteringArgs;
use regions::{RegionArgs, RegionServers};

const EXAMPLES: &str = "\
Examples:
  orrery serve                              durable, in ./orrery-data, on http://127.0.0.1:8081
  orrery serve --in-memory --port 0         for tests: nothing is kept, the system chooses the port
  orrery serve --host 0.0.0.0 --key-file /run/secrets/key --data /var/lib/orrery
  orrery serve --throttle --scale 1/1000    limits and budgets of a thousandth: hot partitions on a laptop
  orrery serve --regions \"East US,West US\"  a read region of its own, some time behind the writes

The port speaks HTTP and HTTPS (HTTP/1.1 and HTTP/2); the certificate is made at the first start
and kept in the data folder, http://127.0.0.1:8081/_explorer/emulator.pem shows its authority.
Without --key the published emulator key opens the account, so do not listen beyond this machine
without one. Ctrl-C or SIGTERM ends the server after the requests under way.

Environment (flags win): PORT, PROTOCOL, KEY_FILE, DATA_PATH, LOG_LEVEL, GATEWAY_PUBLIC_ENDPOINT,
ENABLE_EXPLORER, AZURE_COSMOS_EMULATOR_ENABLE_DATA_PERSISTENCE,
AZURE_COSMOS_EMULATOR_IP_ADDRESS_OVERRIDE.

Exit code: 0 ended by a signal; 1 could not start or failed (the message says what to do); 2 wrong
usage.";

/// Expired items that are removed at a time, and how often somebody looks for them.
const PURGE_BUDGET: usize = 2_000;
const PURGE_PAUSE: Duration = Duration::from_secs(10);

/// A data folder that was closed in order is open by then.
const USUAL_OPENING: Duration = Duration::from_millis(300);
/// How often somebody looks whether size or throughput ask for a split.
const RESHAPE_PAUSE: Duration = Duration::from_millis(500);
/// Pause after a split or merge that failed.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// Options of `orrery serve`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ServeArgs {
    /// Port to listen on; 0 lets the system choose [default: 8081].
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Address to listen on; 0.0.0.0 for every interface.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    pub host: IpAddr,
    /// Data folder; created when missing [default: ./orrery-data].
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Keep nothing: the account is empty at every start.
    #[arg(long, conflicts_with = "data")]
    pub in_memory: bool,
    /// When a write is acknowledged.
    #[arg(long, value_enum, default_value = "strict")]
    pub durability: DurabilityArg,
    /// Memory for what was read from the data folder, in MiB: filled as queries read.
    #[arg(long, default_value_t = 128, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pub cache: u64,
    /// Master key; the published emulator key by default.
    #[arg(long, value_name = "BASE64", conflicts_with = "key_file")]
    pub key: Option<String>,
    /// File that holds the master key.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Accept requests without a signature.
    #[arg(long)]
    pub no_auth: bool,
    /// Throughput, limits and the trace.
    #[command(flatten)]
    pub metering: MeteringArgs,
    /// Regions and consistency.
    #[command(flatten)]
    pub regions: RegionArgs,
    /// Let each split or merge of partitions wait so long before it begins, as the service's do.
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = duration)]
    pub split_delay: Duration,
    /// Answer 410 to every client that queries a range which was split or merged, as the service
    /// does; without it the JavaScript and Python SDKs, whose queries do not survive that, get
    /// their rows from the new ranges.
    #[arg(long)]
    pub strict_splits: bool,
    /// Port of the health probes /alive, /ready, /status [default: 8080, off when it is taken].
    #[arg(long, value_name = "PORT")]
    pub health_port: Option<u16>,
    /// What the log on standard error shows: quiet, error, warn, info, debug, trace [default: warn].
    #[arg(long, value_name = "LEVEL", value_parser = config::level)]
    pub log_level: Option<LevelFilter>,
}

/// When a write is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DurabilityArg {
    /// When it is on the disk: survives a power cut.
    Strict,
    /// When the system has it: survives the end of the process; a power cut may cost the last
    /// tenth of a second.
    Relaxed,
}

/// Runs the command.
pub fn run(args: &ServeArgs) -> Result<ExitCode> {
    let started = Instant::now();
    let config = ServeConfig::new(args, &|name| std::env::var(name).ok())?;
    logger::start(config.log_level);
    let key = config.key.parse::<Key>().map_err(|error| {
        anyhow::anyhow!(
            "the master key is wrong: {error}; `openssl rand -base64 64 | tr -d '\\n'` makes one"
        )
    })?;
    let durability = match args.durability {
        DurabilityArg::Strict => Durability::Strict,
        DurabilityArg::Relaxed => Durability::Relaxed,
    };
    let store: Arc<dyn Store> = match &config.place {
        Place::Folder(folder) => {
            // A new folder has nothing to recover.
            let _patience = folder.exists().then(|| recovery_notice(folder));
            let options = Options {
                durability,
                cache_bytes: args.cache << 20,
                ..Options::default()
            };
            data_folder::open(folder, options)?
        }
        Place::Memory => Arc::new(MemoryStore::new()),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start threads")?;
    let served = runtime.block_on(serve(args, &config, key, &store, started));
    drop(runtime);
    let closed = store.close().context("closing the data folder");
    served.and(closed)?;
    Ok(ExitCode::SUCCESS)
}

/// Tells after a moment why the start takes longer than usual.
fn recovery_notice(folder: &Path) -> Patience {
    let folder = folder.display().to_string();
    Patience::new(USUAL_OPENING, move || {
        // Nobody is left to tell if standard error is closed.
        let _ = output::note(&format!(
            "recovering {folder}: reading back the last writes before its end ..."
        ));
    })
}

async fn serve(
    args: &ServeArgs,
    config: &ServeConfig,
    key: Key,
    store: &Arc<dyn Store>,
    started: Instant,
) -> Result<()> {
    let engine_config = EngineConfig {
        limits: args.metering.limits()?,
        metering: args.metering.metering(),
        regions: args.regions.engine_config()?,
        read_cost: args.regions.read_cost(),
        split_delay_ms: u64::try_from(args.split_delay.as_millis()).unwrap_or(u64::MAX),
        ..EngineConfig::default()
    };
    let engine = instance::open_engine(store, engine_config)?;
    let certificate = certificate(config)?;
    let mut gateway_config = GatewayConfig::new(Keys::single(key));
    gateway_config.no_auth = args.no_auth;
    gateway_config.strict_splits = args.strict_splits;
    gateway_config
        .public_endpoint
        .clone_from(&config.public_endpoint);
    gateway_config.explorer = config.explorer;
    gateway_config.consistency = args.regions.consistency();
    let trace = args.metering.open_trace()?;
    gateway_config.trace = metering::gateway_trace(trace.as_ref());
    gateway_config.authority_pem = Some(certificate.authority_pem().to_owned());
    let mut server_config = ServerConfig::new(SocketAddr::new(config.host, config.port));
    server_config.certificate = Some(certificate);
    let handler = instance::gateway(&engine, gateway_config.clone());
    let server = Server::bind(server_config.clone(), handler)
        .await
        .map_err(port_advice)?;
    let address = server.local_addr();
    let region_servers =
        RegionServers::bind(&engine, &gateway_config, &server_config, config.scheme).await?;
    let readiness = Readiness::default();
    let health = health_server(config, &readiness, &engine).await?;
    let endpoint = format!("{}://{}/", config.scheme, shown(address));
    let _note = match &config.place {
        Place::Folder(folder) => {
            let key = (!args.no_auth).then_some(config.key.as_str());
            Some(EndpointNote::write(
                folder,
                &format!("http://{}/", shown(address)),
                key,
            )?)
        }
        Place::Memory => None,
    };
    let (stop, stopping) = watch::channel(false);
    let purging = tokio::spawn(purge(engine.clone(), stopping.clone()));
    let reshaping = tokio::spawn(reshape(engine.clone(), stopping.clone()));
    let weighing = trace.clone().map(|trace| {
        let (engine, stopping) = (engine.clone(), stopping.clone());
        tokio::spawn(metering::weigh(trace, engine, stopping))
    });
    let until = |mut stopping: watch::Receiver<bool>| async move {
        let _ = stopping.wait_for(|stop| *stop).await;
    };
    let health = health.map(|server| tokio::spawn(server.run_until(until(stopping.clone()))));
    let region_lines = region_servers.lines().to_owned();
    let in_regions = tokio::spawn(region_servers.run(engine.clone(), stopping.clone()));
    let serving = tokio::spawn(server.run_until(until(stopping)));
    readiness.set(true);
    let signals = signals()?;
    announce(
        args,
        config,
        engine.limits(),
        &endpoint,
        &region_lines,
        started,
    )?;
    let signal = signals.await;
    log::info!("{signal}: finishing the requests under way");
    readiness.set(false);
    let _ = stop.send(true);
    engine.wake_reshapes();
    serving.await.context("the server failed")?;
    in_regions
        .await
        .context("the endpoints of regions failed")?;
    purging.await.context("the purge failed")?;
    reshaping
        .await
        .context("the splitting of partitions failed")?;
    if let Some(health) = health {
        health.await.context("the health port failed")?;
    }
    if let Some(weighing) = weighing {
        weighing
            .await
            .context("the weighing of partitions failed")?;
    }
    if let Some(trace) = trace {
        trace.close();
    }
    Ok(())
}

/// Gives the space of expired items back and moves items to new indexing policies, a little at a
/// time. Readers do not wait for it.
async fn purge(engine: Engine, mut stopping: watch::Receiver<bool>) {
    loop {
        let worker = engine.clone();
        let purged = tokio::task::spawn_blocking(move || worker.maintain(PURGE_BUDGET)).await;
        let more = match purged {
            Ok(Ok(removed)) => removed >= PURGE_BUDGET,
            Ok(Err(failure)) => {
                log::warn!("the work in the background fails: {}", failure.error);
                false
            }
            Err(error) => {
                log::error!("the work in the background stopped: {error}");
                false
            }
        };
        let pause = if more {
            Duration::from_millis(50)
        } else {
            PURGE_PAUSE
        };
        let stop = stopping.wait_for(|stop| *stop);
        if tokio::time::timeout(pause, stop).await.is_ok() {
            return;
        }
    }
}

/// Splits and merges partitions: those that somebody asks for, and those that size and throughput
/// ask for.
async fn reshape(engine: Engine, mut stopping: watch::Receiver<bool>) {
    while !*stopping.borrow() {
        let worker = engine.clone();
        let step = tokio::task::spawn_blocking(move || {
            let done = instance::work_on_reshapes(&worker);
            if matches!(done, Ok(0)) {
                worker.wait_for_reshapes(RESHAPE_PAUSE);
            }
            done
        })
        .await;
        match step {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                log::warn!("a split or merge of partitions failed: {error}");
                let stop = stopping.wait_for(|stop| *stop);
                let _ = tokio::time::timeout(FAILURE_PAUSE, stop).await;
            }
            Err(error) => {
                log::error!("the splitting of partitions ended: {error}");
                return;
            }
        }
    }
}

fn certificate(config: &ServeConfig) -> Result<Certificate> {
    let names: Vec<String> = config
        .public_endpoint
        .iter()
        .filter_map(|url| url.split("://").nth(1))
        .filter_map(|rest| rest.split(['/', ':']).next())
        .map(str::to_owned)
        .collect();
    let now = SystemTime::now();
    Ok(match &config.place {
        Place::Folder(folder) => Certificate::load_or_create(folder, &names, now)?,
        Place::Memory => Certificate::ephemeral(&names, now)?,
    })
}

/// The health port is a courtesy unless it was asked for.
async fn health_server(
    config: &ServeConfig,
    readiness: &Readiness,
    engine: &Engine,
) -> Result<Option<Server<Health>>> {
    let port = match config.health {
        HealthPort::Optional(port) | HealthPort::Wanted(port) => port,
    };
    let engine = engine.clone();
    let metrics: MetricsSource = Arc::new(move || orrery_gateway::metrics::text(&engine).ok());
    let handler = Arc::new(Health::new(readiness.clone()).with_metrics(metrics));
    match (
        Server::bind(
            ServerConfig::new(SocketAddr::new(config.host, port)),
            handler,
        )
        .await,
        config.health,
    ) {
        (Ok(server), _) => Ok(Some(server)),
        (Err(error), HealthPort::Optional(_)) => {
            log::info!("no health port: {error}");
            Ok(None)
        }
        (Err(error), HealthPort::Wanted(_)) => Err(anyhow::anyhow!(
            "health port: {error}; choose another with --health-port"
        )),
    }
}

fn port_advice(error: BindError) -> anyhow::Error {
    let advice = match &error {
        BindError::Listen { source, .. } => match source.kind() {
            std::io::ErrorKind::AddrInUse => {
                "; another program (or another orrery) has the port: stop it, or choose another with --port, 0 for any"
            }
            std::io::ErrorKind::PermissionDenied => {
                "; ports under 1024 need privileges: choose another with --port"
            }
            std::io::ErrorKind::AddrNotAvailable => {
                "; this machine has no such address: choose another with --host"
            }
            _ => "",
        },
        BindError::Certificate(_) => "",
    };
    anyhow::anyhow!("{error}{advice}")
}

/// The address as clients on this machine reach it.
fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        format!("localhost:{}", address.port())
    } else {
        address.to_string()
    }
}

/// What a person needs, then the lines that test tools wait for.
fn announce(
    args: &ServeArgs,
    config: &ServeConfig,
    limits: &Limits,
    endpoint: &str,
    regions: &str,
    started: Instant,
) -> Result<()> {
    let place = match &config.place {
        Place::Folder(folder) => std::path::absolute(folder)
            .unwrap_or_else(|_| folder.clone())
            .display()
            .to_string(),
        Place::Memory => "none (in memory)".to_owned(),
    };
    let key = if args.no_auth {
        "any (--no-auth)"
    } else {
        config.key.as_str()
    };
    let metering = args.metering.shown(limits);
    output::text(&format!(
        "OrreryDB {}\n\
         Endpoint           {endpoint}\n\
         Key                {key}\n\
         Connection string  AccountEndpoint={endpoint};AccountKey={};\n\
         Data folder        {place}\n\
         {regions}\
         {metering}\
         Ready in           {} ms\n\
         Started\n\
         Now listening on: {endpoint}\n",
        env!("CARGO_PKG_VERSION"),
        config.key,
        started.elapsed().as_millis(),
    ))
}

/// The signals that end the server. They are caught from here on, so this comes before the lines
/// that others wait for.
#[cfg(unix)]
fn signals() -> Result<impl Future<Output = &'static str>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}

/// The signals that end the server.
#[cfg(not(unix))]
fn signals() -> Result<impl Future<Output = &'static str>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
        "Ctrl-C"
    })
}
