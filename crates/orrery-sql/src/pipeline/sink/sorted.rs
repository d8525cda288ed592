//! Rows that are sorted before they are given out.

use super::{Sink, Stage};
use crate::eval::rows::project;
use crate::eval::{Frame, Run, eval};
use crate::pipeline::Flow;
use crate::pipeline::place::{SortPlace, Standing};
use crate::pipeline::sorter::{Entry, Sorter};
use crate::program::node::SortKey;
use orrery_model::distinct_hash;
use orrery_model::value::Value;
use std::ops::ControlFlow;

impl<'p> Sink<'p> {
    pub(super) fn sort_row<'e>(&mut self, frame: &'e Frame<'e>, run: &Run<'_>) -> ControlFlow<()>
    where
        'p: 'e,
    {
        let order: &'p [SortKey] = &self.program.order;
        let keys: Vec<Value<'_>> = order
            .iter()
            .map(|key| eval(&key.node, frame, run).into_value())
            .collect();
        let refused = matches!(&self.stage, Stage::Sort(sorter) if sorter.refuses(&keys));
        if refused || !self.admits(&keys) {
            return ControlFlow::Continue(());
        }
        let standing = self.start.as_ref().map_or(Standing::Behind, |start| {
            start.standing_in(order, &keys, self.doc)
        });
        let hash = if self.program.select.distinct {
            distinct_hash::hash(&project(&self.program.select.projection, frame, run))
        } else {
            0
        };
        if standing == Standing::Before {
            if self.program.select.distinct {
                self.before.insert(hash);
                return self.more(run);
            }
            return ControlFlow::Continue(());
        }
        let Some(row) = self.text(frame, run) else {
            return if self.error.is_some() || run.exhausted() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            };
        };
        self.arrivals += 1;
        let entry = Entry {
            keys: keys.into_iter().map(Value::into_owned).collect(),
            doc: self.doc,
            arrival: self.arrivals,
            hash,
            row,
        };
        let Stage::Sort(sorter) = &mut self.stage else {
            return ControlFlow::Continue(());
        };
        let sorter = match standing {
            Standing::Near => &mut self.near,
            _ => sorter,
        };
        match sorter.take(entry) {
            Ok(()) => self.more(run),
            Err(error) => self.fail(error),
        }
    }

    pub(super) fn finish_sorted(&mut self, sorter: Sorter<'p>) -> Flow {
        let distinct = self.program.select.distinct;
        let mut seen = std::mem::take(&mut self.before);
        let nothing = Sorter::new(&self.program.order, 0, 0);
        let mut near = std::mem::replace(&mut self.near, nothing).finish();
        let start = self.start.take();
        if let Some(start) = &start {
            let docs: Vec<u64> = near.iter().map(|entry| entry.doc).collect();
            let dealt_with = near.drain(..start.start(&docs));
            seen.extend(dealt_with.map(|entry| entry.hash));
        }
        // The last row that was dealt with.
        let mut last = start.map(|start| (Vec::new(), start.doc(), start.rows()));
        let mut flow = Flow::Done;
        for entry in near.into_iter().chain(sorter.finish()) {
            if self.limit_reached() {
                break;
            }
            let is_repeated = distinct && !seen.insert(entry.hash);
            if !is_repeated && (self.page_full() || self.is_too_long(&entry.row)) {
                flow = Flow::PageFull;
                break;
            }
            let rows = match last {
                Some((_, doc, rows)) if doc == entry.doc => rows.saturating_add(1),
                _ => 1,
            };
            last = Some((entry.keys, entry.doc, rows));
            if !is_repeated {
                let _ = self.deliver(entry.row);
            }
        }
        if let Some((keys, doc, rows)) = last.filter(|_| flow == Flow::PageFull) {
            self.state.inside = rows;
            self.state.place = Some(SortPlace::new(&keys, doc, rows));
        }
        flow
    }
}
