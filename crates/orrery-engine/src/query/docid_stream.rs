//! Items in order of insertion, found as they are asked for: the entries of one index value lie in
//! that order, so conditions meet without anybody collecting what they match.

use std::ops::ControlFlow;

use orrery_model::ids::DocId;
use orrery_storage::{Reader, Scan};

use super::docids::DocIds;
use crate::error::Error;

/// Entries of the first read of a span; later reads bring more.
const FIRST_READ: usize = 32;
/// Entries that one read of the store brings at most.
const MOST_READ: usize = 4_096;

/// Items in order of insertion.
#[derive(Debug)]
pub enum DocIdStream {
    /// A list.
    List(DocIds),
    /// The entries behind a key prefix that only docids follow.
    Span(Span),
    /// Items of all branches; never empty.
    All(Vec<DocIdStream>),
    /// Items of any branch, each with the next item that it is known to have.
    Any(Vec<(DocIdStream, Head)>),
}

/// What is known of the next item of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// Not asked.
    Unknown,
    /// This one.
    At(DocId),
    /// There is none.
    End,
}

/// A cursor over entries that differ only in the docid at their end.
#[derive(Debug)]
pub struct Span {
    prefix: Vec<u8>,
    read: Vec<DocId>,
    /// Where in `read` the next item is.
    at: usize,
    /// Nothing follows what was read.
    is_last: bool,
    next_read: usize,
}

impl Span {
    /// The entries behind a prefix.
    pub fn new(prefix: Vec<u8>) -> Self {
        Self {
            prefix,
            read: Vec::new(),
            at: 0,
            is_last: false,
            next_read: FIRST_READ,
        }
    }

    fn is_few(&mut self, reader: &dyn Reader, most: usize) -> Result<bool, Error> {
        if self.read.is_empty() && !self.is_last {
            self.next_read = most.saturating_add(1);
            self.load(reader, DocId(0))?;
        }
        Ok(self.is_last && self.read.len() <= most)
    }

    fn seek(&mut self, reader: &dyn Reader, from: DocId) -> Result<Option<DocId>, Error> {
        let rest = self.read.get(self.at..).unwrap_or_default();
        self.at += rest.partition_point(|&docid| docid < from);
        if self.at == self.read.len() && !self.is_last {
            self.load(reader, from)?;
        }
        Ok(self.read.get(self.at).copied())
    }

    fn load(&mut self, reader: &dyn Reader, from: DocId) -> Result<(), Error> {
        let start = [self.prefix.as_slice(), &from.0.to_be_bytes()].concat();
        let end = orrery_storage::scan::prefix_end(&self.prefix);
        let (prefix, most, read) = (self.prefix.len(), self.next_read, &mut self.read);
        read.clear();
        self.at = 0;
        let mut is_last = true;
        reader.keys(&Scan::range(start, end), &mut |key| {
            if read.len() == most {
                is_last = false;
                return ControlFlow::Break(());
            }
            // Anything else is of a longer prefix.
            if let Some(Ok(docid)) = key.get(prefix..).map(TryInto::try_into) {
                read.push(DocId(u64::from_be_bytes(docid)));
            }
            ControlFlow::Continue(())
        })?;
        self.is_last = is_last;
        self.next_read = self.next_read.saturating_mul(4).min(MOST_READ);
        Ok(())
    }
}

impl DocIdStream {
    /// Items of any of the streams.
    pub fn any(streams: Vec<Self>) -> Self {
        Self::Any(
            streams
                .into_iter()
                .map(|stream| (stream, Head::Unknown))
                .collect(),
        )
    }

    /// The first item from `from` on. Later calls never ask for earlier ones.
    pub fn seek(&mut self, reader: &dyn Reader, from: DocId) -> Result<Option<DocId>, Error> {
        match self {
            Self::List(list) => Ok(list.from(from).first().copied()),
            Self::Span(span) => span.seek(reader, from),
            Self::All(streams) => {
                let mut wanted = from;
                // Each stream in turn; when all stand at the same item it is in all of them.
                let mut agreeing = 0;
                for turn in 0.. {
                    let count = streams.len();
                    let Some(stream) = streams.get_mut(turn % count.max(1)) else {
                        return Ok(None);
                    };
                    match stream.seek(reader, wanted)? {
                        None => return Ok(None),
                        Some(docid) if docid == wanted => agreeing += 1,
                        Some(docid) => {
                            wanted = docid;
                            agreeing = 1;
                        }
                    }
                    if agreeing == count {
                        break;
                    }
                }
                Ok(Some(wanted))
            }
            Self::Any(branches) => {
                let mut first: Option<DocId> = None;
                for (stream, head) in branches {
                    let is_stale = match head {
                        Head::Unknown => true,
                        Head::At(docid) => *docid < from,
                        Head::End => false,
                    };
                    if is_stale {
                        *head = stream.seek(reader, from)?.map_or(Head::End, Head::At);
                    }
                    if let Head::At(docid) = head {
                        first = Some(first.map_or(*docid, |first| first.min(*docid)));
                    }
                }
                Ok(first)
            }
        }
    }

    /// Whether it has no more than so many items, as far as a first look tells.
    pub fn is_few(&mut self, reader: &dyn Reader, most: usize) -> Result<bool, Error> {
        match self {
            Self::List(list) => Ok(list.len() <= most),
            Self::Span(span) => span.is_few(reader, most),
            Self::All(streams) => {
                for stream in streams {
                    if stream.is_few(reader, most)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::Any(branches) => {
                let each = most / branches.len().max(1);
                for (stream, _) in branches {
                    if !stream.is_few(reader, each)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Up to `most` items after one.
    pub fn take(
        &mut self,
        reader: &dyn Reader,
        after: Option<DocId>,
        most: usize,
    ) -> Result<Vec<DocId>, Error> {
        let mut found = Vec::with_capacity(most.min(MOST_READ));
        let mut next = match after {
            None => Some(DocId(0)),
            Some(after) => after.0.checked_add(1).map(DocId),
        };
        while let Some(from) = next
            && found.len() < most
        {
            let Some(docid) = self.seek(reader, from)? else {
                break;
            };
            found.push(docid);
            next = docid.0.checked_add(1).map(DocId);
        }
        Ok(found)
    }
}
