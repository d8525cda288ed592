//! DISTINCT rows that come in the order of ORDER BY: nothing waits, but every page has to see the
//! rows before its own, to know what is no longer new.

use super::Sink;
use crate::eval::output::{RowText, Written, write_value};
use crate::eval::rows::project;
use crate::eval::{Frame, Run, eval};
use crate::pipeline::ExecutionError;
use crate::pipeline::place::{SortPlace, Standing};
use orrery_model::value::Value;
use std::ops::ControlFlow;

/// A new row, and where it stands.
pub(super) struct Walked {
    keys: Vec<Value<'static>>,
    doc: u64,
    /// Which of its document's rows it is, from 1.
    number: u64,
    row: Vec<u8>,
}

impl<'p> Sink<'p> {
    pub(super) fn walk_row<'e>(&mut self, frame: &'e Frame<'e>, run: &Run<'_>) -> ControlFlow<()>
    where
        'p: 'e,
    {
        if self.page_full() {
            self.stopped_inside = true;
            return ControlFlow::Break(());
        }
        let program = self.program;
        let keys: Vec<Value<'_>> = program
            .order
            .iter()
            .map(|key| eval(&key.node, frame, run).into_value())
            .collect();
        if !self.admits(&keys) {
            return ControlFlow::Continue(());
        }
        let value = project(&program.select.projection, frame, run);
        run.spend_on(&value);
        if run.exhausted() {
            return ControlFlow::Break(());
        }
        if value.is_undefined() {
            return ControlFlow::Continue(());
        }
        self.number = match self.number {
            (doc, number) if doc == self.doc => (doc, number + 1),
            _ => (self.doc, 1),
        };
        let standing = self.start.as_ref().map_or(Standing::Behind, |start| {
            start.standing_in(&program.order, &keys, self.doc)
        });
        if standing == Standing::Behind {
            self.pass_held()?;
        }
        if !self.is_new(&value) || standing == Standing::Before {
            return self.more(run);
        }
        self.counters.projected += 1;
        let mut out = RowText::new(self.limits.bytes);
        match write_value(&value, &mut out) {
            Written::Yes => {}
            Written::Undefined => return ControlFlow::Continue(()),
            Written::NotFinite => return self.fail(ExecutionError::NotFinite),
            Written::TooLong => return self.fail(ExecutionError::RowTooLarge),
        }
        let walked = Walked {
            keys: keys.into_iter().map(Value::into_owned).collect(),
            doc: self.doc,
            number: self.number.1,
            row: out.text,
        };
        if standing == Standing::Near {
            self.held_bytes += walked.row.len() + size_of::<Walked>();
            self.held.push(walked);
        } else {
            self.pass(walked)?;
        }
        self.more(run)
    }

    /// Passes on the rows of which it was not known whether the page before had them.
    pub(super) fn pass_held(&mut self) -> ControlFlow<()> {
        let held = std::mem::take(&mut self.held);
        self.held_bytes = 0;
        let Some(start) = self.start.take() else {
            return ControlFlow::Continue(());
        };
        // All behind the document's own, and of its own those that were not dealt with.
        let own = held.iter().rposition(|one| one.doc == start.doc());
        let is_behind = |(at, one): &(usize, Walked)| match own {
            Some(last) => *at > last || one.doc == start.doc() && one.number > start.rows(),
            None => true,
        };
        let rest = held.into_iter().enumerate().filter(is_behind);
        for (_, one) in rest {
            self.pass(one)?;
        }
        ControlFlow::Continue(())
    }

    fn pass(&mut self, walked: Walked) -> ControlFlow<()> {
        if self.page_full() || self.is_too_long(&walked.row) {
            self.stopped_inside = true;
            return ControlFlow::Break(());
        }
        self.state.place = Some(SortPlace::new(&walked.keys, walked.doc, walked.number));
        self.deliver(walked.row)
    }
}
