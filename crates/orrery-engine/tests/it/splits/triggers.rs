//! Splits that nobody asks for by name.

use orrery_engine::split::Cut;
use orrery_engine::{MetadataOptions, Resource};
use orrery_model::limits::Limits;
use orrery_model::resource_path::ResourcePath;

use super::{check, ids, settle};
use crate::harness::World;

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

fn small() -> Limits {
    Limits {
        physical_partition_bytes: 40_000,
        ..Limits::default()
    }
}

#[test]
fn a_full_partition_is_cut_where_half_of_the_bytes_are() {
    let world = World::with_limits(PLAIN, 1, small());
    let text = "x".repeat(400);
    let mut n = 0;
    while world.container.ranges().partitions()[0]
        .statistics()
        .total_bytes()
        <= 40_000
    {
        // One logical partition is much greater than the others.
        let key = if n % 3 == 0 {
            "big".to_owned()
        } else {
            format!("k{n}")
        };
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"{key}","t":"{text}"}}"#))
            .expect("created");
        n += 1;
    }
    settle(&world);
    check(&world);
    assert_eq!(ids(&world), [1, 2]);
    let ranges = world.container.ranges();
    let bytes: Vec<u64> = ranges
        .partitions()
        .iter()
        .map(|one| one.statistics().total_bytes())
        .collect();
    // A third cannot be divided, so the halves are no more uneven than that.
    assert!(bytes.iter().all(|&half| half > 40_000 / 4), "{bytes:?}");
}

#[test]
fn one_logical_partition_is_left_alone_until_it_has_grown() {
    let world = World::with_limits(PLAIN, 1, small());
    let text = "x".repeat(400);
    for n in 0..100 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"big","t":"{text}"}}"#))
            .expect("created");
    }
    settle(&world);
    assert_eq!(ids(&world), [0]);
    let asked = || world.engine.reshapes_of(&world.container).len();
    assert_eq!(asked(), 1);
    settle(&world);
    assert_eq!(asked(), 1, "it is not tried again and again");
    for n in 100..200 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"k{n}","t":"{text}"}}"#))
            .expect("created");
    }
    settle(&world);
    assert!(ids(&world).len() >= 2);
    check(&world);
}

fn offer(world: &World, path: &str) -> Resource {
    let path = ResourcePath::parse(path).expect("a path");
    world.engine.catalog().read(&path).expect("found").value
}

#[test]
fn raised_throughput_adds_partitions_and_is_pending_until_then() {
    let world = World::new(PLAIN, 1);
    let catalog = world.engine.catalog();
    let path = |text: &str| ResourcePath::parse(text).expect("a path");
    let plain = MetadataOptions::default();
    catalog
        .create(&path("/dbs"), br#"{"id":"shop"}"#, &plain)
        .expect("created");
    let options = MetadataOptions {
        throughput: Some(11_000),
        ..MetadataOptions::default()
    };
    let body = br#"{"id":"items","partitionKey":{"paths":["/pk"]}}"#;
    catalog
        .create(&path("/dbs/shop/colls"), body, &options)
        .expect("created");
    let container = world
        .engine
        .container(&path("/dbs/shop/colls/items"))
        .expect("there");
    let ranges = || {
        let ranges = container.ranges();
        let ids = ranges.partitions().iter().map(|one| one.id().0);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(ranges(), [0, 1]);
    let offers = catalog
        .list(&path("/offers"), &orrery_engine::page::Page::default())
        .expect("listed");
    let text = String::from_utf8(offers.value.page.rows).expect("UTF-8");
    let link = format!("/offers/{}", crate::harness::member(&text, "_rid"));
    let raise = |rate: u64| {
        let body = text.replace("11000", &rate.to_string());
        let answer = catalog.replace(&path(&link), body.as_bytes(), &plain);
        answer
            .expect("replaced")
            .value
            .offer
            .expect("an offer")
            .replace_pending
    };
    assert!(!raise(20_000), "two partitions bear it");
    settle(&world);
    assert_eq!(ranges(), [0, 1]);
    assert!(raise(21_000));
    assert!(
        offer(&world, &link)
            .offer
            .expect("an offer")
            .replace_pending
    );
    settle(&world);
    // One range keeps half of the keys, two have a quarter.
    assert_eq!(ranges(), [2, 3, 1]);
    assert!(
        !offer(&world, &link)
            .offer
            .expect("an offer")
            .replace_pending
    );
    assert!(raise(55_000));
    settle(&world);
    assert_eq!(ranges().len(), 6);
    let all: Vec<_> = container
        .ranges()
        .partitions()
        .iter()
        .map(|one| one.id())
        .collect();
    assert!(
        world.engine.merge_ranges(&container, &all[..2]).is_err(),
        "the throughput needs them"
    );
    assert!(!raise(1_000), "lowering takes nothing away");
    settle(&world);
    assert_eq!(ranges().len(), 6);
    world
        .engine
        .merge_ranges(&container, &all[..2])
        .expect("lined up");
    settle(&world);
    assert_eq!(ranges().len(), 5);
}

#[test]
fn a_split_may_be_told_to_take_its_time() {
    let world = World::new(PLAIN, 1);
    let asked = world
        .engine
        .split_range(
            &world.container,
            orrery_model::ids::PartitionKeyRangeId(0),
            Cut::Hash,
            2,
        )
        .expect("lined up");
    assert!(!asked.is_over());
    settle(&world);
    assert!(asked.is_over());
}
