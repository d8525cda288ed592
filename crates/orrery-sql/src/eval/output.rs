//! Writing an expression's value as JSON text, without building it where it is only copied.

use super::{Binding, Frame, Run, Val, eval};
use crate::program::node::{Node, Projection, Step};
use orrery_model::json;
use orrery_model::value::Value;

/// What became of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is in the output.
    Yes,
    /// It was undefined; the output is as before.
    Undefined,
    /// It holds NaN or an infinity; the output is spoilt.
    NotFinite,
    /// It is longer than a row may be; the output is spoilt.
    TooLong,
}

/// The text of a row under way.
pub(crate) struct RowText {
    pub(crate) text: Vec<u8>,
    /// The most bytes.
    limit: usize,
}

impl RowText {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            text: Vec::new(),
            limit,
        }
    }

    fn copy(&mut self, text: &[u8]) -> Written {
        self.text.extend_from_slice(text);
        self.written()
    }

    /// Checks the length. Callers add no more than one value between two checks.
    fn written(&self) -> Written {
        if self.text.len() > self.limit {
            Written::TooLong
        } else {
            Written::Yes
        }
    }
}

/// Appends the text of a row.
pub(crate) fn write_row<'e>(
    projection: &'e Projection,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    out: &mut RowText,
) -> Written {
    match projection {
        Projection::Value(node) => write_node(node, frame, run, out),
        Projection::List(members) => write_members(members, frame, run, out),
    }
}

/// Appends the text of an expression's value.
pub(crate) fn write_node<'e>(
    node: &'e Node,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    out: &mut RowText,
) -> Written {
    match node {
        Node::Slot(outwards) => {
            if let Some(Binding::Item(item)) = frame.lookup(*outwards) {
                return out.copy(item.wire());
            }
        }
        Node::Path(outwards, steps) if steps.iter().all(|step| matches!(step, Step::Member(_))) => {
            if let Some(Binding::Item(item)) = frame.lookup(*outwards) {
                return item
                    .slice(steps)
                    .map_or(Written::Undefined, |text| out.copy(text));
            }
        }
        Node::Object(members) => return write_members(members, frame, run, out),
        Node::Array(elements) => {
            run.spend(elements.len() as u64);
            out.text.push(b'[');
            let start = out.text.len();
            for element in elements {
                let before = out.text.len();
                if before > start {
                    out.text.push(b',');
                }
                match write_node(element, frame, run, out) {
                    Written::Yes => {}
                    Written::Undefined => out.text.truncate(before),
                    spoilt => return spoilt,
                }
            }
            out.text.push(b']');
            return out.written();
        }
        _ => {}
    }
    write_value(&eval(node, frame, run), out)
}

fn write_members<'e>(
    members: &'e [(String, Node)],
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    out: &mut RowText,
) -> Written {
    run.spend(members.len() as u64);
    out.text.push(b'{');
    let start = out.text.len();
    for (name, node) in members {
        let before = out.text.len();
        if before > start {
            out.text.push(b',');
        }
        json::write_string(name, &mut out.text);
        out.text.push(b':');
        match write_node(node, frame, run, out) {
            Written::Yes => {}
            Written::Undefined => out.text.truncate(before),
            spoilt => return spoilt,
        }
    }
    out.text.push(b'}');
    out.written()
}

/// Appends the text of a value.
pub(crate) fn write_value(value: &Val<'_>, out: &mut RowText) -> Written {
    if value.is_undefined() {
        return Written::Undefined;
    }
    if !is_finite(value) {
        return Written::NotFinite;
    }
    json::write(value, &mut out.text);
    out.written()
}

/// True when all numbers in the value can be written.
pub(crate) fn is_finite(value: &Value<'_>) -> bool {
    match value {
        Value::Number(number) => number.is_finite(),
        Value::Array(elements) => elements.iter().all(is_finite),
        Value::Object(object) => object.iter().all(|(_, member)| is_finite(member)),
        _ => true,
    }
}
