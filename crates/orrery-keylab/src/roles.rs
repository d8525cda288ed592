//! What the members of the data seem to be for: which one tells the items apart, which ones say
//! whose they are, which one says when they came.
//!
//! Names and values together decide, and only what is proposed to people follows from it.

use orrery_model::partition_key::KeyComponent;

use crate::names::words;
use crate::table::{Column, Table};

/// Share of the items from which on their different values count as one for each item.
const UNIQUE: f64 = 0.98;
/// The same where values are estimated.
const ESTIMATED_UNIQUE: f64 = 0.95;
/// Fewer values are an enumeration.
const MANY: f64 = 20.0;
/// Members that lists are proposed for.
const OWNERS: usize = 2;

/// Last words of names that tell one thing from all others.
const IDENTIFYING: [&str; 10] = [
    "id",
    "key",
    "number",
    "no",
    "nr",
    "num",
    "guid",
    "uuid",
    "code",
    "reference",
];
/// Those whom items belong to.
const OWNING: [&str; 22] = [
    "customer",
    "user",
    "tenant",
    "account",
    "client",
    "buyer",
    "member",
    "owner",
    "device",
    "patient",
    "student",
    "player",
    "subscriber",
    "organization",
    "organisation",
    "company",
    "merchant",
    "vehicle",
    "session",
    "conversation",
    "project",
    "author",
];
/// Words of times at which an item comes to be.
const ARRIVING: [&str; 12] = [
    "created",
    "creation",
    "ordered",
    "order",
    "placed",
    "received",
    "inserted",
    "timestamp",
    "ts",
    "time",
    "submitted",
    "recorded",
];
/// Words of members that change during an item's life.
const STATES: [&str; 3] = ["status", "state", "stage"];

/// The members by what they seem to be for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Roles {
    /// Tells every item from the others.
    pub identity: Option<String>,
    /// Say whose an item is, the likeliest first.
    pub owners: Vec<String>,
    /// Says when an item came.
    pub arrival: Option<String>,
    /// A time that need not be that of arrival.
    pub time: Option<String>,
    /// A small set of states that an item goes through.
    pub state: Option<String>,
}

impl Roles {
    /// Those of a sample.
    pub fn of(table: &Table) -> Self {
        let times = || table.columns.iter().filter(|column| column.is_time);
        let identity = identity(table).map(|column| column.name.clone());
        Self {
            owners: owners(table, identity.as_deref()),
            identity,
            arrival: ARRIVING
                .iter()
                .find_map(|word| times().find(|column| has_word(&column.name, word)))
                .map(|column| column.name.clone()),
            time: times()
                .max_by(|left, right| left.distinct.total_cmp(&right.distinct))
                .map(|column| column.name.clone()),
            state: table
                .columns
                .iter()
                .filter(|column| (2.0..=MANY).contains(&column.distinct))
                .find(|column| STATES.iter().any(|word| has_word(&column.name, word)))
                .map(|column| column.name.clone()),
        }
    }
}

/// The column that tells every item from the others: `id`, else one with a name and values for it.
pub fn identity(table: &Table) -> Option<&Column> {
    table.column("id").or_else(|| {
        table
            .columns
            .iter()
            .filter(|column| {
                names_one(&column.name) && is_scalar_key(column) && is_unique(table, column)
            })
            .min_by_key(|column| (rank_of_identity(&column.name), column.name.len()))
    })
}

/// Whether every item has another value, as nearly as can be told.
pub fn is_unique(table: &Table, column: &Column) -> bool {
    let least = if table.is_whole() {
        UNIQUE
    } else {
        ESTIMATED_UNIQUE
    };
    column.distinct >= least * table.items as f64
}

/// The place of the last word among those that identify.
fn rank_of_identity(name: &str) -> usize {
    let last = words(name).pop().unwrap_or_default();
    IDENTIFYING
        .iter()
        .position(|word| *word == last)
        .unwrap_or(IDENTIFYING.len())
}

