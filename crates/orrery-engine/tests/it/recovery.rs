//! What a restart finds, and who shares a commit.

use std::sync::{Arc, Mutex};

use orrery_engine::page::Target;
use orrery_engine::write::WriteKind;
use orrery_engine::{CommitMode, Engine, EngineConfig};
use orrery_model::ids::Lsn;
use orrery_storage::{Head, PartId, PartState, Writes};

use crate::harness::{TestEntropy, World, request};

const PLAIN: &str = r#"{"partitionKey":{"paths":["/pk"]}}"#;

#[test]
fn a_restart_restores_everything() {
    let world = World::new(PLAIN, 3);
    for n in 0..50 {
        world
            .create("", &format!(r#"{{"id":"{n}","pk":"k{n}"}}"#))
            .expect("created");
    }
    let before = world.feed(&Target::All, 100);
    let positions = |world: &World| -> Vec<Lsn> {
        world
            .container
            .ranges()
            .partitions()
            .iter()
            .map(|partition| partition.lsn())
            .collect()
    };
    let lsns = positions(&world);
    assert_eq!(lsns.iter().map(|lsn| lsn.0).sum::<u64>(), 50);
    let world = world.reopen();
    assert_eq!(world.feed(&Target::All, 100), before);
    assert_eq!(positions(&world), lsns);
    // Numbers go on where they were: no rid is given twice.
    world
        .create("", r#"{"id":"new","pk":"k0"}"#)
        .expect("created");
    assert_eq!(world.feed(&Target::All, 100).len(), 51);
}

#[test]
fn parts_without_an_owner_are_dropped() {
    let world = World::new(PLAIN, 2);
    let orphan = PartId(4711);
    world
        .store
        .create_part(orphan, Head::new(PartState::Importing))
        .expect("created");
    let world = world.reopen();
    let parts = world.store.list_parts().expect("listed");
    assert_eq!(parts.len(), 3, "the account and two partitions: {parts:?}");
    world
        .engine
        .drop_containers(std::slice::from_ref(&world.container), Writes::new())
        .expect("dropped");
    assert_eq!(world.store.list_parts().expect("listed").len(), 1);
    assert!(world.engine.container_by_number(7, 3).is_none());
}

#[test]
fn many_writers_share_commits_and_lose_nothing() {
    let world = World::new(PLAIN, 2);
    let config = EngineConfig {
        commit: CommitMode::Threads(2),
        ..EngineConfig::default()
    };
    let engine = Engine::open(
        Arc::clone(&world.store),
        Arc::clone(&world.clock) as Arc<dyn orrery_engine::Clock>,
        Arc::new(TestEntropy::new(9)),
        config,
    )
    .expect("opened");
    let container = engine.container_by_number(7, 3).expect("recorded");
    let failures = Arc::new(Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (engine, container, failures) = (&engine, &container, &failures);
            scope.spawn(move || {
                for n in 0..50 {
                    // Every id is written by two writers; one of them must lose.
                    let body = format!(r#"{{"id":"{}-{n}","pk":"k{n}"}}"#, writer / 2);
                    let kind = WriteKind::Create { body: body.into() };
                    if let Err(failure) = engine.write(container, request(kind, "")) {
                        failures
                            .lock()
                            .expect("no panic")
                            .push(failure.error.to_string());
                    }
                }
            });
        }
    });
    let failures = failures.lock().expect("no panic");
    assert_eq!(failures.len(), 200);
    assert!(
        failures
            .iter()
            .all(|failure| failure.contains("already exists"))
    );
    drop(engine);
    let world = world.reopen();
    assert_eq!(world.feed(&Target::All, 100).len(), 200);
}
