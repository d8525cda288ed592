//! The shared words of OrreryDB: values and their order, resource ids, partition keys and their
//! hash, ranges, tokens, limits and charges. Pure functions; no I/O, no time, no HTTP.

pub mod value;
