//! Databases, containers and the rest of the account.

use std::sync::Arc;

use orrery_engine::catalog::feeds::QuerySpec;
use orrery_engine::page::Page;
use orrery_engine::{Engine, EngineConfig, Error, Failure, MetadataOptions, Resource};
use orrery_model::json;
use orrery_model::resource_path::ResourcePath;
use orrery_model::value::Value;
use orrery_storage::{MemoryStore, Store};

use crate::harness::{TestEntropy, clock};

fn engine_on(store: &Arc<dyn Store>) -> Engine {
    let entropy = Arc::new(TestEntropy::new(5));
    Engine::open(Arc::clone(store), clock(), entropy, EngineConfig::default()).expect("opens")
}

fn memory() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

fn path(text: &str) -> ResourcePath {
    ResourcePath::parse(text).expect("a path")
}

fn create(engine: &Engine, feed: &str, body: &str) -> Result<Resource, Failure> {
    create_with(engine, feed, body, &MetadataOptions::default())
}

fn create_with(
    engine: &Engine,
    feed: &str,
    body: &str,
    options: &MetadataOptions,
) -> Result<Resource, Failure> {
    engine
        .catalog()
        .create(&path(feed), body.as_bytes(), options)
        .map(|answer| answer.value)
}

fn body(resource: &Resource) -> Value<'_> {
    json::parse(&resource.body).expect("JSON")
}

fn throughput(rate: i64) -> MetadataOptions {
    MetadataOptions {
        throughput: Some(rate),
        ..MetadataOptions::default()
    }
}

/// The offers of a resource, by the query that SDKs send.
fn offers(engine: &Engine, link: &str) -> Vec<Value<'static>> {
    let query = QuerySpec {
        text: "SELECT * FROM root r WHERE r.resource = @link".to_owned(),
        parameters: vec![("@link".to_owned(), Value::from(link.to_owned()))],
        resume_filter: None,
    };
    let feed = engine
        .catalog()
        .query(&path("/offers"), &query, &Page::default());
    let page = feed.expect("runs").value.page;
    let text = [b"[", page.rows.as_slice(), b"]"].concat();
    json::parse(&text)
        .expect("rows")
        .into_owned()
        .as_array()
        .expect("rows")
        .to_vec()
}

const CONTAINER: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;

