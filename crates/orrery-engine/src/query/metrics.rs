//! What a page took, in the terms of the service's metrics header (protocol: section 3.3).

use std::fmt;

use orrery_model::charge::QueryCost;

/// How a page comes by its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub enum AccessKind {
    /// All of the partition.
    #[default]
    Scan,
    /// Those that an index, or the list of a key's items, names.
    Chosen,
    /// Along an index, in the order of ORDER BY.
    Ordered,
    /// Not at all: the partition's counters answer.
    Counted,
}

/// The work of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueryMetrics {
    /// Index look-ups, items and bytes.
    pub cost: QueryCost,
    /// How the items were come by.
    pub access: AccessKind,
    /// Items read that no row came from are what an index would have saved.
    pub items_matched: u64,
    /// Microseconds for all of it.
    pub total_us: u64,
    /// Microseconds until the query was ready to run.
    pub compile_us: u64,
    /// Microseconds in the index.
    pub index_us: u64,
}

impl QueryMetrics {
    fn utilization(&self) -> f64 {
        if self.cost.items_loaded == 0 {
            return 1.0;
        }
        self.items_matched as f64 / self.cost.items_loaded as f64
    }
}

impl fmt::Display for QueryMetrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |us: u64| us as f64 / 1_000.0;
        let run_us = self.total_us.saturating_sub(self.compile_us);
        write!(
            formatter,
            "totalExecutionTimeInMs={:.2};queryCompileTimeInMs={:.2};\
             queryLogicalPlanBuildTimeInMs=0.00;queryPhysicalPlanBuildTimeInMs=0.00;\
             queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs={:.2};indexLookupTimeInMs={:.2};\
             documentLoadTimeInMs={:.2};systemFunctionExecuteTimeInMs=0.00;\
             userFunctionExecuteTimeInMs=0.00;retrievedDocumentCount={};retrievedDocumentSize={};\
             outputDocumentCount={};outputDocumentSize={};writeOutputTimeInMs=0.00;\
             indexUtilizationRatio={:.2}",
            ms(self.total_us),
            ms(self.compile_us),
            ms(run_us),
            ms(self.index_us),
            ms(run_us.saturating_sub(self.index_us)),
            self.cost.items_loaded,
            self.cost.bytes_loaded,
            self.cost.items_returned,
            self.cost.bytes_returned,
            self.utilization(),
        )
    }
}
