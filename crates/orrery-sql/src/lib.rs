//! The query language: text to tree to analysis to plan, and evaluation over one item.

pub mod ast;
pub mod errors;
pub mod signatures;
