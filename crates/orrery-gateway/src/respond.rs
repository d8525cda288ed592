//! How answers look: a [`Reply`] collects what an operation found out, and
//! [`Reply::into_response`] adds what every response of the service carries
//! (protocol: sections 3.2 and 4).

mod activity;
pub mod errors;
mod item_form;
pub mod names;
mod owner;
mod session;
mod short_text;

use std::sync::Arc;

use bytes::Bytes;
use http::header::CACHE_CONTROL;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_body_util::Full;
use orrery_engine::Meta;

pub use activity::{ActivityId, ActivitySource};
pub use owner::{Owner, Owners};

use crate::server::Response;
use item_form::Changing;
use session::Positions;
use short_text::ShortText;

/// An answer in the making.
#[derive(Debug)]
pub struct Reply {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    content_location: Option<HeaderValue>,
    etag: Option<HeaderValue>,
    /// Further headers; the last of a name counts.
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    meta: Meta,
    owner: Option<Arc<Owner>>,
    session: bool,
}

impl Reply {
    /// An answer without body.
    pub fn empty(status: StatusCode) -> Self {
        Self {
            status,
            content_type: None,
            content_location: None,
            etag: None,
            headers: Vec::new(),
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
        reply.content_type = Some(content_type);
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
    pub fn in_container(mut self, owner: Arc<Owner>) -> Self {
        self.owner = Some(owner);
        self.session = true;
        self
    }

    /// Names the owner of a metadata resource, which has no session.
    pub fn owned_by(mut self, owner: Owner) -> Self {
        self.owner = Some(Arc::new(owner));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds a header whose value comes from data. A text that no header can carry is
    /// left out: better no diagnostics than no answer.
    pub fn header_text(mut self, name: HeaderName, value: impl Into<Bytes>) -> Self {
        let value = HeaderValue::from_maybe_shared(value.into());
        self.headers.extend(value.ok().map(|value| (name, value)));
        self
    }

    /// Adds the etag, quotes included.
    pub fn etag(mut self, etag: impl Into<Bytes>) -> Self {
        self.etag = HeaderValue::from_maybe_shared(etag.into()).ok();
        self
    }

    /// Adds where the resource is.
    pub fn content_location(mut self, url: impl Into<Bytes>) -> Self {
        self.content_location = HeaderValue::from_maybe_shared(url.into()).ok();
        self
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
        self.content_type = None;
        self
    }

    /// Charge and positions so far.
    pub fn measured(&self) -> &Meta {
        &self.meta
    }

    /// A whole number among the headers so far.
    pub fn number(&self, name: &HeaderName) -> Option<u32> {
        let (_, value) = self.headers.iter().rfind(|(known, _)| known == name)?;
        value.to_str().ok()?.parse().ok()
    }

    /// How long the body is.
    pub fn body_bytes(&self) -> usize {
        self.body.len()
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
        let length = self.body.len() as u64;
        let changing = Changing {
            content_length: (!bodiless).then(|| ShortText::new().number(length).value()),
            content_type: self.content_type.take(),
            content_location: self.content_location.take(),
            etag: self.etag.take(),
            activity: activity.into_header(),
            charge: ShortText::new().charge(self.meta.charge).value(),
            positions: self.session.then(|| Positions::of(&self.meta)).flatten(),
        };
        let body = if head || bodiless {
            Bytes::new()
        } else {
            self.body
        };
        let mut response = http::Response::new(Full::new(body));
        *response.status_mut() = self.status;
        *response.headers_mut() = all_headers(changing, self.headers, self.owner.as_deref());
        response
    }
}

/// The headers of a response: those that change, those of its operation, and the rest.
fn all_headers(
    changing: Changing,
    more: Vec<(HeaderName, HeaderValue)>,
    owner: Option<&Owner>,
) -> HeaderMap {
    if more.is_empty()
        && changing.is_complete()
        && let Some(form) = owner.and_then(|owner| owner.item_form.as_ref())
    {
        return form.filled(changing);
    }
    let mut headers = changing.into_map();
    add_constants(&mut headers);
    for (name, value) in more {
        headers.insert(name, value);
    }
    if let Some(owner) = owner {
        headers.insert(names::ALT_CONTENT_PATH, owner.alt_path.clone());
        headers.insert(names::CONTENT_PATH, owner.rid.clone());
    }
    headers
}

/// Versions, and the topology of an account with one region.
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
