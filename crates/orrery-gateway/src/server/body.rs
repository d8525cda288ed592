//! Reads a request body whole, within bounds of size and time.

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};

use super::{Refusal, ServerConfig};

/// What may be read and thrown away beyond the limit, so that a client that is still
/// sending gets to read the refusal instead of a reset.
const DRAIN_BYTES: usize = 16 << 20;

/// The whole body, or why not.
pub(super) async fn read(mut body: Incoming, config: &ServerConfig) -> Result<Bytes, Refusal> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let reading = async {
        if body.size_hint().lower() > config.max_body_bytes as u64 {
            discard(&mut body).await;
            return Err(Refusal::BodyTooLarge);
        }
        collect(&mut body, config.max_body_bytes).await
    };
    tokio::time::timeout(config.body_timeout, reading)
        .await
        .unwrap_or(Err(Refusal::BodyTimeout))
}

async fn collect(body: &mut Incoming, limit: usize) -> Result<Bytes, Refusal> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refusal::BodyBroken)?.into_data() else {
            continue;
        };
        if first.len() + rest.len() + data.len() > limit {
            discard(body).await;
            return Err(Refusal::BodyTooLarge);
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
    Ok(if rest.is_empty() {
        first
    } else {
        rest.freeze()
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
