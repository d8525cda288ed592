//! Queries over items: the same rows whatever way they are come by.

pub mod asking;
mod differential;
mod long;
mod making;
mod policy;
mod repeated;
mod spatial;
mod tokens;
