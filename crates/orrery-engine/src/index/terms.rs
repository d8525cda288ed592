//! The terms of one item.

use orrery_model::ordered::{self, Tag};
use orrery_model::value::Value;

use super::plan::{IndexPlan, Node};
use crate::layout::term::{PathHash, STRING_LIMIT};

/// Sorted and distinct terms, each path hash and value encoding, in one buffer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    bytes: Vec<u8>,
    spans: Vec<(u32, u32)>,
    scalars: u32,
}

impl Terms {
    /// The terms of an item under a plan, but for `_ts`, which only the commit knows.
    pub fn of(item: &Value<'_>, plan: &IndexPlan) -> Self {
        let mut terms = Self::default();
        let (Some(root), Value::Object(members)) = (plan.root(), item) else {
            return terms;
        };
        terms.bytes.reserve(512);
        for (name, value) in members.iter() {
            if is_system_property(name) {
                continue;
            }
            let path = PathHash::ROOT.member(name);
            if name == "id" {
                terms.term(path, value);
                continue;
            }
            terms.walk(value, path, root.member(name), root.children_included());
        }
        terms.sort();
        terms
    }

    fn walk(&mut self, value: &Value<'_>, path: PathHash, node: Option<&Node>, inherited: bool) {
        let below = node.and_then(Node::below).unwrap_or(inherited);
        let included = node.and_then(Node::exact).unwrap_or(below);
        let lives_below = below || node.is_some_and(Node::has_children);
        match value {
            Value::Undefined => {}
            Value::Array(elements) => {
                if included {
                    self.term(path, value);
                }
                if lives_below && !elements.is_empty() {
                    let path = path.element();
                    let node = node.and_then(Node::elements);
                    for element in elements {
                        self.walk(element, path, node, below);
                    }
                }
            }
            Value::Object(members) => {
                if included {
                    self.term(path, value);
                }
                if lives_below {
                    for (name, value) in members.iter() {
                        let node = node.and_then(|node| node.member(name));
                        self.walk(value, path.member(name), node, below);
                    }
                }
            }
            scalar => {
                if included {
                    self.term(path, scalar);
                }
            }
        }
    }

    fn term(&mut self, path: PathHash, value: &Value<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&path.to_bytes());
        ordered::encode(value, STRING_LIMIT, &mut self.bytes);
        self.spans.push((start as u32, self.bytes.len() as u32));
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let text = |span: &(u32, u32)| &bytes[span.0 as usize..span.1 as usize];
        self.spans.sort_unstable_by(|a, b| text(a).cmp(text(b)));
        self.spans.dedup_by(|a, b| text(a) == text(b));
        self.scalars = self
            .spans
            .iter()
            .filter(|span| !is_container(text(span)))
            .count() as u32;
    }

    /// The terms in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.spans
            .iter()
            .map(|&(start, end)| &self.bytes[start as usize..end as usize])
    }

    /// How many terms count for the charge: all but those of arrays and objects
    /// as a whole.
    pub fn chargeable(&self) -> usize {
        self.scalars as usize
    }

    /// Bytes of the keys that these terms make.
    pub fn key_bytes(&self) -> u64 {
        self.spans
            .iter()
            .map(|(start, end)| u64::from(end - start) + 9)
            .sum()
    }

    /// Calls `removed` for terms only here and `added` for terms only in `new`; answers how many
    /// chargeable ones there were of both.
    pub fn difference<'a>(
        &'a self,
        new: &'a Self,
        mut removed: impl FnMut(&'a [u8]),
        mut added: impl FnMut(&'a [u8]),
    ) -> usize {
        use std::cmp::Ordering;
        let mut chargeable = 0;
        let (mut before, mut after) = (self.iter().peekable(), new.iter().peekable());
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return chargeable,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(old), Some(new)) => old.cmp(new),
            };
            if order == Ordering::Equal {
                before.next();
                after.next();
                continue;
            }
            let gone = order == Ordering::Less;
            if let Some(term) = if gone { before.next() } else { after.next() } {
                chargeable += usize::from(!is_container(term));
                if gone { removed(term) } else { added(term) }
            }
        }
    }
}

/// The term of `_ts`.
pub fn ts_term(ts: u64) -> Vec<u8> {
    let mut bytes = PathHash::ROOT.member("_ts").to_bytes().to_vec();
    ordered::encode(&Value::from(ts), STRING_LIMIT, &mut bytes);
    bytes
}

/// Whether the service, not the user, writes this member of an item.
pub fn is_system_property(name: &str) -> bool {
    matches!(
        name,
        "_rid" | "_self" | "_etag" | "_attachments" | "_ts" | "_lsn"
    )
}

fn is_container(term: &[u8]) -> bool {
    const ARRAY: u8 = Tag::Array as u8;
    const OBJECT: u8 = Tag::Object as u8;
    matches!(term.get(8), Some(&(ARRAY | OBJECT)))
}
