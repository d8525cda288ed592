//! The categories of diagnostic logs that a trace can tell.

use clap::ValueEnum;
use serde_json::Value as Json;

use super::form::{Form, Head, Property};

/// The categories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Category {
    /// A line for each request.
    #[value(name = "DataPlaneRequests")]
    DataPlaneRequests,
    /// A line for each page of a query, with its text.
    #[value(name = "QueryRuntimeStatistics")]
    QueryRuntimeStatistics,
    /// A line for each request to one logical partition, with its key.
    #[value(name = "PartitionKeyRUConsumption")]
    PartitionKeyRuConsumption,
    /// A line for each large logical partition, now and then.
    #[value(name = "PartitionKeyStatistics")]
    PartitionKeyStatistics,
}

/// A record of a trace, and whose it is.
pub struct Source<'r> {
    /// The account's name.
    pub account: &'r str,
    /// The region that wrote it.
    pub region: &'r str,
    /// The record.
    pub record: &'r Json,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::DataPlaneRequests,
        Self::QueryRuntimeStatistics,
        Self::PartitionKeyRuConsumption,
        Self::PartitionKeyStatistics,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::DataPlaneRequests => "DataPlaneRequests",
            Self::QueryRuntimeStatistics => "QueryRuntimeStatistics",
            Self::PartitionKeyRuConsumption => "PartitionKeyRUConsumption",
            Self::PartitionKeyStatistics => "PartitionKeyStatistics",
        }
    }

    /// The lines that a record makes in this category.
    pub fn entries(self, source: &Source<'_>, form: Form) -> Vec<Json> {
        let is_request = source.record["op"].is_string();
        let rows = match self {
            Self::PartitionKeyStatistics => source.sizes(),
            _ if !is_request => Vec::new(),
            Self::DataPlaneRequests => vec![source.request()],
            Self::QueryRuntimeStatistics => source.query().into_iter().collect(),
            Self::PartitionKeyRuConsumption => source.keys(),
        };
        let head = Head {
            time: source.time(),
            account: source.account,
            category: self.name(),
            operation: &source.record["op"],
        };
        rows.iter().map(|row| form.line(&head, row)).collect()
    }
}

