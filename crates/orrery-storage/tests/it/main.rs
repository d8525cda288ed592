//! Integration tests of the store: the conformance suite over every engine, then what only a
//! folder on disk can do.

mod conformance;
mod crash;
mod fjall_folder;
mod folder;
mod full_disk;
mod pipeline;
