//! The charges against published measurements: the residual tables of request units, section 6.

use orrery_model::charge::{self, Charge, Profile, QueryCost, ReadCost};

fn rounded(charge: Charge) -> f64 {
    charge.rounded().units()
}

#[test]
fn writes_against_measurements() {
    let kib = |kib: f64| (kib * 1024.0) as usize;
    // What, user bytes, terms, model at 0.32, model at 0.20.
    for (what, bytes, terms, measured, documented) in [
        ("blog user", kib(0.5), 3, 5.91, 5.55),
        ("blog like", kib(0.5), 6, 6.87, 6.15),
        ("blog comment", kib(1.5), 7, 8.53, 7.69),
        ("blog post", kib(1.5), 8, 8.85, 7.89),
        ("6.3 KiB, none", 6464, 0, 7.04, 7.04),
        ("6.3 KiB, two paths", 6464, 4, 8.32, 7.84),
        ("6.3 KiB, default", 6464, 130, 48.64, 33.04),
        ("grain create", kib(0.5), 4, 6.23, 5.75),
    ] {
        assert_eq!(
            rounded(Profile::Measured.create(bytes, terms)),
            measured,
            "{what}"
        );
        assert_eq!(
            rounded(Profile::Doc2026.create(bytes, terms)),
            documented,
            "{what}"
        );
        assert_eq!(
            Profile::Measured.delete(bytes, terms),
            Profile::Measured.create(bytes, terms)
        );
    }
    // Two inserts and two changed terms; the same with one patched property.
    assert_eq!(rounded(Profile::Measured.replace(500, 500, 2)), 10.54);
    assert_eq!(rounded(Profile::Measured.patch(500, 500, 2, 1)), 10.94);
}

#[test]
fn reads_step_with_size() {
    let read = |bytes| charge::read(bytes, ReadCost::Single).units();
    for (bytes, units) in [
        (0, 1.0),
        (716, 1.0),
        (717, 1.04),
        (4 * 1024, 1.33),
        (64 * 1024, 9.95),
        (100 * 1024, 9.95),
        (1024 * 1024, 291.8),
        (usize::MAX, 291.8),
    ] {
        assert_eq!(read(bytes), units, "{bytes}");
    }
    assert_eq!(charge::read(100, ReadCost::Double).units(), 2.0);
    assert_eq!(charge::read_nothing(ReadCost::Double).units(), 2.0);
    assert_eq!(
        charge::feed([100, 100, 1_000], ReadCost::Single).units(),
        3.04
    );
    assert_eq!(charge::feed([], ReadCost::Single).units(), 1.0);
}

#[test]
fn queries_against_measurements() {
    let scan = |items, bytes_loaded, returned, bytes_returned, projected| QueryCost {
        items_loaded: items,
        bytes_loaded,
        items_returned: returned,
        bytes_returned,
        items_projected: projected,
        ..QueryCost::default()
    };
    let seeks = |seeks, items| QueryCost {
        seeks,
        ..scan(items, items * 300, items, items * 300, 0)
    };
    for (what, work, model) in [
        ("emulator TOP 1", scan(1, 222, 1, 271, 0), 2.72),
        ("scan of 1,000", scan(1_000, 299_790, 0, 0, 0), 16.22),
        ("SELECT * 200", scan(200, 59_958, 200, 60_258, 0), 7.67),
        ("projection 200", scan(200, 59_958, 200, 5_568, 200), 8.21),
        ("UPPER scan", scan(60_951, 399_998_938, 7, 510, 0), 4_032.6),
        (
            "one 9.7 KiB document",
            QueryCost {
                seeks: 1,
                ..scan(1, 9_963, 1, 10_012, 0)
            },
            2.93,
        ),
        ("empty, two filters", seeks(2, 0), 2.92),
        ("three documents", seeks(1, 3), 2.88),
        ("IN of five", seeks(5, 5), 3.38),
    ] {
        let charged = rounded(charge::query(&work, ReadCost::Single));
        assert!(
            (charged - model).abs() < 0.02,
            "{what}: {charged} is not {model}"
        );
    }
    let tested = QueryCost {
        items_tested: 1_000,
        ..scan(1_000, 299_790, 0, 0, 0)
    };
    assert_eq!(rounded(charge::query(&tested, ReadCost::Single)), 18.22);
}

#[test]
fn charges_show_two_decimals() {
    assert_eq!(Charge(2.345_000_1).to_string(), "2.35");
    assert_eq!(Charge(1.0).to_string(), "1");
    assert_eq!(
        [Charge(1.5), Charge(2.25)]
            .into_iter()
            .sum::<Charge>()
            .to_string(),
        "3.75"
    );
    assert_eq!(rounded(charge::procedure(Charge(1.0))), 5.9);
}
