//! Rows of groups, given out when the last item was seen.

use super::Sink;
use crate::eval::{Binding, Frame, Run, eval};
use crate::pipeline::groups::Groups;
use crate::pipeline::sorter::{Entry, Sorter};
use crate::pipeline::{ExecutionError, Flow};
use crate::program::node::Grouping;
use orrery_model::value::Value;

impl<'p> Sink<'p> {
    pub(super) fn finish_groups(
        &mut self,
        grouping: &'p Grouping,
        groups: Groups,
        run: &Run<'_>,
    ) -> Result<Flow, ExecutionError> {
        let program = self.program;
        if let Some(seen) = &mut self.distinct {
            // It may have served an inner DISTINCT.
            seen.clear();
        }
        let nothing = Value::Undefined;
        let outer = Frame::outermost(Binding::Value(&nothing));
        let mut rows = Vec::new();
        let mut bytes = groups.memory();
        let mut sorter = Sorter::new(&program.order, u64::MAX, self.limits.memory);
        for (arrival, group) in groups.finish(grouping).enumerate() {
            run.refill(self.limits.steps);
            let frame = outer.with(&group);
            let row = self.text(&frame, run);
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            bytes += row.as_ref().map_or(0, |row| row.len() + size_of_val(row));
            run.wait(bytes);
            if run.exhausted() {
                return self.cut_off(run);
            }
            let Some(row) = row else { continue };
            if program.order.is_empty() {
                rows.push(row);
                continue;
            }
            let keys = program
                .order
                .iter()
                .map(|key| eval(&key.node, &frame, run).into_owned())
                .collect();
            let arrival = arrival as u64;
            sorter.take(Entry {
                keys,
                doc: arrival,
                arrival,
                hash: 0,
                row,
            })?;
        }
        rows.extend(sorter.finish().into_iter().map(|entry| entry.row));
        Ok(self.deliver_all(rows.into_iter()))
    }
}
