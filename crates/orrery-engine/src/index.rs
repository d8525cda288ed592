//! The index of a container: which paths are in it ([`plan`]) and which terms an item has
//! ([`terms`]).
//!
//! Terms are distinct pairs of path and value, array positions collapsed (request units:
//! section 3). `id` and `_ts` always have theirs, the other system properties never. The query
//! module seeks in the family `t` through [`crate::partition::PartitionSnapshot`].

pub mod plan;
pub mod terms;
