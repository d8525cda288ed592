//! Bodies of requests: JSON text keeps its meaning when it is written canonically; containers and
//! partition key definitions are accepted or refused; binary batches decode or are refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orrery_gateway::hybrid_row::{OperationRow, RecordReader, ResultRow};
use orrery_model::container::ContainerSpec;
use orrery_model::json::{self, PathTree};
use orrery_model::limits::Limits;

fuzz_target!(|input: (u8, &[u8])| {
    let (kind, body) = input;
    match kind % 3 {
        0 => text(body),
        1 => container(body),
        _ => batch(body),
    }
});

fn text(body: &[u8]) {
    let Ok(value) = json::parse(body) else { return };
    let mut canonical = Vec::new();
    json::write(&value, &mut canonical);
    let again = json::parse(&canonical).expect("canonical text parses");
    assert!(value.equals(&again), "canonical text keeps the value");
    assert_eq!(
        json::to_string(&again).as_bytes(),
        canonical,
        "canonical text is stable"
    );
    let mut tree = PathTree::none();
    tree.add(&["a", "b"]);
    tree.add(&["id"]);
    let _ = json::project(&canonical, &tree);
}

fn container(body: &[u8]) {
    let Ok(value) = json::parse(body) else { return };
    if let Ok(spec) = ContainerSpec::parse(&value, &Limits::default()) {
        let echoed = spec.to_value();
        ContainerSpec::parse(&echoed, &Limits::default()).expect("an echo is accepted");
    }
}

fn batch(body: &[u8]) {
    let Ok(records) = RecordReader::new(body) else {
        return;
    };
    for record in records {
        let Ok(record) = record else { return };
        if let Ok(operation) = OperationRow::decode(record) {
            let _ = operation.encode();
        }
        let _ = ResultRow::decode(record);
    }
}
