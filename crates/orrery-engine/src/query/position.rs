//! Where the next page of a query goes on. Like the position of a feed it names key space and
//! item, never a count within a range, so it stays right when the range splits; the state of the
//! pipeline (rows that TOP and OFFSET have seen, the sort values of the last row) travels with it.

use std::collections::VecDeque;

use orrery_model::epk::{EffectivePartitionKey, EpkRange};
use orrery_model::ids::DocId;

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

    /// The token of several positions, each for its own part of the key space, in order.
    pub fn join(positions: &[Self]) -> Option<String> {
        let tokens: Vec<String> = positions.iter().map(Self::to_token).collect();
        (!tokens.is_empty()).then(|| tokens.join("~"))
    }

    /// Reads such a token; anything that `join` cannot have written is a 400.
    pub fn parse_all(token: &str) -> Result<VecDeque<Self>, Error> {
        let parts = token.split('~').take(MOST_POSITIONS + 1);
        let positions: VecDeque<Self> = parts.map(Self::parse).collect::<Result<_, _>>()?;
        if positions.len() > MOST_POSITIONS {
            return Err(Error::bad_request("Invalid Continuation Token"));
        }
        Ok(positions)
    }

    /// The token's text, header-safe.
    fn to_token(&self) -> String {
        format!(
            "1.q.{}.{}.{}.{}.{}",
            self.space.min.to_hex(),
            self.space.max.to_hex(),
            self.after
                .map_or_else(String::new, |docid| format!("{:x}", docid.0)),
            if self.again { "a" } else { "" },
            to_hex(&self.state),
        )
    }

    /// Reads a token; anything that `to_token` cannot have written is a 400.
    fn parse(token: &str) -> Result<Self, Error> {
        Self::read(token).ok_or_else(|| Error::bad_request("Invalid Continuation Token"))
    }

    fn read(token: &str) -> Option<Self> {
        let parts: Vec<&str> = token.split('.').collect();
        let ["1", "q", min, max, after, again, state] = parts.as_slice() else {
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
            state: from_hex(state)?,
        };
        (!position.space.is_empty()).then_some(position)
    }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from_digit(u32::from(digit), 16).unwrap_or('0'))
        .collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4 | digit(*low)?) as u8);
    rest.is_empty().then(|| pairs.iter().map(byte).collect())?
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
        assert_eq!(
            QueryPosition::parse(&position.to_token()).expect("own token"),
            position
        );
        let start = QueryPosition::start_of(EpkRange::full());
        assert_eq!(
            QueryPosition::parse(&start.to_token()).expect("own token"),
            start
        );
        for bad in [
            "",
            "1.q",
            "1.q......",
            "2.q..FF...",
            "1.q..FF.xyz..",
            "1.q..FF...0",
            "1.q..FF.é..",
            "1.q.FF.FF...",
        ] {
            assert!(QueryPosition::parse(bad).is_err(), "{bad}");
        }
    }
}
