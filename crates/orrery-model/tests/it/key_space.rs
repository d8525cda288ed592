//! Ranges of the key space tile it, and halves are inside.

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::partition_key::{
    KeyComponent, PartitionKey, PartitionKeyDefinition, PartitionKeyKind,
};

use crate::random::Random;

fn definitions() -> Vec<PartitionKeyDefinition> {
    let three = || ["/a", "/b", "/c"];
    [
        PartitionKeyDefinition::new(["/a"], PartitionKeyKind::Hash, 1),
        PartitionKeyDefinition::new(["/a"], PartitionKeyKind::Hash, 2),
        PartitionKeyDefinition::new(three(), PartitionKeyKind::MultiHash, 2),
        PartitionKeyDefinition::new(["/a"], PartitionKeyKind::Range, 1),
    ]
    .map(|definition| definition.expect("a definition"))
    .to_vec()
}

fn epk(hex: &str) -> EffectivePartitionKey {
    EffectivePartitionKey::from_hex(hex).expect(hex)
}

fn random_key(random: &mut Random, definition: &PartitionKeyDefinition) -> PartitionKey {
    definition
        .paths()
        .iter()
        .map(|_| KeyComponent::from(&random.scalar()))
        .collect()
}

#[test]
fn trailing_zeros_do_not_count() {
    assert_eq!(epk(""), epk("00"));
    assert_eq!(epk("22E3"), epk("22e300"));
    assert!(epk("22E3") < epk("22E30001"));
    assert!(epk("22E3") < epk("22E3").end_of_prefix());
    assert!(epk("3FFF") < EffectivePartitionKey::max());
    assert_eq!(epk("22e300").to_hex(), "22E300");
    for bad in ["2", "GG", "é", "0x"] {
        assert!(EffectivePartitionKey::from_hex(bad).is_none(), "{bad}");
    }
}

#[test]
fn even_ranges_tile_the_space() {
    let mut random = Random::new(11);
    for definition in definitions() {
        for count in [1, 2, 3, 5, 64, 1000] {
            let ranges = EpkRange::split_evenly(&definition, count);
            let expected = if definition.kind() == PartitionKeyKind::Range {
                1
            } else {
                count
            };
            assert_eq!(ranges.len(), expected as usize);
            assert_eq!(ranges.first().expect("first").min.to_hex(), "");
            assert_eq!(ranges.last().expect("last").max.to_hex(), "FF");
            for pair in ranges.windows(2) {
                assert_eq!(pair[0].max, pair[1].min);
                assert!(!pair[0].is_empty() && !pair[0].overlaps(&pair[1]));
            }
            for _ in 0..50 {
                let position = definition.effective(&random_key(&mut random, &definition));
                let owners = ranges
                    .iter()
                    .filter(|range| range.contains(&position))
                    .count();
                assert_eq!(owners, 1, "{position}");
            }
        }
    }
    let halves = EpkRange::split_evenly(&definitions()[1], 2);
    assert_eq!(halves[0].max.to_hex(), "20000000000000000000000000000000");
    // The cut that the Python SDK's tests expect of a container with five ranges.
    let fifths = EpkRange::split_evenly(&definitions()[1], 5);
    assert_eq!(fifths[3].max.to_hex(), "33333333333333333333333333333330");
}

#[test]
fn keys_spread_evenly() {
    for definition in &definitions()[..3] {
        let ranges = EpkRange::split_evenly(definition, 4);
        let mut counts = [0; 4];
        for number in 0..4_000 {
            let key: PartitionKey = definition
                .paths()
                .iter()
                .map(|_| KeyComponent::number(f64::from(number)))
                .collect();
            let position = definition.effective(&key);
            counts[ranges
                .iter()
                .position(|range| range.contains(&position))
                .expect("owner")] += 1;
        }
        assert!(
            counts.iter().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
    }
}

#[test]
fn halving_goes_on() {
    for definition in &definitions()[..3] {
        let mut range = EpkRange::full();
        // A 32-bit hash has 31 halvings below its first, 128 bits many more.
        for step in 0..30 {
            let middle = range.midpoint(definition).expect("a middle");
            assert!(range.min < middle && middle < range.max, "{range} {middle}");
            range = if step % 2 == 0 {
                EpkRange::new(middle, range.max)
            } else {
                EpkRange::new(range.min, middle)
            };
        }
    }
    assert_eq!(EpkRange::full().midpoint(&definitions()[3]), None);
}

#[test]
fn a_hierarchy_splits_inside_one_first_level_value() {
    let definition = &definitions()[2];
    let tenant = PartitionKey::single("tenant");
    let range = definition.prefix_range(&tenant);
    let middle = range.midpoint(definition).expect("inside the tenant");
    assert!(range.contains(&middle));
    assert_eq!(middle.as_bytes().len(), 32);
    let mut sides = [0; 2];
    for user in 0..1000 {
        let components = [
            KeyComponent::from("tenant"),
            KeyComponent::number(f64::from(user)),
            KeyComponent::Null,
        ];
        let position = definition.effective(&PartitionKey(components.to_vec()));
        assert!(range.contains(&position));
        sides[usize::from(position >= middle)] += 1;
    }
    assert!(sides[0] > 400 && sides[1] > 400, "{sides:?}");
    // Down to the third level, and there it ends.
    let user = PartitionKey(vec![
        KeyComponent::from("tenant"),
        KeyComponent::from("user"),
    ]);
    let range = definition.prefix_range(&user);
    assert_eq!(
        range
            .midpoint(definition)
            .expect("third level")
            .as_bytes()
            .len(),
        48
    );
    let full = PartitionKey(vec![KeyComponent::Null; 3]);
    assert_eq!(definition.prefix_range(&full).midpoint(definition), None);
}

#[test]
fn set_operations() {
    let range = |min: &str, max: &str| EpkRange::new(epk(min), epk(max));
    assert_eq!(
        range("", "20").intersect(&range("10", "FF")),
        Some(range("10", "20"))
    );
    assert_eq!(range("", "10").intersect(&range("10", "FF")), None);
    assert!(range("10", "20").contains(&epk("10")) && !range("10", "20").contains(&epk("20")));
    assert!(EpkRange::full().covers(&range("10", "20")));
}
