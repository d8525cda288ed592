//! Every limit of the service in one value (request units: sections 7 and 9), and the scale
//! model that divides sizes and rates.

mod named;

use std::fmt;
use std::str::FromStr;

pub use named::LimitsError;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;

/// The ratio of a scale model, at most 1: `1/1000` makes 50 MB split a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    numerator: u64,
    denominator: u64,
}

/// A text that is no scale.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no scale: write it as 1/1000")]
pub struct ScaleError(String);

impl Scale {
    /// The service itself.
    pub const ONE: Self = Self {
        numerator: 1,
        denominator: 1,
    };

    /// The part of an amount, at least 1.
    pub fn of(self, amount: u64) -> u64 {
        let scaled = u128::from(amount) * u128::from(self.numerator) / u128::from(self.denominator);
        u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.numerator, self.denominator)
    }
}

impl FromStr for Scale {
    type Err = ScaleError;

    fn from_str(text: &str) -> Result<Self, ScaleError> {
        let error = || ScaleError(text.to_owned());
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        let number = |part: &str| part.trim().parse::<u64>().ok().filter(|&number| number > 0);
        let numerator = number(numerator).ok_or_else(error)?;
        let denominator = number(denominator).ok_or_else(error)?;
        if numerator > denominator {
            return Err(error());
        }
        Ok(Self {
            numerator,
            denominator,
        })
    }
}

/// The limits that the engine keeps. Sizes are bytes, rates request units per second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Data and index of one full partition key value.
    pub logical_partition_bytes: u64,
    /// Data and index of one physical partition.
    pub physical_partition_bytes: u64,
    /// Most throughput of one physical partition.
    pub physical_partition_rate: u64,
    /// Manual throughput that one physical partition is made for at creation.
    pub initial_manual_rate_per_partition: u64,
    /// Autoscale or shared throughput that one physical partition is made for at creation.
    pub initial_autoscale_rate_per_partition: u64,
    /// Least manual throughput.
    pub min_manual_rate: u64,
    /// Step of manual throughput.
    pub manual_rate_step: u64,
    /// Least autoscale maximum.
    pub min_autoscale_rate: u64,
    /// Step of the autoscale maximum.
    pub autoscale_rate_step: u64,
    /// Most throughput without a ticket.
    pub max_rate: u64,
    /// Stored bytes that raise the least manual throughput by one unit.
    pub bytes_per_min_rate: u64,
    /// The highest manual throughput ever, divided by this, is a least throughput.
    pub highest_manual_divisor: u64,
    /// The same for autoscale maxima.
    pub highest_autoscale_divisor: u64,
    /// Containers of a shared database that its least throughput covers; also their most.
    pub shared_database_containers: usize,
    /// Throughput that each further container of a shared database asks for, manual.
    pub shared_manual_rate_per_container: u64,
    /// The same for autoscale maxima.
    pub shared_autoscale_rate_per_container: u64,
    /// Throughput of a physical partition on serverless accounts.
    pub serverless_partition_rate: u64,
    /// Metadata requests of the account.
    pub metadata_rate: u64,
    /// Idle throughput saved, in seconds, and the rate at which it may be spent.
    pub burst_seconds: u64,
    /// Most rate of a partition while it spends saved throughput.
    pub burst_rate: u64,
    /// An item as UTF-8 JSON.
    pub item_bytes: usize,
    /// A request's body.
    pub request_bytes: usize,
    /// A response's body.
    pub response_bytes: usize,
    /// An item's `id`.
    pub id_bytes: usize,
    /// A partition key value.
    pub key_bytes: usize,
    /// Nesting of arrays and objects.
    pub nesting: usize,
    /// Query text.
    pub query_bytes: usize,
    /// Operations of a transactional batch.
    pub batch_operations: usize,
    /// Body of a transactional batch.
    pub batch_bytes: usize,
    /// Operations of a patch.
    pub patch_operations: usize,
    /// Stored procedures of a container.
    pub stored_procedures: usize,
    /// User-defined functions of a container.
    pub user_defined_functions: usize,
    /// Triggers of a container.
    pub triggers: usize,
    /// Unique keys of a container.
    pub unique_keys: usize,
    /// Paths of one unique key.
    pub unique_key_paths: usize,
    /// Included paths, and as many excluded ones, of an indexing policy.
    pub index_paths: usize,
    /// Paths of one composite index.
    pub composite_paths: usize,
    /// Composite indexes of a policy.
    pub composite_indexes: usize,
    /// Databases and containers of an account together.
    pub databases_and_containers: usize,
    /// Characters of a name.
    pub name_chars: usize,
    /// Execution of one operation or page.
    pub execution_ms: u64,
    /// Execution of a query that answers only when it has read everything, and so cannot stop in
    /// the middle. Ours: the service has clients put parts together.
    pub whole_execution_ms: u64,
    /// Memory of one query. Ours.
    pub query_memory: usize,
    /// Memory of all queries together, beyond a first part of each. Ours.
    pub queries_memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            logical_partition_bytes: 20 * GIB,
            physical_partition_bytes: 50 * GIB,
            physical_partition_rate: 10_000,
            initial_manual_rate_per_partition: 6_000,
            initial_autoscale_rate_per_partition: 10_000,
            min_manual_rate: 400,
            manual_rate_step: 100,
            min_autoscale_rate: 1_000,
            autoscale_rate_step: 1_000,
            max_rate: 1_000_000,
            bytes_per_min_rate: GIB,
            highest_manual_divisor: 100,
            highest_autoscale_divisor: 10,
            shared_database_containers: 25,
            shared_manual_rate_per_container: 100,
            shared_autoscale_rate_per_container: 1_000,
            serverless_partition_rate: 5_000,
            metadata_rate: 240,
            burst_seconds: 300,
            burst_rate: 3_000,
            item_bytes: 2 * MIB as usize,
            request_bytes: 2 * MIB as usize,
            response_bytes: 4 * MIB as usize,
            id_bytes: crate::ids::MAX_ITEM_ID_BYTES,
            key_bytes: crate::partition_key::MAX_KEY_BYTES,
            nesting: crate::json::MAX_DEPTH,
            query_bytes: 512 * KIB as usize,
            batch_operations: 100,
            batch_bytes: 2 * MIB as usize,
            patch_operations: 10,
            stored_procedures: 100,
            user_defined_functions: 50,
            triggers: 50,
            unique_keys: 10,
            unique_key_paths: 16,
            index_paths: 1_500,
            composite_paths: 8,
            composite_indexes: 100,
            databases_and_containers: 500,
            name_chars: crate::ids::MAX_NAME_CHARS,
            execution_ms: 5_000,
            whole_execution_ms: 60_000,
            query_memory: 64 * MIB as usize,
            queries_memory: 72 * MIB as usize,
        }
    }
}

