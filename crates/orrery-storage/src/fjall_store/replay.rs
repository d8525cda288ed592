//! Sparing the next start what it would replay in vain.
//!
//! fjall seals a journal only from 64 MB on, so the active one holds much that lies in sorted
//! files already. After a crash fjall reads all of that and skips it, at several microseconds an
//! entry: seconds. So before fjall sees the folder, the front of the active journal goes, up to
//! the flushed mark: exactly what fjall would skip.
//!
//! This leans on the form of fjall 3's journal (`journal/entry.rs` there), read as strictly as
//! possible: at the first byte that is not as expected the front ends, and fjall judges the rest.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::folder::sync_folder;

use super::journal::Journal;

/// A front of this size costs milliseconds to replay; a copy of the rest is not worth it.
const WORTH_A_COPY_BYTES: u64 = 1 << 20;
const BUFFER_BYTES: usize = 256 << 10;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const NOT_COMPRESSED: u8 = 0;
const TRAILER: [u8; 4] = *b"FJL\x03";

/// Drops the front of the active journal that lies in sorted files up to this sequence number of
/// the engine.
pub(super) fn drop_flushed(engine: &Path, flushed: u64) -> io::Result<()> {
    if flushed == 0 {
        return Ok(());
    }
    let Some(path) = Journal::new(engine).active_path()? else {
        return Ok(());
    };
    let mut journal = BufReader::with_capacity(BUFFER_BYTES, File::open(&path)?);
    let front = flushed_front(&mut journal, flushed)?;
    if front < WORTH_A_COPY_BYTES {
        return Ok(());
    }
    journal.seek(SeekFrom::Start(front))?;
    let rest = path.with_extension("rest");
    let mut copy = File::create(&rest)?;
    copy_without_padding(&mut journal, &mut copy)?;
    copy.sync_all()?;
    drop((journal, copy));
    fs::rename(&rest, &path)?;
    sync_folder(engine)
}

/// Bytes of the batches at the front that are flushed.
fn flushed_front(journal: &mut impl BufRead, flushed: u64) -> io::Result<u64> {
    let mut front = 0;
    while let Some(length) = flushed_batch(journal, flushed)? {
        front += length;
    }
    Ok(front)
}

/// The length of the next batch; `None` if it is not flushed, not whole, or no batch.
fn flushed_batch(journal: &mut impl BufRead, flushed: u64) -> io::Result<Option<u64>> {
    let Some([START, start @ ..]) = next::<13>(journal)? else {
        return Ok(None);
    };
    let (items, number) = start.split_at(4);
    if little_endian(number) > flushed {
        return Ok(None);
    }
    let mut length = 13;
    for _ in 0..little_endian(items) {
        let Some([ITEM, _, NOT_COMPRESSED, item @ ..]) = next::<21>(journal)? else {
            return Ok(None);
        };
        // Keyspace, length of the key, lengths of the value as it is and as it is stored.
        let key_and_value = little_endian(&item[8..10]) + little_endian(&item[14..18]);
        if !skip(journal, key_and_value)? {
            return Ok(None);
        }
        length += 21 + key_and_value;
    }
    match next::<13>(journal)? {
        Some([END, end @ ..]) if end[8..] == TRAILER => Ok(Some(length + 13)),
        _ => Ok(None),
    }
}

fn next<const N: usize>(journal: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match journal.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Passes so many bytes; false if there are less.
fn skip(journal: &mut impl BufRead, mut bytes: u64) -> io::Result<bool> {
    while bytes > 0 {
        let there = journal.fill_buf()?.len();
        if there == 0 {
            return Ok(false);
        }
        let passed = (there as u64).min(bytes);
        journal.consume(passed as usize);
        bytes -= passed;
    }
    Ok(true)
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

/// Copies the rest, all but the zeros at its end: new journals are made of 64 MB of them.
fn copy_without_padding(journal: &mut impl BufRead, copy: &mut impl Write) -> io::Result<()> {
    let mut zeros = 0;
    loop {
        let bytes = journal.fill_buf()?;
        if bytes.is_empty() {
            return Ok(());
        }
        let length = bytes.len();
        if bytes.iter().all(|byte| *byte == 0) {
            zeros += length as u64;
        } else {
            io::copy(&mut io::repeat(0).take(zeros), copy)?;
            zeros = 0;
            copy.write_all(bytes)?;
        }
        journal.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(number: u64, items: &[(&[u8], &[u8])]) -> Vec<u8> {
        let mut bytes = vec![START];
        bytes.extend((items.len() as u32).to_le_bytes());
        bytes.extend(number.to_le_bytes());
        for (key, value) in items {
            bytes.extend([ITEM, 0, NOT_COMPRESSED]);
            bytes.extend(1u64.to_le_bytes());
            bytes.extend((key.len() as u16).to_le_bytes());
            bytes.extend((value.len() as u32).to_le_bytes());
            bytes.extend((value.len() as u32).to_le_bytes());
            bytes.extend(*key);
            bytes.extend(*value);
        }
        bytes.push(END);
        bytes.extend(77u64.to_le_bytes());
        bytes.extend(TRAILER);
        bytes
    }

    fn front(bytes: &[u8], flushed: u64) -> usize {
        // A small buffer, so that entries cross its ends.
        let mut reader = BufReader::with_capacity(7, bytes);
        flushed_front(&mut reader, flushed).expect("bytes in memory") as usize
    }

    #[test]
    fn the_front_ends_with_the_last_flushed_batch() {
        let batches = [
            batch(4, &[(b"a", b"1"), (b"b", b"")]),
            batch(5, &[]),
            batch(9, &[(b"c", &[7; 300])]),
        ];
        let [first, second, _] = batches.each_ref().map(Vec::len);
        let whole = batches.concat();
        for (flushed, expected) in [
            (3, 0),
            (4, first),
            (8, first + second),
            (9, whole.len()),
            (u64::MAX, whole.len()),
        ] {
            assert_eq!(front(&whole, flushed), expected, "{flushed}");
        }
        let padded = [&whole[..], &[0; 64]].concat();
        assert_eq!(front(&padded, 100), whole.len());
    }

    #[test]
    fn nothing_strange_is_taken_for_flushed() {
        let (first, second) = (batch(1, &[(b"key", b"value")]), batch(2, &[(b"k", b"v")]));
        let whole = [first.clone(), second.clone()].concat();
        for end in first.len()..whole.len() {
            assert_eq!(front(&whole[..end], 9), first.len(), "cut at {end}");
        }
        // Tags, compression and trailer of the second batch.
        for at in [0, 13, 15, second.len() - 13, second.len() - 1] {
            let mut damaged = whole.clone();
            damaged[first.len() + at] ^= 0x40;
            assert_eq!(front(&damaged, 9), first.len(), "byte {at}");
        }
    }

    #[test]
    fn only_the_zeros_at_the_end_are_left_out() {
        let journal = [&[0; 20][..], &[1, 2], &[0; 30], &[3], &[0; 50]].concat();
        let mut copy = Vec::new();
        let mut reader = BufReader::with_capacity(4, &journal[..]);
        copy_without_padding(&mut reader, &mut copy).expect("bytes in memory");
        let end = copy.len();
        assert!((53..57).contains(&end), "{end}");
        assert_eq!(copy, journal[..end]);
    }
}
