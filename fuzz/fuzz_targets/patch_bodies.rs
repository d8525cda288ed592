//! Patch documents: they are refused, and the item is as before, or the item is patched and still
//! an item.
#![no_main]
#![allow(dead_code)] // the tests' harness has more than is needed here

#[path = "../../crates/orrery-engine/tests/it/harness.rs"]
#[macro_use]
mod harness;

use std::cell::OnceCell;

use harness::World;
use libfuzzer_sys::fuzz_target;
use orrery_engine::Error;
use orrery_engine::write::{ItemRef, WriteKind};
use orrery_model::json;

const ITEM: &str =
    r#"{"id":"1","pk":"a","n":5,"s":"text","o":{"x":1,"y":[1,{"z":2}]},"list":[1,2,3]}"#;

thread_local! {
    static WORLD: OnceCell<World> = const { OnceCell::new() };
}

fuzz_target!(|body: &[u8]| {
    WORLD.with(|cell| {
        let world = cell.get_or_init(|| World::new(r#"{"partitionKey":{"paths":["/pk"]}}"#, 1));
        world.upsert("", ITEM).expect("written");
        let request = harness::request(
            WriteKind::Patch {
                item: ItemRef::Id("1".to_owned()),
                body: body.to_vec(),
            },
            r#"["a"]"#,
        );
        let outcome = world.write(request);
        let after = world.plain(r#"["a"]"#, "1").expect("the item is there");
        let value = json::parse_str(&after).expect("JSON");
        assert_eq!(value.member("id").as_str(), Some("1"));
        assert_eq!(value.member("pk").as_str(), Some("a"));
        if let Err(failure) = outcome {
            let fault = matches!(failure.error, Error::Damaged(_) | Error::Storage(_));
            assert!(!fault, "{:?}", failure.error);
            assert_eq!(after, ITEM, "a refused patch changes nothing");
        }
    });
});
