//! The mix of operations that a load is made of, and the requests they become.

use std::fmt;
use std::str::FromStr;

use super::keys::Random;

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// Point read of a loaded item.
    Read,
    /// Creates a new item.
    Create,
    /// Replaces or creates a loaded item.
    Upsert,
    /// Replaces a loaded item.
    Replace,
    /// Adds to a number of a loaded item.
    Patch,
    /// Finds a loaded item by an indexed equality inside its logical partition.
    Query,
    /// Creates several items of one logical partition in a transaction.
    Batch,
}

/// All operations with their names, in the order of reports.
pub const OPERATIONS: [(Operation, &str); 7] = [
    (Operation::Read, "read"),
    (Operation::Create, "create"),
    (Operation::Upsert, "upsert"),
    (Operation::Replace, "replace"),
    (Operation::Patch, "patch"),
    (Operation::Query, "query"),
    (Operation::Batch, "batch"),
];

impl Operation {
    /// Its place in [`OPERATIONS`].
    pub fn place(self) -> usize {
        OPERATIONS
            .iter()
            .position(|(operation, _)| *operation == self)
            .unwrap_or(0)
    }
}

/// Shares of operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix {
    shares: Vec<(Operation, u64)>,
    total: u64,
}

impl Mix {
    /// Draws an operation.
    pub fn draw(&self, random: &mut Random) -> Operation {
        let mut at = random.below(self.total);
        for (operation, share) in &self.shares {
            if at < *share {
                return *operation;
            }
            at -= share;
        }
        self.shares[0].0
    }

    /// Whether it has an operation.
    pub fn has(&self, operation: Operation) -> bool {
        self.shares.iter().any(|(known, _)| *known == operation)
    }
}

impl FromStr for Mix {
    type Err = String;

    /// Reads `read=80,create=10,query=10`; a name alone has share 1.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut shares: Vec<(Operation, u64)> = Vec::new();
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            let (name, share) = part.split_once('=').unwrap_or((part, "1"));
            let found = OPERATIONS.iter().find(|(_, known)| *known == name.trim());
            let Some((operation, _)) = found else {
                let names: Vec<&str> = OPERATIONS.iter().map(|(_, name)| *name).collect();
                return Err(format!(
                    "`{name}` is no operation; there are {}",
                    names.join(", ")
                ));
            };
            let share: u32 = share
                .trim()
                .parse()
                .map_err(|_| format!("`{share}` is no share; write {name}=80"))?;
            if shares.iter().any(|(known, _)| known == operation) {
                return Err(format!("`{name}` is named twice"));
            }
            if share > 0 {
                shares.push((*operation, u64::from(share)));
            }
        }
        let total = shares.iter().map(|(_, share)| share).sum();
        if total == 0 {
            return Err("the mix is empty; an example is read=80,create=20".to_owned());
        }
        Ok(Self { shares, total })
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (operation, share)) in self.shares.iter().enumerate() {
            let separator = if at == 0 { "" } else { "," };
            write!(
                formatter,
                "{separator}{}={share}",
                OPERATIONS[operation.place()].1
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_drawn_as_written() {
        let mix: Mix = "read=80, create=10,query=10".parse().unwrap();
        assert_eq!(mix.to_string(), "read=80,create=10,query=10");
        let mut random = Random::new(5);
        let reads = (0..10_000)
            .filter(|_| mix.draw(&mut random) == Operation::Read)
            .count();
        assert!((7_800..8_200).contains(&reads), "{reads}");
        assert!(mix.has(Operation::Query) && !mix.has(Operation::Patch));
    }

    #[test]
    fn mistakes_say_what_there_is() {
        assert!("fly=1".parse::<Mix>().unwrap_err().contains("read, create"));
        assert!("read=x".parse::<Mix>().is_err());
        assert!("read=0".parse::<Mix>().is_err());
        assert!("read,read".parse::<Mix>().is_err());
        assert_eq!("patch".parse::<Mix>().unwrap().to_string(), "patch=1");
    }
}