#[test]
fn names_are_unique_until_they_are_free_again() {
    let engine = engine_on(&memory());
    let first = create(&engine, "/dbs", r#"{"id":"d"}"#).expect("created");
    let taken = create(&engine, "/dbs", r#"{"id":"d"}"#).expect_err("taken");
    assert!(matches!(taken.error, Error::Conflict(_)));
    let container = create(&engine, "/dbs/d/colls", CONTAINER).expect("created");
    assert_eq!(container.alt_path, "dbs/d/colls/c");
    let options = MetadataOptions::default();
    engine
        .catalog()
        .delete(&path("/dbs/d"), &options)
        .expect("deleted");
    let gone = engine
        .container(&path("/dbs/d/colls/c/docs"))
        .expect_err("gone");
    assert!(matches!(gone, Error::OwnerNotFound));
    let second = create(&engine, "/dbs", r#"{"id":"d"}"#).expect("free again");
    assert_ne!(first.rid, second.rid);
    assert!(offers(&engine, &container.rid.self_link()).is_empty());
    let orphan = create(&engine, "/dbs/x/colls", CONTAINER).expect_err("no database");
    assert!(matches!(orphan.error, Error::OwnerNotFound));
}

#[test]
fn resources_answer_by_name_and_by_rid_after_a_restart() {
    let store = memory();
    let engine = engine_on(&store);
    create(&engine, "/dbs", r#"{"id":"d"}"#).expect("created");
    let made = create(&engine, "/dbs/d/colls", CONTAINER).expect("created");
    drop(engine);
    let engine = engine_on(&store);
    for link in ["/dbs/d/colls/c".to_owned(), made.rid.self_link()] {
        let read = engine.catalog().read(&path(&link)).expect("there").value;
        assert_eq!((read.rid, &read.body), (made.rid, &made.body), "{link}");
        let container = engine
            .container(&path(&format!("{link}/docs/x")))
            .expect("served");
        assert_eq!(container.rid(), made.rid);
    }
    let value = body(&made);
    assert_eq!(
        value.member("_self").as_str(),
        Some(made.rid.self_link().as_str())
    );
    assert_eq!(value.member("_docs").as_str(), Some("docs/"));
    assert_eq!(
        value
            .member("indexingPolicy")
            .member("indexingMode")
            .as_str(),
        Some("consistent")
    );
}

#[test]
fn throughput_decides_the_ranges_and_is_kept_in_an_offer() {
    let engine = engine_on(&memory());
    create(&engine, "/dbs", r#"{"id":"d"}"#).expect("created");
    let made =
        create_with(&engine, "/dbs/d/colls", CONTAINER, &throughput(30_000)).expect("created");
    let container = engine.container(&path("/dbs/d/colls/c")).expect("served");
    assert_eq!(container.ranges().partitions().len(), 5);
    let offer = offers(&engine, &made.rid.self_link())
        .pop()
        .expect("one offer");
    assert_eq!(
        offer.member("content").member("offerThroughput").as_i64(),
        Some(30_000)
    );

    let link = format!("/offers/{}", offer.member("_rid").as_str().expect("rid"));
    let replace = |rate: i64| {
        let body = format!(r#"{{"content":{{"offerThroughput":{rate}}}}}"#);
        engine
            .catalog()
            .replace(&path(&link), body.as_bytes(), &MetadataOptions::default())
    };
    let replaced = replace(500).expect("lowered").value;
    assert_eq!(
        body(&replaced)
            .member("content")
            .member("offerThroughput")
            .as_i64(),
        Some(500)
    );
    assert_eq!(replaced.offer.expect("facts").minimum, 400);
    let id = offer.member("id").as_str().expect("an id");
    let migrating = MetadataOptions {
        migration: Some(orrery_engine::catalog::OfferMigration::ToAutoscale),
        ..MetadataOptions::default()
    };
    for (body, options) in [
        (r#"{"id":"other","content":{"offerThroughput":600}}"#, None),
        (
            r#"{"_rid":"other","content":{"offerThroughput":600}}"#,
            None,
        ),
        (
            r#"{"resource":"dbs/x/","content":{"offerThroughput":600}}"#,
            None,
        ),
        (
            r#"{"offerResourceId":7,"content":{"offerThroughput":600}}"#,
            None,
        ),
        (r#"{"content":5}"#, Some(&migrating)),
        (
            r#"{"content":{"offerThroughput":"many"}}"#,
            Some(&migrating),
        ),
        (
            r#"{"content":{"offerAutopilotSettings":{"maxThroughput":"x"}}}"#,
            Some(&migrating),
        ),
    ] {
        let plain = MetadataOptions::default();
        let options = options.unwrap_or(&plain);
        let refused = engine
            .catalog()
            .replace(&path(&link), body.as_bytes(), options);
        let refused = refused.expect_err(body);
        assert!(matches!(refused.error, Error::BadRequest(_)), "{body}");
    }
    let named = format!(r#"{{"id":"{id}","_rid":"{id}","content":{{"offerThroughput":500}}}}"#);
    let options = MetadataOptions::default();
    let same = engine
        .catalog()
        .replace(&path(&link), named.as_bytes(), &options);
    same.expect("an offer may be named");
    assert!(matches!(
        replace(399).expect_err("too low").error,
        Error::BadRequest(_)
    ));
    assert!(matches!(
        replace(450).expect_err("no step").error,
        Error::BadRequest(_)
    ));

    let options = MetadataOptions {
        migration: Some(orrery_engine::catalog::OfferMigration::ToAutoscale),
        ..MetadataOptions::default()
    };
    let moved = engine
        .catalog()
        .replace(&path(&link), b"{}", &options)
        .expect("moved")
        .value;
    let settings = body(&moved)
        .member("content")
        .member("offerAutopilotSettings")
        .clone()
        .into_owned();
    assert_eq!(settings.member("maxThroughput").as_i64(), Some(1_000));
}

#[test]
fn containers_of_a_shared_database_have_no_offer() {
    let engine = engine_on(&memory());
    let database =
        create_with(&engine, "/dbs", r#"{"id":"d"}"#, &throughput(400)).expect("created");
    assert_eq!(offers(&engine, &database.rid.self_link()).len(), 1);
    for number in 0..25 {
        let body = CONTAINER.replace("\"c\"", &format!("\"c{number}\""));
        let made = create(&engine, "/dbs/d/colls", &body).expect("created");
        assert!(offers(&engine, &made.rid.self_link()).is_empty());
    }
    let full = create(&engine, "/dbs/d/colls", CONTAINER).expect_err("no room");
    assert!(matches!(
        full.error,
        Error::SharedThroughputFull { limit: 25 }
    ));
    create_with(&engine, "/dbs/d/colls", CONTAINER, &throughput(400)).expect("its own offer");
}

#[test]
fn a_replace_changes_what_may_change() {
    let store = memory();
    let engine = engine_on(&store);
    create(&engine, "/dbs", r#"{"id":"d"}"#).expect("created");
    let made = create(&engine, "/dbs/d/colls", CONTAINER).expect("created");
    let replace = |body: &str, condition: Option<&str>| {
        let options = MetadataOptions {
            if_match: condition.map(str::to_owned),
            ..MetadataOptions::default()
        };
        engine
            .catalog()
            .replace(&path("/dbs/d/colls/c"), body.as_bytes(), &options)
    };
    let with_ttl = CONTAINER.replace("\"c\"", "\"c\",\"defaultTtl\":60");
    let stale = replace(&with_ttl, Some("\"other\"")).expect_err("stale");
    assert!(matches!(stale.error, Error::PreconditionFailed));
    replace(&with_ttl, Some(made.etag.as_str())).expect("replaced");
    let container = engine.container(&path("/dbs/d/colls/c")).expect("served");
    assert_eq!(container.state().default_ttl(), Some(60));
    let moved = replace(&CONTAINER.replace("/pk", "/other"), None).expect_err("key is fixed");
    assert!(matches!(moved.error, Error::BadRequest(_)));
    drop((engine, container));
    let engine = engine_on(&store);
    let container = engine.container(&path("/dbs/d/colls/c")).expect("served");
    assert_eq!(container.state().default_ttl(), Some(60));
}

#[test]
fn users_permissions_and_scripts_are_checked() {
    let engine = engine_on(&memory());
    create(&engine, "/dbs", r#"{"id":"d"}"#).expect("created");
    create(&engine, "/dbs/d/colls", CONTAINER).expect("created");
    create(&engine, "/dbs/d/users", r#"{"id":"u"}"#).expect("created");
    let feed = "/dbs/d/users/u/permissions";
    let permission = r#"{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c"}"#;
    create(&engine, feed, permission).expect("created");
    let twice = create(&engine, feed, &permission.replace("\"p\"", "\"q\"")).expect_err("same");
    assert!(matches!(twice.error, Error::Conflict(_)));
    let absent = permission.replace("colls/c", "colls/absent");
    let absent = create(&engine, feed, &absent).expect_err("nothing there");
    assert!(matches!(absent.error, Error::NotFound));
    for key in ["[[1]]", "[]", r#""a""#, r#"[{"a":1}]"#] {
        let keyed = format!(
            r#"{{"id":"k","permissionMode":"Read","resource":"dbs/d/colls/c","resourcePartitionKey":{key}}}"#
        );
        let refused = create(&engine, feed, &keyed).expect_err(key);
        assert!(matches!(refused.error, Error::BadRequest(_)), "{key}");
    }
    for (feed, body, part) in [
        (
            feed,
            r#"{"id":"x","permissionMode":"Write","resource":"r"}"#,
            "'Write'",
        ),
        ("/dbs/d/colls/c/sprocs", r#"{"id":"s"}"#, "'body; '"),
        (
            "/dbs/d/colls/c/triggers",
            r#"{"id":"t","body":"f"}"#,
            "'triggerType; triggerOperation; '",
        ),
        (
            feed,
            r#"{"id":"x","permissionMode":"Read","resource":"zzz"}"#,
            "'resource'",
        ),
        (
            "/dbs/d/colls",
            r#"{"id":"x","partitionKey":{"paths":["/pk"]},"computedProperties":[{"name":"low","query":"x"}]}"#,
            "'low'",
        ),
        (
            "/dbs/d/colls",
            r#"{"id":"x","partitionKey":{"paths":["/pk"]},"computedProperties":[{"name":"low","query":"SELECT * FROM c"}]}"#,
            "SELECT VALUE",
        ),
        ("/dbs", r#"{"id":"a/b"}"#, ""),
        ("/dbs", r#"{"id":5}"#, "'id'"),
        ("/dbs", "[]", "not a JSON object"),
        ("/dbs", "{", "not a JSON object"),
    ] {
        let refused = create(&engine, feed, body).expect_err(body);
        let Error::BadRequest(message) = refused.error else {
            panic!("{body}: {:?}", refused.error);
        };
        assert!(message.contains(part), "{message}");
    }
    create(
        &engine,
        "/dbs/d/colls/c/sprocs",
        r#"{"id":"s","body":"function(){}"}"#,
    )
    .expect("created");
    let renamed = engine.catalog().replace(
        &path("/dbs/d/colls/c/sprocs/s"),
        br#"{"id":"t","body":"function(){}"}"#,
        &MetadataOptions::default(),
    );
    assert!(matches!(
        renamed.expect_err("fixed").error,
        Error::BadRequest(_)
    ));
}

#[test]
fn feeds_are_paged_in_order_of_creation() {
    let engine = engine_on(&memory());
    for number in 0..7 {
        create(&engine, "/dbs", &format!(r#"{{"id":"d{number}"}}"#)).expect("created");
    }
    let mut page = Page {
        max_items: Some(3),
        ..Page::default()
    };
    let mut names = Vec::new();
    let mut counts = Vec::new();
    loop {
        let answered = engine
            .catalog()
            .list(&path("/dbs"), &page)
            .expect("a page")
            .value
            .page;
        let text = [b"[", answered.rows.as_slice(), b"]"].concat();
        for row in json::parse(&text).expect("rows").as_array().expect("rows") {
            names.push(row.member("id").as_str().expect("id").to_owned());
        }
        counts.push(answered.count);
        match answered.continuation {
            Some(token) => page.continuation = Some(token),
            None => break,
        }
    }
    assert_eq!(counts, [3, 3, 1]);
    assert_eq!(names, ["d0", "d1", "d2", "d3", "d4", "d5", "d6"]);
    let bad = Page {
        continuation: Some("nonsense".to_owned()),
        ..Page::default()
    };
    let refused = engine
        .catalog()
        .list(&path("/dbs"), &bad)
        .expect_err("refused");
    assert!(matches!(refused.error, Error::BadRequest(_)));
}
