//! The query language: text to tree to analysis to plan, and evaluation over one item.

pub mod advice;
pub mod analysis;
pub mod ast;
pub mod environment;
pub mod errors;
mod eval;
pub mod filter;
mod functions;
pub mod index_metrics;
pub mod lexer;
pub mod memory;
pub mod merge;
pub mod parser;
pub mod pipeline;
pub mod plan;
pub mod printer;
pub mod program;
pub mod routing;
pub mod shape;
pub mod signatures;
pub mod visit;
