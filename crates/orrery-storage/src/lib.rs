//! OrreryDB: storage.
