//! The gateway from outside: real sockets, bytes in and bytes out.

mod account;
mod auth;
mod batch;
mod classify;
mod errors;
mod hostile;
mod http;
mod hybrid_row;
mod items;
mod metadata;
mod partitions;
mod permissions;
mod query;
mod server;
mod throughput;
