//! Ranges that become others: nothing is lost, nothing doubled, and whoever reads goes on.

mod crashes;
mod joint;
mod reading;
mod sessions;
mod triggers;
mod writing;

use std::collections::BTreeSet;
use std::sync::Arc;

use orrery_engine::layout::entries::ChangeEntry;
use orrery_engine::layout::record::ItemRecord;
use orrery_engine::layout::{family, keys};
use orrery_engine::partition::Partition;
use orrery_engine::split::{Cut, Reshape, Stage};
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::PartitionKeyRangeId;
use orrery_model::json;
use orrery_storage::Scan;

use crate::harness::{TestEntropy, World};

/// The ranges' ids in order of key space.
pub fn ids(world: &World) -> Vec<u32> {
    let ranges = world.container.ranges();
    ranges.partitions().iter().map(|one| one.id().0).collect()
}

/// Works until nothing is left to do.
pub fn settle(world: &World) {
    for _ in 0..100_000 {
        if world.engine.advance_reshapes(1_000).expect("advanced") == 0 {
            return;
        }
    }
    panic!("the reshapes do not end");
}

pub fn split(world: &World, range: u32, cut: Cut, into: u32) -> Arc<Reshape> {
    let range = PartitionKeyRangeId(range);
    let reshape = world
        .engine
        .split_range(&world.container, range, cut, into)
        .expect("lined up");
    settle(world);
    assert_eq!(reshape.progress().stage, Stage::Done, "{reshape:?}");
    reshape
}

pub fn merge(world: &World, ranges: &[u32]) -> Arc<Reshape> {
    let ranges: Vec<_> = ranges.iter().copied().map(PartitionKeyRangeId).collect();
    let reshape = world
        .engine
        .merge_ranges(&world.container, &ranges)
        .expect("lined up");
    settle(world);
    assert_eq!(reshape.progress().stage, Stage::Done, "{reshape:?}");
    reshape
}

/// One random step of a reshape, or a random new one.
pub fn stir(world: &World, dice: &TestEntropy) {
    world.engine.advance_reshapes(1).expect("advanced");
    if dice.below(10) > 0 {
        return;
    }
    let ranges = world.container.ranges();
    let count = ranges.partitions().len() as u64;
    let at = dice.below(count) as usize;
    let id = ranges.partitions()[at].id();
    let asked = match ranges.partitions().get(at + 1) {
        Some(next) if count > 3 || dice.below(2) == 0 => {
            let pair = [id, next.id()];
            world.engine.merge_ranges(&world.container, &pair)
        }
        _ => {
            let into = 2 + dice.below(2) as u32;
            let cut = if dice.below(3) == 0 {
                Cut::Size
            } else {
                Cut::Hash
            };
            let into = if cut == Cut::Size { 2 } else { into };
            world.engine.split_range(&world.container, id, cut, into)
        }
    };
    // It may be under way already.
    drop(asked);
}

/// The ranges tile the key space, and every entry of every partition belongs there.
pub fn check(world: &World) {
    let ranges = world.container.ranges();
    let partitions = ranges.partitions();
    let full = EpkRange::full();
    assert_eq!(
        partitions.first().map(|one| &one.range().min),
        Some(&full.min)
    );
    assert_eq!(
        partitions.last().map(|one| &one.range().max),
        Some(&full.max)
    );
    for pair in partitions.windows(2) {
        assert_eq!(pair[0].range().max, pair[1].range().min);
    }
    for partition in partitions {
        check_partition(world, partition);
    }
    crate::index::check(world);
}

fn check_partition(world: &World, partition: &Partition) {
    let rows = |letter: u8| {
        let scan = Scan::prefix([letter]);
        world
            .store
            .scan(partition.part(), &scan)
            .expect("readable")
            .rows
    };
    let state = world.container.state();
    let items = rows(family::ITEM);
    let mut expected = BTreeSet::new();
    let mut bytes = 0;
    for row in &items {
        let docid = keys::docid_of_item(&row.key).expect("an item's key");
        let record = ItemRecord::decode(&row.value).expect("an item");
        let epk = EffectivePartitionKey::from_bytes(record.epk.to_vec());
        assert!(partition.range().contains(&epk));
        assert!(record.header.lsn <= partition.lsn());
        let item = json::parse(record.json).expect("JSON");
        let id = item.member("id").as_str().expect("an id");
        let pointer = keys::docid_value(docid);
        expected.insert((keys::id(&epk, id), pointer.clone()));
        for (at, values) in state.unique().of(&item).iter().enumerate() {
            expected.insert((keys::unique(at as u8, &epk, values), pointer.clone()));
        }
        let change = ChangeEntry {
            docid,
            ts: record.header.ts,
            epk: record.epk,
        };
        let place = keys::change(record.header.lsn, record.header.ordinal, docid);
        expected.insert((place, change.encode()));
        if record.header.ttl > 0 {
            let end = record.header.ts + u64::from(record.header.ttl.unsigned_abs());
            expected.insert((keys::expiry(end, docid), Vec::new()));
        }
        let terms = state.index().terms(&item, record.header.indexing);
        let index: usize = terms.iter().map(|term| term.len() + 9).sum();
        let size = (row.value.len() + index) as u64;
        expected.insert((keys::key(&epk, docid), size.to_be_bytes().to_vec()));
        bytes += row.value.len() as u64;
    }
    let mut found = BTreeSet::new();
    for letter in [
        family::ID,
        family::UNIQUE,
        family::CHANGE,
        family::EXPIRY,
        family::KEY,
    ] {
        for row in rows(letter) {
            found.insert((row.key.to_vec(), row.value.to_vec()));
        }
    }
    assert_eq!(found, expected);
    assert_eq!(partition.statistics().items, items.len() as u64);
    assert_eq!(partition.statistics().item_bytes, bytes);
}
