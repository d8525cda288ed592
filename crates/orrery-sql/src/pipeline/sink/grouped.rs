//! Rows of groups, given out when the last item was seen: in the order of ORDER BY, else and
//! among equals in that of their keys' hashes. So a page goes on behind the last row of the one
//! before, whatever groups came or went meanwhile.

use super::Sink;
use crate::eval::rows::project;
use crate::eval::{Binding, Frame, Run, eval};
use crate::pipeline::groups::Groups;
use crate::pipeline::place::Standing;
use crate::pipeline::sorter::{Entry, Sorter};
use crate::pipeline::{ExecutionError, Flow};
use crate::program::node::Grouping;
use orrery_model::distinct_hash;
use orrery_model::value::Value;

impl<'p> Sink<'p> {
    pub(super) fn finish_groups(
        &mut self,
        grouping: &'p Grouping,
        groups: Groups,
        run: &Run<'_>,
    ) -> Result<Flow, ExecutionError> {
        let program = self.program;
        // It may have served an inner DISTINCT; repeated rows are told in order.
        self.distinct = None;
        let nothing = Value::Undefined;
        let outer = Frame::outermost(Binding::Value(&nothing));
        let mut bytes = groups.memory();
        let mut sorter = Sorter::new(&program.order, u64::MAX, self.limits.memory);
        for (arrival, (place, group)) in groups.finish(grouping).enumerate() {
            run.refill(self.limits.steps);
            let frame = outer.with(&group);
            let keys: Vec<Value<'static>> = program
                .order
                .iter()
                .map(|key| eval(&key.node, &frame, run).into_owned())
                .collect();
            let hash = if program.select.distinct {
                distinct_hash::hash(&project(&program.select.projection, &frame, run))
            } else {
                0
            };
            let standing = self.start.as_ref().map_or(Standing::Behind, |start| {
                start.standing_in(&program.order, &keys, place)
            });
            if standing == Standing::Before {
                if program.select.distinct {
                    self.before.insert(hash);
                }
                continue;
            }
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
            let sorter = match standing {
                Standing::Near => &mut self.near,
                _ => &mut sorter,
            };
            sorter.take(Entry {
                keys,
                doc: place,
                arrival: arrival as u64,
                hash,
                row,
            })?;
        }
        Ok(self.finish_sorted(sorter))
    }
}
