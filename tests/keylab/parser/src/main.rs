//! Parses every line of an NDJSON file with sonic-rs on every core and says how long it took.
//!
//! The file is read in pieces by position, each core the next one, so that nothing but reading and
//! parsing is measured: `json-floor FILE [CORES]`.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use memchr::memchr;

/// Bytes of a piece.
const PIECE: u64 = 4 << 20;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or_else(|| std::io::Error::other("which file?"))?;
    let cores = match arguments.next().map(|text| text.parse()) {
        Some(Ok(cores)) => cores,
        Some(Err(_)) => return Err(std::io::Error::other("how many cores?")),
        None => std::thread::available_parallelism()?.get(),
    };
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    let next = AtomicU64::new(0);
    let begin = Instant::now();
    let counts = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores)
            .map(|_| scope.spawn(|| parse(&file, bytes, &next)))
            .collect();
        threads
            .into_iter()
            .map(|thread| {
                thread
                    .join()
                    .map_err(|_| std::io::Error::other("a thread panicked"))?
            })
            .collect::<std::io::Result<Vec<(u64, u64)>>>()
    })?;
    let seconds = begin.elapsed().as_secs_f64();
    let (items, broken) = counts
        .iter()
        .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!(
        "{{\"items\":{items},\"broken\":{broken},\"bytes\":{bytes},\"cores\":{cores},\"seconds\":{seconds:.3}}}"
    );
    Ok(())
}

/// The lines that begin in the pieces that this thread takes.
fn parse(file: &File, bytes: u64, next: &AtomicU64) -> std::io::Result<(u64, u64)> {
    let (mut items, mut broken) = (0, 0);
    let mut text = Vec::new();
    loop {
        let start = next.fetch_add(PIECE, Ordering::Relaxed);
        if start >= bytes {
            return Ok((items, broken));
        }
        let end = (start + PIECE).min(bytes);
        // One byte before tells whether a line begins at the piece's first.
        let from = start.saturating_sub(1);
        text.resize((end - from) as usize, 0);
        file.read_exact_at(&mut text, from)?;
        let mut at = end;
        while text.last() != Some(&b'\n') && at < bytes {
            let more = (bytes - at).min(64 << 10) as usize;
            let had = text.len();
            text.resize(had + more, 0);
            file.read_exact_at(&mut text[had..], at)?;
            if let Some(line) = memchr(b'\n', &text[had..]) {
                text.truncate(had + line + 1);
            }
            at += more as u64;
        }
        let skipped = if start == 0 {
            0
        } else {
            memchr(b'\n', &text).map_or(text.len(), |line| line + 1)
        };
        let mut rest = &text[skipped..];
        while !rest.is_empty() {
            let line = &rest[..memchr(b'\n', rest).unwrap_or(rest.len())];
            rest = rest.get(line.len() + 1..).unwrap_or_default();
            if line.is_empty() {
                continue;
            }
            match sonic_rs::from_slice::<sonic_rs::Value>(line) {
                Ok(value) => {
                    std::hint::black_box(&value);
                    items += 1;
                }
                Err(_) => broken += 1,
            }
        }
    }
}
