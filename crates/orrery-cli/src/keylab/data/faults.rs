//! Places of the data that are no items: counted, and the first of them told.

use super::source::Source;
use crate::report;

/// Broken places that are told one by one.
const TOLD: usize = 5;

/// A place that is no item.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file's number.
    pub file: usize,
    /// The piece of the file that the line is counted from; 0 where it is counted from the top.
    pub piece: u64,
    /// The line, from 1.
    pub line: u64,
    /// The byte of the line, from 1.
    pub column: Option<usize>,
    /// What is wrong.
    pub message: String,
}

/// What is broken: how much, and the first places, since a file of gigabytes may be no data at all.
#[derive(Debug, Default)]
pub struct Faults {
    first: Vec<Fault>,
    count: u64,
}

impl Faults {
    /// Notes a place; whoever notes does so in the order of the data.
    pub fn push(&mut self, fault: Fault) {
        self.count += 1;
        if self.first.len() < TOLD {
            self.first.push(fault);
        }
    }

    /// Adds those that another thread has found.
    pub fn merge(&mut self, other: Self) {
        self.first.extend(other.first);
        self.count += other.count;
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sentences about the first of them; `before` counts the lines before a piece of a file.
    pub fn told(mut self, sources: &[Source], before: impl Fn(usize, u64) -> u64) -> Vec<String> {
        self.first.sort();
        let mut sentences = Vec::new();
        for fault in self.first.iter().take(TOLD) {
            let name = &sources[fault.file].name;
            let line = before(fault.file, fault.piece) + fault.line;
            sentences.push(match fault.column {
                Some(column) => format!("{name}:{line}:{column}: {}", fault.message),
                None => format!("{name}:{line}: {}", fault.message),
            });
        }
        let rest = self.count - sentences.len() as u64;
        if rest > 0 {
            sentences.push(format!("and {} more", report::plural(rest, "broken place")));
        }
        sentences
    }
}

/// Lines of recordings that are no requests.
#[derive(Debug, Default)]
pub struct LineFaults {
    first: Vec<String>,
    count: u64,
}

impl LineFaults {
    /// Notes a line of a file.
    pub fn push(&mut self, name: &str, line: u64, message: &str) {
        self.count += 1;
        if self.first.len() < TOLD {
            self.first.push(format!("{name}:{line}: {message}"));
        }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first of them.
    pub fn first(&self) -> Option<&str> {
        self.first.first().map(String::as_str)
    }

    /// A sentence about them, if there are any.
    pub fn told(&self) -> Option<String> {
        let rest = self.count - self.first.len() as u64;
        let further = if rest > 0 {
            format!("; and {rest} more")
        } else {
            String::new()
        };
        (self.count > 0).then(|| {
            format!(
                "{} of the recording could not be read and are not part of this: {}{further}",
                report::plural(self.count, "line"),
                self.first.join("; ")
            )
        })
    }
}
