//! How a request stands to others of its container.

/// Who is refused first when a partition is short (request units: section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    /// As long as there is budget.
    #[default]
    High,
    /// Only what the high ones leave.
    Low,
}

/// One of the five throughput buckets of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket(u8);

impl Bucket {
    /// How many there are.
    pub const COUNT: usize = 5;

    /// The bucket of this number, from 1 on.
    pub fn new(number: u8) -> Option<Self> {
        (1..=Self::COUNT as u8)
            .contains(&number)
            .then_some(Self(number))
    }

    /// Its place, from 0 on.
    pub fn place(self) -> usize {
        usize::from(self.0) - 1
    }
}

/// What a request says about its share of the throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Claim {
    /// `x-ms-cosmos-priority-level`
    pub priority: Priority,
    /// `x-ms-cosmos-throughput-bucket`
    pub bucket: Option<Bucket>,
}
