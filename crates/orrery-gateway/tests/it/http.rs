//! A small HTTP/1.1 client over one blocking connection, so that tests see the bytes
//! that travel and not what a client library makes of them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// One response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A kept-alive connection.
pub struct Client<S: Read + Write> {
    stream: BufReader<S>,
}

impl Client<TcpStream> {
    /// Connects in plain text.
    pub fn connect(address: SocketAddr) -> Self {
        Self::over(tcp(address))
    }
}

/// A socket that does not hang a test for ever.
pub fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a time-out");
    stream
}

impl<S: Read + Write> Client<S> {
    /// Speaks over a ready stream.
    pub fn over(stream: S) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Sends a request with a `Content-Length` and reads the response.
    pub fn send(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Response {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n");
        for (name, value) in headers {
            head.extend([*name, ": ", *value, "\r\n"]);
        }
        if !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH") {
            head.extend(["Content-Length: ", &body.len().to_string(), "\r\n"]);
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.write(&bytes);
        self.read(method == "HEAD").expect("a response")
    }

    /// Sends bytes as they are.
    pub fn write(&mut self, bytes: &[u8]) {
        // A server that refuses early may close before everything is sent.
        let _ = self.stream.get_mut().write_all(bytes);
        let _ = self.stream.get_mut().flush();
    }

    /// Reads a response; `None` when the server closed instead.
    pub fn read(&mut self, head: bool) -> Option<Response> {
        let status_line = self.line()?;
        let status = status_line.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut response = Response {
            status,
            headers,
            body: Vec::new(),
        };
        let length = response
            .header("content-length")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        if !head && status != 204 && status != 304 {
            response.body.resize(length, 0);
            self.stream.read_exact(&mut response.body).ok()?;
        }
        Some(response)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        }
    }
}
