//! Random queries give the rows that the pipeline alone makes of all items, in its order, each
//! once, over pages of any size and through a restart.

use std::collections::BTreeSet;

use orrery_engine::page::Target;
use orrery_engine::query::AccessKind;
use orrery_model::epk::EpkRange;

use super::asking::{expected, walk};
use super::making::{COMPOSITES, any, item, plain};
use crate::harness::{TestEntropy, World, parse_key};

const ALL: &str = r#""includedPaths":[{"path":"/*"}],"excludedPaths":[]"#;
/// Arrays and objects at these paths have no entries.
const SCALARS: &str = r#""includedPaths":[{"path":"/a/?"},{"path":"/n/?"},{"path":"/s/?"},
    {"path":"/o/x/?"},{"path":"/tags/[]/?"}],"excludedPaths":[{"path":"/*"}]"#;

fn definition(paths: &str, policy: &str) -> String {
    format!(
        r#"{{"partitionKey":{{"paths":{paths}}},
            "indexingPolicy":{{{policy},"compositeIndexes":{COMPOSITES}}}}}"#
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

fn run(
    seed: u64,
    ranges: u32,
    is_hierarchy: bool,
    nodes: bool,
    policy: &str,
) -> BTreeSet<AccessKind> {
    let dice = TestEntropy::new(seed);
    let paths = if is_hierarchy { HIERARCHY } else { FLAT };
    let mut world = World::without_sorting(&definition(paths, policy), ranges);
    fill(&world, &dice, 260, nodes);
    let mut seen = BTreeSet::new();
    for round in 0..14 {
        for (target, is_one) in targets(&world, &dice, is_hierarchy) {
            let text = if is_one { any(&dice) } else { plain(&dice) };
            let most = [1, 3, 100][dice.below(3) as usize];
            let restart = dice.below(4) as usize;
            let wanted = expected(&world, &text, &target);
            let found;
            (world, found) = walk(world, &text, &target, most, restart, &mut seen);
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
    seen
}

#[test]
fn one_range() {
    let mut seen = BTreeSet::new();
    for seed in 0..4 {
        seen.append(&mut run(seed, 1, false, true, ALL));
    }
    use AccessKind::{Chosen, Counted, Ordered, Scan};
    assert_eq!(seen, BTreeSet::from([Scan, Chosen, Ordered, Counted]));
}

#[test]
fn several_ranges() {
    for seed in 100..102 {
        run(seed, 5, false, true, ALL);
    }
}

#[test]
fn hierarchical_keys() {
    for seed in 200..202 {
        run(seed, 5, true, true, ALL);
    }
}

#[test]
fn scalars_only() {
    for seed in 300..302 {
        let seen = run(seed, 1, false, seed % 2 == 0, SCALARS);
        assert!(seen.contains(&AccessKind::Ordered));
    }
}
