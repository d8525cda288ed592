//! What every operation gives back, whether it worked or not.

use orrery_model::charge::Charge;
use orrery_model::ids::{Lsn, PartitionKeyRangeId};

use crate::error::Error;
use crate::partition::Partition;

/// What travels with success and with failure: charge and session position
/// (protocol: sections 3.2 and 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Meta {
    /// Request units.
    pub charge: Charge,
    /// The partition key range that served the operation; `None` for account resources.
    pub range: Option<PartitionKeyRangeId>,
    /// Merges behind that range: the version of its session tokens rises with each.
    pub merges: u16,
    /// Position of that range after the operation.
    pub lsn: Lsn,
    /// Position of the item's last write, where the operation has one item.
    pub item_lsn: Option<Lsn>,
}

impl Meta {
    /// The meta of an operation that a partition served at a position.
    pub(crate) fn at(partition: &Partition, lsn: Lsn, charge: Charge) -> Self {
        Self {
            charge,
            range: Some(partition.id()),
            merges: partition.record().merges,
            lsn,
            item_lsn: None,
        }
    }

    /// The meta of an operation that touched no partition.
    pub fn of_charge(charge: Charge) -> Self {
        Self {
            charge,
            ..Self::default()
        }
    }
}

/// A successful operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The result.
    pub value: T,
    /// Charge and position.
    pub meta: Meta,
}

impl<T> Answer<T> {
    /// The same answer around another value.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Answer<U> {
        Answer {
            value: convert(self.value),
            meta: self.meta,
        }
    }
}

/// A refused operation.
#[derive(Debug, Clone)]
pub struct Failure {
    /// Why.
    pub error: Error,
    /// Charge and position, as for a success.
    pub meta: Meta,
}

impl From<Error> for Failure {
    /// A failure before any partition was asked: free of charge.
    fn from(error: Error) -> Self {
        Self {
            error,
            meta: Meta::default(),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.error
    }
}
