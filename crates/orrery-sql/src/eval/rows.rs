//! The rows of a SELECT inside one item: sources, filter, groups, projection.

use super::{Frame, Run, Val, eval, logic};
use crate::pipeline::groups::Groups;
use crate::program::node::{Grouping, Projection, Select, Source};
use orrery_model::distinct_hash;
use orrery_model::value::Value;
use rustc_hash::FxHashSet;
use std::cell::Cell;
use std::ops::ControlFlow;

/// What a set of hashes takes for each of them.
const BYTES_OF_HASH: usize = 32;

/// Takes a row: the innermost frame holds its bindings.
pub(crate) type RowSink<'s> = dyn FnMut(&Frame<'_>) -> ControlFlow<()> + 's;
/// Takes a value of a subquery.
pub(crate) type ValueSink<'s> = dyn FnMut(Val<'_>) -> ControlFlow<()> + 's;

/// All rows of the sources that pass the filter, leftmost source outermost.
pub(crate) fn select_rows<'e>(
    select: &'e Select,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    sink: &mut RowSink<'_>,
) -> ControlFlow<()> {
    join(
        &select.sources,
        &mut |row, sink| {
            if select
                .filter
                .iter()
                .all(|condition| logic(condition, row, run) == Some(true))
            {
                sink(row)
            } else {
                ControlFlow::Continue(())
            }
        },
        frame,
        run,
        sink,
    )
}

/// The cross product of the sources, each seeing those before it; `test` passes rows on.
pub(crate) fn join<'e>(
    sources: &'e [Source],
    test: &mut dyn FnMut(&Frame<'_>, &mut RowSink<'_>) -> ControlFlow<()>,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    sink: &mut RowSink<'_>,
) -> ControlFlow<()> {
    let Some((source, rest)) = sources.split_first() else {
        run.spend(1);
        if run.exhausted() {
            return ControlFlow::Break(());
        }
        return test(frame, sink);
    };
    match source {
        Source::Value(node) => match eval(node, frame, run) {
            value if value.is_undefined() => ControlFlow::Continue(()),
            value => holding(&value, run, || {
                join(rest, test, &frame.with(&value), run, sink)
            }),
        },
        Source::Elements(node) => {
            let value = eval(node, frame, run);
            holding(&value, run, || {
                elements(&value, rest, test, frame, run, sink)
            })
        }
        Source::Rows(select) => select_values(select, frame, run, &mut |value| {
            holding(&value, run, || {
                join(rest, test, &frame.with(&value), run, sink)
            })
        }),
        Source::RowElements(select) => select_values(select, frame, run, &mut |value| {
            holding(&value, run, || {
                elements(&value, rest, test, frame, run, sink)
            })
        }),
    }
}

/// Rows of a source whose value waits for them.
fn holding(
    value: &Val<'_>,
    run: &Run<'_>,
    rows: impl FnOnce() -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mark = run.held();
    run.hold_value(value);
    let flow = rows();
    run.let_go(mark);
    flow
}

fn elements(
    value: &Value<'_>,
    rest: &[Source],
    test: &mut dyn FnMut(&Frame<'_>, &mut RowSink<'_>) -> ControlFlow<()>,
    frame: &Frame<'_>,
    run: &Run<'_>,
    sink: &mut RowSink<'_>,
) -> ControlFlow<()> {
    if let Value::Array(elements) = value {
        for element in elements {
            join(rest, test, &frame.with(element), run, sink)?;
        }
    }
    ControlFlow::Continue(())
}

/// The values of a subquery, one per row that is not undefined.
pub(crate) fn select_values<'e>(
    select: &'e Select,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    sink: &mut ValueSink<'_>,
) -> ControlFlow<()> {
    let gathered = Cell::new(0);
    let gather = |bytes: usize| {
        gathered.set(gathered.get() + bytes);
        run.gather(bytes);
    };
    let mut seen: FxHashSet<u128> = FxHashSet::default();
    let mut emit = |value: Val<'_>| {
        if value.is_undefined() {
            return ControlFlow::Continue(());
        }
        if select.distinct {
            run.spend_on(&value);
            if !seen.insert(distinct_hash::hash(&value)) {
                return ControlFlow::Continue(());
            }
            gather(BYTES_OF_HASH);
        }
        sink(value)
    };
    let flow = match &select.grouping {
        None => select_rows(select, frame, run, &mut |row| {
            emit(project(&select.projection, row, run))
        }),
        Some(grouping) => group_values(select, grouping, frame, run, &gather, &mut emit),
    };
    run.forget(gathered.get());
    flow
}

/// The values of the groups of a subquery.
fn group_values<'e>(
    select: &'e Select,
    grouping: &'e Grouping,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    gather: &dyn Fn(usize),
    emit: &mut ValueSink<'_>,
) -> ControlFlow<()> {
    let mut groups = Groups::new(grouping);
    // Breaks only when the budget is gone, which whoever drives the outer rows notices.
    select_rows(select, frame, run, &mut |row| {
        let before = groups.memory();
        groups.take(grouping, row, run);
        gather(groups.memory() - before);
        ControlFlow::Continue(())
    })?;
    for (_, group) in groups.finish(grouping) {
        run.spend(1);
        if run.exhausted() {
            return ControlFlow::Break(());
        }
        emit(project(&select.projection, &frame.with(&group), run))?;
    }
    ControlFlow::Continue(())
}

/// The value of a row.
pub(crate) fn project<'e>(
    projection: &'e Projection,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
) -> Val<'e> {
    match projection {
        Projection::Value(node) => eval(node, frame, run),
        Projection::List(members) => Val::Own(super::object(members, frame, run)),
    }
}
