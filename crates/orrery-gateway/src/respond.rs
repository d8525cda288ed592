//! How answers look: a [`Reply`] collects what an operation found out, and
//! [`Reply::into_response`] adds what every response of the service carries
//! (protocol: sections 3.2 and 4).

mod activity;
pub mod errors;
pub mod names;
mod owner;
mod session;
mod short_text;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::Full;
use orrery_engine::Meta;

pub use activity::{ActivityId, ActivitySource};
pub use owner::{Owner, Owners, path_header};

use crate::server::Response;
use short_text::short_text;

/// An answer in the making.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    meta: Meta,
    owner: Option<Owner>,
    session: bool,
}

impl Reply {
    /// An answer without body.
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            // Every response carries about thirty headers: one allocation for them.
            headers: HeaderMap::with_capacity(40),
            body: Bytes::new(),
            meta: Meta::default(),
            owner: None,
            session: false,
        }
    }

    /// An answer with a JSON body.
    pub fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Self::with_body(status, HeaderValue::from_static("application/json"), body)
    }

    /// An answer with a body of another type.
    pub fn with_body(
        status: StatusCode,
        content_type: HeaderValue,
        body: impl Into<Bytes>,
    ) -> Self {
        let mut reply = Self::empty(status);
        reply.headers.insert(CONTENT_TYPE, content_type);
        reply.body = body.into();
        reply
    }

    /// Adds charge and positions.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.meta = meta;
        self
    }

    /// Says that this belongs to a container's data: the session token and the two
    /// paths go with it, whatever the status.
    pub fn in_container(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self.session = true;
        self
    }

    /// Names the owner of a metadata resource, which has no session.
    pub fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Adds a header whose value comes from data. A text that no header can carry is
    /// left out: better no diagnostics than no answer.
    pub fn header_text(mut self, name: HeaderName, value: impl Into<Bytes>) -> Self {
        if let Ok(value) = HeaderValue::from_maybe_shared(value.into()) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Adds the etag, quotes included.
    pub fn etag(self, etag: impl Into<Bytes>) -> Self {
        self.header_text(ETAG, etag)
    }

    /// Adds the number of items on a page.
    pub fn item_count(self, count: u32) -> Self {
        self.header(names::ITEM_COUNT, count.into())
    }

    /// Adds the token of the next page, if there is one.
    pub fn continuation(self, token: Option<String>) -> Self {
        match token {
            Some(token) => self.header_text(names::CONTINUATION, token),
            None => self,
        }
    }

    /// Drops the body but none of the headers, as `Prefer: return=minimal` asks.
    pub fn without_body(mut self) -> Self {
        self.body = Bytes::new();
        self.headers.remove(CONTENT_TYPE);
        self
    }

    /// The status so far.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Adds what every response carries. With `head` the body is dropped but its
    /// length still told.
    pub fn into_response(mut self, activity: ActivityId, head: bool) -> Response {
        let bodiless = matches!(
            self.status,
            StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
        );
        let headers = &mut self.headers;
        if !bodiless {
            headers.insert(CONTENT_LENGTH, self.body.len().into());
        }
        headers.insert(names::ACTIVITY_ID, activity.into_header());
        headers.insert(names::REQUEST_CHARGE, charge_header(&self.meta));
        add_constants(headers);
        if self.session {
            session::add_positions(headers, &self.meta);
        }
        if let Some(owner) = self.owner {
            headers.insert(names::ALT_CONTENT_PATH, owner.alt_path);
            headers.insert(names::CONTENT_PATH, owner.rid);
        }
        let body = if head || bodiless {
            Bytes::new()
        } else {
            self.body
        };
        let mut response = http::Response::new(Full::new(body));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

fn charge_header(meta: &Meta) -> HeaderValue {
    short_text(format_args!("{}", meta.charge)).unwrap_or(HeaderValue::from_static("0"))
}

/// Versions and topology of an account with one region.
fn add_constants(headers: &mut HeaderMap) {
    let constants = [
        (CACHE_CONTROL, "no-store, no-cache"),
        (names::SCHEMA_VERSION, "1.19"),
        (names::SERVICE_VERSION, "version=2.14.0.0"),
        (names::GATEWAY_VERSION, "version=2.14.0"),
        (names::NUMBER_OF_READ_REGIONS, "0"),
    ];
    for (name, value) in constants {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
