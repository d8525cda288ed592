//! As much of an HTTP client as the crash test needs: one keep-alive connection, whole answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A connection to the server on this machine.
pub struct Connection(BufReader<TcpStream>);

/// An answer of the server.
pub struct Answer {
    /// The status code.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// The body as text.
    pub body: String,
}

impl Answer {
    /// A header's value; the name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl Connection {
    /// Connects.
    pub fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends a request and reads its answer.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Answer> {
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nx-ms-version: 2020-07-15\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            request.extend([name, ": ", value, "\r\n"]);
        }
        request.push_str("\r\n");
        request.push_str(body);
        self.0.get_mut().write_all(request.as_bytes())?;
        self.read()
    }

    fn read(&mut self) -> Result<Answer> {
        let first = self.line()?;
        let status = first
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .with_context(|| format!("no status in `{first}`"))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("a header without a colon")?;
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer {
            status,
            headers,
            body: String::new(),
        };
        let bytes = if answer.header("transfer-encoding") == Some("chunked") {
            self.chunks()?
        } else {
            let length = answer.header("content-length").map_or(Ok(0), str::parse)?;
            self.exactly(length)?
        };
        answer.body = String::from_utf8(bytes)?;
        Ok(answer)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            bail!("the connection was closed");
        }
        Ok(line.trim_end().to_owned())
    }

    fn exactly(&mut self, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn chunks(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            let length = usize::from_str_radix(&self.line()?, 16)?;
            bytes.extend(self.exactly(length)?);
            self.line()?;
            if length == 0 {
                return Ok(bytes);
            }
        }
    }
}
