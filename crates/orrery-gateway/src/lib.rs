//! OrreryDB: gateway.
