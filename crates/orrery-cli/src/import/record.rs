//! What an input yields: items as JSON text, each with the line that a message can name.

use std::io;

/// One item of the input, as JSON text that nobody has checked yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// The line on which it starts, from 1.
    pub line: u64,
    /// Its text.
    pub body: Vec<u8>,
}

/// A place of the input that is no item.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong there.
    pub message: String,
}

/// A stream of records; broken ones do not end it, an input error does.
pub trait Records {
    /// The next record, or `None` at the end.
    fn next(&mut self) -> io::Result<Option<Result<Record, Broken>>>;
}
