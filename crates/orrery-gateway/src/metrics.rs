//! Metrics in the text format of Prometheus. The names follow the service's metrics (request
//! units: section 12); docs/observability.md has the table.

use std::fmt::Write as _;

use orrery_engine::regions::RegionId;
use orrery_engine::statistics::report::{ContainerReport, RangeReport, ReportDepth};
use orrery_engine::{Engine, Error};

/// The content type of the format.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Seconds over which the normalised consumption is told.
const SECONDS: u64 = 60;

/// One metric of each container.
struct OfContainer {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    value: fn(&ContainerReport) -> Option<f64>,
}

/// One metric of each range.
struct OfRange {
    name: &'static str,
    help: &'static str,
    kind: &'static str,
    value: fn(&RangeReport) -> Option<f64>,
}

const OF_CONTAINER: [OfContainer; 3] = [
    OfContainer {
        name: "orrery_provisioned_throughput",
        help: "Request units per second that the container (or its database) may use.",
        kind: "gauge",
        value: |report| report.rate.map(|rate| rate as f64),
    },
    OfContainer {
        name: "orrery_autoscaled_throughput",
        help: "Request units per second that autoscale has reached in the last minute.",
        kind: "gauge",
        value: |report| report.scaled_rate.map(|rate| rate as f64),
    },
    OfContainer {
        name: "orrery_throttles",
        help: "Whether requests over the budget are refused.",
        kind: "gauge",
        value: |report| Some(f64::from(u8::from(report.throttles))),
    },
];

const OF_RANGE: [OfRange; 8] = [
    OfRange {
        name: "orrery_request_units_total",
        help: "Request units charged.",
        kind: "counter",
        value: |range| Some(range.totals.hundredths as f64 / 100.0),
    },
    OfRange {
        name: "orrery_requests_total",
        help: "Operations served.",
        kind: "counter",
        value: |range| Some(range.totals.requests as f64),
    },
    OfRange {
        name: "orrery_throttled_requests_total",
        help: "Operations refused with 429.",
        kind: "counter",
        value: |range| Some(range.totals.refused as f64),
    },
    OfRange {
        name: "orrery_partition_throughput",
        help: "Request units per second that the physical partition may use.",
        kind: "gauge",
        value: |range| range.budget.map(|budget| budget as f64 / 100.0),
    },
    OfRange {
        name: "orrery_normalized_ru_consumption",
        help: "Highest use of a second of the last minute against the budget, in percent.",
        kind: "gauge",
        value: RangeReport::normalized,
    },
    OfRange {
        name: "orrery_document_count",
        help: "Items.",
        kind: "gauge",
        value: |range| Some(range.counters.items as f64),
    },
    OfRange {
        name: "orrery_data_usage_bytes",
        help: "Bytes of items.",
        kind: "gauge",
        value: |range| Some(range.counters.item_bytes as f64),
    },
    OfRange {
        name: "orrery_index_usage_bytes",
        help: "Bytes of index.",
        kind: "gauge",
        value: |range| Some(range.counters.index_bytes as f64),
    },
];

/// A container as it is seen in a region, which is named where there are several.
type Seen = (Option<String>, ContainerReport);

/// Every container in every region.
fn seen(engine: &Engine) -> Result<Vec<Seen>, Error> {
    let depth = ReportDepth {
        seconds: SECONDS,
        most: 0,
    };
    let regions = engine.regions();
    if regions.len() < 2 {
        let reports = engine.report(depth)?;
        return Ok(reports.into_iter().map(|report| (None, report)).collect());
    }
    let mut all = Vec::new();
    for (place, region) in regions.iter().enumerate() {
        let reports = engine.in_region(RegionId(place)).report(depth)?;
        let named = |report| (Some(region.name.clone()), report);
        all.extend(reports.into_iter().map(named));
    }
    Ok(all)
}

/// All metrics of an account.
pub fn text(engine: &Engine) -> Result<String, Error> {
    let reports = seen(engine)?;
    let mut text = String::new();
    for metric in &OF_CONTAINER {
        head(&mut text, metric.name, metric.help, metric.kind);
        for (region, report) in &reports {
            if let Some(value) = (metric.value)(report) {
                let labels = labels(report, region.as_deref());
                let _ = writeln!(text, "{}{{{labels}}} {value}", metric.name);
            }
        }
    }
    for metric in &OF_RANGE {
        head(&mut text, metric.name, metric.help, metric.kind);
        for (region, report) in &reports {
            for range in &report.ranges {
                if let Some(value) = (metric.value)(range) {
                    let labels = labels(report, region.as_deref());
                    let id = range.id;
                    let name = metric.name;
                    let _ = writeln!(
                        text,
                        "{name}{{{labels},partition_key_range=\"{id}\"}} {value}"
                    );
                }
            }
        }
    }
    Ok(text)
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn labels(report: &ContainerReport, region: Option<&str>) -> String {
    let (database, container) = names(report.container.alt_path());
    let (database, container) = (escaped(database), escaped(container));
    let mut labels = format!("database=\"{database}\",container=\"{container}\"");
    if let Some(region) = region {
        let _ = write!(labels, ",region=\"{}\"", escaped(region));
    }
    labels
}

/// The names in `dbs/a/colls/b`.
pub(crate) fn names(alt_path: &str) -> (&str, &str) {
    let rest = alt_path.strip_prefix("dbs/").unwrap_or(alt_path);
    rest.split_once("/colls/").unwrap_or((rest, ""))
}

fn escaped(label: &str) -> String {
    label
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