impl Source<'_> {
    /// When the request came, to the microsecond.
    fn time(&self) -> String {
        let us = self.record["t"].as_u64().unwrap_or(0);
        let seconds = std::time::UNIX_EPOCH + std::time::Duration::from_secs(us / 1_000_000);
        iso(seconds, us % 1_000_000)
    }

    /// Database and container of a link.
    fn names(&self, link: &str) -> (&str, &str) {
        let link = self.record[link].as_str().unwrap_or_default();
        let rest = link.strip_prefix("dbs/").unwrap_or(link);
        rest.split_once("/colls/").unwrap_or((rest, ""))
    }

    fn range(&self) -> Json {
        self.record["range"].clone()
    }

    fn request(&self) -> Vec<Property> {
        let (database, collection) = self.names("in");
        let record = self.record;
        vec![
            Property::text("activityId", "ActivityId", record["act"].clone()),
            Property::text("accountName", "AccountName", self.account),
            Property::text("regionName", "RegionName", self.region),
            Property::text("databaseName", "DatabaseName", database),
            Property::text("collectionName", "CollectionName", collection),
            Property::text("requestResourceType", "RequestResourceType", "Document"),
            Property::text(
                "requestResourceId",
                "RequestResourceId",
                record["in"].clone(),
            ),
            Property::text("partitionId", "PartitionId", self.range()),
            Property::text("statusCode", "StatusCode", record["status"].to_string()),
            Property::text(
                "subStatusCode",
                "SubStatusCode",
                record["sub"].as_u64().unwrap_or(0).to_string(),
            ),
            charge(&record["ru"]),
            Property::figure(
                "duration",
                "DurationMs",
                record["us"].as_f64().unwrap_or(0.0) / 1_000.0,
                3,
            ),
            length("requestLength", "RequestLength", &record["req"]),
            length("responseLength", "ResponseLength", &record["res"]),
            Property::text("connectionMode", "ConnectionMode", "Gateway"),
            Property::text("userAgent", "UserAgent", record["ua"].clone()),
        ]
    }

    fn query(&self) -> Option<Vec<Property>> {
        let (database, collection) = self.names("in");
        let record = self.record;
        let is_run = record["op"].as_str() == Some("Query");
        is_run.then(|| {
            vec![
                Property::text("activityId", "ActivityId", record["act"].clone()),
                Property::text("databasename", "DatabaseName", database),
                Property::text("collectionname", "CollectionName", collection),
                Property::text("partitionkeyrangeid", "PartitionKeyRangeId", self.range()),
                Property::text("querytext", "QueryText", record["sql"].clone()),
            ]
        })
    }

    /// Requests to one logical partition; of a batch and a bulk its operations.
    fn keys(&self) -> Vec<Vec<Property>> {
        let record = self.record;
        let (database, collection) = self.names("in");
        let line = |operation: &Json, key: &Json, ru: &Json| {
            vec![
                Property::text("accountName", "AccountName", self.account),
                Property::text("regionName", "RegionName", self.region),
                Property::text("databaseName", "DatabaseName", database),
                Property::text("collectionName", "CollectionName", collection),
                Property::text("partitionKey", "PartitionKey", key.to_string()),
                Property::text("partitionKeyRangeId", "PartitionKeyRangeId", self.range()),
                charge(ru),
                Property::text("operationType", "OperationName", operation.clone()),
                Property::text("activityId", "ActivityId", record["act"].clone()),
            ]
        };
        if let Some(parts) = record["ops"].as_array() {
            let key = |part: &Json| match &part["key"] {
                Json::Null => record["key"].clone(),
                own => own.clone(),
            };
            return parts
                .iter()
                .map(|part| (part, key(part)))
                .filter(|(_, key)| !key.is_null())
                .map(|(part, key)| line(&part["op"], &key, &part["ru"]))
                .collect();
        }
        if record["key"].is_null() {
            return Vec::new();
        }
        vec![line(&record["op"], &record["key"], &record["ru"])]
    }

    /// The large logical partitions of each physical one.
    fn sizes(&self) -> Vec<Vec<Property>> {
        let (database, collection) = self.names("sizes");
        let of = |list: &Json| list.as_array().cloned().unwrap_or_default();
        let ranges = of(&self.record["ranges"]);
        let keys = ranges
            .iter()
            .filter(|_| self.record["sizes"].is_string())
            .flat_map(|range| of(&range["keys"]).into_iter().map(move |key| (range, key)));
        keys.map(|(range, key)| {
            let bytes = key["bytes"].as_u64().unwrap_or(0);
            vec![
                Property::text("accountName", "AccountName", self.account),
                Property::text("regionName", "RegionName", self.region),
                Property::text("databaseName", "DatabaseName", database),
                Property::text("collectionName", "CollectionName", collection),
                Property::text("partitionKey", "PartitionKey", key["key"].to_string()),
                Property::text(
                    "partitionKeyRangeId",
                    "PartitionKeyRangeId",
                    range["id"].clone(),
                ),
                Property::text("sizeKb", "SizeKb", bytes.div_ceil(1_024)),
            ]
        })
        .collect()
    }
}

fn charge(ru: &Json) -> Property {
    Property::figure(
        "requestCharge",
        "RequestCharge",
        ru.as_f64().unwrap_or(0.0),
        6,
    )
}

fn length(log: &'static str, table: &'static str, bytes: &Json) -> Property {
    Property::figure(log, table, bytes.as_f64().unwrap_or(0.0), 0)
}

