//! JSON text to values and back.
//!
//! Three ways in: [`parse()`] for text from outside (checks everything), [`project()`] for our own
//! canonical text (reads only what is asked for), [`member_slice`] and [`MemberFinder`] for one
//! member's text. One way out: [`write()`], the canonical compact form in which items are stored and answered.

mod member;
mod parse;
mod project;
mod reader;
mod write;

pub use member::{Glance, MemberFinder, find_members, member_slice};
pub use parse::{JsonError, MAX_DEPTH, parse, parse_str, parse_wrapped};
pub use project::{PathTree, project};
pub use write::{to_string, write, write_number, write_string};
