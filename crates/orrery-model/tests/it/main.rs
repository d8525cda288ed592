//! Behaviour of the shared words, a module per subject.

mod cases;
mod charges;
mod containers;
mod geo;
mod hostile;
mod index;
mod json;
mod key_space;
mod keys;
mod ordering;
mod random;
mod throughput;
