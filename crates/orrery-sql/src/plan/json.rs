//! A plan as the gateway sends it (protocol: section 8.3).

use super::projection::aggregate_type;
use super::{DistinctType, HybridInfo, PlanInfo, QueryInfo, QueryPlan};
use crate::errors::write_string;
use crate::printer::number_text;
use orrery_model::value::Number;
use std::fmt::Write as _;

impl QueryPlan {
    /// The plan with ranges of effective partition keys.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\"partitionedQueryExecutionInfoVersion\":2,");
        match &self.info {
            PlanInfo::Query(info) => {
                out.push_str("\"queryInfo\":");
                write_info(&mut out, info);
            }
            PlanInfo::Hybrid(info) => {
                out.push_str("\"hybridSearchQueryInfo\":");
                write_hybrid(&mut out, info);
            }
        }
        out.push_str(",\"queryRanges\":[");
        for (place, one) in self.ranges.iter().enumerate() {
            separate(&mut out, place);
            let _ = write!(
                out,
                "{{\"min\":\"{}\",\"max\":\"{}\",\"isMinInclusive\":{},\"isMaxInclusive\":{}}}",
                one.range.min, one.range.max, one.min_inclusive, one.max_inclusive
            );
        }
        out.push_str("]}");
        out
    }
}

impl QueryInfo {
    /// The `queryInfo` of a plan.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write_info(&mut out, self);
        out
    }
}

impl HybridInfo {
    /// The `hybridSearchQueryInfo` of a plan.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write_hybrid(&mut out, self);
        out
    }
}

fn separate(out: &mut String, place: usize) {
    if place > 0 {
        out.push(',');
    }
}

fn write_list<T>(out: &mut String, list: &[T], mut each: impl FnMut(&mut String, &T)) {
    out.push('[');
    for (place, item) in list.iter().enumerate() {
        separate(out, place);
        each(out, item);
    }
    out.push(']');
}

fn write_count(out: &mut String, name: &str, count: Option<u64>) {
    match count {
        Some(count) => {
            let _ = write!(out, "\"{name}\":{count},");
        }
        None => {
            let _ = write!(out, "\"{name}\":null,");
        }
    }
}

fn write_info(out: &mut String, info: &QueryInfo) {
    let distinct = match info.distinct {
        DistinctType::None => "None",
        DistinctType::Ordered => "Ordered",
        DistinctType::Unordered => "Unordered",
    };
    let _ = write!(out, "{{\"distinctType\":\"{distinct}\",");
    write_count(out, "top", info.top);
    write_count(out, "offset", info.offset);
    write_count(out, "limit", info.limit);
    out.push_str("\"orderBy\":");
    write_list(out, &info.order_by, |out, (_, descending)| {
        out.push_str(if *descending {
            "\"Descending\""
        } else {
            "\"Ascending\""
        });
    });
    out.push_str(",\"orderByExpressions\":");
    write_list(out, &info.order_by, |out, (text, _)| {
        write_string(out, text);
    });
    out.push_str(",\"groupByExpressions\":");
    write_list(out, &info.group_by_expressions, |out, text| {
        write_string(out, text);
    });
    out.push_str(",\"groupByAliases\":");
    write_list(out, &info.group_by_aliases, |out, (alias, _)| {
        write_string(out, alias);
    });
    out.push_str(",\"aggregates\":");
    write_list(out, &info.aggregates, |out, aggregate| {
        write_string(out, aggregate_type(*aggregate));
    });
    out.push_str(",\"groupByAliasToAggregateType\":{");
    for (place, (alias, aggregate)) in info.group_by_aliases.iter().enumerate() {
        separate(out, place);
        write_string(out, alias);
        out.push(':');
        match aggregate {
            Some(aggregate) => write_string(out, aggregate_type(*aggregate)),
            None => out.push_str("null"),
        }
    }
    out.push_str("},\"rewrittenQuery\":");
    write_string(out, &info.rewritten);
    let _ = write!(
        out,
        ",\"hasSelectValue\":{},\"dCountInfo\":",
        info.has_select_value
    );
    match &info.distinct_count_alias {
        Some(alias) => {
            out.push_str("{\"dCountAlias\":");
            write_string(out, alias);
            out.push('}');
        }
        None => out.push_str("null"),
    }
    let _ = write!(out, ",\"hasNonStreamingOrderBy\":{}}}", info.non_streaming);
}

fn write_hybrid(out: &mut String, info: &HybridInfo) {
    out.push_str("{\"globalStatisticsQuery\":");
    write_string(out, &info.global_statistics_query);
    out.push_str(",\"componentQueryInfos\":");
    write_list(out, &info.components, write_info);
    // The service's planner leaves the variants without payload to later versions (recorded).
    out.push_str(
        ",\"componentWithoutPayloadQueryInfos\":[],\"projectionQueryInfo\":null,\
         \"componentWeights\":",
    );
    let weights = info.weights.as_deref().unwrap_or_default();
    write_list(out, weights, |out, weight| {
        out.push_str(&number_text(Number::Double(*weight)));
    });
    out.push(',');
    write_count(out, "skip", info.skip);
    write_count(out, "take", info.take);
    let _ = write!(
        out,
        "\"requiresGlobalStatistics\":{}}}",
        info.requires_global_statistics
    );
}
