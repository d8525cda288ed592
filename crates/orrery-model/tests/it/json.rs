//! JSON in and out, and projection of canonical text.

use orrery_model::json::{self, MemberFinder, PathTree};
use orrery_model::value::{Number, Value};

use crate::random::Random;

fn parse(text: &str) -> Value<'_> {
    json::parse_str(text).expect(text)
}

#[test]
fn numbers_print_canonically() {
    for (text, printed) in [
        ("1.0", "1"),
        ("-0", "0"),
        ("1e2", "100"),
        ("20.825", "20.825"),
        ("0.1", "0.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("9007199254740993", "9007199254740993"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("9223372036854775808", "9223372036854776000"),
        ("16331239353195370.0", "16331239353195370"),
        ("1e300", "1e300"),
        ("1.7976931348623157e308", "1.7976931348623157e308"),
        ("5e-324", "5e-324"),
        ("1e-7", "0.0000001"),
    ] {
        assert_eq!(json::to_string(&parse(text)), printed, "{text}");
    }
    assert!(json::parse_str("1e999").is_err());
}

#[test]
fn values_survive_text() {
    let mut random = Random::new(1);
    for _ in 0..3_000 {
        let value = random.value(4);
        let text = json::to_string(&value);
        assert_eq!(parse(&text), value, "{text}");
        assert_eq!(json::to_string(&parse(&text)), text);
        assert_eq!(
            json::project(text.as_bytes(), &PathTree::All),
            value,
            "{text}"
        );
        let wrapped = format!("{{\"before\":[{text}],\"v\":{text}}}");
        let mut tree = PathTree::none();
        tree.add(&["v"]);
        let projected = json::project(wrapped.as_bytes(), &tree);
        assert_eq!(projected.member("v"), &value, "{text}");
    }
}

#[test]
fn the_last_of_a_repeated_name_wins() {
    assert_eq!(
        json::to_string(&parse(r#"{"a":1,"b":2,"a":3}"#)),
        r#"{"a":3,"b":2}"#
    );
    let many: Vec<_> = (0..200)
        .map(|at| format!("\"m{}\":{at}", at % 50))
        .collect();
    let text = format!("{{{}}}", many.join(","));
    let value = parse(&text);
    let object = value.as_object().expect("object");
    assert_eq!(object.len(), 50);
    assert_eq!(object.members()[7], ("m7".into(), Value::from(157)));
}

#[test]
fn strings_borrow_where_they_can() {
    let text = r#"{"plain":"text","escaped":"a\nb"}"#;
    let borrowed =
        |value: &Value<'_>| matches!(value, Value::String(std::borrow::Cow::Borrowed(_)));
    for value in [parse(text), json::project(text.as_bytes(), &PathTree::All)] {
        assert!(borrowed(value.member("plain")));
        assert_eq!(value.member("escaped"), &Value::from("a\nb"));
    }
}

#[test]
fn refuses_what_is_not_json() {
    for text in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "+1",
        "nul",
        "\"\u{1}\"",
        "\"\\x\"",
        "1 2",
        "{'a':1}",
        "[1}",
        "\"\\ud800\"",
        "NaN",
        "{1:2}",
        ".5",
    ] {
        assert!(json::parse_str(text).is_err(), "{text:?}");
    }
}

/// What projection promises, in the obvious way.
fn expected(value: &Value<'static>, tree: &PathTree) -> Value<'static> {
    match (value, tree) {
        (Value::Object(object), PathTree::Members(wanted)) => {
            let members = object.iter().filter_map(|(name, value)| {
                let (_, below) = wanted.iter().find(|(own, _)| own == name)?;
                Some((name.to_owned(), expected(value, below)))
            });
            Value::Object(members.collect())
        }
        (Value::Array(elements), PathTree::Members(_)) => Value::Array(
            elements
                .iter()
                .map(|element| expected(element, tree))
                .collect(),
        ),
        _ => value.clone(),
    }
}

fn random_tree(random: &mut Random, value: &Value<'_>) -> PathTree {
    let mut tree = PathTree::none();
    if let Some(object) = value.as_object().filter(|object| !object.is_empty()) {
        for _ in 0..random.below(4) {
            let (name, below) = random.pick(object.members());
            let inner = below
                .as_object()
                .and_then(|object| object.members().first());
            match inner {
                Some((inner, _)) if random.below(2) == 0 => tree.add(&[name, inner]),
                _ => tree.add(&[name]),
            }
        }
    }
    tree.add(&["absent", "below"]);
    tree
}

#[test]
fn projection_reads_what_is_asked_for() {
    let mut random = Random::new(2);
    for _ in 0..3_000 {
        let value = random.object(3);
        let tree = random_tree(&mut random, &value);
        let text = json::to_string(&value);
        let projected = json::project(text.as_bytes(), &tree);
        assert_eq!(projected, expected(&value, &tree), "{text} {tree:?}");
        for (name, member) in value.as_object().expect("object").iter() {
            let slice = json::member_slice(text.as_bytes(), name).expect("a member");
            assert_eq!(slice, json::to_string(member).as_bytes());
            assert_eq!(MemberFinder::new(name).find(text.as_bytes()), Some(slice));
        }
        let names: Vec<&str> = value
            .as_object()
            .expect("object")
            .iter()
            .map(|(name, _)| name)
            .collect();
        let finders: Vec<MemberFinder> = names.iter().map(|name| MemberFinder::new(name)).collect();
        let mut found = vec![None; names.len()];
        json::find_members(text.as_bytes(), &finders, |number, place| {
            found[number] = text.as_bytes().get(place);
        });
        for (name, found) in names.iter().zip(found) {
            assert_eq!(found, json::member_slice(text.as_bytes(), name));
        }
        assert_eq!(json::member_slice(text.as_bytes(), "absent"), None);
        assert_eq!(MemberFinder::new("absent").find(text.as_bytes()), None);
    }
}

#[test]
fn members_are_found_where_they_are_and_nowhere_else() {
    let find = |name: &str, text: &str| {
        let value = json::parse(text.as_bytes()).expect("JSON");
        assert_eq!(json::to_string(&value), text, "canonical");
        let found = MemberFinder::new(name).find(text.as_bytes());
        assert_eq!(found, json::member_slice(text.as_bytes(), name));
        found.map(|text| String::from_utf8_lossy(text).into_owned())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(find("a", r#"{"a":1,"b":2}"#), some("1"));
    assert_eq!(find("b", r#"{"a":1,"b":[1,2]}"#), some("[1,2]"));
    assert_eq!(find("b", r#"{"a":{"b":1},"b":2}"#), some("2"));
    assert_eq!(find("b", r#"{"a":{"c":3,"b":1}}"#), None);
    assert_eq!(
        find("b", r#"{"long":"xxxxxxxxxxxxx","a":{"c":3,"b":1}}"#),
        None
    );
    assert_eq!(
        find("b", r#"{"long":"xxxxxxxxxxxxx","a":{"c":3,"b":1},"d":0}"#),
        None
    );
    assert_eq!(
        find("b", r#"{"long":"xxxxxxxxxxxxx","a":[{"c":3,"b":1}]}"#),
        None
    );
    assert_eq!(
        find("b", r#"{"long":"xxxxxxxxxx","a":{"c":3},"b":[{}],"d":{}}"#),
        some("[{}]")
    );
    assert_eq!(find("b", r#"{"a":[{"b":1}],"b":null}"#), some("null"));
    assert_eq!(find("b", r#"{"a":"x,\"b\":1","b":2}"#), some("2"));
    assert_eq!(find("b", r#"{"a":"{","b":2}"#), some("2"));
    assert_eq!(find("b", r#"{"x,\"b":1}"#), None);
    assert_eq!(find("b", r#"{"\"b":1,"b":2}"#), some("2"));
    assert_eq!(find("b", r#"{"a":["b"],"c":",","b":":"}"#), some("\":\""));
    assert_eq!(find("", r#"{"":1}"#), some("1"));
    assert_eq!(find(",", r#"{"a":"x",",":1}"#), some("1"));
    assert_eq!(find("a", "{}"), None);
    assert_eq!(find("a", "[1]"), None);
}

#[test]
fn projection_survives_any_bytes() {
    let mut random = Random::new(3);
    for _ in 0..10_000 {
        let mut text = json::to_string(&random.object(3)).into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len());
            text[at] = *random.pick(b"{}[]\",:\\e1-\xff\x00u");
        }
        text.truncate(1 + random.below(text.len()));
        let _ = json::project(&text, &PathTree::All);
        let mut tree = PathTree::none();
        tree.add(&["a", "b"]);
        let _ = json::project(&text, &tree);
        let _ = json::member_slice(&text, "a");
        let _ = MemberFinder::new("a").find(&text);
        let _ = json::parse(&text);
    }
    let deep = "[".repeat(100_000);
    assert!(json::project(deep.as_bytes(), &PathTree::All).is_undefined());
    let deep = format!("{{\"a\":{deep}");
    assert!(json::project(deep.as_bytes(), &PathTree::none()).is_undefined());
}

#[test]
fn equality_ignores_the_order_of_members() {
    assert!(
        parse(r#"{"a":1,"b":[{"x":1,"y":2}]}"#).equals(&parse(r#"{"b":[{"y":2,"x":1.0}],"a":1}"#))
    );
    assert!(!parse(r#"{"a":1}"#).equals(&parse(r#"{"a":1,"b":null}"#)));
    assert!(!parse("[1,2]").equals(&parse("[2,1]")));
    assert_eq!(parse("1"), Value::Number(Number::Int(1)));
}
