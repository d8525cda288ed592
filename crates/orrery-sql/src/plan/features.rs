//! What a client says it can do with a plan (protocol: section 8.2).

use super::{DistinctType, PlanInfo, QueryInfo};
use crate::errors::{SqlError, SqlErrors};
use crate::signatures::BuiltIn;

/// A set of feature names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features(u32);

macro_rules! features {
    ($($constant:ident $name:literal $bit:literal;)*) => {
        impl Features {
            $(
                #[doc = concat!("`", $name, "`")]
                pub const $constant: Self = Self(1 << $bit);
            )*
            const NAMES: &[(&str, Self)] = &[$(($name, Self::$constant),)*];
        }
    };
}

features! {
    AGGREGATE "Aggregate" 0;
    COMPOSITE_AGGREGATE "CompositeAggregate" 1;
    DISTINCT "Distinct" 2;
    GROUP_BY "GroupBy" 3;
    MULTIPLE_AGGREGATES "MultipleAggregates" 4;
    MULTIPLE_ORDER_BY "MultipleOrderBy" 5;
    OFFSET_AND_LIMIT "OffsetAndLimit" 6;
    ORDER_BY "OrderBy" 7;
    TOP "Top" 8;
    NON_VALUE_AGGREGATE "NonValueAggregate" 9;
    DISTINCT_COUNT "DCount" 10;
    NON_STREAMING_ORDER_BY "NonStreamingOrderBy" 11;
    LIST_AND_SET_AGGREGATE "ListAndSetAggregate" 12;
    COUNT_IF "CountIf" 13;
    HYBRID_SEARCH "HybridSearch" 14;
    WEIGHTED_RANK_FUSION "WeightedRankFusion" 15;
    HYBRID_SEARCH_SKIP_ORDER_BY_REWRITE "HybridSearchSkipOrderByRewrite" 16;
}

impl Features {
    /// Reads the header: names separated by commas; unknown ones are ignored.
    pub fn parse(header: &str) -> Self {
        let known = |name: &str| {
            Self::NAMES
                .iter()
                .find(|(known, _)| known.eq_ignore_ascii_case(name.trim()))
        };
        Self(
            header
                .split(',')
                .filter_map(known)
                .fold(0, |set, (_, feature)| set | feature.0),
        )
    }

    /// True when the set has the feature.
    pub fn has(self, feature: Self) -> bool {
        self.0 & feature.0 == feature.0
    }

    /// Refuses a plan that needs more than this.
    pub(super) fn check(self, info: &PlanInfo) -> Result<(), SqlErrors> {
        let needed = match info {
            PlanInfo::Query(info) => needed(info),
            PlanInfo::Hybrid(info) => {
                let weighted = if info.weights.is_some() {
                    Self::WEIGHTED_RANK_FUSION.0
                } else {
                    0
                };
                Self(Self::HYBRID_SEARCH.0 | weighted)
            }
        };
        let missing = Self::NAMES
            .iter()
            .filter(|(_, feature)| needed.has(*feature) && !self.has(*feature));
        let lines: Vec<String> = missing
            .map(|(name, _)| {
                format!("\nQuery contained {name}, which the calling client does not support.")
            })
            .collect();
        if lines.is_empty() {
            return Ok(());
        }
        let message = format!(
            "Query contains 1 or more unsupported features. Upgrade your SDK to a version that does support the requested features:{}",
            lines.concat()
        );
        Err(SqlError::plain(message).into())
    }
}

fn needed(info: &QueryInfo) -> Features {
    let mut set = Features::default();
    let mut need = |feature: Features, wanted: bool| {
        if wanted {
            set.0 |= feature.0;
        }
    };
    let listed = info
        .group_by_aliases
        .iter()
        .filter_map(|(_, aggregate)| *aggregate);
    let aggregates: Vec<BuiltIn> = info
        .aggregates
        .iter()
        .copied()
        .chain(listed.clone())
        .collect();
    let any = |wanted: &[BuiltIn]| {
        aggregates
            .iter()
            .any(|aggregate| wanted.contains(aggregate))
    };
    need(Features::AGGREGATE, !aggregates.is_empty());
    need(Features::COMPOSITE_AGGREGATE, any(&[BuiltIn::Average]));
    need(Features::COUNT_IF, any(&[BuiltIn::CountIf]));
    need(
        Features::LIST_AND_SET_AGGREGATE,
        any(&[BuiltIn::MakeList, BuiltIn::MakeSet]),
    );
    need(Features::MULTIPLE_AGGREGATES, aggregates.len() > 1);
    need(Features::NON_VALUE_AGGREGATE, listed.count() > 0);
    need(Features::GROUP_BY, !info.group_by_expressions.is_empty());
    need(Features::DISTINCT, info.distinct != DistinctType::None);
    need(
        Features::DISTINCT_COUNT,
        info.distinct_count_alias.is_some(),
    );
    need(Features::ORDER_BY, !info.order_by.is_empty());
    need(Features::MULTIPLE_ORDER_BY, info.order_by.len() > 1);
    need(Features::NON_STREAMING_ORDER_BY, info.non_streaming);
    need(Features::TOP, info.top.is_some());
    need(Features::OFFSET_AND_LIMIT, info.offset.is_some());
    set
}
