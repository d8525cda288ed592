//! The paths of the data, each with a small number.
//!
//! Items of one kind name their members in the same order, so the member that came next last time
//! is tried first: finding a path is one comparison of bytes.

/// Most paths that are profiled; data whose member names are values has more.
pub const MAX_PATHS: usize = 2_000;

/// A path of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PathId(u32);

impl PathId {
    /// The parent of the first names.
    pub(crate) const ROOT: Self = Self(u32::MAX);

    pub(crate) fn at(index: usize) -> Self {
        Self(index as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Debug)]
struct Node {
    name: Box<[u8]>,
    head: Head,
    parent: PathId,
    members: Members,
}

/// The first bytes of a name and of the quotation mark behind it, compared as one number: names
/// are short, and a call to compare them takes longer than the rest.
#[derive(Debug, Clone, Copy)]
struct Head {
    bytes: u64,
    mask: u64,
}

/// Bytes that a head compares.
const HEAD: usize = 8;

impl Head {
    fn of(name: &[u8]) -> Self {
        let (mut bytes, mut mask) = ([0; HEAD], [0; HEAD]);
        let quoted = name.iter().copied().chain([b'"']);
        for ((byte, mask), of_name) in bytes.iter_mut().zip(&mut mask).zip(quoted) {
            (*byte, *mask) = (of_name, 0xFF);
        }
        Self {
            bytes: u64::from_le_bytes(bytes),
            mask: u64::from_le_bytes(mask),
        }
    }

    /// Whether a text begins like this; unknown of a text that is shorter.
    fn begins(self, text: &[u8]) -> Option<bool> {
        let first = text.first_chunk::<HEAD>()?;
        Some(u64::from_le_bytes(*first) & self.mask == self.bytes)
    }
}

#[derive(Debug, Default)]
struct Members {
    ids: Vec<PathId>,
    expected: usize,
}

/// All paths seen.
#[derive(Debug)]
pub(crate) struct Paths {
    nodes: Vec<Node>,
    top: Members,
}

impl Paths {
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            top: Members::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The member that is expected next of a path, when `text` goes on with its name and the
    /// quotation mark behind it, and the length of the name.
    pub(crate) fn expected(&mut self, parent: PathId, text: &[u8]) -> Option<(PathId, usize)> {
        let members = self.members(parent);
        let id = *members.ids.get(members.expected)?;
        let node = &self.nodes[id.index()];
        let length = node.name.len();
        let is_it = match node.head.begins(text) {
            Some(begins) if length < HEAD => begins,
            Some(false) => false,
            _ => text.get(length) == Some(&b'"') && text[..length] == *node.name,
        };
        if !is_it {
            return None;
        }
        let members = self.members_mut(parent);
        members.expected += 1;
        if members.expected == members.ids.len() {
            members.expected = 0;
        }
        Some((id, length))
    }

    /// The member of a path by its raw name, made when it is new; `None` beyond [`MAX_PATHS`].
    pub(crate) fn member(&mut self, parent: PathId, name: &[u8]) -> Option<PathId> {
        let members = self.members(parent);
        let (expected, count) = (members.expected, members.ids.len());
        // First the expected one, then those after it, then those before.
        for step in 0..count {
            let at = (expected + step) % count;
            let id = self.members(parent).ids[at];
            if *self.nodes[id.index()].name == *name {
                self.members_mut(parent).expected = (at + 1) % count;
                return Some(id);
            }
        }
        if self.nodes.len() >= MAX_PATHS {
            return None;
        }
        let id = PathId::at(self.nodes.len());
        self.nodes.push(Node {
            name: name.into(),
            head: Head::of(name),
            parent,
            members: Members::default(),
        });
        let members = self.members_mut(parent);
        members.ids.push(id);
        members.expected = 0;
        Some(id)
    }

    fn members(&self, parent: PathId) -> &Members {
        if parent == PathId::ROOT {
            &self.top
        } else {
            &self.nodes[parent.index()].members
        }
    }

    fn members_mut(&mut self, parent: PathId) -> &mut Members {
        if parent == PathId::ROOT {
            &mut self.top
        } else {
            &mut self.nodes[parent.index()].members
        }
    }

    /// A top-level member that was seen.
    pub(crate) fn find(&self, name: &str) -> Option<PathId> {
        self.top
            .ids
            .iter()
            .copied()
            .find(|id| *self.nodes[id.index()].name == *name.as_bytes())
    }

    /// The same path of another set.
    pub(crate) fn adopt(&mut self, other: &Self, id: PathId) -> Option<PathId> {
        let mut names = Vec::new();
        let mut at = id;
        while at != PathId::ROOT {
            let node = &other.nodes[at.index()];
            names.push(&node.name);
            at = node.parent;
        }
        let mut place = PathId::ROOT;
        for name in names.into_iter().rev() {
            place = self.member(place, name)?;
        }
        Some(place)
    }

    /// The names from the top, joined by `/`.
    pub(crate) fn name(&self, id: PathId) -> String {
        let node = &self.nodes[id.index()];
        let name = String::from_utf8_lossy(&node.name);
        if node.parent == PathId::ROOT {
            name.into_owned()
        } else {
            format!("{}/{name}", self.name(node.parent))
        }
    }
}
