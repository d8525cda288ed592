//! Tests of the query language through its public interface.

mod mutations;
mod shared;
