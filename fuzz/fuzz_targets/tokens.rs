//! Texts that come back from clients: session tokens, partition key headers, resource ids, paths,
//! positions. They are refused or read, and what is read is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::partition_key::{PartitionKey, PartitionKeyDefinition};
use orrery_model::resource_path::ResourcePath;
use orrery_model::rid::ResourceId;
use orrery_model::session::SessionToken;

fuzz_target!(|text: &str| {
    if let Ok(token) = SessionToken::parse(text) {
        let written = token.to_string();
        assert_eq!(SessionToken::parse(&written).as_ref(), Ok(&token));
    }
    let _ = SessionToken::parse_composite(text);
    if let Ok(key) = PartitionKey::parse_header(text) {
        let again = PartitionKey::parse_header(&key.to_json()).expect("a written key is read");
        assert_eq!(again, key);
        let definition = PartitionKeyDefinition::hash("/pk").expect("a definition");
        let _ = definition.effective(&key);
    }
    if let Ok(id) = ResourceId::parse(text) {
        assert_eq!(ResourceId::parse(&id.to_string()).as_ref(), Ok(&id));
        let _ = (id.kind(), id.parent(), id.self_link());
    }
    if let Ok(path) = ResourcePath::parse(text) {
        let _ = (
            path.kind(),
            path.parent(),
            path.signing_link(),
            path.owner_link(),
        );
    }
    if let Some(position) = EffectivePartitionKey::from_hex(text) {
        let _ = position.to_hex();
    }
});
