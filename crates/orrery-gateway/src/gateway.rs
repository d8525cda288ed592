//! The account's handler: from a complete request to its response.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Method;
use http::request::Parts;
use orrery_engine::{Clock, Engine, Entropy};
use orrery_model::resource_path::{ResourceKind, ResourcePath};

use crate::auth::{Authenticator, Identity, Signed};
use crate::config::GatewayConfig;
use crate::operations::{self, Exchange, account};
use crate::request::{RequestHeaders, classify};
use crate::respond::errors::{GatewayError, Problem};
use crate::respond::{ActivitySource, Owners, Reply};
use crate::server::{Call, Handler, Refusal, Response};
use crate::{access, admin, explorer};

/// Serves one account over HTTP.
pub struct Gateway {
    pub(crate) engine: Engine,
    pub(crate) config: GatewayConfig,
    pub(crate) authenticator: Authenticator,
    pub(crate) owners: Owners,
    activities: ActivitySource,
    clock: Arc<dyn Clock>,
}

impl Gateway {
    /// Serves this engine.
    pub fn new(
        engine: Engine,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
        config: GatewayConfig,
    ) -> Self {
        Self {
            authenticator: Authenticator::new(config.keys.clone(), config.no_auth),
            activities: ActivitySource::new([entropy.next_u64(), entropy.next_u64()]),
            owners: Owners::default(),
            engine,
            config,
            clock,
        }
    }

    /// The engine's time.
    pub(crate) fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_micros(self.clock.now_us())
    }

    async fn route(&self, exchange: &Exchange<'_>) -> Result<Reply, Problem> {
        let call = exchange.call;
        if call.head.uri.path().starts_with(admin::PREFIX) {
            return admin::answer(exchange).await;
        }
        let path = ResourcePath::parse(call.head.uri.path()).map_err(GatewayError::from)?;
        let identity = self.identify(&call.head, &path)?;
        let operation = classify(&call.head.method, &path, exchange.headers)?;
        exchange
            .headers
            .check_consistency(self.config.consistency)?;
        match identity {
            Identity::Owner => {}
            Identity::Reader if operation.is_read() => {}
            Identity::Reader => return Err(GatewayError::NotPermitted.into()),
            Identity::Bearer(permission) => {
                access::check(&self.engine, permission, &path, operation, exchange.headers)?;
            }
        }
        if !operation.is_read() && self.engine.is_read_region() {
            return Err(GatewayError::WriteForbidden.into());
        }
        operations::run(exchange, path, operation).await
    }

    /// A page of the explorer, which can only be read; `None` when another page is asked for.
    fn explorer_page(&self, head: &Parts) -> Option<Response> {
        let path = head.uri.path();
        if !self.config.explorer || !path.starts_with(explorer::PREFIX) {
            return None;
        }
        if matches!(head.method, Method::GET | Method::HEAD) {
            return Some(explorer::answer(&self.config, path));
        }
        let activity = self.activities.of_request(&head.headers);
        let reply = Problem::from(GatewayError::MethodNotAllowed).into_reply(&activity, path);
        Some(reply.into_response(activity, false))
    }

    /// Checks the proof of identity against every way in which SDKs write the link.
    fn identify(&self, head: &Parts, path: &ResourcePath) -> Result<Identity, Problem> {
        let verb = lower_verb(&head.method);
        let verb = verb.as_ref();
        let link = path.signing_link();
        let resource_type = path.signing_type();
        let canonical = Signed {
            verb,
            resource_type,
            link: &link,
        };
        let headers = &head.headers;
        let now = self.now();
        let failure = match self.authenticator.identify(headers, canonical, now) {
            Ok(identity) => return Ok(identity),
            Err(failure) => failure,
        };
        let others = [
            // A path of rids that is signed like one of names.
            path.is_rid_based()
                .then(|| (resource_type, path.owner_link().to_owned())),
            // Signed as it stands in the request line, escapes included.
            head.uri
                .path()
                .contains('%')
                .then(|| (resource_type, raw_link(head, path))),
            // Python signs a delete by partition key with a type of its own.
            path.operation()
                .map(|_| ("partitionkey", link.clone().into_owned())),
            // Addresses are signed for the path that they resolve.
            (path.kind() == ResourceKind::Address)
                .then(|| resolved(head))
                .flatten(),
        ];
        for (resource_type, link) in others.into_iter().flatten() {
            let signed = Signed {
                verb,
                resource_type,
                link: &link,
            };
            if let Ok(identity) = self.authenticator.identify(headers, signed, now) {
                return Ok(identity);
            }
        }
        Err(failure.into())
    }
}

