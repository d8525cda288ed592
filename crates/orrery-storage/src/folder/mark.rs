//! Marks: numbers outside the journal that say something about it.
//!
//! The *durable* mark says how far the journal must reach. An engine that finds a hole in its
//! journal takes the hole for the end, and what lies behind it is lost without a word. So the
//! number of the last durable commit is noted here now and then; a journal that ends before it
//! has lost something that was acknowledged.
//!
//! The *flushed* mark says how much of the journal lies in sorted files as well: the next start
//! does not replay it.
//!
//! Two slots are written in turn, so that a torn write leaves the other one. The files are never
//! synced on purpose: an old number only makes the check weaker, or the replay longer.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::error::StoreError;

use super::refusal;

pub(super) const DURABLE_FILE: &str = "durable";
pub(super) const FLUSHED_FILE: &str = "flushed";
const SLOT_BYTES: usize = 16;

/// See the module.
pub(crate) struct Mark {
    file: File,
    value: u64,
    next_slot: u64,
}

impl Mark {
    pub(super) fn open(folder: &Path, name: &str) -> Result<Self, StoreError> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(folder.join(name))
            .map_err(|source| refusal(folder, "opening a mark", source))?;
        let slots =
            read_slots(&mut file).map_err(|source| refusal(folder, "reading a mark", source))?;
        let value = slots.iter().flatten().copied().max().unwrap_or(0);
        let next_slot = u64::from(slots[0] == Some(value));
        Ok(Self {
            file,
            value,
            next_slot,
        })
    }

    pub(crate) fn value(&self) -> u64 {
        self.value
    }

    /// Notes a greater number. Never ahead of the truth, or the next start would be refused, or
    /// would lose something.
    pub(crate) fn raise(&mut self, value: u64) -> io::Result<()> {
        if value <= self.value {
            return Ok(());
        }
        self.file
            .seek(SeekFrom::Start(self.next_slot * SLOT_BYTES as u64))?;
        self.file.write_all(&encode(value))?;
        self.value = value;
        self.next_slot = 1 - self.next_slot;
        Ok(())
    }
}

/// The durable mark of a folder that is not open, if it has one.
pub(super) fn value_in(folder: &Path) -> Option<u64> {
    let mut file = File::open(folder.join(DURABLE_FILE)).ok()?;
    let slots = read_slots(&mut file).ok()?;
    slots.into_iter().flatten().max()
}

fn read_slots(file: &mut File) -> io::Result<[Option<u64>; 2]> {
    let mut bytes = Vec::with_capacity(2 * SLOT_BYTES);
    file.take(2 * SLOT_BYTES as u64).read_to_end(&mut bytes)?;
    let mut slots = bytes.chunks(SLOT_BYTES).map(decode);
    Ok([slots.next().flatten(), slots.next().flatten()])
}

fn encode(value: u64) -> [u8; SLOT_BYTES] {
    let mut slot = [0; SLOT_BYTES];
    slot[..8].copy_from_slice(&value.to_be_bytes());
    slot[8..].copy_from_slice(&checksum(value).to_be_bytes());
    slot
}

fn decode(slot: &[u8]) -> Option<u64> {
    let value = u64::from_be_bytes(slot.get(..8)?.try_into().ok()?);
    let sum = u64::from_be_bytes(slot.get(8..)?.try_into().ok()?);
    (sum == checksum(value)).then_some(value)
}

/// FNV-1a. Never zero for zero, so a slot of zeros is no slot.
fn checksum(value: u64) -> u64 {
    value
        .to_be_bytes()
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |sum, &byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_slot_is_no_slot() {
        let slot = encode(77);
        assert_eq!(decode(&slot), Some(77));
        assert_eq!(decode(&slot[..9]), None);
        assert_eq!(decode(&[0; SLOT_BYTES]), None);
        let mut torn = slot;
        torn[7] ^= 1;
        assert_eq!(decode(&torn), None);
    }
}
