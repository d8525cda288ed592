//! The published JSON schemas against what is read and written.

use std::path::PathBuf;

use orrery_keylab::analysis::Laboratory;
use orrery_keylab::generate::workload;
use orrery_keylab::init;
use orrery_keylab::profile::Profiler;
use orrery_keylab::report::json;
use orrery_keylab::scenario::{Scenario, read_yaml};
use orrery_keylab::traffic::{Deed, Event, Traffic};
use orrery_keylab::workload::Workload;
use serde_json::{Value as Json, json};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema(name: &str) -> Json {
    let path = repository().join("docs").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

type Compare = fn(f64, f64) -> bool;

/// What of a value a schema objects to; the words of JSON schema that ours use.
fn objections(root: &Json, schema: &Json, value: &Json, at: &str, found: &mut Vec<String>) {
    const KNOWN: [&str; 18] = [
        "$schema",
        "$id",
        "$ref",
        "$defs",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "const",
        "oneOf",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
    ];
    for word in schema.as_object().unwrap().keys() {
        assert!(
            KNOWN.contains(&word.as_str()),
            "{at}: '{word}' is not checked here"
        );
    }
    let mut object = |message: String| found.push(format!("{at}: {message}"));
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).unwrap();
        return objections(root, target, value, at, found);
    }
    if let Some(cases) = schema["oneOf"].as_array() {
        let fits = |case: &&Json| {
            let mut wrong = Vec::new();
            objections(root, case, value, at, &mut wrong);
            wrong.is_empty()
        };
        if cases.iter().filter(fits).count() != 1 {
            object(format!("{value} fits not exactly one case"));
        }
    }
    let is_a = |name: &Json| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        other => panic!("{other} is no type"),
    };
    match &schema["type"] {
        Json::Null => {}
        Json::Array(names) if names.iter().any(is_a) => {}
        name if name.is_string() && is_a(name) => {}
        name => object(format!("{value} is no {name}")),
    }
    if let Some(cases) = schema["enum"].as_array()
        && !cases.contains(value)
    {
        object(format!("{value} is none of {cases:?}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        object(format!("{value} is not {}", schema["const"]));
    }
    let bounds: [(&str, Compare); 2] = [
        ("minimum", |value, bound| value >= bound),
        ("maximum", |value, bound| value <= bound),
    ];
    for (word, fits) in bounds {
        if let (Some(bound), Some(number)) = (schema[word].as_f64(), value.as_f64())
            && !fits(number, bound)
        {
            object(format!("{number} is over the {word} {bound}"));
        }
    }
    if let (Some(least), Some(list)) = (schema["minItems"].as_u64(), value.as_array())
        && (list.len() as u64) < least
    {
        object("too few".to_owned());
    }
    if let (Some(most), Some(list)) = (schema["maxItems"].as_u64(), value.as_array())
        && (list.len() as u64) > most
    {
        object("too many".to_owned());
    }
    if let Some(list) = value.as_array()
        && let Some(items) = schema.get("items")
    {
        for (place, item) in list.iter().enumerate() {
            objections(root, items, item, &format!("{at}[{place}]"), found);
        }
    }
    let Some(members) = value.as_object() else {
        return;
    };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !members.contains_key(name.as_str().unwrap()) {
            found.push(format!("{at}: {name} is missing"));
        }
    }
    for (name, member) in members {
        let at = format!("{at}.{name}");
        match (
            schema["properties"].get(name),
            schema.get("additionalProperties"),
        ) {
            (Some(property), _) => objections(root, property, member, &at, found),
            (None, Some(Json::Bool(false))) => found.push(format!("{at}: unknown")),
            (None, Some(other)) if other.is_object() => objections(root, other, member, &at, found),
            _ => {}
        }
    }
}

fn check(schema: &Json, value: &Json, what: &str) {
    let mut found = Vec::new();
    objections(schema, schema, value, what, &mut found);
    assert!(found.is_empty(), "{found:#?}");
}

fn examples() -> Vec<(String, String)> {
    let folder = repository().join("examples/keylab");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .into_iter()
        .map(|path| {
            (
                path.display().to_string(),
                std::fs::read_to_string(path).unwrap(),
            )
        })
        .collect()
}

#[test]
fn scenarios_and_their_workloads_are_as_published() {
    let (scenarios, workloads) = (
        schema("keylab-scenario.schema.json"),
        schema("keylab-workload.schema.json"),
    );
    let examples = examples();
    assert_eq!(examples.len(), 10);
    for (name, text) in examples {
        check(&scenarios, &read_yaml::<Json>(&text, &name).unwrap(), &name);
        let scenario = Scenario::from_yaml(&text, &name).unwrap();
        let written = workload(&scenario).unwrap();
        check(
            &workloads,
            &read_yaml::<Json>(&written, &name).unwrap(),
            &name,
        );
    }
    let wrong = json!({"workload": [{"name": "x", "op": "juggle", "rate": -1}], "horizon": []});
    let mut found = Vec::new();
    objections(&workloads, &workloads, &wrong, "wrong", &mut found);
    assert!(found.len() >= 3, "{found:?}");
}

fn profiled() -> orrery_keylab::profile::Profile {
    let mut profiler = Profiler::new(10_000, 10_000, 1 << 20);
    for number in 0..500_u64 {
        let item = format!(
            r#"{{"id":"{number}","customer":"c{}","tags":["a"],"placedAt":"2026-0{}-01T00:00:00Z"}}"#,
            number % 40,
            1 + number % 9
        );
        profiler.item(number, item.as_bytes()).unwrap();
    }
    profiler.finish()
}

#[test]
fn reports_and_written_workloads_are_as_published() {
    let (reports, workloads) = (
        schema("keylab-report.schema.json"),
        schema("keylab-workload.schema.json"),
    );
    let profile = profiled();
    let template = init::workload(&profile);
    check(
        &workloads,
        &read_yaml::<Json>(&template, "template").unwrap(),
        "template",
    );
    let mut traffic = Traffic::new();
    for number in 0..400_u64 {
        let text = format!("SELECT * FROM c WHERE c.customer = 'c{}'", number % 4);
        traffic
            .add(&Event {
                time_us: Some(number * 10_000),
                text: Some(&text),
                key: Some(vec![Some(format!("c{}", number % 4))]),
                ..Event::new(Deed::Query, 3.0)
            })
            .unwrap();
    }
    let recorded = traffic.workload(None, 1.0).unwrap();
    let text = init::recorded(&recorded, traffic.observed()).unwrap();
    check(
        &workloads,
        &read_yaml::<Json>(&text, "recorded").unwrap(),
        "recorded",
    );
    let asked = "workload:\n- {name: by customer, op: query, where: c.customer = @c, rate: 90}\n\
        - {name: create, op: create, rate: 20, peak: 3}\n\
        horizons: [{name: now, gb: 30}, {name: later, gb: 900, ru: 20000, rates: 4}]\n\
        candidates: [{suffix: {of: customer, buckets: 4}}, [/customer, /id], {concat: {of: [customer, id]}}]\n";
    for text in ["workload: []\n", asked, &template] {
        let workload = Workload::from_yaml(text, "test").unwrap();
        let analysis = Laboratory::new(&profile, &workload).unwrap().analyze();
        let report: Json = serde_json::from_str(&json::render(&analysis).unwrap()).unwrap();
        assert_eq!(report["schema"], json::SCHEMA);
        check(&reports, &report, "report");
    }
}
