//! Objects: ordered members with unique names.

use std::borrow::Cow;

use super::Value;

/// Members in the order of the text; names are unique (the last one of a repeated name wins).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Object<'a> {
    members: Vec<(Cow<'a, str>, Value<'a>)>,
}

/// From this many members on, duplicates are searched by sorting instead of pair by pair.
const SORT_FROM: usize = 24;

impl<'a> Object<'a> {
    /// An object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty object with room for that many members.
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            members: Vec::with_capacity(capacity),
        }
    }

    /// From members as they were read: a repeated name keeps its first place and its last value.
    pub fn from_members(members: Vec<(Cow<'a, str>, Value<'a>)>) -> Self {
        let mut object = Self { members };
        object.remove_duplicates();
        object
    }

    /// From members whose names are known to differ.
    pub(crate) fn from_unique(members: Vec<(Cow<'a, str>, Value<'a>)>) -> Self {
        Self { members }
    }

    fn remove_duplicates(&mut self) {
        let members = &mut self.members;
        if members.len() < SORT_FROM {
            let mut at = 1;
            while at < members.len() {
                match members[..at]
                    .iter()
                    .position(|(name, _)| *name == members[at].0)
                {
                    Some(first) => {
                        let (_, value) = members.remove(at);
                        members[first].1 = value;
                    }
                    None => at += 1,
                }
            }
            return;
        }
        let mut places: Vec<usize> = (0..members.len()).collect();
        places.sort_by(|&a, &b| members[a].0.cmp(&members[b].0).then(a.cmp(&b)));
        let mut doomed = vec![false; members.len()];
        let mut first = places[0];
        let mut found = false;
        for &place in &places[1..] {
            if members[place].0 == members[first].0 {
                members[first].1 = std::mem::replace(&mut members[place].1, Value::Undefined);
                doomed[place] = true;
                found = true;
            } else {
                first = place;
            }
        }
        if found {
            let mut doomed = doomed.into_iter();
            members.retain(|_| !doomed.next().unwrap_or(false));
        }
    }

    /// The members in order.
    pub fn members(&self) -> &[(Cow<'a, str>, Value<'a>)] {
        &self.members
    }

    /// The members in order, by value.
    pub fn into_members(self) -> Vec<(Cow<'a, str>, Value<'a>)> {
        self.members
    }

    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.members
            .iter()
            .map(|(name, value)| (name.as_ref(), value))
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The value of a member.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.members
            .iter()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value)
    }

    /// The value of a member, for change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value<'a>> {
        self.members
            .iter_mut()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value)
    }

    /// Whether there is a member of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a member: an existing one keeps its place, a new one goes last. Answers the old
    /// value. `Undefined` removes the member.
    pub fn insert(
        &mut self,
        name: impl Into<Cow<'a, str>>,
        value: impl Into<Value<'a>>,
    ) -> Option<Value<'a>> {
        let name = name.into();
        let value = value.into();
        if value.is_undefined() {
            return self.remove(&name);
        }
        if let Some(own) = self.get_mut(&name) {
            return Some(std::mem::replace(own, value));
        }
        self.members.push((name, value));
        None
    }

    /// Removes a member and answers its value; the others keep their order.
    pub fn remove(&mut self, name: &str) -> Option<Value<'a>> {
        let place = self.members.iter().position(|(own, _)| own == name)?;
        Some(self.members.remove(place).1)
    }

    /// The same object, independent of the text that it was read from.
    pub fn into_owned(self) -> Object<'static> {
        let own = |(name, value): (Cow<'a, str>, Value<'a>)| {
            (Cow::Owned(name.into_owned()), value.into_owned())
        };
        Object {
            members: self.members.into_iter().map(own).collect(),
        }
    }

    /// The same object borrowing its strings from this one.
    pub fn borrowed(&self) -> Object<'_> {
        Object {
            members: self
                .iter()
                .map(|(name, value)| (Cow::Borrowed(name), value.borrowed()))
                .collect(),
        }
    }

    /// Equality that ignores the order of members.
    pub fn equals(&self, other: &Object<'_>) -> bool {
        self.len() == other.len()
            && self.iter().enumerate().all(|(place, (name, value))| {
                // Equal objects mostly come in equal order: look there first.
                match other.members.get(place) {
                    Some((own, theirs)) if own == name => value.equals(theirs),
                    _ => other.get(name).is_some_and(|theirs| value.equals(theirs)),
                }
            })
    }
}

impl<'a, N: Into<Cow<'a, str>>, V: Into<Value<'a>>> FromIterator<(N, V)> for Object<'a> {
    /// Members in order; `Undefined` ones are left out.
    fn from_iter<I: IntoIterator<Item = (N, V)>>(members: I) -> Self {
        let members = members
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        Self::from_members(members.filter(|(_, value)| !value.is_undefined()).collect())
    }
}

impl<'a> IntoIterator for Object<'a> {
    type Item = (Cow<'a, str>, Value<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}
