//! Container bodies: defaults, echo, every refusal, and what a replace may change.

use orrery_model::container::{ContainerError, ContainerSpec, item_ttl};
use orrery_model::json;
use orrery_model::limits::Limits;
use orrery_model::value::Value;

fn body(members: &str) -> String {
    format!(r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}}{members}}}"#)
}

fn parse(text: &str) -> Result<ContainerSpec, ContainerError> {
    ContainerSpec::parse(&json::parse_str(text).expect(text), &Limits::default())
}

fn spec(members: &str) -> ContainerSpec {
    parse(&body(members)).expect(members)
}

fn replace(old: &ContainerSpec, text: &str) -> Result<ContainerSpec, ContainerError> {
    old.parse_replacement(&json::parse_str(text).expect(text), &Limits::default())
}

const EMBEDDING: &str =
    r#"{"path":"/v","dataType":"float32","dimensions":256,"distanceFunction":"euclidean"}"#;

fn vectors(indexes: &str, embeddings: &str) -> String {
    format!(
        r#","indexingPolicy":{{"vectorIndexes":[{indexes}]}},"vectorEmbeddingPolicy":{{"vectorEmbeddings":[{embeddings}]}}"#
    )
}

#[test]
fn defaults_are_the_services() {
    assert_eq!(
        json::to_string(&spec("").to_value()),
        r#"{"id":"c","indexingPolicy":{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]},"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},"conflictResolutionPolicy":{"mode":"LastWriterWins","conflictResolutionPath":"/_ts","conflictResolutionProcedure":""},"geospatialConfig":{"type":"Geography"}}"#
    );
    let system = parse(r#"{"id":"c"}"#).expect("a container without key");
    assert_eq!(
        json::to_string(&system.partition_key.to_value()),
        r#"{"paths":["/_partitionKey"],"kind":"Hash","version":2,"systemKey":true}"#
    );
}

#[test]
fn indexing_policies_get_the_etag_exclusion() {
    let echo = |policy: &str| {
        let spec = spec(&format!(r#","indexingPolicy":{policy}"#));
        json::to_string(&spec.indexing_policy.to_value())
    };
    // The old way to write the root, with indexes that mean nothing any more.
    assert_eq!(
        echo(
            r#"{"includedPaths":[{"path":"/","indexes":[{"kind":"Hash"}]}],"excludedPaths":[{"path":"/\"x\"/*"}]}"#
        ),
        r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"x\"/*"},{"path":"/\"_etag\"/?"}]}"#
    );
    assert_eq!(
        echo(r#"{"indexingMode":"None","automatic":false}"#),
        r#"{"indexingMode":"none","automatic":false,"includedPaths":[],"excludedPaths":[]}"#
    );
}

#[test]
fn everything_is_echoed() {
    let members = [
        (r#""defaultTtl""#, "60"),
        (r#""analyticalStorageTtl""#, "-1"),
        (
            r#""uniqueKeyPolicy""#,
            r#"{"uniqueKeys":[{"paths":["/a","/b/c"]}]}"#,
        ),
        (r#""geospatialConfig""#, r#"{"type":"Geometry"}"#),
        (
            r#""computedProperties""#,
            r#"[{"name":"n","query":"SELECT VALUE LOWER(c.n) FROM c"}]"#,
        ),
        (
            r#""fullTextPolicy""#,
            r#"{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/t","language":"en-US"}]}"#,
        ),
        (r#""changeFeedPolicy""#, r#"{"retentionDuration":60}"#),
        (
            r#""clientEncryptionPolicy""#,
            r#"{"includedPaths":[{"path":"/s","clientEncryptionKeyId":"k","encryptionType":"Randomized","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}],"policyFormatVersion":2}"#,
        ),
        (
            r#""materializedViewDefinition""#,
            r#"{"sourceCollectionId":"s","definition":"SELECT c.id FROM c"}"#,
        ),
    ];
    let mut text = String::new();
    for (name, value) in members {
        text.extend([",", name, ":", value]);
    }
    let spec = spec(&text);
    let echo = spec.to_value();
    for (name, value) in members {
        let echoed = json::to_string(echo.member(name.trim_matches('"')));
        assert_eq!(echoed, value, "{name}");
    }
    assert_eq!(parse(&json::to_string(&echo)), Ok(spec));
    let empty = self::spec(r#","uniqueKeyPolicy":{}"#);
    assert_eq!(
        json::to_string(empty.to_value().member("uniqueKeyPolicy")),
        r#"{"uniqueKeys":[]}"#
    );
}

#[test]
fn vector_policies_are_echoed_as_given() {
    let index = r#"{"path":"/v","type":"diskANN","quantizerType":"product","quantizationByteSize":8,"indexingSearchListSize":50,"vectorIndexShardKey":["/country/city"]}"#;
    let echo = spec(&vectors(index, EMBEDDING)).to_value();
    let indexes = echo.member("indexingPolicy").member("vectorIndexes");
    assert_eq!(json::to_string(indexes), format!("[{index}]"));
    let embeddings = echo
        .member("vectorEmbeddingPolicy")
        .member("vectorEmbeddings");
    assert_eq!(json::to_string(embeddings), format!("[{EMBEDDING}]"));
}

/// The messages that SDK tests match (protocol: section 11), and the rest of the refusals.
#[test]
fn refusals_have_the_services_messages() {
    let index = |rest: &str| vectors(&format!(r#"{{"path":"/v",{rest}}}"#), EMBEDDING);
    let embedding = |rest: &str| vectors("", &format!(r#"{{"path":"/v",{rest}}}"#));
    let policy = |rest: &str| format!(r#","indexingPolicy":{{{rest}}}"#);
    for (members, message) in [
        (
            vectors(r#"{"path":"/vector1","type":"flat"}"#, ""),
            "The Vector Indexing Policy's path::/vector1 not matching in Embedding's path.",
        ),
        (
            index(r#""type":"notFlat""#),
            "Index Type::notFlat is invalid",
        ),
        (
            index(r#""type":"quantizedFlat","quantizationByteSize":0"#),
            "The Vector Indexing Policy parameter QuantizationByteSize value :: 0 is out of range. The allowed range is between 1 and 256.",
        ),
        (
            index(r#""type":"quantizedFlat","quantizationByteSize":513"#),
            "QuantizationByteSize value :: 513 is out of range.",
        ),
        (
            index(r#""type":"diskANN","indexingSearchListSize":5"#),
            "IndexingSearchListSize value :: 5 is out of range. The allowed range is between 25 and 500.",
        ),
        (
            index(r#""type":"diskANN","vectorIndexShardKey":["country"]"#),
            "The Vector Indexing Policy has an invalid Shard Path: country.",
        ),
        (
            index(r#""type":"diskANN","vectorIndexShardKey":["/a","/b","/c"]"#),
            "The number of shard paths defined in the Vector Indexing Policy: 3 exceeds the maximum: 1.",
        ),
        (
            index(r#""type":"diskANN","vectorIndexShardKey":"/a""#),
            "One of the specified inputs is invalid",
        ),
        (
            embedding(r#""dataType":"float33""#),
            "Vector Embedding Policy has an invalid DataType",
        ),
        (
            embedding(r#""dimensions":8000"#),
            "Vector Embedding Policy has Dimensions:8000 which is more than the maximum supported value",
        ),
        (
            embedding(r#""dimensions":-1"#),
            "The Vector Embedding Policy has Dimensions:-1",
        ),
        (
            embedding(r#""distanceFunction":"handMeasured""#),
            "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured",
        ),
        (
            embedding(
                r#""embeddingSource":{"sourcePaths":["/a"],"endpoint":"e","deploymentName":"d","authType":"x"}"#,
            ),
            "The auth type provided in the embedding source of vector policy is invalid.",
        ),
        (
            r#","fullTextPolicy":{"fullTextPaths":[{"path":"abstract"}]}"#.to_owned(),
            "The Full Text Policy contains an invalid Path: abstract",
        ),
        (
            r#","fullTextPolicy":{"defaultLanguage":"spa-SPA"}"#.to_owned(),
            "The Full Text Policy contains an unsupported language",
        ),
        (
            policy(r#""fullTextIndexes":[{"path":"/x"}]"#),
            "not matching in Full Text Policy's path",
        ),
        (
            policy(r#""fullTextIndexes":[{"not_path":"/x"}]"#),
            "One of the specified inputs is invalid",
        ),
        (
            policy(r#""spatialIndexes":[{"path":"/p/?","types":[]}]"#),
            "The spatial data types array cannot be empty.",
        ),
        (
            policy(r#""includedPaths":[{"path":"/a/?"}]"#),
            "The special mandatory indexing path \"/\" is not provided",
        ),
        (
            policy(r#""includedPaths":[{"path":"/expiration"}]"#),
            "The indexing path '/expiration' could not be accepted, failed near position '11'.",
        ),
        (
            policy(r#""includedPaths":[{"path":"/a/*/b/?"}]"#),
            "could not be accepted",
        ),
        (
            policy(r#""includedPaths":{}"#),
            "One of the specified inputs is invalid",
        ),
        (
            policy(r#""indexingMode":"eager""#),
            "The indexing mode 'eager' is invalid.",
        ),
        (
            policy(r#""compositeIndexes":[[{"path":"/a"}]]"#),
            "A composite index must have between 2 and 8 paths",
        ),
        (
            policy(r#""compositeIndexes":[[{"path":"/a"},{"path":"/b","order":"up"}]]"#),
            "The composite index order 'up' is invalid.",
        ),
        (
            r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a/*"]}]}"#.to_owned(),
            "Error parsing the unique key path '/a/*'",
        ),
        (
            r#","uniqueKeyPolicy":{"uniqueKeys":[{"paths":[]}]}"#.to_owned(),
            "A unique key must have between 1 and 16 paths",
        ),
        (
            r#","computedProperties":{"name":"x","query":"y"}"#.to_owned(),
            "One of the specified inputs is invalid",
        ),
        (
            r#","computedProperties":[{"name":"id","query":"y"}]"#.to_owned(),
            "The computed property name 'id' is invalid",
        ),
        (
            r#","defaultTtl":-10"#.to_owned(),
            "The input ttl '-10' is invalid. Ensure to provide a nonzero positive integer less than or equal to '2147483647', or '-1' which means never expire.",
        ),
        (
            r#","defaultTtl":0"#.to_owned(),
            "The input ttl '0' is invalid.",
        ),
        (
            r#","conflictResolutionPolicy":{"mode":"Mine"}"#.to_owned(),
            "The conflict resolution mode 'Mine' is invalid.",
        ),
        (
            r#","geospatialConfig":{"type":"Flat"}"#.to_owned(),
            "The geospatial config type 'Flat' is invalid.",
        ),
        (
            r#","changeFeedPolicy":{"retentionDuration":-1}"#.to_owned(),
            "retentionDuration '-1' is out of range.",
        ),
        (
            r#","clientEncryptionPolicy":{"includedPaths":[{"path":"/a"}]}"#.to_owned(),
            "One of the specified inputs is invalid",
        ),
    ] {
        let error = parse(&body(&members)).expect_err(&members).to_string();
        assert!(error.contains(message), "{members}: {error}");
    }
    for (text, message) in [
        ("[]", "One of the specified inputs is invalid"),
        ("{}", "the required properties - 'id; ' - are missing"),
        (r#"{"id":""}"#, "The input name '' is invalid."),
        (r#"{"id":"a/b"}"#, "The input name 'a/b' is invalid."),
        (
            r#"{"id":"c","partitionKey":{"paths":["pk"]}}"#,
            "The partition key path 'pk' is invalid",
        ),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn what_a_replace_may_change() {
    let old = spec(
        r#","defaultTtl":5,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},"conflictResolutionPolicy":{"mode":"Custom"}"#,
    );
    // Optional members are cleared, what is immutable stays when it is not named.
    let new = replace(&old, r#"{"id":"c"}"#).expect("a replace");
    assert_eq!(new.default_ttl, None);
    assert_eq!(new.unique_keys, old.unique_keys);
    assert_eq!(new.partition_key, old.partition_key);
    assert_eq!(new.conflict_resolution, old.conflict_resolution);
    // A definition without version is the same definition.
    assert!(replace(&old, r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#).is_ok());
    for (text, message) in [
        (r#"{"id":"d"}"#, "Changing the id"),
        (
            r#"{"id":"c","partitionKey":{"paths":["/other"]}}"#,
            "partition key",
        ),
        (
            r#"{"id":"c","partitionKey":{"paths":["/pk"],"version":1}}"#,
            "partition key",
        ),
        (
            r#"{"id":"c","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/x"]}]}}"#,
            "unique key policy",
        ),
        (
            r#"{"id":"c","conflictResolutionPolicy":{"mode":"LastWriterWins"}}"#,
            "conflict resolution mode",
        ),
        (
            r#"{"id":"c","clientEncryptionPolicy":{"includedPaths":[],"policyFormatVersion":1}}"#,
            "'clientEncryptionPolicy' cannot be changed as part of collection replace operation.",
        ),
    ] {
        let error = replace(&old, text).expect_err(text).to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn existing_vector_paths_stay() {
    let flat = r#"{"path":"/v","type":"flat"}"#;
    let old = spec(&vectors(flat, EMBEDDING));
    assert!(replace(&old, &body(&vectors(flat, EMBEDDING))).is_ok());
    let other = EMBEDDING.replace("256", "384");
    for (members, message) in [
        (
            vectors(flat, ""),
            "The Vector Indexing Policy's path::/v not matching in Embedding's path.",
        ),
        (
            vectors(r#"{"path":"/v","type":"quantizedFlat"}"#, EMBEDDING),
            "Paths in existing vector indexing policy cannot be modified in Collection Replace",
        ),
        (
            vectors(flat, &other),
            "Paths in existing embedding policy cannot be modified in Collection Replace",
        ),
    ] {
        let error = replace(&old, &body(&members))
            .expect_err(&members)
            .to_string();
        assert!(error.contains(message), "{members}: {error}");
    }
    let second = EMBEDDING.replace("/v", "/w");
    assert!(
        replace(
            &old,
            &body(&vectors(flat, &format!("{EMBEDDING},{second}")))
        )
        .is_ok()
    );
}

#[test]
fn items_have_their_own_time_to_live() {
    let ttl = |text: &'static str| item_ttl(&json::parse_str(text).expect("JSON"));
    assert_eq!(ttl("{}"), Ok(None));
    assert_eq!(ttl(r#"{"ttl":-1}"#), Ok(Some(-1)));
    assert_eq!(ttl(r#"{"ttl":2147483647}"#), Ok(Some(i32::MAX)));
    for bad in [
        r#"{"ttl":0}"#,
        r#"{"ttl":null}"#,
        r#"{"ttl":-10}"#,
        r#"{"ttl":2147483648}"#,
        r#"{"ttl":"5"}"#,
        r#"{"ttl":1.5}"#,
    ] {
        assert!(ttl(bad).is_err(), "{bad}");
    }
    assert_eq!(item_ttl(&Value::Null), Ok(None));
}
