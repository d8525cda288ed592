//! Damaged queries: nothing panics, and what parses prints to the same query again.

use crate::shared;
use orrery_model::partition_key::{PartitionKeyDefinition, PartitionKeyKind};
use orrery_sql::analysis::QueryLimits;
use orrery_sql::environment::{Environment, Parameters};
use orrery_sql::parser::parse;
use orrery_sql::plan::{PlanContext, plan};
use orrery_sql::printer::Printer;
use orrery_sql::routing::{constant, key_filter};

/// A small generator, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit.max(1) as u64).unwrap_or(0)
    }
}

const PIECES: &[&str] = &[
    " ",
    "(",
    ")",
    "((",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "'",
    "\"",
    "\\",
    "@",
    "@p",
    "-",
    "--",
    "/*",
    ";",
    "??",
    "?",
    ":",
    "é",
    "😀",
    "\u{0}",
    "1e999",
    "0x",
    "9223372036854775808",
    "NOT ",
    " BETWEEN ",
    " AND ",
    " IN (",
    "LIKE",
    "SELECT ",
    "VALUE ",
    "(SELECT ",
    " FROM c ",
    " JOIN x IN c.y ",
    " ORDER BY ",
    "RANK ",
    " OFFSET 1 LIMIT ",
    "TOP 1 ",
    "COUNT(",
    "RRF(",
    "FullTextScore(",
    "VectorDistance(",
    "udf.",
    "EXISTS(",
    "\\ud800",
    "*",
    "GROUP BY ",
];

fn damage(text: &str, other: &str, chance: &mut Chance) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..=chance.below(3) {
        let place = chance.below(letters.len() + 1);
        let end = (place + chance.below(12)).min(letters.len());
        match chance.below(5) {
            0 => drop(letters.drain(place..end)),
            1 => {
                let piece = PIECES[chance.below(PIECES.len())];
                letters.splice(place..place, piece.chars());
            }
            2 => letters.truncate(place),
            3 => {
                let copy: Vec<char> = letters[place..end].to_vec();
                letters.splice(place..place, copy);
            }
            _ => {
                let tail: Vec<char> = other.chars().collect();
                let from = chance.below(tail.len() + 1);
                letters.truncate(place);
                letters.extend(&tail[from..]);
            }
        }
    }
    letters.into_iter().collect()
}

fn run_everything(text: &str, definition: &PartitionKeyDefinition) {
    let query = match parse(text) {
        Ok(query) => query,
        Err(errors) => {
            assert!(!errors.body().is_empty());
            return;
        }
    };
    let printed = Printer::query_text(text, &query);
    match parse(&printed) {
        Ok(again) => assert_eq!(Printer::query_text(&printed, &again), printed, "of {text}"),
        // Full parentheses nest deeper than the text did.
        Err(errors) => assert!(
            errors.body().contains("nesting"),
            "{errors} in {printed} of {text}"
        ),
    }
    let parameters = Parameters::default();
    let environment = Environment::default();
    let context = PlanContext {
        definition: Some(definition),
        parameters: &parameters,
        environment: &environment,
        features: None,
        limits: QueryLimits::default(),
        fold: &|expr| constant(expr, &parameters, &environment),
    };
    if let Ok(plan) = plan(text, &query, &context) {
        orrery_model::json::parse(plan.to_json().as_bytes()).expect("a plan is JSON");
    }
    key_filter(&query, context.fold, definition);
}

#[test]
fn nothing_panics() {
    let mut seeds: Vec<String> = shared::OWN.iter().map(|text| (*text).to_owned()).collect();
    for family in ["parser", "query-plan"] {
        seeds.extend(shared::queries(family));
    }
    let definition = PartitionKeyDefinition::new(["/pk", "/a"], PartitionKeyKind::MultiHash, 2)
        .expect("a definition");
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for seed in &seeds {
        run_everything(seed, &definition);
        for _ in 0..6 {
            let other = seeds[chance.below(seeds.len())].clone();
            run_everything(&damage(seed, &other, &mut chance), &definition);
        }
    }
    // A few short seeds, over and over.
    for round in 0..5_000 {
        let seed = shared::OWN[round % shared::OWN.len()];
        let other = shared::OWN[chance.below(shared::OWN.len())];
        run_everything(&damage(seed, other, &mut chance), &definition);
    }
}

#[test]
fn deep_queries_are_walked_on_a_small_stack() {
    let run = || {
        let definition = PartitionKeyDefinition::hash("/pk").expect("a definition");
        for (open, close) in [
            ("ABS(", ")"),
            ("(SELECT VALUE ", ")"),
            ("-", ""),
            ("[", "]"),
            ("1+(", ")"),
            ("c.a=(", ")"),
        ] {
            for depth in [20, 60, 90, 180] {
                let text = format!(
                    "SELECT VALUE {}c.a{} FROM c",
                    open.repeat(depth),
                    close.repeat(depth)
                );
                run_everything(&text, &definition);
            }
        }
        let chain = format!(
            "SELECT * FROM c WHERE c.pk = 1{}",
            " OR c.pk = 2 AND c.a = 3".repeat(2000)
        );
        run_everything(&chain, &definition);
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .expect("a thread starts");
    thread.join().expect("nothing overflows");
}
