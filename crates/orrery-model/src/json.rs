//! JSON text to values and back.
//!
//! Three ways in: [`parse()`] for text from outside (checks everything), [`project()`] for our own
//! canonical text (reads only what is asked for), [`member_slice`] for one member's text. One way
//! out: [`write()`], the canonical compact form in which items are stored and answered.

mod parse;
mod project;
mod write;

pub use parse::{JsonError, MAX_DEPTH, parse, parse_str, parse_wrapped};
pub use project::{PathTree, member_slice, project};
pub use write::{to_string, write, write_number, write_string};