/// Whether a name ends as those of identifiers do, `tailnum` and `geonameid` included.
fn names_one(name: &str) -> bool {
    words(name).last().is_some_and(|last| {
        IDENTIFYING.contains(&last.as_str()) || last.ends_with("id") || last.ends_with("num")
    })
}

fn has_word(name: &str, wanted: &str) -> bool {
    words(name).iter().any(|word| word == wanted)
}

/// Whether the values could make a key: no arrays or objects, no times, no fractions.
fn is_scalar_key(column: &Column) -> bool {
    let has_fraction = |value: &KeyComponent| matches!(value, KeyComponent::Number(number) if number.fract() != 0.0);
    column.compound <= 0.0 && !column.is_time && !column.values.iter().any(has_fraction)
}

fn is_text(column: &Column) -> bool {
    let count = |wanted: fn(&KeyComponent) -> bool| {
        column.values.iter().filter(|value| wanted(value)).count()
    };
    count(|value| matches!(value, KeyComponent::String(_)))
        > count(|value| matches!(value, KeyComponent::Number(_) | KeyComponent::Bool(_)))
}

fn owners(table: &Table, identity: Option<&str>) -> Vec<String> {
    let mut found: Vec<(u8, f64, &Column)> = table
        .columns
        .iter()
        .filter(|column| {
            Some(column.name.as_str()) != identity
                && is_scalar_key(column)
                && !is_unique(table, column)
        })
        .filter_map(|column| Some((likeliness(table, column)?, column.distinct, column)))
        .collect();
    found.sort_by(|left, right| {
        right
            .0
            .cmp(&left.0)
            .then(right.1.total_cmp(&left.1))
            .then(left.2.name.cmp(&right.2.name))
    });
    // Texts without a telling name are proposed only when nothing has one, and one of them.
    let most = match found.first() {
        Some((UNNAMED, ..)) => 1,
        _ => OWNERS,
    };
    let mut owners: Vec<&Column> = Vec::new();
    for (likeliness, _, column) in found {
        let owner = owner_word(&column.name);
        let is_told =
            owner.is_some() && owners.iter().any(|other| owner_word(&other.name) == owner);
        if owners.len() < most && !is_told && (likeliness > UNNAMED || owners.is_empty()) {
            owners.push(column);
        }
    }
    owners
        .into_iter()
        .map(|column| column.name.clone())
        .collect()
}

fn owner_word(name: &str) -> Option<&'static str> {
    let words = words(name);
    OWNING
        .into_iter()
        .find(|owner| words.iter().any(|word| word == owner))
}

/// The likeliness of a text with no telling name.
const UNNAMED: u8 = 0;

/// How likely items are asked for by the values of a column; `None` when not at all.
fn likeliness(table: &Table, column: &Column) -> Option<u8> {
    /// An owner by its identifier, by its address, by its bare name.
    const IDENTIFIER: u8 = 5;
    const ADDRESS: u8 = 4;
    const OWNER: u8 = 3;
    /// An identifier of something else.
    const OTHER: u8 = 1;
    let words = words(&column.name);
    let is_many = column.distinct >= MANY;
    let is_mail = |word: &String| word == "email" || word == "mail";
    if let Some(owner) = owner_word(&column.name) {
        if names_one(&column.name) {
            return (column.distinct >= 2.0).then_some(IDENTIFIER);
        }
        if words.iter().any(is_mail) {
            return is_many.then_some(ADDRESS);
        }
        return (is_many && words.last().is_some_and(|last| last == owner)).then_some(OWNER);
    }
    if is_many && (names_one(&column.name) || words.iter().any(is_mail)) {
        return Some(OTHER);
    }
    let is_repeated = column.distinct <= 0.5 * table.items as f64;
    (is_many && is_repeated && is_text(column)).then_some(UNNAMED)
}
