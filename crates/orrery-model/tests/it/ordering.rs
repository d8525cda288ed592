//! The total order and its byte encodings agree, and encodings can be read back.

use std::cmp::Ordering;

use orrery_model::ordered::{self, Decoded};
use orrery_model::value::{Number, Value};

use crate::random::Random;

const LIMIT: usize = 6;

fn encoded(value: &Value<'_>, limit: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    ordered::encode(value, limit, &mut bytes);
    bytes
}

/// Scalars with every edge number, undefined, and small arrays and objects.
fn values(seed: u64) -> Vec<Value<'static>> {
    let mut random = Random::new(seed);
    let mut values: Vec<_> = (0..250).map(|_| random.value(1)).collect();
    values.push(Value::Undefined);
    let edges = [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
        -5e-324,
        9_007_199_254_740_993.0,
        9_223_372_036_854_775_807.0,
        1e19,
        -1e19,
    ];
    values.extend(edges.map(|edge| Value::Number(Number::Double(edge))));
    let integers = [
        i64::MAX,
        i64::MIN,
        (1 << 53) + 1,
        -(1 << 53) - 1,
        i64::MAX - 1023,
    ];
    values.extend(integers.map(Value::from));
    values
}

#[test]
fn byte_order_is_value_order() {
    let whole = |value: &Value<'_>| encoded(value, usize::MAX);
    let cut = |value: &Value<'_>| encoded(value, LIMIT);
    let descending = |value: &Value<'_>| {
        let mut bytes = Vec::new();
        ordered::encode_descending(value, usize::MAX, &mut bytes);
        bytes
    };
    for seed in 0..3 {
        let values = values(seed);
        let encodings: Vec<_> = values
            .iter()
            .map(|value| (value, whole(value), cut(value), descending(value)))
            .collect();
        for (a, whole_a, cut_a, descending_a) in &encodings {
            for (b, whole_b, cut_b, descending_b) in &encodings {
                let order = whole_a.cmp(whole_b);
                assert_eq!(order, a.order(b), "seed {seed}: {a:?} against {b:?}");
                assert_eq!(
                    descending_a.cmp(descending_b),
                    order.reverse(),
                    "{a:?} {b:?}"
                );
                // A cut string never sorts against the order, it may only tie.
                let cut = cut_a.cmp(cut_b);
                assert!(
                    cut == order || cut == Ordering::Equal,
                    "seed {seed}: {a:?} {b:?}"
                );
            }
        }
    }
}

#[test]
fn encodings_are_no_prefix_of_another() {
    let encodings: Vec<_> = values(9)
        .iter()
        .map(|value| encoded(value, LIMIT))
        .collect();
    for a in &encodings {
        for b in &encodings {
            assert!(a == b || !b.starts_with(a), "{a:?} {b:?}");
        }
    }
}

#[test]
fn encodings_read_back() {
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let value = random.scalar();
        let mut bytes = encoded(&value, usize::MAX);
        bytes.extend_from_slice(b"rest");
        let (decoded, rest) = ordered::decode(&bytes).expect("an encoding");
        assert_eq!((decoded, rest), (Decoded::Value(value), &b"rest"[..]));
    }
    let cut = encoded(&Value::from("abcdefgh"), LIMIT);
    assert_eq!(
        ordered::decode(&cut),
        Some((Decoded::CutString(b"abcdef".to_vec()), &[][..]))
    );
    let array = Value::from(vec![1]);
    let key = orrery_model::distinct_hash::order_key(&array);
    assert_eq!(
        ordered::decode(&encoded(&array, LIMIT)),
        Some((Decoded::Array(key), &[][..]))
    );
}

#[test]
fn decoding_survives_any_bytes() {
    let mut random = Random::new(77);
    for _ in 0..20_000 {
        let mut bytes = encoded(&random.scalar(), LIMIT);
        for _ in 0..random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        bytes.truncate(random.below(bytes.len() + 1));
        // Only that it answers; most are no encodings any more.
        let _ = ordered::decode(&bytes);
    }
}

#[test]
fn types_come_in_the_language_order() {
    let order = [
        Value::Undefined,
        Value::Null,
        Value::Bool(false),
        Value::Bool(true),
        Value::from(f64::NEG_INFINITY),
        Value::from(-1),
        Value::from(0.5),
        Value::from(1e300),
        Value::from(""),
        Value::from("a"),
        Value::from("aa"),
        Value::from("b"),
        Value::from("é"),
        Value::Array(Vec::new()),
        Value::Object(orrery_model::value::Object::new()),
    ];
    for pair in order.windows(2) {
        assert_eq!(pair[0].order(&pair[1]), Ordering::Less, "{pair:?}");
    }
}

#[test]
fn integers_and_doubles_compare_exactly() {
    let number = |value: f64| Number::Double(value);
    assert!(Number::Int((1 << 53) + 1) > number(9_007_199_254_740_992.0));
    assert!(Number::Int((1 << 53) + 1) < number(9_007_199_254_740_994.0));
    assert!(Number::Int(i64::MAX) < number(9_223_372_036_854_775_807.0));
    assert!(Number::Int(i64::MIN) == number(-9_223_372_036_854_775_808.0));
    assert!(Number::Int(3) < number(3.5) && Number::Int(-3) > number(-3.5));
    assert_eq!(Number::Int(0).compare(number(f64::NAN)), None);
    assert!(Number::Int(1) < number(f64::INFINITY));
}
