//! Typed reading of request headers. Each is read where it matters and not before: a
//! point read looks at five of them. A value that makes no sense is a 400; a header
//! that nobody reads is ignored.

use http::{HeaderMap, HeaderName, HeaderValue};
use orrery_engine::page::Page;
use orrery_engine::throughput::claim::{Bucket, Claim, Priority};
use orrery_engine::write::{Conditions, IndexingDirective};
use orrery_model::partition_key::PartitionKey;
use orrery_model::session::SessionToken;

use crate::config::Consistency;
use crate::respond::errors::GatewayError;
use crate::respond::names;

/// Longest partition key header that is looked at; the service's keys end at 2 KB
/// each, three to a hierarchy, and every character may be escaped.
const MAX_PARTITION_KEY_HEADER: usize = 48 << 10;

/// The mode of a change feed read (`A-IM`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeFeedMode {
    /// The latest version of each changed item.
    LatestVersion,
    /// Every change, deletes included.
    AllVersionsAndDeletes,
}

/// Headers of one request.
#[derive(Debug, Clone, Copy)]
pub struct RequestHeaders<'a> {
    all: &'a HeaderMap,
    /// The [`mark`]s of all names: most headers that are asked for are not there, and to hash a
    /// name for that costs more than all else about it.
    marks: u64,
}

/// One bit of 64 for a name.
fn mark(name: &HeaderName) -> u64 {
    let text = name.as_str().as_bytes();
    let at = |place: usize| usize::from(text.get(place).copied().unwrap_or_default());
    let mixed = text.len() + 3 * at(text.len() / 2) + 5 * at(text.len().saturating_sub(2));
    1 << (mixed % 64)
}

impl<'a> RequestHeaders<'a> {
    /// Wraps the raw headers.
    pub fn new(headers: &'a HeaderMap) -> Self {
        let marks = headers.keys().fold(0, |marks, name| marks | mark(name));
        Self {
            all: headers,
            marks,
        }
    }