impl Limits {
    /// The limits of a scale model: sizes and rates of partitions are divided, so that a laptop
    /// shows in a minute what production shows in a year. What a client meets in one request
    /// (item, request, batch sizes; counts) stays, or applications would not run.
    pub fn scaled(&self, scale: Scale) -> Self {
        Self {
            logical_partition_bytes: scale.of(self.logical_partition_bytes),
            physical_partition_bytes: scale.of(self.physical_partition_bytes),
            physical_partition_rate: scale.of(self.physical_partition_rate),
            initial_manual_rate_per_partition: scale.of(self.initial_manual_rate_per_partition),
            initial_autoscale_rate_per_partition: scale
                .of(self.initial_autoscale_rate_per_partition),
            min_manual_rate: scale.of(self.min_manual_rate),
            manual_rate_step: scale.of(self.manual_rate_step),
            min_autoscale_rate: scale.of(self.min_autoscale_rate),
            autoscale_rate_step: scale.of(self.autoscale_rate_step),
            shared_manual_rate_per_container: scale.of(self.shared_manual_rate_per_container),
            shared_autoscale_rate_per_container: scale.of(self.shared_autoscale_rate_per_container),
            serverless_partition_rate: scale.of(self.serverless_partition_rate),
            burst_rate: scale.of(self.burst_rate),
            // One unit per GB stays true in the model: both sides shrink alike.
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_divides_sizes_and_rates_only() {
        let scale: Scale = "1/1000".parse().expect("scale");
        let limits = Limits::default().scaled(scale);
        assert_eq!(limits.physical_partition_bytes, 50 * GIB / 1000);
        assert_eq!(limits.physical_partition_rate, 10);
        assert_eq!(limits.min_manual_rate, 1);
        assert_eq!(limits.item_bytes, Limits::default().item_bytes);
        assert_eq!(Limits::default().scaled(Scale::ONE), Limits::default());
        for bad in ["", "0", "1/0", "2/1", "a", "1/-3", "1/2/3"] {
            assert!(bad.parse::<Scale>().is_err(), "{bad}");
        }
    }
}
