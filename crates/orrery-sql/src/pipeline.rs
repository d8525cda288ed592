//! Execution inside one partition key range: items are pushed in, rows of JSON text come out.
//!
//! A page ends where the caller's [`PageLimits`] say. [`Pipeline::resume_state`] then tells, in a
//! few bytes, how to go on: either after (or again with) the last pushed item, or from the first
//! item of the range when rows depend on all items ([`Pipeline::restarts`]).

use crate::program::Program;
use orrery_model::value::Value;

/// An item that is pushed in.
#[derive(Clone, Copy)]
pub struct Item<'a> {
    /// The document number of its `_rid`: the order of rows without ORDER BY, and of ties.
    pub doc: u64,
    /// Canonical JSON text of the item as stored.
    pub text: &'a [u8],
    /// Appends the system properties that `text` lacks, as `"_rid":"…","_ts":…` without braces.
    /// Asked only when the query reads a name that starts with `_` and is not in `text`, or the
    /// whole item.
    pub system: Option<&'a dyn Fn(&mut Vec<u8>)>,
}

/// Where a page ends: at the first limit that is reached.
#[derive(Debug, Clone, Copy)]
pub struct PageLimits {
    /// Rows.
    pub rows: usize,
    /// Bytes of row text; one row may exceed it.
    pub bytes: usize,
    /// Evaluation steps (rows joined, elements visited): the bound on time.
    pub steps: u64,
    /// Bytes held for sorting, grouping and DISTINCT.
    pub memory: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { rows: 100, bytes: 4 << 20, steps: 50_000_000, memory: 128 << 20 }
    }
}

/// What the pipeline wants next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// The next item.
    More,
    /// The page is full and the item is finished: resume with the item after it.
    PageFull,
    /// The page is full in the middle of the item: resume with the same item.
    PageFullInside,
    /// No further item can add a row.
    Done,
}

/// Why a run stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionError {
    /// One item produced more combinations than a page may visit.
    #[error("The query exceeded the maximum number of steps for one item.")]
    TooManySteps,
    /// Sorting, grouping or DISTINCT would hold too much.
    #[error("The query needs more memory than is allowed for one request.")]
    TooMuchMemory,
    /// A row holds NaN or an infinity (query-language: section 5).
    #[error("The query result contains a number that is not finite.")]
    NotFinite,
    /// Resume state that this query cannot have written.
    #[error("The continuation does not belong to this query.")]
    BadState,
}

/// `resumeFilter` of a request (protocol: section 8.1).
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeFilter {
    values: Vec<Value<'static>>,
    /// The document number of `rid`.
    pub doc: Option<u64>,
    /// Whether `doc` itself is skipped too.
    pub exclude: bool,
}

/// What a run did, for charges and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Items pushed in.
    pub pushed: u64,
    /// Items that WHERE was asked about.
    pub tested: u64,
    /// Rows that were projected.
    pub projected: u64,
    /// Rows that left the pipeline.
    pub rows: u64,
    /// Bytes of those rows.
    pub row_bytes: u64,
}

/// A run of a program over the items of one range.
pub struct Pipeline<'p> {
    program: &'p Program,
    limits: PageLimits,
    rows: Vec<Vec<u8>>,
    counters: Counters,
}

impl<'p> Pipeline<'p> {
    /// A run from the start, or from the state that an earlier page left.
    ///
    /// `sorted` promises that items come in the order of the sort keys (ties by document number,
    /// descending when the first key is); otherwise the pipeline sorts.
    pub fn new(
        program: &'p Program,
        limits: PageLimits,
        sorted: bool,
        state: Option<&[u8]>,
        resume: Option<ResumeFilter>,
    ) -> Result<Self, ExecutionError> {
        let _ = (sorted, state, resume);
        Ok(Self { program, limits, rows: Vec::new(), counters: Counters::default() })
    }

    /// Takes an item.
    pub fn push(&mut self, item: Item<'_>) -> Result<Flow, ExecutionError> {
        let _ = (item.doc, self.limits.rows, self.program);
        Ok(Flow::More)
    }

    /// Says that no item follows; sorted rows and groups come out.
    /// `Done`, or `PageFull` when rows are left for a further page.
    pub fn finish(&mut self) -> Result<Flow, ExecutionError> {
        Ok(Flow::Done)
    }

    /// The finished rows, each canonical JSON text; call it after `push` or `finish`.
    pub fn take_rows(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.rows)
    }

    /// True when a further page must push all items again from the first one: sorting without an
    /// index, grouping, DISTINCT.
    pub fn restarts(&self) -> bool {
        false
    }

    /// What [`Pipeline::new`] needs to go on after this page.
    pub fn resume_state(&self) -> Vec<u8> {
        Vec::new()
    }

    /// What was done since [`Pipeline::new`].
    pub fn counters(&self) -> Counters {
        self.counters
    }
}

impl ResumeFilter {
    /// Reads the member `resumeFilter`; `document` turns a `_rid` into its document number.
    pub fn parse(value: &Value<'_>, document: &dyn Fn(&str) -> Option<u64>) -> Option<Self> {
        let _ = (value, document);
        None
    }

    /// The sort values to start at, one per key.
    pub fn values(&self) -> &[Value<'static>] {
        &self.values
    }
}
