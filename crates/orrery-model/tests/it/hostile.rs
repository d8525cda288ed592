//! Text from outside never panics and is refused where it is wrong.

use orrery_model::container::ContainerSpec;
use orrery_model::epk::EffectivePartitionKey;
use orrery_model::ids::{ActivityId, Etag, ItemId, ResourceName};
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::partition_key::PartitionKey;
use orrery_model::path::ItemPath;
use orrery_model::resource_path::ResourcePath;
use orrery_model::rid::ResourceId;
use orrery_model::session::SessionToken;

use crate::random::Random;

fn mutated(random: &mut Random, seeds: &[&str]) -> String {
    let mut text: Vec<char> = random.pick(seeds).chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(text.len() + 1);
        match random.below(3) {
            0 if at < text.len() => drop(text.remove(at)),
            1 => text.insert(
                at,
                *random.pick(&['/', '"', '%', '#', ':', '\\', '0', 'é', '\u{0}', '[', '=']),
            ),
            _ if !text.is_empty() => {
                let at = at % text.len();
                text[at] = *random.pick(&['/', '"', '%', '-', '€', '*', '?', '9', '{', ',']);
            }
            _ => {}
        }
    }
    text.into_iter().collect()
}

#[test]
fn parsers_survive_mutations() {
    let seeds = [
        "/dbs/a/colls/b/docs/c%20d",
        "HpxDAL+dzLQBAAAAAAAAAA==",
        "0:-1#12#1=5,1:2#9",
        "/a/\"b c\"/[]/?",
        "[\"a\",1,{\"type\":\"MinNumber\"}]",
        "22E342F38A486A088463DFF7838A5963",
        "00000000-0000-0000-e384-28095c1a01da",
    ];
    let mut random = Random::new(404);
    for _ in 0..12_000 {
        let text = mutated(&mut random, &seeds);
        if let Ok(path) = ItemPath::parse(&text) {
            assert_eq!(ItemPath::parse(&path.to_string()), Ok(path), "{text}");
        }
        if let Ok(id) = ResourceId::parse(&text) {
            assert_eq!(ResourceId::parse(&id.to_string()), Ok(id), "{text}");
            let _ = (id.self_link(), id.number(), ResourcePath::of_rid(id));
        }
        if let Ok(token) = SessionToken::parse(&text) {
            assert_eq!(SessionToken::parse(&token.to_string()), Ok(token), "{text}");
        }
        if let Ok(key) = PartitionKey::parse_header(&text) {
            assert_eq!(
                PartitionKey::parse_header(&key.to_json()),
                Ok(key),
                "{text}"
            );
        }
        if let Ok(path) = ResourcePath::parse(&text) {
            let _ = (
                path.signing_link(),
                path.parent(),
                path.feed(),
                path.to_string(),
            );
        }
        let _ = SessionToken::parse_composite(&text);
        let _ = EffectivePartitionKey::from_hex(&text);
        let _ = ActivityId::parse(&text);
        let _ = ItemId::new(text.as_str());
    }
}

#[test]
fn container_bodies_survive_mutations() {
    let seed = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"defaultTtl":-1,
        "indexingPolicy":{"includedPaths":[{"path":"/*"}],"compositeIndexes":[[{"path":"/a"},{"path":"/b","order":"descending"}]],
        "spatialIndexes":[{"path":"/p/?","types":["Point"]}],"vectorIndexes":[{"path":"/v","type":"flat"}]},
        "vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"int8","dimensions":3,"distanceFunction":"cosine"}]},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a","/b/c"]}]}}"#;
    let limits = Limits::default();
    let mut random = Random::new(405);
    let mut refused = 0;
    for _ in 0..6_000 {
        let text = mutated(&mut random, &[seed]);
        let Ok(body) = json::parse_str(&text) else {
            continue;
        };
        match ContainerSpec::parse(&body, &limits) {
            Ok(spec) => {
                let again = ContainerSpec::parse(&spec.to_value(), &limits).expect("own echo");
                assert_eq!(again.to_value(), spec.to_value(), "{text}");
            }
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
            }
        }
    }
    assert!(refused > 100, "only {refused} refused");
}

#[test]
fn ids_keep_the_services_rules() {
    assert!(ItemId::new("a b.c-é").is_ok());
    assert!(ItemId::new("x".repeat(1023)).is_ok());
    for bad in ["", "a/b", "a\\b", "a?", "#", "a ", "a\tb", "a\n"] {
        assert!(ItemId::new(bad).is_err(), "{bad:?}");
        assert!(ResourceName::new(bad).is_err(), "{bad:?}");
    }
    assert!(ItemId::new("x".repeat(1024)).is_err());
    assert!(ResourceName::new("é".repeat(255)).is_ok());
    assert!(ResourceName::new("x".repeat(256)).is_err());
}

#[test]
fn etags_match_as_the_service_does() {
    let etag = Etag::from_bits(0xe384_2809_5c1a_01da);
    assert_eq!(etag.as_str(), "\"00000000-0000-0000-e384-28095c1a01da\"");
    for condition in [
        "*",
        "\"00000000-0000-0000-e384-28095c1a01da\"",
        "00000000-0000-0000-e384-28095c1a01da",
        "\"x\", *",
    ] {
        assert!(etag.matches(condition), "{condition}");
    }
    for condition in ["", "\"x\"", "00000000-0000-0000-e384-28095c1a01d"] {
        assert!(!etag.matches(condition), "{condition}");
    }
}
