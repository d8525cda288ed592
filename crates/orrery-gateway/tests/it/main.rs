//! The gateway from outside: real sockets, bytes in and bytes out.

mod http;
mod hybrid_row;
mod server;
