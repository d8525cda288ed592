//! Workload files that are written from data: what is recognised, and what the first answer is.

use orrery_keylab::analysis::{Analysis, Laboratory};
use orrery_keylab::init;
use orrery_keylab::placement::version2;
use orrery_keylab::profile::Profile;
use orrery_keylab::report::{advice, explain, markdown, terminal};
use orrery_keylab::roles::Roles;
use orrery_keylab::scenario::Operation;
use orrery_keylab::table::Table;
use orrery_keylab::verdict::Verdict;
use orrery_keylab::workload::Workload;

use crate::data::profile;

/// Orders as a shop exports them: no `id`, few values in most columns.
fn orders(count: u64) -> Profile {
    profile((0..count).map(|number| {
        let customer = number * 7_919 % (count / 12);
        let shop = if number % 10 < 7 { "web" } else { "south" };
        let status = if number % 10 == 0 { "open" } else { "delivered" };
        format!(
            "{{\"order_id\":\"ORD-{number:07}\",\"customer_email\":\"user{customer}@example.com\",\"shop\":\"{shop}\",\"status\":\"{status}\",\"ordered_at\":\"2026-01-{:02}T00:{:02}:{:02}Z\",\"total\":{}.25,\"currency\":\"EUR\",\"items_count\":{}}}",
            1 + number * 28 / count,
            number / 60 % 60,
            number % 60,
            number % 97,
            1 + number % 9
        )
    }))
}

fn roles(profile: &Profile) -> Roles {
    Roles::of(&Table::of(profile, &[], version2))
}

#[test]
fn identifier_owner_time_and_state_are_recognised() {
    let name = |text: &str| Some(text.to_owned());
    assert_eq!(
        roles(&orders(6_000)),
        Roles {
            identity: name("order_id"),
            owners: vec!["customer_email".to_owned()],
            arrival: name("ordered_at"),
            time: name("ordered_at"),
            state: name("status"),
        }
    );
    let readings = profile((0..3_000_u64).map(|number| {
        format!(
            "{{\"id\":\"{number}\",\"deviceId\":{},\"tenantId\":\"t{}\",\"userName\":\"u{}\",\"userId\":\"u{}\",\"born\":\"19{}-01-01\",\"note\":\"n{}\"}}",
            number % 300,
            number % 4,
            number % 90,
            number % 90,
            10 + number % 80,
            number % 60
        )
    }));
    let found = roles(&readings);
    assert_eq!(found.identity, name("id"));
    assert_eq!(found.owners, ["deviceId", "userId"], "tenants are fewer");
    assert_eq!((found.arrival, found.time), (None, name("born")));
}

#[test]
fn the_file_asks_by_identifier_and_owner_and_by_no_number() {
    let profile = orders(6_000);
    let text = init::workload(&profile);
    let workload = Workload::from_yaml(&text, "w.yaml").unwrap();
    assert!(workload.guessed_rates);
    assert_eq!(workload.arrival.as_deref(), Some("ordered_at"));
    let filters: Vec<(Operation, &str)> = workload
        .workload
        .iter()
        .filter_map(|pattern| Some((pattern.op, pattern.filter.as_deref()?)))
        .collect();
    assert_eq!(
        filters,
        [
            (
                Operation::Point,
                "c.order_id = @order_id AND c.customer_email = @customer_email"
            ),
            (Operation::Query, "c.order_id = @order_id"),
            (Operation::Query, "c.customer_email = @customer_email"),
            (Operation::Query, "c.status = @status"),
        ]
    );
    let rate = |name: &str| {
        let pattern = workload.workload.iter().find(|of| of.name == name);
        pattern.map_or(0.0, |pattern| pattern.rate)
    };
    assert!(rate("by status") * 100.0 < rate("list by customer_email"));
    let change = workload
        .workload
        .iter()
        .find(|of| of.op == Operation::Replace);
    assert_eq!(change.unwrap().sets, ["status"]);
}

#[test]
fn the_untouched_file_recommends_no_enumeration_and_says_that_it_is_a_guess() {
    let profile = orders(12_000);
    let text = init::workload(&profile);
    let workload = Workload::from_yaml(&text, "w.yaml").unwrap();
    let analysis = Laboratory::new(&profile, &workload).unwrap().analyze();
    let told = terminal::render(&analysis);
    let winner = advice::winner(&analysis).unwrap();
    assert!(
        ["order_id", "customer_email"].contains(&winner.definition.fields()[0]),
        "{told}"
    );
    for key in ["/currency", "/shop", "/items_count", "/status"] {
        let row = analysis.rows.iter().find(|row| row.key == key).unwrap();
        assert_eq!(row.verdict, Verdict::Reject, "{key}: {told}");
    }
    let currency = analysis
        .rows
        .iter()
        .find(|row| row.key == "/currency")
        .unwrap();
    let reason = &currency.first_failure.as_ref().unwrap().reason;
    assert!(
        reason.contains("half as much again as the best key needs"),
        "{reason}"
    );
    for text in [&told, &markdown::render(&analysis)] {
        assert!(text.contains("guesses of `keylab init`"), "{text}");
    }
    let mine = Workload::from_yaml(&text.replace("guessedRates: true", ""), "w.yaml").unwrap();
    let analysis = Laboratory::new(&profile, &mine).unwrap().analyze();
    assert!(!terminal::render(&analysis).contains("guesses of"));
}

