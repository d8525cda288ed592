//! Reports: tables for terminals and the words and numbers in them.

pub mod advice;
pub mod check;
pub mod explain;
pub mod html;
pub mod json;
pub mod legend;
pub mod markdown;
pub mod table;
pub mod terminal;
pub mod text;
