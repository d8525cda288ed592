//! Random queries give the rows that the pipeline alone makes of all items, in its order, each
//! once, over pages of any size and through a restart.
//!
//! `cargo xtask differential` runs many more of them, with optimisation; a failure names the seed
//! that repeats it.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use orrery_engine::page::Target;
use orrery_engine::query::AccessKind;
use orrery_model::epk::EpkRange;

use super::asking::{ask, expected, walk};
use super::making::{COMPOSITES, SPATIAL, any, item, plain};
use crate::harness::{TestEntropy, World, parse_key};

/// Policies without composite indexes; the first indexes everything.
const POLICIES: [&str; 4] = [
    r#""includedPaths":[{"path":"/*"}],"excludedPaths":[]"#,
    // Arrays and objects at these paths have no entries.
    r#""includedPaths":[{"path":"/a/?"},{"path":"/n/?"},{"path":"/s/?"},
    {"path":"/o/x/?"},{"path":"/tags/[]/?"}],"excludedPaths":[{"path":"/*"}]"#,
    r#""includedPaths":[{"path":"/*"},{"path":"/o/x/?"}],
    "excludedPaths":[{"path":"/s/?"},{"path":"/o/*"},{"path":"/tags/*"}]"#,
    r#""includedPaths":[{"path":"/n/*"},{"path":"/o/y/[]/z/?"}],"excludedPaths":[{"path":"/*"}]"#,
];

fn definition(paths: &str, policy: &str) -> String {
    format!(
        r#"{{"partitionKey":{{"paths":{paths}}},
            "indexingPolicy":{{{policy},"compositeIndexes":{COMPOSITES},
            "spatialIndexes":{SPATIAL}}}}}"#
    )
}

const FLAT: &str = r#"["/pk"]"#;
const HIERARCHY: &str = r#"["/pk","/sub"],"kind":"MultiHash","version":2"#;

pub fn fill(world: &World, dice: &TestEntropy, count: u64, nodes: bool) {
    for id in 0..count {
        let (_, body) = item(dice, id, nodes);
        world.create("", &body).expect("created");
        if dice.below(20) == 0 {
            world.clock.advance(1);
        }
    }
    // Some move to another place in the index, some leave it.
    for id in 0..count / 10 {
        let (_, body) = item(dice, id, nodes);
        let old = world.upsert("", &body);
        old.expect("written");
    }
}

/// One target of each kind, and whether one range answers it.
fn targets(world: &World, dice: &TestEntropy, is_hierarchy: bool) -> Vec<(Target, bool)> {
    let ranges = world.container.ranges();
    let count = ranges.partitions().len();
    let one = &ranges.partitions()[dice.below(count as u64) as usize];
    let parts = EpkRange::split_evenly(&world.container.state().key_definition().clone(), 7);
    let part = parts.iter().find(|part| one.range().overlaps(part));
    let key = format!("k{}", dice.below(13));
    let (full, prefix) = if is_hierarchy {
        (
            format!(r#"["{key}",{}]"#, dice.below(3)),
            Some(format!(r#"["{key}"]"#)),
        )
    } else {
        (format!(r#"["{key}"]"#), None)
    };
    let mut targets = vec![
        (Target::All, count == 1),
        (
            Target::Range {
                id: one.id(),
                epk: None,
            },
            true,
        ),
        (
            Target::Range {
                id: one.id(),
                epk: part.cloned(),
            },
            true,
        ),
        (Target::Key(parse_key(&full)), true),
    ];
    targets.extend(prefix.map(|prefix| (Target::Key(parse_key(&prefix)), false)));
    targets
}

/// Text with the long runs of one letter that it is full of as numbers.
pub fn short(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("xxxxxxxx") {
        let (before, from) = rest.split_at(at);
        let end = from.find(|letter| letter != 'x').unwrap_or(from.len());
        out = out + before + "<" + &end.to_string() + ">";
        rest = &from[end..];
    }
    out + rest
}

/// The containers that queries are tried on; the seed chooses.
#[derive(Clone, Copy)]
struct Setting {
    ranges: u32,
    is_hierarchy: bool,
    /// Arrays and objects stand where queries sort.
    nodes: bool,
    policy: usize,
}

impl Setting {
    fn of(seed: u64) -> Self {
        let policy = [0, 1, 0, 2, 0, 3][seed as usize % 6];
        Self {
            ranges: if seed % 4 == 1 { 5 } else { 1 },
            is_hierarchy: seed % 8 == 5,
            nodes: seed % 3 != 2,
            policy,
        }
    }
}

const ITEMS: u64 = 260;
const ROUNDS: u64 = 14;

/// Tries some queries; answers how many there were.
fn run(seed: u64, setting: Setting, seen: &mut BTreeSet<AccessKind>) -> u64 {
    let dice = TestEntropy::new(seed);
    let paths = if setting.is_hierarchy {
        HIERARCHY
    } else {
        FLAT
    };
    let definition = definition(paths, POLICIES[setting.policy]);
    let mut world = World::without_sorting(&definition, setting.ranges);
    fill(&world, &dice, ITEMS, setting.nodes);
    let mut asked = 0;
    for round in 0..ROUNDS {
        for (target, is_one) in targets(&world, &dice, setting.is_hierarchy) {
            let text = if is_one { any(&dice) } else { plain(&dice) };
            let most = [1, 3, 7, 100][dice.below(4) as usize];
            let restart = dice.below(4) as usize;
            asked += 1;
            if setting.policy > 0 && is_refused(&world, &text, &target) {
                continue;
            }
            let wanted = expected(&world, &text, &target);
            // Hundreds of pages of one row tell no more than some tens.
            let most = if wanted.len() > 40 { most.max(7) } else { most };
            let found;
            (world, found) = walk(world, &text, &target, most, restart, seen);
            let pairs = found.iter().zip(&wanted);
            let same = pairs.take_while(|(found, wanted)| found == wanted).count();
            assert!(
                found == wanted,
                "seed {seed} round {round} {target:?} pages of {most}:\n{}\n{} rows instead of {}; \
                 row {same} is {} instead of {}",
                short(&text),
                found.len(),
                wanted.len(),
                short(&format!("{:?}", found.get(same))),
                short(&format!("{:?}", wanted.get(same))),
            );
        }
    }
    asked
}

/// Whether the query sorts by what the policy leaves out.
fn is_refused(world: &World, text: &str, target: &Target) -> bool {
    match ask(world, text, target, 1, None) {
        Ok(_) => false,
        Err(failure) => {
            let message = failure.error.to_string();
            assert!(message.contains("order-by item is excluded"), "{message}");
            true
        }
    }
}

/// A number that `cargo xtask differential` gives.
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_queries() {
    let first = given("ORRERY_DIFFERENTIAL_SEED").unwrap_or(0);
    let wanted = given("ORRERY_DIFFERENTIAL_QUERIES").unwrap_or(600);
    let (next, asked) = (AtomicU64::new(first), AtomicU64::new(0));
    let seen = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while asked.load(Ordering::Relaxed) < wanted {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let mut own = BTreeSet::new();
                    let count = run(seed, Setting::of(seed), &mut own);
                    asked.fetch_add(count, Ordering::Relaxed);
                    seen.lock().expect("no thread failed").append(&mut own);
                }
            });
        }
    });
    use AccessKind::{Chosen, Counted, Ordered, Scan};
    let seen = seen.into_inner().expect("no thread failed");
    assert_eq!(seen, BTreeSet::from([Scan, Chosen, Ordered, Counted]));
    assert!(asked.into_inner() >= wanted);
}
