//! OrreryDB: gateway. The HTTP protocol of the service and nothing else: it
//! classifies requests, authenticates them, decodes them, calls the engine, encodes
//! the answer and words the errors.
//!
//! Start reading at [`server`] (sockets), then follow one request through
//! [`gateway`], [`request`], [`auth`], `operations` and [`respond`].

mod access;
mod admin;
pub mod auth;
pub mod config;
mod explorer;
pub mod gateway;
pub mod hybrid_row;
pub mod metrics;
mod operations;
pub mod regions;
pub mod request;
pub mod respond;
pub mod server;
pub mod trace;
