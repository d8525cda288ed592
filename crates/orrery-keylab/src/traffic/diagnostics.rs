//! Diagnostic logs of the service (request units: section 12): rows of the resource-specific tables
//! (`CDBDataPlaneRequests`, `CDBQueryRuntimeStatistics`, `CDBPartitionKeyRUConsumption`,
//! `CDBPartitionKeyStatistics`), of the legacy table, and lines of the export to a storage account.
//! Names are matched without regard to case and to the suffixes of the legacy table.
//!
//! Texts and keys come in rows of their own, in any order, so the files are read twice: first
//! [`Diagnostics::learn`], then [`Diagnostics::count`].

use std::collections::BTreeMap;
use std::sync::Arc;

use orrery_model::limits::Limits;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json};

use crate::placement::GIGABYTE;
use crate::report::text::{gigabytes, percent};

use super::trace::deed;
use super::{Deed, Event, Observed, Traffic};

/// Activities whose text or key is remembered.
const MOST_ACTIVITIES: usize = 4_000_000;

/// What the logs say of a container.
#[derive(Debug, Default)]
pub struct Diagnostics {
    /// `database/container`, lower case; the first that comes unless given.
    wanted: Option<String>,
    texts: FxHashSet<Arc<str>>,
    text_of: FxHashMap<String, Arc<str>>,
    key_of: FxHashMap<String, Vec<Option<String>>>,
    others: u64,
    /// The largest logical partition of each container, in kilobytes.
    largest: BTreeMap<String, (f64, String)>,
}

/// The category of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Category {
    Request,
    QueryText,
    Key,
    Size,
    Other,
}

/// A row with its names in one form.
struct Row(FxHashMap<String, Json>);

impl Row {
    fn parse(text: &[u8]) -> Result<Self, String> {
        let parsed: Map<String, Json> =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let mut row = FxHashMap::default();
        for (name, value) in parsed {
            match value {
                // The export to a storage account keeps all but the head inside.
                Json::Object(inner) if name.eq_ignore_ascii_case("properties") => {
                    row.extend(inner.into_iter().map(|(name, value)| (plain(&name), value)));
                }
                value => {
                    row.entry(plain(&name)).or_insert(value);
                }
            }
        }
        Ok(Self(row))
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Numbers are texts in some forms.
    fn number(&self, name: &str) -> Option<f64> {
        let value = self.0.get(name)?;
        value
            .as_f64()
            .or_else(|| value.as_str()?.trim().parse().ok())
    }

    /// The request charge; 0 where a log has none.
    fn charge(&self) -> Result<f64, String> {
        match self.0.get("requestcharge") {
            None | Some(Json::Null) => Ok(0.0),
            Some(value) => self
                .number("requestcharge")
                .filter(|charge| charge.is_finite())
                .ok_or_else(|| format!("requestCharge: {value} is no number")),
        }
    }

    fn category(&self) -> Category {
        let named = self.text("category").or_else(|| self.text("type"));
        let named = named.unwrap_or_default().to_ascii_lowercase();
        if named.contains("dataplanerequests") {
            Category::Request
        } else if named.contains("queryruntimestatistics") {
            Category::QueryText
        } else if named.contains("partitionkeyruconsumption") {
            Category::Key
        } else if named.contains("partitionkeystatistics") {
            Category::Size
        } else if !named.is_empty() && named != "azurediagnostics" {
            Category::Other
        } else if self.0.contains_key("querytext") {
            Category::QueryText
        } else if self.0.contains_key("sizekb") {
            Category::Size
        } else if self.0.contains_key("partitionkey") {
            Category::Key
        } else if self.0.contains_key("requestcharge") {
            Category::Request
        } else {
            Category::Other
        }
    }

    fn container(&self) -> Option<String> {
        let (database, container) = (self.text("databasename")?, self.text("collectionname")?);
        Some(format!("{database}/{container}").to_ascii_lowercase())
    }
}

/// A name in lower case, without the type behind it that the legacy table adds.
fn plain(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let suffix = lower
        .rsplit_once('_')
        .filter(|(_, suffix)| ["s", "d", "g", "b", "t"].contains(suffix));
    suffix.map_or_else(|| lower.clone(), |(name, _)| name.to_owned())
}

impl Diagnostics {
    /// Logs of this container (`database/container`), or of the one that comes first.
    pub fn new(container: Option<&str>) -> Self {
        Self {
            wanted: container.map(str::to_ascii_lowercase),
            ..Self::default()
        }
    }

