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
}

/// Appends the text of a row.
pub(crate) fn write_row<'e>(
    projection: &'e Projection,
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    out: &mut Vec<u8>,
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
    out: &mut Vec<u8>,
) -> Written {
    match node {
        Node::Slot(outwards) => {
            if let Some(Binding::Item(item)) = frame.lookup(*outwards) {
                out.extend_from_slice(item.wire());
                return Written::Yes;
            }
        }
        Node::Path(outwards, steps) if steps.iter().all(|step| matches!(step, Step::Member(_))) => {
            if let Some(Binding::Item(item)) = frame.lookup(*outwards) {
                return match item.slice(steps) {
                    Some(text) => {
                        out.extend_from_slice(text);
                        Written::Yes
                    }
                    None => Written::Undefined,
                };
            }
        }
        Node::Object(members) => return write_members(members, frame, run, out),
        Node::Array(elements) => {
            out.push(b'[');
            let start = out.len();
            for element in elements {
                let before = out.len();
                if before > start {
                    out.push(b',');
                }
                match write_node(element, frame, run, out) {
                    Written::Yes => {}
                    Written::Undefined => out.truncate(before),
                    Written::NotFinite => return Written::NotFinite,
                }
            }
            out.push(b']');
            return Written::Yes;
        }
        _ => {}
    }
    write_value(&eval(node, frame, run), out)
}

fn write_members<'e>(
    members: &'e [(String, Node)],
    frame: &'e Frame<'e>,
    run: &Run<'_>,
    out: &mut Vec<u8>,
) -> Written {
    out.push(b'{');
    let start = out.len();
    for (name, node) in members {
        let before = out.len();
        if before > start {
            out.push(b',');
        }
        json::write_string(name, out);
        out.push(b':');
        match write_node(node, frame, run, out) {
            Written::Yes => {}
            Written::Undefined => out.truncate(before),
            Written::NotFinite => return Written::NotFinite,
        }
    }
    out.push(b'}');
    Written::Yes
}

/// Appends the text of a value.
pub(crate) fn write_value(value: &Val<'_>, out: &mut Vec<u8>) -> Written {
    if value.is_undefined() {
        return Written::Undefined;
    }
    if !is_finite(value) {
        return Written::NotFinite;
    }
    json::write(value, out);
    Written::Yes
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
