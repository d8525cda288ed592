//! OrreryDB: gateway. The HTTP protocol of the service and nothing else: it
//! classifies requests, authenticates them, decodes them, calls the engine, encodes
//! the answer and words the errors.
//!
//! Start reading at [`server`] (sockets), then follow one request through
//! `gateway`, [`request`], [`auth`], `operations` and `respond`.

pub mod auth;
pub mod config;
pub mod hybrid_row;
pub mod request;
pub mod server;