    /// Remembers texts and keys.
    pub fn learn(&mut self, line: &[u8]) -> Result<(), String> {
        let row = Row::parse(line)?;
        let category = row.category();
        if category == Category::Size {
            self.weigh(&row);
            return Ok(());
        }
        let Some(activity) = row.text("activityid").map(str::to_ascii_lowercase) else {
            return Ok(());
        };
        if self.text_of.len() + self.key_of.len() >= MOST_ACTIVITIES {
            return Ok(());
        }
        match category {
            Category::QueryText => {
                let Some(text) = row.text("querytext") else {
                    return Ok(());
                };
                let text = query_text(text);
                let text = if let Some(known) = self.texts.get(&*text) {
                    Arc::clone(known)
                } else {
                    let text: Arc<str> = Arc::from(text);
                    self.texts.insert(Arc::clone(&text));
                    text
                };
                self.text_of.insert(activity, text);
            }
            Category::Key => {
                if let Some(key) = row.text("partitionkey") {
                    self.key_of.insert(activity, key_values(key));
                }
            }
            Category::Request | Category::Size | Category::Other => {}
        }
        Ok(())
    }

    fn weigh(&mut self, row: &Row) {
        let container = row.container().unwrap_or_default();
        let (Some(key), Some(kb)) = (row.text("partitionkey"), row.number("sizekb")) else {
            return;
        };
        let known = self.largest.entry(container).or_default();
        if kb > known.0 {
            *known = (kb, key.to_owned());
        }
    }

    /// The container's largest logical partition, if the logs tell it and it has a share worth a
    /// word of what one may have.
    pub fn note(&self) -> Option<String> {
        let (kb, key) = match &self.wanted {
            Some(wanted) => self.largest.get(wanted)?,
            None => self
                .largest
                .values()
                .max_by(|left, right| left.0.total_cmp(&right.0))?,
        };
        let bytes = kb * 1_024.0;
        let most = Limits::default().logical_partition_bytes as f64;
        (bytes >= most / 100.0).then(|| format!(
            "the largest logical partition is {key} with {} GB, {} of what one key value may have",
            gigabytes(bytes / GIGABYTE),
            percent(bytes / most)
        ))
    }

    /// Counts requests.
    pub fn count(&mut self, line: &[u8], traffic: &mut Traffic) -> Result<(), String> {
        let row = Row::parse(line)?;
        if row.category() != Category::Request {
            return Ok(());
        }
        let is_item = row
            .text("requestresourcetype")
            .is_none_or(|kind| kind.eq_ignore_ascii_case("document"));
        if !is_item {
            return Ok(());
        }
        if let Some(container) = row.container() {
            if self.wanted.is_none() {
                self.wanted = Some(container.clone());
                traffic.tell(Observed {
                    container: Some(container.clone()),
                    ..traffic.observed().clone()
                });
            }
            if self.wanted.as_ref() != Some(&container) {
                self.others += 1;
                return Ok(());
            }
        }
        let status = row.number("statuscode").unwrap_or(200.0) as u16;
        let operation = row.text("operationname").unwrap_or_default();
        let Some(deed) = deed(operation, status) else {
            traffic.skip();
            return Ok(());
        };
        let activity = row.text("activityid").map(str::to_ascii_lowercase);
        let known = activity.as_ref();
        let text = known.and_then(|activity| self.text_of.get(activity));
        let key = known
            .and_then(|activity| self.key_of.get(activity))
            .cloned();
        let charge = row.charge()?;
        let time = row.text("timegenerated").or_else(|| row.text("time"));
        traffic.add(&Event {
            time_us: time.and_then(time_us),
            is_refused: status == 429,
            text: text.map(|text| &**text),
            query: activity.as_deref().filter(|_| deed == Deed::Query),
            // Every query has a key in some log; whether the caller sent it cannot be told.
            key: key.filter(|_| deed != Deed::Query),
            operations: 1,
            count: row
                .number("samplecount")
                .map_or(1, |count| count.max(1.0) as u64),
            ..Event::new(deed, charge)
        })
    }

