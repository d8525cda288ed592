//! The item, read from its text only where the query looks.

use super::Val;
use crate::pipeline::SystemText;
use crate::program::node::Step;
use orrery_model::json::{self, Glance, MemberFinder};
use orrery_model::value::Value;
use std::cell::{Cell, OnceCell};
use std::ops::Range;

/// The most members whose places are remembered.
pub(crate) const MOST_PLACES: usize = 8;

/// Where a member lies in the text; a range, for a slice would make the text invariant in its
/// lifetime.
#[derive(Clone, Copy)]
enum Place {
    Unknown,
    Absent,
    At(u32, u32),
}

/// Canonical text of an item, with the system properties that it lacks.
pub(crate) struct ItemText<'e> {
    text: &'e [u8],
    /// For the members that the query reads.
    finders: &'e [MemberFinder],
    places: [Cell<Place>; MOST_PLACES],
    system: Option<SystemText<'e>>,
    /// The system properties as an object, once somebody asked.
    asked: OnceCell<Vec<u8>>,
    /// The whole wire text, once somebody asked.
    wire: OnceCell<Vec<u8>>,
}

impl<'e> ItemText<'e> {
    /// `finders` are for members that will be read, [`MOST_PLACES`] of them at most.
    pub(crate) fn new(
        text: &'e [u8],
        system: Option<SystemText<'e>>,
        finders: &'e [MemberFinder],
    ) -> Self {
        Self {
            text,
            finders,
            places: [const { Cell::new(Place::Unknown) }; MOST_PLACES],
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
        let found = self.own_member(name);
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

    /// The member in the text as stored.
    fn own_member(&self, name: &str) -> Option<&[u8]> {
        let mut finders = self.finders.iter().zip(&self.places);
        let Some((finder, place)) = finders.find(|(finder, _)| finder.name() == name) else {
            return json::member_slice(self.text, name);
        };
        if matches!(place.get(), Place::Unknown) {
            match finder.glance(self.text) {
                Glance::At(found) => place.set(Place::of(found)),
                Glance::Absent => place.set(Place::Absent),
                Glance::Unclear => self.find_all(),
            }
        }
        match place.get() {
            Place::At(start, end) => self.text.get(start as usize..end as usize),
            Place::Unknown | Place::Absent => None,
        }
    }

    /// Reads the text once for all members.
    fn find_all(&self) {
        for place in &self.places {
            place.set(Place::Absent);
        }
        json::find_members(self.text, self.finders, |number, found| {
            if let Some(place) = self.places.get(number) {
                place.set(Place::of(found));
            }
        });
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

impl Place {
    /// No item is longer than four gigabytes.
    fn of(range: Range<usize>) -> Self {
        match (u32::try_from(range.start), u32::try_from(range.end)) {
            (Ok(start), Ok(end)) => Self::At(start, end),
            _ => Self::Absent,
        }
    }
}

/// Stored text is canonical: what cannot be read is treated as absent.
fn read(text: &[u8]) -> Value<'_> {
    json::project(text, &json::PathTree::All)
}
