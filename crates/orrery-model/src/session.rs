//! Session tokens: how far a client has seen each range (protocol: section 3.4).

use std::fmt;

use crate::ids::{Lsn, PartitionKeyRangeId};

/// What a client knows of one range. Displays in the wire form `range:version#lsn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionToken {
    /// The range, absent in a token that names none.
    pub range: Option<PartitionKeyRangeId>,
    /// Rises when regions or ranges are merged; -1 on accounts of one region.
    pub version: i64,
    /// The last change seen.
    pub lsn: Lsn,
    /// Region and local position, for accounts of several regions.
    pub regions: Vec<(u32, u64)>,
}

/// A text that is no session token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The session token '{token}' is invalid.")]
pub struct SessionTokenError {
    /// The text, cut.
    pub token: String,
}

/// Most ranges in one composite token; more is an attack, not a session.
const MAX_RANGES: usize = 10_000;

impl SessionToken {
    /// The token of a range on an account of one region.
    pub fn new(range: PartitionKeyRangeId, lsn: Lsn) -> Self {
        Self {
            range: Some(range),
            version: -1,
            lsn,
            regions: Vec::new(),
        }
    }

    /// Reads the token of one range, with or without the range's id.
    pub fn parse(text: &str) -> Result<Self, SessionTokenError> {
        let error = || SessionTokenError {
            token: text.chars().take(100).collect(),
        };
        let (range, token) = match text.split_once(':') {
            Some((range, token)) => (
                Some(PartitionKeyRangeId::parse(range.trim()).ok_or_else(error)?),
                token,
            ),
            None => (None, text),
        };
        let (version, lsn, regions) = parse_token(token.trim()).ok_or_else(error)?;
        Ok(Self {
            range,
            version,
            lsn,
            regions,
        })
    }

    /// Reads a composite token: one per range, separated by commas.
    pub fn parse_composite(text: &str) -> Result<Vec<Self>, SessionTokenError> {
        let parts = text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let tokens: Vec<_> = parts
            .take(MAX_RANGES + 1)
            .map(Self::parse)
            .collect::<Result<_, _>>()?;
        if tokens.len() > MAX_RANGES {
            return Err(SessionTokenError {
                token: text.chars().take(100).collect(),
            });
        }
        Ok(tokens)
    }

    /// Whether a partition at this version and LSN has everything the token's owner has seen:
    /// a lower version is accepted, a higher one never.
    pub fn is_satisfied_by(&self, version: i64, lsn: Lsn) -> bool {
        match self.version.cmp(&version) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => self.lsn <= lsn,
            std::cmp::Ordering::Greater => false,
        }
    }
}

type Parsed = (i64, Lsn, Vec<(u32, u64)>);

fn parse_token(token: &str) -> Option<Parsed> {
    let mut parts = token.split('#');
    let first = parts.next()?;
    let Some(lsn) = parts.next() else {
        // The simple form of old API versions has only the LSN.
        return Some((-1, Lsn(first.parse().ok()?), Vec::new()));
    };
    let region = |part: &str| {
        let (region, lsn) = part.split_once('=')?;
        // Unknown local positions are written as -1.
        let lsn: i64 = lsn.parse().ok()?;
        Some((region.parse().ok()?, u64::try_from(lsn).unwrap_or(0)))
    };
    let regions = parts.map(region).collect::<Option<_>>()?;
    Some((first.parse().ok()?, Lsn(lsn.parse().ok()?), regions))
}

impl fmt::Display for SessionToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(range) = self.range {
            write!(formatter, "{range}:")?;
        }
        write!(formatter, "{}#{}", self.version, self.lsn)?;
        self.regions
            .iter()
            .try_for_each(|(region, lsn)| write!(formatter, "#{region}={lsn}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_token() {
        let token = SessionToken::parse("0:-1#12").expect("single region");
        assert_eq!(token, SessionToken::new(PartitionKeyRangeId(0), Lsn(12)));
        assert_eq!(token.to_string(), "0:-1#12");
        let token = SessionToken::parse("3:1#100#1=20#2=5").expect("vector");
        assert_eq!(token.regions, [(1, 20), (2, 5)]);
        assert_eq!(token.to_string(), "3:1#100#1=20#2=5");
        assert_eq!(SessionToken::parse("7:42").expect("simple").lsn, Lsn(42));
        assert_eq!(SessionToken::parse("42").expect("bare").range, None);
        let both = SessionToken::parse_composite("0:-1#12,1:-1#9").expect("composite");
        assert_eq!(
            both.iter().map(|token| token.lsn.0).collect::<Vec<_>>(),
            [12, 9]
        );
        for bad in [
            "",
            "x",
            "0:",
            "0:a#1",
            "0:1#",
            "a:1#2",
            "0:1#2#3",
            "0:1#2#x=1",
            "-1:1#2",
        ] {
            assert!(SessionToken::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_a_token_from_the_future_is_unsatisfied() {
        let token = SessionToken::parse("0:1#10").expect("token");
        assert!(token.is_satisfied_by(1, Lsn(10)));
        assert!(!token.is_satisfied_by(1, Lsn(9)));
        assert!(token.is_satisfied_by(2, Lsn(1)));
        assert!(!token.is_satisfied_by(0, Lsn(99)));
    }
}