/// `2026-11-30T14:21:18.123456Z`, from the date that HTTP writes.
fn iso(seconds: std::time::SystemTime, us: u64) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let date = httpdate::fmt_http_date(seconds);
    let parts: Vec<&str> = date.split(' ').collect();
    let [_, day, month, year, clock, _] = parts.as_slice() else {
        return date;
    };
    let month = MONTHS.iter().position(|name| name == month).unwrap_or(0) + 1;
    format!("{year}-{month:02}-{day}T{clock}.{us:06}Z")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries(record: &Json, form: Form) -> Vec<Json> {
        let source = Source {
            account: "acct",
            region: "East US",
            record,
        };
        let entries = |category: &Category| category.entries(&source, form);
        Category::ALL.iter().flat_map(entries).collect()
    }

    fn query() -> Json {
        json!({
            "t": 1_700_000_000_123_456_u64, "us": 1500, "op": "Query",
            "in": "dbs/shop/colls/orders", "range": "1", "status": 200, "ru": 2.83, "req": 40,
            "res": 900, "key": ["ada"], "sql": "SELECT * FROM c", "act": "a-b",
        })
    }

    #[test]
    fn a_query_makes_three_lines_and_a_bulk_one_for_each_key() {
        let lines = entries(&query(), Form::StorageAccount);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0]["time"], "2023-11-14T22:13:20.123456Z");
        assert_eq!(lines[0]["operationName"], "Query");
        assert_eq!(lines[0]["properties"]["requestCharge"], "2.830000");
        assert_eq!(lines[0]["properties"]["duration"], "1.500");
        assert_eq!(lines[0]["properties"]["responseLength"], "900");
        assert_eq!(lines[1]["properties"]["querytext"], "SELECT * FROM c");
        assert_eq!(lines[2]["properties"]["partitionKey"], "[\"ada\"]");
        let bulk = json!({
            "t": 1, "op": "Batch", "in": "dbs/shop/colls/orders", "ru": 12.0, "act": "c",
            "ops": [{"op": "Create", "ru": 6.0, "key": ["x"]}, {"op": "Create", "ru": 6.0, "key": ["y"]},
                    {"op": "Delete", "ru": 0.0}],
        });
        let lines = entries(&bulk, Form::StorageAccount);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[2]["properties"]["partitionKey"], "[\"y\"]");
    }

    #[test]
    fn rows_of_tables_are_flat_and_their_figures_numbers() {
        let rows = entries(&query(), Form::Table);
        assert_eq!(rows[0]["Type"], "CDBDataPlaneRequests");
        assert_eq!(rows[0]["TimeGenerated"], "2023-11-14T22:13:20.123456Z");
        assert_eq!(rows[0]["OperationName"], "Query");
        assert_eq!(rows[0]["StatusCode"], "200");
        assert_eq!(rows[0]["RequestCharge"], 2.83);
        assert_eq!(rows[0]["DurationMs"], 1.5);
        assert_eq!(rows[1]["DatabaseName"], "shop");
        assert_eq!(rows[1]["QueryText"], "SELECT * FROM c");
        assert_eq!(rows[2]["Type"], "CDBPartitionKeyRUConsumption");
        assert_eq!(rows[2]["PartitionKey"], "[\"ada\"]");
    }

    #[test]
    fn sizes_make_a_line_for_each_key() {
        let record = json!({
            "sizes": "dbs/shop/colls/orders", "t": 1_700_000_000_000_000_u64,
            "ranges": [
                {"id": "1", "items": 90, "bytes": 9000, "keys": [
                    {"items": 50, "bytes": 5000, "key": ["a"]}, {"items": 40, "bytes": 1024, "key": ["b"]}]},
                {"id": "2", "items": 0, "bytes": 0, "keys": []}],
        });
        let lines = entries(&record, Form::StorageAccount);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["category"], "PartitionKeyStatistics");
        assert_eq!(lines[0]["properties"]["partitionKey"], "[\"a\"]");
        assert_eq!(lines[0]["properties"]["sizeKb"], 5);
        assert_eq!(lines[1]["properties"]["sizeKb"], 1);
        let rows = entries(&record, Form::Table);
        assert_eq!(rows[0]["Type"], "CDBPartitionKeyStatistics");
        assert_eq!(rows[0]["CollectionName"], "orders");
        assert_eq!(rows[0]["RegionName"], "East US");
        assert_eq!(rows[0]["PartitionKeyRangeId"], "1");
        assert_eq!(rows[0]["SizeKb"], 5);
    }
}
