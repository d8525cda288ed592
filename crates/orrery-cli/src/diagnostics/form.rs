//! The two forms in which the service hands out its logs (request units: section 12): lines of the
//! export to a storage account, and rows of the resource-specific tables. Their names differ, and
//! figures are texts in the one and numbers in the other.

use clap::ValueEnum;
use serde_json::{Map, Value as Json, json};

/// The form of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// As in the export to a storage account: the head, and properties in camel case.
    StorageAccount,
    /// As a row of a table whose name begins with CDB.
    Table,
}

/// What all lines have.
pub struct Head<'h> {
    /// When it happened.
    pub time: String,
    /// Whose it is.
    pub account: &'h str,
    /// The category's name.
    pub category: &'static str,
    /// What was done; null where nothing was.
    pub operation: &'h Json,
}

/// One property under its two names.
pub struct Property {
    log: &'static str,
    table: &'static str,
    value: Json,
    /// Decimals of a figure, which is a text in the logs.
    digits: Option<usize>,
}

impl Property {
    /// One that is the same in both forms.
    pub fn text(log: &'static str, table: &'static str, value: impl Into<Json>) -> Self {
        Self {
            log,
            table,
            value: value.into(),
            digits: None,
        }
    }

    /// A figure.
    pub fn figure(log: &'static str, table: &'static str, value: f64, digits: usize) -> Self {
        Self {
            log,
            table,
            value: Json::from(value),
            digits: Some(digits),
        }
    }
}

impl Form {
    /// A line.
    pub fn line(self, head: &Head<'_>, properties: &[Property]) -> Json {
        match self {
            Self::StorageAccount => {
                let properties: Map<String, Json> = properties
                    .iter()
                    .map(|one| (one.log.to_owned(), one.as_log()))
                    .collect();
                let mut line = json!({
                    "time": head.time,
                    "resourceId": format!("/DATABASEACCOUNTS/{}", head.account.to_uppercase()),
                    "category": head.category,
                    "properties": properties,
                });
                if !head.operation.is_null() {
                    line["operationName"] = head.operation.clone();
                }
                line
            }
            Self::Table => {
                let mut line = json!({
                    "TimeGenerated": head.time,
                    "Type": format!("CDB{}", head.category),
                });
                if !head.operation.is_null() {
                    line["OperationName"] = head.operation.clone();
                }
                for property in properties {
                    line[property.table] = property.value.clone();
                }
                line
            }
        }
    }
}

impl Property {
    fn as_log(&self) -> Json {
        match (self.digits, self.value.as_f64()) {
            (Some(digits), Some(value)) => Json::from(format!("{value:.digits$}")),
            _ => self.value.clone(),
        }
    }
}
