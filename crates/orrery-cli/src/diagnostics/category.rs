//! The categories of diagnostic logs that a trace can tell.

use clap::ValueEnum;
use serde_json::{Value as Json, json};

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
}

/// A record of a trace, and whose it is.
pub struct Source<'r> {
    /// The account's name.
    pub account: &'r str,
    /// The record.
    pub record: &'r Json,
}

impl Category {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::DataPlaneRequests,
        Self::QueryRuntimeStatistics,
        Self::PartitionKeyRuConsumption,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::DataPlaneRequests => "DataPlaneRequests",
            Self::QueryRuntimeStatistics => "QueryRuntimeStatistics",
            Self::PartitionKeyRuConsumption => "PartitionKeyRUConsumption",
        }
    }

    /// The lines that a record makes in this category.
    pub fn entries(self, source: &Source<'_>) -> Vec<Json> {
        let properties = match self {
            Self::DataPlaneRequests => vec![source.request()],
            Self::QueryRuntimeStatistics => source.query().into_iter().collect(),
            Self::PartitionKeyRuConsumption => source.keys(),
        };
        let entry = |properties: Json| {
            json!({
                "time": source.time(),
                "resourceId": format!("/DATABASEACCOUNTS/{}", source.account.to_uppercase()),
                "category": self.name(),
                "operationName": source.record["op"],
                "properties": properties,
            })
        };
        properties.into_iter().map(entry).collect()
    }
}

impl Source<'_> {
    /// When the request came, to the microsecond.
    fn time(&self) -> String {
        let us = self.record["t"].as_u64().unwrap_or(0);
        let seconds = std::time::UNIX_EPOCH + std::time::Duration::from_secs(us / 1_000_000);
        iso(seconds, us % 1_000_000)
    }

    /// Database and container.
    fn names(&self) -> (&str, &str) {
        let link = self.record["in"].as_str().unwrap_or_default();
        let rest = link.strip_prefix("dbs/").unwrap_or(link);
        rest.split_once("/colls/").unwrap_or((rest, ""))
    }

    fn range(&self) -> Json {
        self.record["range"].clone()
    }

    fn request(&self) -> Json {
        let (database, collection) = self.names();
        let record = self.record;
        json!({
            "activityId": record["act"],
            "accountName": self.account,
            "databaseName": database,
            "collectionName": collection,
            "requestResourceType": "Document",
            "requestResourceId": record["in"],
            "partitionId": self.range(),
            "statusCode": record["status"].to_string(),
            "subStatusCode": record["sub"].as_u64().unwrap_or(0).to_string(),
            "requestCharge": charge(&record["ru"]),
            "duration": format!("{:.3}", record["us"].as_f64().unwrap_or(0.0) / 1_000.0),
            "requestLength": record["req"].to_string(),
            "responseLength": record["res"].to_string(),
            "connectionMode": "Gateway",
            "userAgent": record["ua"],
        })
    }

    fn query(&self) -> Option<Json> {
        let (database, collection) = self.names();
        let record = self.record;
        let is_run = record["op"].as_str() == Some("Query");
        is_run.then(|| {
            json!({
                "activityId": record["act"],
                "databasename": database,
                "collectionname": collection,
                "partitionkeyrangeid": self.range(),
                "querytext": record["sql"],
            })
        })
    }

    /// Requests to one logical partition; of a batch and a bulk its operations.
    fn keys(&self) -> Vec<Json> {
        let record = self.record;
        let (database, collection) = self.names();
        let line = |operation: &Json, key: &Json, ru: &Json| {
            json!({
                "accountName": self.account,
                "databaseName": database,
                "collectionName": collection,
                "partitionKey": key.to_string(),
                "partitionKeyRangeId": self.range(),
                "requestCharge": charge(ru),
                "operationType": operation,
                "activityId": record["act"],
            })
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
}

fn charge(ru: &Json) -> String {
    format!("{:.6}", ru.as_f64().unwrap_or(0.0))
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
    use super::*;

    #[test]
    fn a_query_makes_three_lines_and_a_bulk_one_for_each_key() {
        let record = json!({
            "t": 1_700_000_000_123_456_u64, "us": 1500, "op": "Query",
            "in": "dbs/shop/colls/orders", "range": "1", "status": 200, "ru": 2.83, "req": 40,
            "res": 900, "key": ["ada"], "sql": "SELECT * FROM c", "act": "a-b",
        });
        let source = Source {
            account: "acct",
            record: &record,
        };
        let entries: Vec<Json> = Category::ALL
            .iter()
            .flat_map(|category| category.entries(&source))
            .collect();
        assert_eq!(entries.len(), 3);
        assert_eq!(entries[0]["time"], "2023-11-14T22:13:20.123456Z");
        assert_eq!(entries[0]["properties"]["requestCharge"], "2.830000");
        assert_eq!(entries[0]["properties"]["duration"], "1.500");
        assert_eq!(entries[1]["properties"]["querytext"], "SELECT * FROM c");
        assert_eq!(entries[2]["properties"]["partitionKey"], "[\"ada\"]");
        let bulk = json!({
            "t": 1, "op": "Batch", "in": "dbs/shop/colls/orders", "ru": 12.0, "act": "c",
            "ops": [{"op": "Create", "ru": 6.0, "key": ["x"]}, {"op": "Create", "ru": 6.0, "key": ["y"]},
                    {"op": "Delete", "ru": 0.0}],
        });
        let source = Source {
            account: "acct",
            record: &bulk,
        };
        let keys = Category::PartitionKeyRuConsumption.entries(&source);
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[1]["properties"]["partitionKey"], "[\"y\"]");
    }
}
