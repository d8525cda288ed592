//! OrreryDB: engine.
