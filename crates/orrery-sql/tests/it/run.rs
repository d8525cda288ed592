//! Running queries over items in memory.

use orrery_sql::environment::{Environment, Parameters};
use orrery_sql::parser::parse;
use orrery_sql::pipeline::{ExecutionError, Flow, Item, PageLimits, Pipeline, ResumeFilter};
use orrery_sql::program::Program;

/// Compiles a query without parameters.
pub fn compile(query: &str) -> Program {
    let query = parse(query).expect("the query parses");
    Program::compile(&query, &Parameters::default(), &Environment::default())
        .expect("the query compiles")
}

/// All rows in one page.
pub fn rows(query: &str, items: &[&str]) -> Vec<String> {
    pages(&compile(query), items, PageLimits::default(), false).concat()
}

/// The rows of each page; every page is a new pipeline that resumes.
pub fn pages(
    program: &Program,
    items: &[&str],
    limits: PageLimits,
    sorted: bool,
) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut state: Option<Vec<u8>> = None;
    let mut next = 0;
    loop {
        let mut pipeline =
            Pipeline::new(program, limits, sorted, state.as_deref(), None).expect("our own state");
        let mut flow = Flow::More;
        while flow == Flow::More && next < items.len() {
            flow = pipeline
                .push(item(next, items[next]))
                .expect("the item can be evaluated");
            next += usize::from(flow != Flow::PageFullInside);
        }
        if flow == Flow::More {
            flow = pipeline.finish().expect("the query can end");
        }
        pages.push(texts(pipeline.take_rows()));
        if flow == Flow::Done {
            return pages;
        }
        assert!(pages.len() < 1_000, "the walk ends");
        state = Some(pipeline.resume_state());
        if pipeline.restarts() {
            next = 0;
        }
    }
}

/// The rows behind a resume filter.
pub fn resumed(query: &str, items: &[&str], sorted: bool, filter: &str) -> Vec<String> {
    let program = compile(query);
    let filter = orrery_model::json::parse_str(filter).expect("JSON");
    let filter = ResumeFilter::parse(&filter, &|rid| rid.parse().ok()).expect("a resume filter");
    let mut pipeline = Pipeline::new(&program, PageLimits::default(), sorted, None, Some(filter))
        .expect("no state");
    for (place, text) in items.iter().enumerate() {
        pipeline
            .push(item(place, text))
            .expect("the item can be evaluated");
    }
    pipeline.finish().expect("the query can end");
    texts(pipeline.take_rows())
}

/// The error that ends a query.
pub fn failure(query: &str, items: &[&str], limits: PageLimits) -> Option<ExecutionError> {
    let program = compile(query);
    let mut pipeline = Pipeline::new(&program, limits, false, None, None).expect("no state");
    for (place, text) in items.iter().enumerate() {
        if let Err(error) = pipeline.push(item(place, text)) {
            return Some(error);
        }
    }
    pipeline.finish().err()
}

fn item(place: usize, text: &str) -> Item<'_> {
    Item {
        doc: place as u64 + 1,
        text: text.as_bytes(),
        system: None,
    }
}

fn texts(rows: Vec<Vec<u8>>) -> Vec<String> {
    rows.into_iter()
        .map(|row| String::from_utf8(row).expect("rows are JSON text"))
        .collect()
}
