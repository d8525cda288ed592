//! Batches, bulk and deletes by partition key.

use orrery_engine::page::Target;
use orrery_engine::write::{
    BatchKind, BatchOutcome, ItemOutcome, WriteKind, WriteOutcome, WriteRequest,
};
use orrery_engine::{Answer, Error, Failure};
use orrery_model::ids::{Lsn, PartitionKeyRangeId};

use crate::assert_refused;
use crate::harness::{World, operation, parse_key, request};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

fn batch(answer: Result<Answer<WriteOutcome>, Failure>) -> BatchOutcome {
    match answer.expect("the batch is served").value {
        WriteOutcome::Batch(batch) => batch,
        other => panic!("not a batch: {other:?}"),
    }
}

#[test]
fn a_batch_is_all_or_nothing() {
    let world = World::new(PLAIN, 1);
    world
        .create("", r#"{"id":"0","pk":"a","n":0}"#)
        .expect("created");
    let create = |id: &str| BatchKind::Create {
        body: format!(r#"{{"id":"{id}","pk":"a"}}"#).into(),
    };
    let outcome = batch(world.batch(
        r#"["a"]"#,
        vec![
            create("1"),
            BatchKind::Delete { id: "0".to_owned() },
            create("1"),
            create("2"),
        ],
        true,
    ));
    let kinds: Vec<String> = outcome
        .results
        .iter()
        .map(|result| {
            result
                .outcome
                .as_ref()
                .map_or_else(ToString::to_string, |_| "ok".to_owned())
        })
        .collect();
    assert!(kinds[2].contains("already exists"), "{kinds:?}");
    for other in [0, 1, 3] {
        assert!(matches!(
            outcome.results[other].outcome,
            Err(Error::FailedDependency)
        ));
    }
    assert_eq!(
        world.feed(&Target::All, 10),
        [r#"{"id":"0","pk":"a","n":0}"#]
    );

    let answer = world.batch(
        r#"["a"]"#,
        vec![
            create("1"),
            BatchKind::Read { id: "1".to_owned() },
            BatchKind::Patch {
                id: "1".to_owned(),
                body: br#"{"operations":[{"op":"incr","path":"/n","value":5}]}"#.to_vec(),
            },
            BatchKind::Upsert {
                body: br#"{"id":"2","pk":"a"}"#.to_vec(),
            },
            BatchKind::Replace {
                id: "2".to_owned(),
                body: br#"{"id":"2","pk":"a","m":1}"#.to_vec(),
            },
            BatchKind::Delete { id: "0".to_owned() },
        ],
        true,
    );
    let lsn = answer.as_ref().map(|answer| answer.meta.lsn).ok();
    assert_eq!(lsn, Some(Lsn(2)), "one transaction, one position");
    let outcome = batch(answer);
    assert!(outcome.all_succeeded());
    assert!(matches!(
        outcome.results[1].outcome,
        Ok(ItemOutcome::Read(_))
    ));
    assert_eq!(
        world.feed(&Target::All, 10),
        [
            r#"{"id":"1","pk":"a","n":5}"#,
            r#"{"id":"2","pk":"a","m":1}"#
        ]
    );
    let statistics = world.container.ranges().partitions()[0].statistics();
    assert_eq!(statistics.items, 2);
}

#[test]
fn an_operation_that_is_wrong_in_itself_fails_at_its_turn() {
    let world = World::new(PLAIN, 1);
    let create = |id: &str, key: &str| BatchKind::Create {
        body: format!(r#"{{"id":"{id}","pk":"{key}"}}"#).into(),
    };
    let refusals = |operations| -> Vec<Option<Error>> {
        batch(world.batch(r#"["a"]"#, operations, true))
            .results
            .into_iter()
            .map(|result| result.outcome.err())
            .collect()
    };
    let wrong_key = refusals(vec![create("1", "a"), create("2", "b")]);
    assert!(matches!(
        wrong_key[..],
        [
            Some(Error::FailedDependency),
            Some(Error::PartitionKeyMismatch)
        ]
    ));
    let earlier = refusals(vec![
        BatchKind::Read { id: "x".to_owned() },
        create("2", "b"),
    ]);
    assert!(matches!(
        earlier[..],
        [Some(Error::NotFound), Some(Error::FailedDependency)]
    ));
    assert!(world.feed(&Target::All, 10).is_empty());
}

#[test]
fn batches_that_are_refused_as_a_whole() {
    let world = World::new(PLAIN, 1);
    let create = |key: &str| BatchKind::Create {
        body: format!(r#"{{"id":"1","pk":"{key}"}}"#).into(),
    };
    assert_refused!(world.batch(r#"["a"]"#, vec![], true), Error::BadRequest(_));
    assert_refused!(
        world.batch("", vec![create("a")], true),
        Error::PartitionKeyMissing
    );
    let many = (0..101)
        .map(|_| BatchKind::Read { id: "1".to_owned() })
        .collect();
    assert_refused!(world.batch(r#"["a"]"#, many, true), Error::BadRequest(_));
    let big = |id: u32| BatchKind::Create {
        body: format!(r#"{{"id":"{id}","pk":"a","x":"{}"}}"#, "x".repeat(1 << 20)).into(),
    };
    assert_refused!(
        world.batch(r#"["a"]"#, vec![big(1), big(2)], true),
        Error::TooLarge(_)
    );
    assert!(world.feed(&Target::All, 10).is_empty());
}

#[test]
fn bulk_goes_on_after_failures() {
    let world = World::new(PLAIN, 4);
    let operations = (0..20)
        .map(|n| {
            let id = if n == 7 { 6 } else { n };
            let body = format!(r#"{{"id":"{id}","pk":"k{}"}}"#, id % 5).into();
            let mut operation = operation(BatchKind::Create { body });
            operation.key = Some(parse_key(&format!(r#"["k{}"]"#, id % 5)));
            operation
        })
        .collect();
    let kind = WriteKind::Batch {
        operations,
        atomic: false,
        continue_on_error: true,
    };
    let outcome = batch(world.write(request(kind, "")));
    assert_eq!(outcome.results.len(), 20);
    for (n, result) in outcome.results.iter().enumerate() {
        assert_eq!(
            result.outcome.is_ok(),
            n != 7,
            "operation {n}: {:?}",
            result.outcome
        );
    }
    assert_eq!(world.feed(&Target::All, 3).len(), 19);
}

#[test]
fn bulk_for_the_wrong_range_fails_alone() {
    let world = World::new(PLAIN, 2);
    let owner = |key: &str| {
        let epk = world
            .container
            .state()
            .key_definition()
            .effective(&parse_key(key));
        world.container.partition_of(&epk).expect("an owner").id()
    };
    let keys: Vec<String> = (0..20).map(|n| format!(r#"["k{n}"]"#)).collect();
    let operations = (0..20)
        .map(|n| {
            let body = format!(r#"{{"id":"1","pk":"k{n}"}}"#).into();
            let mut operation = operation(BatchKind::Create { body });
            operation.key = Some(parse_key(&keys[n]));
            operation
        })
        .collect();
    let kind = WriteKind::Batch {
        operations,
        atomic: false,
        continue_on_error: true,
    };
    let range = Some(PartitionKeyRangeId(1));
    let outcome = batch(world.write(WriteRequest {
        range,
        ..request(kind, "")
    }));
    for (key, result) in keys.iter().zip(&outcome.results) {
        match &result.outcome {
            Ok(_) => assert_eq!(owner(key), PartitionKeyRangeId(1)),
            Err(Error::PartitionKeyRangeGone { .. }) => {
                assert_eq!(owner(key), PartitionKeyRangeId(0));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn deleting_a_key_deletes_all_its_items() {
    let world = World::new(PLAIN, 2);
    for n in 0..1100 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"a"}}"#))
            .expect("created");
    }
    world.create("", r#"{"id":"0","pk":"b"}"#).expect("created");
    let answer = world
        .write(request(WriteKind::DeletePartitionKey, r#"["a"]"#))
        .expect("deleted");
    assert!(matches!(
        answer.value,
        WriteOutcome::Removed { items: 1100 }
    ));
    assert_eq!(world.feed(&Target::All, 10), [r#"{"id":"0","pk":"b"}"#]);
    assert_refused!(
        world.write(request(WriteKind::DeletePartitionKey, "")),
        Error::PartitionKeyMissing
    );
}