    /// Requests of other containers that were passed over.
    pub fn others(&self) -> u64 {
        self.others
    }
}

/// The query inside `{"query":"…","parameters":[…]}`, or the text itself.
fn query_text(text: &str) -> String {
    if text.trim_start().starts_with('{')
        && let Ok(parsed) = serde_json::from_str::<Json>(text)
        && let Some(query) = parsed["query"].as_str()
    {
        return query.to_owned();
    }
    text.to_owned()
}

/// `["a","b"]`, or a bare value.
fn key_values(text: &str) -> Vec<Option<String>> {
    match serde_json::from_str::<Json>(text) {
        Ok(Json::Array(values)) => values
            .iter()
            .map(|value| value.as_str().map(str::to_owned))
            .collect(),
        Ok(Json::String(value)) => vec![Some(value)],
        Ok(_) => vec![None],
        Err(_) => vec![Some(text.to_owned())],
    }
}

/// Microseconds since 1970 of a time in UTC: `2026-11-30T17:46:49.1234567Z`.
pub(super) fn time_us(text: &str) -> Option<u64> {
    let (date, time) = text.trim().trim_end_matches('Z').split_once(['T', ' '])?;
    let mut parts = date.split('-');
    let mut next = || parts.next()?.parse::<i64>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    let mut parts = time.split(':');
    let hours: u64 = parts.next()?.parse().ok()?;
    let minutes: u64 = parts.next()?.parse().ok()?;
    let seconds: f64 = parts.next().unwrap_or("0").parse().ok()?;
    let is_time = hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !is_time {
        return None;
    }
    // Days by the proleptic calendar, years beginning in March.
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let days = u64::try_from(days).ok()?;
    Some((days * 86_400 + hours * 3_600 + minutes * 60) * 1_000_000 + (seconds * 1e6) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One query over two ranges, two creates and a refused one, in a form of the logs.
    fn patterns(lines: &[&str]) -> Vec<(String, f64, Option<f64>)> {
        let mut diagnostics = Diagnostics::new(None);
        for line in lines {
            diagnostics.learn(line.as_bytes()).expect("a row");
        }
        let mut traffic = Traffic::new();
        for line in lines {
            diagnostics
                .count(line.as_bytes(), &mut traffic)
                .expect("a row");
        }
        let workload = traffic
            .workload(Some(10.0), 1.0)
            .expect("workload")
            .workload;
        let pattern =
            |pattern: crate::scenario::PatternSpec| (pattern.name, pattern.rate, pattern.charge);
        workload.into_iter().map(pattern).collect()
    }

    fn expected() -> Vec<(String, f64, Option<f64>)> {
        let text = "SELECT * FROM c WHERE c.a = @a".to_owned();
        vec![
            ("create".to_owned(), 0.2, Some(7.0)),
            (text, 0.1, Some(3.0)),
        ]
    }

    #[test]
    fn resource_specific_rows() {
        let lines = [
            r#"{"TimeGenerated":"2026-11-30T10:00:00.1Z","Type":"CDBDataPlaneRequests","DatabaseName":"d","CollectionName":"c","OperationName":"Query","RequestResourceType":"Document","StatusCode":"200","RequestCharge":2.5,"ActivityId":"A1","PartitionId":"0"}"#,
            r#"{"TimeGenerated":"2026-11-30T10:00:00.2Z","Type":"CDBDataPlaneRequests","DatabaseName":"d","CollectionName":"c","OperationName":"Query","RequestResourceType":"Document","StatusCode":"200","RequestCharge":"3.5","ActivityId":"A1","PartitionId":"1"}"#,
            r#"{"Type":"CDBDataPlaneRequests","DatabaseName":"d","CollectionName":"c","OperationName":"Create","RequestResourceType":"Document","StatusCode":"201","RequestCharge":7,"ActivityId":"A2"}"#,
            r#"{"Type":"CDBDataPlaneRequests","DatabaseName":"d","CollectionName":"c","OperationName":"Create","RequestResourceType":"Document","StatusCode":"201","RequestCharge":7,"ActivityId":"A3"}"#,
            r#"{"Type":"CDBDataPlaneRequests","DatabaseName":"d","CollectionName":"c","OperationName":"Create","RequestResourceType":"Document","StatusCode":"429","RequestCharge":0,"ActivityId":"A4"}"#,
            r#"{"Type":"CDBDataPlaneRequests","DatabaseName":"d","CollectionName":"other","OperationName":"Create","RequestResourceType":"Document","StatusCode":"201","RequestCharge":7,"ActivityId":"A5"}"#,
            r#"{"Type":"CDBQueryRuntimeStatistics","ActivityId":"a1","PartitionKeyRangeId":"0","QueryText":"{\"query\":\"SELECT * FROM c WHERE c.a = @a\",\"parameters\":[]}"}"#,
        ];
        assert_eq!(patterns(&lines), expected());
    }

    #[test]
    fn rows_of_the_legacy_table() {
        let lines = [
            r#"{"Category":"QueryRuntimeStatistics","activityId_g":"a1","querytext_s":"SELECT * FROM c WHERE c.a = @a"}"#,
            r#"{"TimeGenerated":"2026-11-30T10:00:00Z","Category":"DataPlaneRequests","OperationName":"Query","databaseName_s":"d","collectionName_s":"c","statusCode_s":"200","requestCharge_s":"3.0","activityId_g":"a1","requestResourceType_s":"Document"}"#,
            r#"{"Category":"DataPlaneRequests","OperationName":"Create","databaseName_s":"d","collectionName_s":"c","statusCode_s":"201","requestCharge_s":"7","activityId_g":"a2"}"#,
            r#"{"Category":"DataPlaneRequests","OperationName":"Create","databaseName_s":"d","collectionName_s":"c","statusCode_s":"201","requestCharge_s":"7","activityId_g":"a3"}"#,
        ];
        assert_eq!(patterns(&lines), expected());
    }

    #[test]
    fn lines_of_the_storage_account() {
        let lines = [
            r#"{"time":"2026-11-30T10:00:00Z","category":"DataPlaneRequests","operationName":"Query","properties":{"activityId":"a1","databaseName":"d","collectionName":"c","statusCode":"200","requestCharge":"3.00","requestResourceType":"Document"}}"#,
            r#"{"time":"2026-11-30T10:00:00Z","category":"QueryRuntimeStatistics","operationName":"Query","properties":{"activityId":"a1","querytext":"SELECT * FROM c WHERE c.a = @a"}}"#,
            r#"{"time":"2026-11-30T10:00:01Z","category":"DataPlaneRequests","operationName":"Create","properties":{"activityId":"a2","databaseName":"d","collectionName":"c","statusCode":"201","requestCharge":"7.00","requestResourceType":"Document"}}"#,
            r#"{"time":"2026-11-30T10:00:02Z","category":"DataPlaneRequests","operationName":"Create","properties":{"activityId":"a3","databaseName":"d","collectionName":"c","statusCode":"201","requestCharge":"7.00","requestResourceType":"Document"}}"#,
            r#"{"time":"2026-11-30T10:00:02Z","category":"ControlPlaneRequests","operationName":"x","properties":{}}"#,
        ];
        assert_eq!(patterns(&lines), expected());
    }

    #[test]
    fn the_largest_key_of_the_container_is_told() {
        let lines = [
            r#"{"Type":"CDBPartitionKeyStatistics","DatabaseName":"d","CollectionName":"other","PartitionKey":"[\"z\"]","SizeKb":19000000}"#,
            r#"{"Type":"CDBPartitionKeyStatistics","DatabaseName":"d","CollectionName":"c","PartitionKey":"[\"a\"]","SizeKb":14680064,"RegionName":"East US"}"#,
            r#"{"category":"PartitionKeyStatistics","properties":{"databaseName":"d","collectionName":"c","partitionKey":"[\"b\"]","sizeKb":9000000}}"#,
            r#"{"Category":"PartitionKeyStatistics","databaseName_s":"d","collectionName_s":"c","partitionKey_s":"[\"e\"]","sizeKb_d":"100"}"#,
        ];
        let note_of = |container: &str, lines: &[&str]| {
            let mut diagnostics = Diagnostics::new(Some(container));
            let mut traffic = Traffic::new();
            for line in lines {
                let line = line.as_bytes();
                diagnostics.learn(line).expect("a row");
                diagnostics.count(line, &mut traffic).expect("a row");
            }
            diagnostics.note()
        };
        assert_eq!(
            note_of("d/c", &lines).as_deref(),
            Some(
                "the largest logical partition is [\"a\"] with 14 GB, 70.0 % of what one key value may have"
            )
        );
        assert_eq!(note_of("d/c", &lines[3..]), None, "too little for a word");
        assert_eq!(note_of("d/none", &lines), None);
    }

    #[test]
    fn charges_that_are_none_are_told() {
        for charge in [r#""much""#, r#""NaN""#, "-2.5", "true"] {
            let row = format!(
                r#"{{"Type":"CDBDataPlaneRequests","OperationName":"Create","StatusCode":"201","RequestCharge":{charge}}}"#
            );
            let error = Diagnostics::new(None)
                .count(row.as_bytes(), &mut Traffic::new())
                .expect_err(charge);
            assert!(error.contains(charge), "{error}");
        }
    }

    #[test]
    fn times_are_read() {
        assert_eq!(time_us("1970-01-01T00:00:01.5Z"), Some(1_500_000));
        assert_eq!(time_us("2026-11-30T17:46:49Z"), Some(1_796_060_809_000_000));
        assert_eq!(time_us("2024-02-29 00:00:00"), Some(1_709_164_800_000_000));
        assert_eq!(time_us("noon"), None);
        assert_eq!(time_us("2026-13-01T00:00:00Z"), None);
    }
}
