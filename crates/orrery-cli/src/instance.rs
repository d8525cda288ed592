//! A running account inside this process: engine, gateway and its socket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orrery_engine::{Engine, EngineConfig, Entropy as _};
use orrery_gateway::auth::{Key, Keys};
use orrery_gateway::config::GatewayConfig;
use orrery_gateway::gateway::Gateway;
use orrery_gateway::server::{Server, ServerConfig};
use orrery_storage::Store;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::ambient::{SystemClock, SystemEntropy};
use crate::client::Endpoint;

/// Opens the engine over a store with the machine's clock and randomness.
pub fn open_engine(store: &Arc<dyn Store>, config: EngineConfig) -> Result<Engine> {
    Engine::open(
        Arc::clone(store),
        Arc::new(SystemClock),
        Arc::new(SystemEntropy),
        config,
    )
    .map_err(|error| anyhow::anyhow!("the data folder's content cannot be opened: {error}"))
}

/// Items of a split or merge that are worked on at a time.
const RESHAPE_BUDGET: usize = 256;
/// Longest rest after a piece of that work.
const MOST_REST: Duration = Duration::from_millis(200);

/// Does a piece of the work on splits and merges, and then rests for as long as it took:
/// requests come first, until only what they write meanwhile is left. Answers how much was done; 0 means that
/// nothing can be done now.
pub fn work_on_reshapes(engine: &Engine) -> Result<usize, orrery_engine::Error> {
    let since = Instant::now();
    let done = engine.advance_reshapes(RESHAPE_BUDGET)?;
    if done > 0 && !engine.is_catching_up() {
        std::thread::sleep(since.elapsed().min(MOST_REST));
    }
    Ok(done)
}

/// The gateway over an engine.
pub fn gateway(engine: &Engine, config: GatewayConfig) -> Arc<Gateway> {
    Arc::new(Gateway::new(
        engine.clone(),
        Arc::new(SystemClock),
        &SystemEntropy,
        config,
    ))
}

/// An account for this process alone: on a loopback port that the system chose, with a key that
/// nobody else has.
pub struct Instance {
    engine: Engine,
    store: Arc<dyn Store>,
    endpoint: Endpoint,
    runtime: Runtime,
    serving: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Instance {
    /// Serves a store privately.
    pub fn private(store: Arc<dyn Store>) -> Result<Self> {
        let engine = open_engine(&store, EngineConfig::default())?;
        let mut secret = [0_u8; 64];
        SystemEntropy.fill(&mut secret);
        let key = STANDARD.encode(secret);
        let keys = Keys::single(key.parse::<Key>().context("a new key is no key")?);
        let handler = gateway(&engine, GatewayConfig::new(keys));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("cannot start threads")?;
        let config = ServerConfig::new(SocketAddr::from(([127, 0, 0, 1], 0)));
        let server = runtime.block_on(Server::bind(config, handler))?;
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = runtime.spawn(server.run_until(async {
            let _ = stopped.await;
        }));
        let endpoint = Endpoint::parse(&address.to_string(), Some(&key))?;
        Ok(Self {
            engine,
            store,
            endpoint,
            runtime,
            serving,
            stop,
        })
    }

    /// Where it is and what opens it.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its engine.
    pub fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// Stops serving, then syncs and closes the store.
    pub fn stop(self) -> Result<()> {
        let _ = self.stop.send(());
        let _ = self.runtime.block_on(self.serving);
        drop(self.runtime);
        drop(self.engine);
        self.store.close().context("closing the data folder")
    }
}
