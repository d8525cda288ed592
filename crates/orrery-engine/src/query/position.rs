//! Where the next page of a query goes on. Like the position of a feed it names key space and
//! item, never a count within a range, so it stays right when the range splits; the state of the
//! pipeline (rows that TOP and OFFSET have seen, the sort values of the last row) travels with it.

use std::collections::VecDeque;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as URL_SAFE_NO_PAD;
use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::DocId;
use orrery_model::murmur::murmur3_x64_128;

use crate::error::Error;

/// Parts of the key space that one token may be about: more than splits while a query runs.
const MOST_POSITIONS: usize = 256;

/// The point between two pages.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPosition {
    /// The key space of the partition that is half done; what comes before it is done.
    pub space: EpkRange,
    /// The last item that was pushed, where they come in order of insertion; `None` to push all
    /// from the first, or from the place in the state.
    pub after: Option<DocId>,
    /// Push the last item again: it has rows left.
    pub again: bool,
    /// The pipeline's own state; empty for a start.
    pub state: Vec<u8>,
}

impl QueryPosition {
    /// The start of a partition.
    pub fn start_of(space: EpkRange) -> Self {
        Self {
            space,
            after: None,
            again: false,
            state: Vec::new(),
        }
    }

    /// What is left of the position's space behind a partition: its range has been split since,
    /// and the rest goes on at the same place.
    pub fn left_behind(&self, partition: &EpkRange) -> Option<Self> {
        let space = EpkRange::new(partition.max.clone(), self.space.max.clone());
        let left = Self {
            space,
            ..self.clone()
        };
        (!left.space.is_empty()).then_some(left)
    }

    /// What is left of a partition behind the position's space: its range has been merged with
    /// others since, and they have not begun.
    pub fn merged_behind(&self, partition: &EpkRange) -> Option<Self> {
        let space = EpkRange::new(self.space.max.clone(), partition.max.clone());
        (!space.is_empty()).then(|| Self::start_of(space))
    }

    /// The token of several positions, each for its own part of the key space, in order. Its seal
    /// ties it to `origin`: a query of a container.
    pub fn join(positions: &[Self], origin: u64) -> Option<String> {
        let tokens: Vec<String> = positions.iter().map(Self::to_text).collect();
        let body = tokens.join("~");
        (!tokens.is_empty()).then(|| format!("2.q.{:x}.{body}", seal(origin, &body)))
    }

    /// Reads such a token; anything that `join` cannot have written for this origin is a 400.
    pub fn parse_all(token: &str, origin: u64) -> Result<VecDeque<Self>, Error> {
        Self::read_all(token, origin)
            .ok_or_else(|| Error::bad_request("Invalid Continuation Token"))
    }

    fn read_all(token: &str, origin: u64) -> Option<VecDeque<Self>> {
        let (written, body) = token.strip_prefix("2.q.")?.split_once('.')?;
        if written != format!("{:x}", seal(origin, body)) {
            return None;
        }
        let parts = body.split('~').take(MOST_POSITIONS + 1);
        let positions: VecDeque<Self> = parts.map(Self::read).collect::<Option<_>>()?;
        (positions.len() <= MOST_POSITIONS).then_some(positions)
    }

    /// The position as text, header-safe.
    fn to_text(&self) -> String {
        format!(
            "{}.{}.{}.{}.{}",
            self.space.min.to_hex(),
            self.space.max.to_hex(),
            self.after
                .map_or_else(String::new, |docid| format!("{:x}", docid.0)),
            if self.again { "a" } else { "" },
            URL_SAFE_NO_PAD.encode(&self.state),
        )
    }

    fn read(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('.').collect();
        let [min, max, after, again, state] = parts.as_slice() else {
            return None;
        };
        let space = EpkRange::new(
            EffectivePartitionKey::from_hex(min)?,
            EffectivePartitionKey::from_hex(max)?,
        );
        let after = match *after {
            "" => None,
            digits => Some(DocId(u64::from_str_radix(digits, 16).ok()?)),
        };
        let again = match *again {
            "" => false,
            "a" => true,
            _ => return None,
        };
        let position = Self {
            space,
            after,
            again,
            state: URL_SAFE_NO_PAD.decode(state).ok()?,
        };
        (!position.space.is_empty()).then_some(position)
    }
}

/// No secret: whoever forges a token resumes a query that he may run anyway. It finds out tokens
/// that were damaged or belong elsewhere.
fn seal(origin: u64, body: &str) -> u64 {
    murmur3_x64_128(body.as_bytes(), (origin, 0)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_and_nothing_else_is_taken() {
        let position = QueryPosition {
            space: EpkRange::full(),
            after: Some(DocId(0xabc)),
            again: true,
            state: vec![1, 2, 3],
        };
        let start = QueryPosition::start_of(EpkRange::full());
        let both = [position, start];
        let token = QueryPosition::join(&both, 7).expect("positions");
        let read = QueryPosition::parse_all(&token, 7).expect("own token");
        assert_eq!(read, both);
        assert!(
            QueryPosition::parse_all(&token, 8).is_err(),
            "another query"
        );
        assert_eq!(QueryPosition::join(&[], 7), None);
        for end in 0..token.len() {
            let cut = token.get(..end).expect("ASCII");
            assert!(QueryPosition::parse_all(cut, 7).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_right_seal_does_not_make_nonsense_a_position() {
        for body in [
            "",
            "....",
            ".FF.xyz..",
            ".FF...0",
            ".FF.é..",
            "FF.FF...",
            ".FF...a.",
            ".FF..b.",
            ".FF.1ffffffffffffffff..",
            ".FF...=",
        ] {
            let token = format!("2.q.{:x}.{body}", seal(7, body));
            assert!(QueryPosition::parse_all(&token, 7).is_err(), "{body}");
        }
    }
}
