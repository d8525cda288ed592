//! Reading one HTTP/1.1 answer into buffers that are used again for the next one.

use std::io::{BufRead, Read as _};

use anyhow::{Context as _, Result, bail};

/// What ends a head.
const HEAD_END: &[u8] = b"\r\n\r\n";
/// Largest head that is read.
const MAX_HEAD: usize = 64 << 10;
/// Largest body that is read; a page of the service has at most 4 MB.
const MAX_BODY: usize = 256 << 20;

/// An answer; headers stay as they came and are looked up on demand.
#[derive(Debug, Default)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    head: Vec<u8>,
    framing: Framing,
    /// The body, whole.
    pub body: Vec<u8>,
}

/// What the head says about the body and the connection, noted while it is read.
#[derive(Debug, Default)]
struct Framing {
    length: usize,
    chunked: bool,
    closes: bool,
}

impl Framing {
    /// Takes in a header line.
    fn note(&mut self, line: &[u8]) -> Result<()> {
        // Of thirty headers these three count, and two letters tell them from the others.
        if !matches!(line, [b'c' | b'C', b'o' | b'O', ..] | [b't' | b'T', ..]) {
            return Ok(());
        }
        if let Some(text) = value_of(line, "content-length") {
            self.length = text.parse().context("content-length is not a number")?;
        } else if let Some(text) = value_of(line, "connection") {
            self.closes = text.eq_ignore_ascii_case("close");
        } else if let Some(text) = value_of(line, "transfer-encoding") {
            self.chunked = text.eq_ignore_ascii_case("chunked");
        }
        Ok(())
    }
}

impl Response {
    /// The value of a header, by its name in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// Bytes of head and body.
    pub fn wire_bytes(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// The request charge, zero when the server did not say.
    pub fn charge(&self) -> f64 {
        self.header("x-ms-request-charge")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0.0)
    }

    /// The sub-status, zero when there is none.
    pub fn sub_status(&self) -> u32 {
        self.header("x-ms-substatus")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0)
    }

    /// What went wrong, in one line: status, sub-status and the first line of the message.
    pub fn failure(&self) -> String {
        let message = serde_json::from_slice::<serde_json::Value>(&self.body)
            .ok()
            .and_then(|body| {
                body.get("message")
                    .and_then(|text| text.as_str().map(str::to_owned))
            })
            .unwrap_or_else(|| String::from_utf8_lossy(&self.body).into_owned());
        let line = message.lines().next().unwrap_or_default().trim();
        match self.sub_status() {
            0 => format!("{} {line}", self.status),
            sub => format!("{}/{sub} {line}", self.status),
        }
    }

    pub(super) fn closes(&self) -> bool {
        self.framing.closes
    }

    pub(super) fn read(&mut self, stream: &mut impl BufRead, head_only: bool) -> Result<()> {
        self.body.clear();
        self.framing = read_head(stream, &mut self.head)?;
        self.status = status(&self.head).context("the answer is not HTTP/1.1")?;
        if head_only || self.status == 204 || self.status == 304 {
            return Ok(());
        }
        if self.framing.chunked {
            return read_chunks(stream, &mut self.body);
        }
        read_exactly(stream, self.framing.length, &mut self.body)
    }
}

fn status(head: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(head.get(..12)?).ok()?;
    line.strip_prefix("HTTP/1.1 ")
        .and_then(|code| code.parse().ok())
}

fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a str> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', head).find_map(|end| {
        let line = &head[start..end];
        start = end + 1;
        value_of(line, name)
    })
}

/// The value in a header line of this name.
fn value_of<'a>(line: &'a [u8], name: &str) -> Option<&'a str> {
    let value = line.get(name.len()..)?.strip_prefix(b":")?;
    let named = line[..name.len()].eq_ignore_ascii_case(name.as_bytes());
    named
        .then(|| std::str::from_utf8(value).ok().map(str::trim))
        .flatten()
}

fn read_head(stream: &mut impl BufRead, head: &mut Vec<u8>) -> Result<Framing> {
    head.clear();
    let end = loop {
        let available = stream.fill_buf()?;
        if available.is_empty() {
            bail!("the server closed the connection");
        }
        // The end may lie across two reads.
        let (before, read) = (head.len(), available.len());
        head.extend_from_slice(available);
        let from = before.saturating_sub(HEAD_END.len() - 1);
        if let Some(at) = memchr::memmem::find(&head[from..], HEAD_END) {
            let end = from + at + HEAD_END.len();
            stream.consume(end - before);
            break end;
        }
        stream.consume(read);
        if head.len() >= MAX_HEAD {
            bail!("the answer's head is over {MAX_HEAD} bytes");
        }
    };
    head.truncate(end);
    let mut framing = Framing::default();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', head) {
        framing.note(&head[start..=end])?;
        start = end + 1;
    }
    Ok(framing)
}

fn read_exactly(stream: &mut impl BufRead, length: usize, body: &mut Vec<u8>) -> Result<()> {
    if body.len().saturating_add(length) > MAX_BODY {
        bail!("the answer's body is over {MAX_BODY} bytes");
    }
    let read = stream.by_ref().take(length as u64).read_to_end(body)?;
    if read < length {
        bail!("the server closed the connection within an answer");
    }
    Ok(())
}

fn read_chunks(stream: &mut impl BufRead, body: &mut Vec<u8>) -> Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        if stream.by_ref().take(1024).read_line(&mut line)? == 0 {
            bail!("the server closed the connection within an answer");
        }
        let digits = line.trim().split(';').next().unwrap_or_default();
        let length = usize::from_str_radix(digits, 16).context("a chunk has no length")?;
        read_exactly(stream, length, body)?;
        let mut end = Vec::new();
        read_exactly(stream, 2, &mut end)?;
        if length == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Response> {
        let mut response = Response::default();
        response
            .read(&mut text.as_bytes(), false)
            .map(|()| response)
    }

    #[test]
    fn reads_length_and_chunked_bodies() {
        let plain =
            read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx-ms-request-charge: 2.83\r\n\r\nokrest")
                .unwrap();
        assert_eq!(
            (plain.status, plain.body.as_slice(), plain.charge()),
            (200, &b"ok"[..], 2.83)
        );
        let chunked = read(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n",
        )
        .unwrap();
        assert_eq!(chunked.body, b"abcd");
        assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n").unwrap().status, 204);
    }

    #[test]
    fn cut_off_and_foreign_answers_are_errors() {
        assert!(read("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").is_err());
        assert!(read("HTTP/1.1 200 OK\r\ncontent-le").is_err());
        assert!(read("SSH-2.0-x\r\n\r\n").is_err());
        assert!(read("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n").is_err());
        let huge = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", usize::MAX);
        assert!(read(&huge).is_err());
    }

    #[test]
    fn a_failure_names_status_sub_status_and_message() {
        let body = "{\"code\":\"NotFound\",\"message\":\"gone\\r\\nActivityId: 1\"}";
        let text = format!(
            "HTTP/1.1 404 Not Found\r\nx-ms-substatus: 1003\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(read(&text).unwrap().failure(), "404/1003 gone");
    }
}