impl Handler for Gateway {
    async fn answer(&self, call: Call) -> Response {
        let head = call.head.method == Method::HEAD;
        let path = call.head.uri.path();
        if let Some(page) = self.explorer_page(&call.head) {
            return page;
        }
        let activity = self.activities.of_request(&call.head.headers);
        let exchange = Exchange {
            gateway: self,
            call: &call,
            headers: RequestHeaders::new(&call.head.headers),
            activity: &activity,
        };
        let mut reply = match self.route(&exchange).await {
            Ok(reply) => reply,
            Err(problem) => problem.into_reply(&activity, path),
        };
        if call.head.method == Method::GET && reply.status().is_success() {
            // Python shows from it which region answered.
            let location = account::address(&self.config, &call, path);
            reply = reply.content_location(location);
        }
        reply.into_response(activity, head)
    }

    fn admit(&self, head: &Parts, _secure: bool) -> Option<Response> {
        let path = head.uri.path();
        if let Some(page) = self.explorer_page(head) {
            return Some(page);
        }
        let known = ResourcePath::parse(path)
            .map_err(|error| GatewayError::from(error).into())
            .and_then(|path| self.identify(head, &path));
        let problem = known.err()?;
        let activity = self.activities.of_request(&head.headers);
        let reply = problem.into_reply(&activity, path);
        Some(reply.into_response(activity, head.method == Method::HEAD))
    }

    fn refuse(&self, head: &Parts, refusal: Refusal) -> Response {
        let activity = self.activities.of_request(&head.headers);
        let error = match refusal {
            Refusal::BodyTooLarge => GatewayError::TooLarge,
            Refusal::BodyTimeout => GatewayError::Timeout,
            Refusal::BodyBroken => GatewayError::Body("It is incomplete.".to_owned()),
            Refusal::NotAdmitted => GatewayError::NotPermitted,
        };
        Problem::from(error)
            .into_reply(&activity, head.uri.path())
            .into_response(activity, false)
    }
}

/// The verb as signatures have it.
pub(crate) fn lower_verb(method: &Method) -> Cow<'static, str> {
    Cow::Borrowed(match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => return Cow::Owned(method.as_str().to_ascii_lowercase()),
    })
}

/// The link with its escapes, as it stands in the request line.
fn raw_link(head: &Parts, path: &ResourcePath) -> String {
    let raw = head.uri.path().trim_matches('/');
    match raw.rsplit_once('/') {
        Some((owner, _)) if path.is_feed() => owner.to_owned(),
        _ => raw.to_owned(),
    }
}

/// Type and link of the path in `$resolveFor`.
fn resolved(head: &Parts) -> Option<(&'static str, String)> {
    let query = head.uri.query()?;
    let raw = query.split('&').find_map(|pair| {
        pair.strip_prefix("$resolveFor=")
            .or(pair.strip_prefix("%24resolveFor="))
    })?;
    let decoded = percent_encoding::percent_decode_str(raw)
        .decode_utf8()
        .ok()?;
    let path = ResourcePath::from_link(&decoded).ok()?;
    Some((path.signing_type(), path.signing_link().into_owned()))
}