#[test]
fn odd_names_make_a_file_that_can_be_read() {
    let profile = profile((0..400_u64).map(|number| {
        format!(
            "{{\"Order ID\":\"{number}\",\"customer: \\\"id\\\"\":\"c{}\",\"address\":{{\"user id\":{}}}}}",
            number % 50,
            number % 70
        )
    }));
    let text = init::workload(&profile);
    let workload =
        Workload::from_yaml(&text, "w.yaml").unwrap_or_else(|error| panic!("{error}: {text}"));
    assert!(Laboratory::new(&profile, &workload).is_ok(), "{text}");
}

/// The orders with the workload that is written for them.
fn analysed() -> Analysis {
    let profile = orders(12_000);
    let text = init::workload(&profile).replace("guessedRates: true", "");
    let workload = Workload::from_yaml(&text, "w.yaml").unwrap();
    Laboratory::new(&profile, &workload).unwrap().analyze()
}

#[test]
fn a_report_explains_what_it_shows_and_what_it_does_not() {
    let analysis = analysed();
    let (told, markdown) = (terminal::render(&analysis), markdown::render(&analysis));
    assert!(
        told.contains("order_id is another in every item and could be it"),
        "{told}"
    );
    let condition = "customer_email holds mail addresses";
    assert!(told.contains("condition of /customer_email"), "{told}");
    assert!(
        told.contains(condition) && markdown.contains(condition),
        "{told}"
    );
    for words in ["score: what", "G1 stability: the value never changes"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(!told.contains("G7"), "no gate that does not occur: {told}");
    assert!(
        told.contains("[/customer_email,/order_id]"),
        "the owner with what tells items apart: {told}"
    );
    let (few, none) = (orders(600), Workload::default());
    let spread = Laboratory::new(&few, &none).unwrap().analyze();
    assert!(terminal::render(&spread).contains("effective: so many"));
}

#[test]
fn a_member_that_groups_like_another_is_named_under_the_table() {
    let profile = profile((0..2_000_u64).map(|number| {
        let customer = number % 100;
        format!("{{\"id\":\"{number}\",\"customerId\":\"c{customer}\",\"customerName\":\"n{customer}\"}}")
    }));
    let workload = "workload: [{name: r, op: query, where: c.customerId = @c, rate: 10}]\nhorizons: [{name: now, gb: 1}]\n";
    let workload = Workload::from_yaml(workload, "w.yaml").unwrap();
    let analysis = Laboratory::new(&profile, &workload).unwrap().analyze();
    let words = "/customerName groups the items exactly as /customerId does";
    assert!(terminal::render(&analysis).contains(&format!("not in the table: {words}")));
    assert!(markdown::render(&analysis).contains("`/customerName` groups the items"));
}

#[test]
fn variants_of_one_field_do_not_bury_the_others() {
    let items = (0..20_000_u64).map(|number| {
        let (month, day) = (1 + number % 12, 1 + number % 28);
        format!("{{\"id\":\"r{number}\",\"device\":\"d{}\",\"at\":\"2026-{month:02}-{day:02}T00:00:00Z\",\"kind\":\"k{}\"}}", number * 31 % 10, number % 3)
    });
    let workload = "workload:\n  - {name: device, op: query, where: 'c.device = @d', rate: 20, charge: 5}\n  - {name: reading, op: create, rate: 300}\nhorizons: [{name: now, gb: 400, ru: 20000}]\n";
    let workload = Workload::from_yaml(workload, "w.yaml").unwrap();
    let profile = profile(items);
    let analysis = Laboratory::new(&profile, &workload).unwrap().analyze();
    let made = |text: &str| {
        let lines = text.lines().skip_while(|line| !line.starts_with("key"));
        lines
            .take_while(|line| !line.starts_with("and "))
            .filter(|line| {
                ["device_", "device.", "[/device,"]
                    .iter()
                    .any(|made| line.starts_with(made))
            })
            .count()
    };
    let variants = analysis
        .rows
        .iter()
        .filter(|row| row.key.starts_with("device_") || row.key.starts_with("device."));
    assert!(variants.count() > 2);
    let told = terminal::render(&analysis);
    assert_eq!(made(&told), 2, "{told}");
}

#[test]
fn listing_many_values_costs_no_more_than_visiting_every_partition() {
    // One partition: 28 days of one customer are read in one visit.
    let profile = orders(12_000);
    let workload = "workload: [{name: r, op: query, where: c.customer_email = @c, rate: 10}]\nhorizons: [{name: now, gb: 1, ru: 4000}]\ncandidates: [{concat: {of: [customer_email, ordered_at@day]}}]\n";
    let workload = Workload::from_yaml(workload, "w.yaml").unwrap();
    let days = Laboratory::new(&profile, &workload).unwrap().analyze();
    let total = |key: &str| {
        let row = days.rows.iter().find(|row| row.key == key).unwrap();
        row.horizons[0].outcome.total
    };
    let joined = days
        .rows
        .iter()
        .find(|row| row.key.contains("ordered_at@day"))
        .unwrap();
    assert!((total(&joined.key) - total("/customer_email")).abs() < 1e-6);
}

#[test]
fn one_key_is_explained() {
    let analysis = analysed();
    let row = explain::find(&analysis, "shop").unwrap();
    let text = explain::render(&analysis, row);
    for words in [
        "/shop: Reject",
        "It has 2 values",
        "the largest is \"web\"",
        "every partition is visited by 'read one'",
        "It fails G",
        "Recommended is /",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(explain::find(&analysis, "nothing").is_none());
}
