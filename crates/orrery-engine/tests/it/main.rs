//! The engine from outside: one module per behaviour.

mod catalog;
mod change_feed;
mod crashes;
mod harness;
mod index;
mod items;
mod random;
mod recovery;
mod ttl;
