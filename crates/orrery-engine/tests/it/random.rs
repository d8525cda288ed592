//! Seeded random operations against a plain map, with restarts.

use std::collections::BTreeMap;

use orrery_engine::Error;
use orrery_engine::page::Target;
use orrery_engine::write::{BatchKind, WriteOutcome};

use crate::harness::{TestEntropy, World};

const DEFINITION: &str = r#"{"partitionKey":{"paths":["/pk"]},
    "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}}"#;

/// Key and id to version and unique value.
type Model = BTreeMap<(u64, u64), (u64, u64)>;

fn body(key: u64, id: u64, version: u64, unique: u64) -> String {
    format!(
        r#"{{"id":"{id}","pk":"{key}","v":{version},"u":{unique},"l":[{version},{{"x":"{unique}"}}]}}"#
    )
}

fn taken(model: &Model, key: u64, unique: u64, own: Option<u64>) -> bool {
    model
        .iter()
        .any(|(&(k, id), &(_, u))| k == key && u == unique && Some(id) != own)
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Create,
    Upsert,
    Replace,
    Patch,
    Delete,
}

/// The model's verdict; `None` when refused.
fn expect(model: &mut Model, step: Step, key: u64, id: u64, version: u64, unique: u64) -> bool {
    let exists = model.contains_key(&(key, id));
    match step {
        Step::Create if exists => false,
        Step::Replace | Step::Patch | Step::Delete if !exists => false,
        Step::Delete => model.remove(&(key, id)).is_some(),
        Step::Create | Step::Upsert | Step::Replace | Step::Patch => {
            if taken(model, key, unique, Some(id)) {
                return false;
            }
            model.insert((key, id), (version, unique));
            true
        }
    }
}

fn kind(step: Step, key: u64, id: u64, version: u64, unique: u64) -> BatchKind {
    let text: Vec<u8> = body(key, id, version, unique).into();
    let id = id.to_string();
    match step {
        Step::Create => BatchKind::Create { body: text },
        Step::Upsert => BatchKind::Upsert { body: text },
        Step::Replace => BatchKind::Replace { id, body: text },
        Step::Patch => BatchKind::Patch {
            id,
            body: format!(
                r#"[{{"op":"set","path":"/v","value":{version}}},{{"op":"set","path":"/u","value":{unique}}},
                   {{"op":"set","path":"/l","value":[{version},{{"x":"{unique}"}}]}}]"#
            )
            .into(),
        },
        Step::Delete => BatchKind::Delete { id },
    }
}

fn check(world: &World, model: &Model) {
    let mut expected: Vec<String> = model
        .iter()
        .map(|(&(key, id), &(version, unique))| body(key, id, version, unique))
        .collect();
    expected.sort();
    let mut found = world.feed(&Target::All, 17);
    found.sort();
    assert_eq!(found, expected);
    for (&(key, id), &(version, unique)) in model {
        let text = world.plain(&format!(r#"["{key}"]"#), &id.to_string());
        assert_eq!(text, Some(body(key, id, version, unique)));
    }
    crate::splits::check(world);
    let ranges = world.container.ranges();
    let items: u64 = ranges
        .partitions()
        .iter()
        .map(|partition| partition.statistics().items)
        .sum();
    assert_eq!(items, model.len() as u64);
}

/// After everything is deleted only the counters are left: no entry of any family leaks.
fn check_empty(world: &World) {
    for partition in world.container.ranges().partitions() {
        let page = world
            .store
            .scan(partition.part(), &orrery_storage::Scan::all())
            .expect("readable");
        let keys: Vec<_> = page.rows.iter().map(|row| row.key.to_vec()).collect();
        assert!(keys.iter().all(|key| key == b"n"), "{keys:?}");
        let statistics = partition.statistics();
        assert_eq!(
            (
                statistics.items,
                statistics.item_bytes,
                statistics.index_bytes
            ),
            (0, 0, 0)
        );
    }
}

#[test]
fn operations_agree_with_a_map() {
    for seed in 0..6 {
        agree(seed, false);
    }
}

#[test]
fn operations_agree_with_a_map_while_ranges_split_and_merge() {
    for seed in 0..12 {
        agree(seed, true);
    }
}

fn agree(seed: u64, reshapes: bool) {
    let dice = TestEntropy::new(seed);
    let mut world = World::new(DEFINITION, 1 + dice.below(3) as u32);
    let mut model = Model::new();
    for version in 0..400 {
        let steps = [
            Step::Create,
            Step::Upsert,
            Step::Replace,
            Step::Patch,
            Step::Delete,
        ];
        let pick = |key: u64| {
            let step = steps[dice.below(5) as usize];
            (step, key, dice.below(8), dice.below(12))
        };
        let key = dice.below(4);
        if dice.below(4) == 0 {
            let picks: Vec<_> = (0..=dice.below(4)).map(|_| pick(key)).collect();
            let mut trial = model.clone();
            let fine = picks
                .iter()
                .all(|&(step, key, id, unique)| expect(&mut trial, step, key, id, version, unique));
            let kinds = picks
                .iter()
                .map(|&(step, key, id, unique)| kind(step, key, id, version, unique))
                .collect();
            let answer = world
                .batch(&format!(r#"["{key}"]"#), kinds, true)
                .expect("served");
            let WriteOutcome::Batch(batch) = answer.value else {
                panic!("a batch")
            };
            assert_eq!(
                batch.all_succeeded(),
                fine,
                "seed {seed} version {version} {picks:?}"
            );
            if fine {
                model = trial;
            }
        } else {
            let (step, key, id, unique) = pick(key);
            let fine = expect(&mut model, step, key, id, version, unique);
            let kinds = vec![kind(step, key, id, version, unique)];
            let answer = world
                .batch(&format!(r#"["{key}"]"#), kinds, false)
                .expect("served");
            let WriteOutcome::Batch(batch) = answer.value else {
                panic!("a batch")
            };
            let outcome = &batch.results[0].outcome;
            assert_eq!(
                outcome.is_ok(),
                fine,
                "seed {seed} version {version}: {outcome:?}"
            );
            if let Err(error) = outcome {
                assert!(
                    matches!(
                        error,
                        Error::NotFound | Error::Conflict(_) | Error::UniqueKey
                    ),
                    "{error:?}"
                );
            }
        }
        if reshapes {
            crate::splits::stir(&world, &dice);
        }
        if dice.below(80) == 0 {
            world = world.reopen();
            check(&world, &model);
        }
    }
    check(&world, &model);
    for &(key, id) in model.keys() {
        world
            .delete(&format!(r#"["{key}"]"#), &id.to_string())
            .expect("deleted");
    }
    crate::splits::check(&world);
    check_empty(&world);
}
