//! The item, read from its text only where the query looks.

use super::Val;
use crate::pipeline::SystemText;
use crate::program::node::Step;
use orrery_model::json;
use orrery_model::value::Value;
use std::cell::OnceCell;

/// Canonical text of an item, with the system properties that it lacks.
pub(crate) struct ItemText<'e> {
    text: &'e [u8],
    system: Option<SystemText<'e>>,
    /// The system properties as an object, once somebody asked.
    asked: OnceCell<Vec<u8>>,
    /// The whole wire text, once somebody asked.
    wire: OnceCell<Vec<u8>>,
}

impl<'e> ItemText<'e> {
    pub(crate) fn new(text: &'e [u8], system: Option<SystemText<'e>>) -> Self {
        Self {
            text,
            system,
            asked: OnceCell::new(),
            wire: OnceCell::new(),
        }
    }

    /// Text of the value at a path of members only.
    pub(crate) fn slice(&self, steps: &[Step]) -> Option<&[u8]> {
        let mut text: Option<&[u8]> = None;
        for (place, step) in steps.iter().enumerate() {
            let Step::Member(name) = step else {
                return None;
            };
            text = Some(match text {
                None if place == 0 => self.member(name)?,
                inner => json::member_slice(inner?, name)?,
            });
        }
        text
    }

    fn member(&self, name: &str) -> Option<&[u8]> {
        let found = json::member_slice(self.text, name);
        match self.system {
            Some(system) if found.is_none() && name.starts_with('_') => {
                let object = self.asked.get_or_init(|| {
                    let mut text = vec![b'{'];
                    system(&mut text);
                    text.push(b'}');
                    text
                });
                json::member_slice(object, name)
            }
            _ => found,
        }
    }

    /// The value at a path.
    pub(crate) fn path(&self, steps: &[Step]) -> Val<'_> {
        let members = steps
            .iter()
            .take_while(|step| matches!(step, Step::Member(_)))
            .count();
        if members == 0 {
            return super::walk(Val::Own(self.whole()), steps);
        }
        match self.slice(&steps[..members]) {
            Some(text) => super::walk(Val::Own(read(text)), &steps[members..]),
            None => Val::UNDEFINED,
        }
    }

    /// The text with the system properties.
    pub(crate) fn wire(&self) -> &[u8] {
        let Some(system) = self.system else {
            return self.text;
        };
        self.wire.get_or_init(|| {
            let mut text = Vec::with_capacity(self.text.len() + 200);
            text.extend_from_slice(self.text.strip_suffix(b"}").unwrap_or(self.text));
            if text.len() > 1 {
                text.push(b',');
            }
            let before = text.len();
            system(&mut text);
            if text.len() == before && before > 1 {
                text.pop();
            }
            text.push(b'}');
            text
        })
    }

    /// The whole item.
    pub(crate) fn whole(&self) -> Value<'_> {
        read(self.wire())
    }

    /// The members that a query needs, read in one pass.
    pub(crate) fn project(&self, needed: &json::PathTree, system: bool) -> Value<'_> {
        json::project(if system { self.wire() } else { self.text }, needed)
    }
}

/// Stored text is canonical: what cannot be read is treated as absent.
fn read(text: &[u8]) -> Value<'_> {
    json::project(text, &json::PathTree::All)
}
