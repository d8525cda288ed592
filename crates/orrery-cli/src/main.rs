//! The `orrery` binary.
fn main() {}
