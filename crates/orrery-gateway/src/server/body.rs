//! Reads a request body whole, within bounds of size, time and memory.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Refusal, ServerConfig};

/// What may be read and thrown away beyond the limit, so that a client that is still
/// sending gets to read the refusal instead of a reset.
const DRAIN_BYTES: usize = 16 << 20;
/// A body up to this length is read at once: its connection's buffer is about as large. Longer
/// ones are admitted first, and share [`ServerConfig::max_bodies_bytes`].
const SMALL_BYTES: usize = 16 << 10;
/// The unit in which bodies share memory.
const UNIT: usize = 1 << 10;

/// The memory that bodies share.
#[derive(Debug, Clone)]
pub(super) struct BodyRoom {
    units: Arc<Semaphore>,
    in_all: u32,
}

impl BodyRoom {
    pub(super) fn new(bytes: usize) -> Self {
        let in_all = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let in_all = in_all.min(u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX));
        Self {
            units: Arc::new(Semaphore::new(in_all as usize)),
            in_all,
        }
    }

    /// Waits for room for so many bytes; a longest body always fits an empty room.
    async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Refusal> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        Arc::clone(&self.units)
            .acquire_many_owned(units.min(self.in_all))
            .await
            .map_err(|_| Refusal::BodyBroken)
    }
}

/// A whole body, and its share of the memory.
pub(super) struct Whole {
    pub(super) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

/// The whole body, or why not. `admit` is asked before more than a first part is read.
///
/// A refusal is not held up by a client that goes on sending; `waits` tells that it does not
/// send before it is told to (`Expect: 100-continue`).
pub(super) async fn read(
    mut body: Incoming,
    config: &ServerConfig,
    room: &BodyRoom,
    waits: bool,
    admit: impl FnOnce() -> Result<(), Refusal>,
) -> Result<Whole, Refusal> {
    if body.is_end_stream() {
        return Ok(Whole {
            bytes: Bytes::new(),
            _room: None,
        });
    }
    let reading = async {
        if body.size_hint().lower() > config.max_body_bytes as u64 {
            return Err(Refusal::BodyTooLarge);
        }
        collect(&mut body, config.max_body_bytes, room, admit).await
    };
    let read = tokio::time::timeout(config.body_timeout, reading)
        .await
        .unwrap_or(Err(Refusal::BodyTimeout));
    if matches!(read, Err(Refusal::BodyTooLarge | Refusal::NotAdmitted)) && !waits {
        let timeout = config.body_timeout;
        tokio::spawn(async move {
            let _ = tokio::time::timeout(timeout, discard(&mut body)).await;
        });
    }
    read
}

async fn collect(
    body: &mut Incoming,
    limit: usize,
    room: &BodyRoom,
    admit: impl FnOnce() -> Result<(), Refusal>,
) -> Result<Whole, Refusal> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut admit = Some(admit);
    let mut share = None;
    // A claim to be long is believed, a claim to be short is not needed.
    if body.size_hint().lower() > SMALL_BYTES as u64
        && let Some(admit) = admit.take()
    {
        admit()?;
        let claimed = usize::try_from(body.size_hint().lower()).unwrap_or(limit);
        share = Some(room.take(claimed).await?);
    }
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::BodyBroken)?.into_data() else {
            continue;
        };
        let length = first.len() + rest.len() + data.len();
        if length > limit {
            return Err(Refusal::BodyTooLarge);
        }
        if length > SMALL_BYTES
            && let Some(admit) = admit.take()
        {
            admit()?;
            share = Some(room.take(limit).await?);
        }
        if first.is_empty() && rest.is_empty() {
            // Most bodies come in one frame: then nothing is copied.
            first = data;
        } else {
            if !first.is_empty() {
                // Room for what came, not for what the head claims: a claim costs nothing.
                rest.reserve(2 * (first.len() + data.len()));
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
    }
    let bytes = if rest.is_empty() {
        first
    } else {
        rest.freeze()
    };
    Ok(Whole {
        bytes,
        _room: share,
    })
}

async fn discard(body: &mut Incoming) {
    let mut seen = 0;
    while let Some(Ok(frame)) = body.frame().await {
        seen += frame.data_ref().map_or(0, Bytes::len);
        if seen > DRAIN_BYTES {
            return;
        }
    }
}