    /// A header as it came; the first one where a client repeats it.
    pub fn get(self, name: &HeaderName) -> Option<&'a HeaderValue> {
        if self.marks & mark(name) == 0 {
            return None;
        }
        self.all.get(name)
    }

    /// Whether there is such a header.
    pub fn contains(self, name: &HeaderName) -> bool {
        self.get(name).is_some()
    }

    /// A header's text; bytes outside of visible ASCII make it invalid.
    pub fn text(self, name: &HeaderName) -> Result<Option<&'a str>, GatewayError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value
                .to_str()
                .map(Some)
                .map_err(|_| GatewayError::Header(name.clone())),
        }
    }

    /// The same, owned.
    pub fn owned_text(self, name: &HeaderName) -> Result<Option<String>, GatewayError> {
        Ok(self.text(name)?.map(str::to_owned))
    }

    /// A boolean, false when absent.
    pub fn flag(self, name: &HeaderName) -> Result<bool, GatewayError> {
        Ok(self.optional_flag(name)?.unwrap_or(false))
    }

    /// A boolean that may be absent.
    pub fn optional_flag(self, name: &HeaderName) -> Result<Option<bool>, GatewayError> {
        match self.text(name)? {
            None | Some("") => Ok(None),
            Some(text) if text.eq_ignore_ascii_case("true") || text == "1" => Ok(Some(true)),
            Some(text) if text.eq_ignore_ascii_case("false") || text == "0" => Ok(Some(false)),
            Some(_) => Err(GatewayError::Header(name.clone())),
        }
    }

    /// A whole number that may be absent.
    pub fn number<T: std::str::FromStr>(
        &self,
        name: &HeaderName,
    ) -> Result<Option<T>, GatewayError> {
        self.text(name)?
            .map(|text| {
                text.trim()
                    .parse()
                    .map_err(|_| GatewayError::Header(name.clone()))
            })
            .transpose()
    }

    /// The partition key, where the header is there.
    pub fn partition_key(self) -> Result<Option<PartitionKey>, GatewayError> {
        let Some(value) = self.get(&names::PARTITION_KEY) else {
            return Ok(None);
        };
        let invalid = || {
            GatewayError::Input(format!(
                "The partition key supplied in {} header has fewer components than defined in the \
                 collection, or is not a JSON array of values.",
                names::PARTITION_KEY
            ))
        };
        // SDKs escape what is not ASCII; raw UTF-8 is understood as well.
        let text = std::str::from_utf8(value.as_bytes()).map_err(|_| invalid())?;
        if text.len() > MAX_PARTITION_KEY_HEADER {
            return Err(invalid());
        }
        PartitionKey::parse_header(text)
            .map(Some)
            .map_err(|_| invalid())
    }

    /// Page size: `-1` and absence leave it to the engine.
    pub fn max_item_count(self) -> Result<Option<u32>, GatewayError> {
        match self.number::<i64>(&names::MAX_ITEM_COUNT)? {
            None | Some(-1) => Ok(None),
            // Zero is taken by the service as "decide yourself".
            Some(0) => Ok(None),
            Some(count) if count > 0 => Ok(Some(u32::try_from(count).unwrap_or(u32::MAX))),
            Some(_) => Err(GatewayError::Header(names::MAX_ITEM_COUNT)),
        }
    }

    /// Session tokens: one, or several for a request over many ranges. Levels weaker
    /// than session ignore them (protocol: section 13).
    pub fn session(self) -> Result<Vec<SessionToken>, GatewayError> {
        let Some(text) = self
            .text(&names::SESSION_TOKEN)?
            .filter(|text| !text.is_empty())
        else {
            return Ok(Vec::new());
        };
        let level = self.consistency()?;
        if level.is_some_and(|level| level > Consistency::Session) {
            return Ok(Vec::new());
        }
        SessionToken::parse_composite(text).map_err(|_| GatewayError::Header(names::SESSION_TOKEN))
    }

    /// The level that this request asks for.
    pub fn consistency(self) -> Result<Option<Consistency>, GatewayError> {
        self.text(&names::CONSISTENCY_LEVEL)?
            .map(|text| {
                Consistency::from_name(text).ok_or(GatewayError::Header(names::CONSISTENCY_LEVEL))
            })
            .transpose()
    }

    /// Refuses a level above the account's, and two ways of asking at once.
    pub fn check_consistency(self, account: Consistency) -> Result<(), GatewayError> {
        let level = self.consistency()?;
        if level.is_some_and(|level| level < account) {
            return Err(GatewayError::Input(
                "The requested consistency level is stronger than that of the account.".to_owned(),
            ));
        }
        let Some(strategy) = self.text(&names::READ_CONSISTENCY_STRATEGY)? else {
            return Ok(());
        };
        let known = [
            "Eventual",
            "Session",
            "LatestCommitted",
            "GlobalStrong",
            "Default",
        ];
        if level.is_some()
            || !known
                .iter()
                .any(|known| known.eq_ignore_ascii_case(strategy))
        {
            return Err(GatewayError::Header(names::READ_CONSISTENCY_STRATEGY));
        }
        Ok(())
    }

    /// `If-Match` and `If-None-Match` of a write.
    pub fn conditions(self) -> Result<Conditions, GatewayError> {
        Ok(Conditions {
            if_match: self.owned_text(&http::header::IF_MATCH)?,
            if_none_match: self.owned_text(&http::header::IF_NONE_MATCH)?,
        })
    }

    /// Whether a write indexes its item.
    pub fn indexing_directive(self) -> Result<IndexingDirective, GatewayError> {
        match self.text(&names::INDEXING_DIRECTIVE)? {
            None => Ok(IndexingDirective::Default),
            Some(text) => parse_indexing_directive(text)
                .ok_or(GatewayError::Header(names::INDEXING_DIRECTIVE)),
        }
    }

    /// Whether a write may leave out the body of its answer.
    pub fn prefers_minimal(self) -> bool {
        self.get(&names::PREFER)
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"return=minimal"))
    }

    /// The page that a feed or query asks for.
    pub fn page(self) -> Result<Page, GatewayError> {
        let reverse = match self.text(&names::ENUMERATION_DIRECTION)? {
            None => false,
            Some(text) if text.eq_ignore_ascii_case("forward") => false,
            Some(text) if text.eq_ignore_ascii_case("reverse") => true,
            Some(_) => return Err(GatewayError::Header(names::ENUMERATION_DIRECTION)),
        };
        Ok(Page {
            max_items: self.max_item_count()?,
            continuation: self
                .text(&names::CONTINUATION)?
                .filter(|token| !token.is_empty())
                .map(str::to_owned),
            session: self.session()?,
            reverse,
            claim: self.claim()?,
        })
    }

    /// How the request stands to others: its priority and its throughput bucket.
    pub fn claim(self) -> Result<Claim, GatewayError> {
        let priority = match self.text(&names::PRIORITY_LEVEL)? {
            None => Priority::High,
            Some(text) if text.eq_ignore_ascii_case("high") => Priority::High,
            Some(text) if text.eq_ignore_ascii_case("low") => Priority::Low,
            Some(_) => return Err(GatewayError::Header(names::PRIORITY_LEVEL)),
        };
        let bucket = match self.number::<u8>(&names::THROUGHPUT_BUCKET)? {
            // Buckets beyond the last, and 0, are none.
            Some(number) => Bucket::new(number),
            None => None,
        };
        Ok(Claim { priority, bucket })
    }

    /// The mode of a change feed; `None` for an ordinary feed.
    pub fn change_feed_mode(self) -> Result<Option<ChangeFeedMode>, GatewayError> {
        match self.text(&names::A_IM)? {
            None => Ok(None),
            Some(text) if text.eq_ignore_ascii_case("Incremental Feed") => {
                Ok(Some(ChangeFeedMode::LatestVersion))
            }
            Some(text)
                if text.eq_ignore_ascii_case("Full-Fidelity Feed")
                    || text.eq_ignore_ascii_case("Incremental Full-Fidelity Feed") =>
            {
                Ok(Some(ChangeFeedMode::AllVersionsAndDeletes))
            }
            Some(_) => Err(GatewayError::Header(names::A_IM)),
        }
    }
}

/// The three names of indexing directives.
pub(crate) fn parse_indexing_directive(text: &str) -> Option<IndexingDirective> {
    if text.eq_ignore_ascii_case("default") {
        Some(IndexingDirective::Default)
    } else if text.eq_ignore_ascii_case("include") {
        Some(IndexingDirective::Include)
    } else if text.eq_ignore_ascii_case("exclude") {
        Some(IndexingDirective::Exclude)
    } else {
        None
    }
}
