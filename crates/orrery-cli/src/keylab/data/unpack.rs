//! Unpacking that loses nothing: what a damaged file gives before the damage is handed over first,
//! then the damage is told.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Reads a little at a time: where a packed block is damaged, its decoder forgets what the same call
/// had unpacked before.
pub struct Sips<R>(pub R);

impl<R: Read> Read for Sips<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        const SIP: usize = 4 << 10;
        let end = into.len().min(SIP);
        self.0.read(&mut into[..end]).map_err(|error| {
            // The unpacker takes what follows a packed text for more of it.
            damaged(match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    "the packed file is cut short, or something else follows it"
                }
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                    "the packed file is damaged, or something else follows it"
                }
                _ => return error,
            })
        })
    }
}

/// Frames of zstd, one behind the other.
pub struct Zstd<R> {
    packed: R,
    decoder: FrameDecoder,
    /// Whether a frame is open.
    is_inside: bool,
    /// Why reading ended, told when what was unpacked before is taken.
    damage: Option<io::Error>,
}

impl<R: BufRead> Zstd<R> {
    /// Starts before the first frame.
    pub fn new(packed: R) -> Self {
        Self {
            packed,
            decoder: FrameDecoder::new(),
            is_inside: false,
            damage: None,
        }
    }

    /// Opens the next frame; false at the end of the file.
    fn open(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = (&mut self.packed).take(u64::from(length));
                    io::copy(&mut { skipped }, &mut io::sink())?;
                }
                Err(_) => {
                    return Err(damaged(
                        "a frame of zstd was expected, but something else follows",
                    ));
                }
            }
        }
        Ok(false)
    }

    /// Gives up the frame: the decoder holds back what later blocks may repeat, until it is told
    /// that there are none.
    fn end(&mut self, damage: io::Error) {
        /// An empty last block, with a checksum behind it.
        const LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
        let _ = self
            .decoder
            .decode_blocks(&LAST_BLOCK[..], BlockDecodingStrategy::UptoBlocks(1));
        self.damage = Some(damage);
    }
}

fn damaged(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.is_inside && self.decoder.can_collect() > 0 {
                return self.decoder.read(into);
            }
            if let Some(damage) = self.damage.take() {
                self.is_inside = false;
                return Err(damage);
            }
            if self.is_inside && !self.decoder.is_finished() {
                let decoded = self
                    .decoder
                    .decode_blocks(&mut self.packed, BlockDecodingStrategy::UptoBlocks(1));
                if decoded.is_err() {
                    let is_cut = self.packed.fill_buf()?.is_empty();
                    self.end(damaged(if is_cut {
                        "the packed file is cut short"
                    } else {
                        "the packed file is damaged"
                    }));
                }
                continue;
            }
            self.is_inside = self.open()?;
            if !self.is_inside {
                return Ok(0);
            }
        }
    }
}
