//! Limits by their names in JSON: what `--limits FILE` reads and the admin interface shows.

use crate::value::{Object, Value};

use super::Limits;

/// A file of limits that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// The text holds no JSON object.
    #[error("limits are a JSON object of names and whole numbers")]
    Shape,
    /// There is no limit of this name.
    #[error("there is no limit '{0}'")]
    Unknown(String),
    /// The value is no whole number, or one that nothing could work with.
    #[error("the limit '{0}' must be a whole number above 0")]
    Value(String),
}

macro_rules! named {
    ($($name:literal = $field:ident;)*) => {
        impl Limits {
            /// All limits with their names.
            pub fn to_value(&self) -> Value<'static> {
                let mut object = Object::new();
                $(object.insert($name, u64::try_from(self.$field).unwrap_or(u64::MAX));)*
                Value::Object(object)
            }

            fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    // A figure beyond the machine's words is as good as none.
                    $($name => self.$field = value.try_into().unwrap_or(!0),)*
                    _ => return false,
                }
                true
            }
        }
    };
}

named! {
    "logicalPartitionBytes" = logical_partition_bytes;
    "physicalPartitionBytes" = physical_partition_bytes;
    "physicalPartitionRate" = physical_partition_rate;
    "initialManualRatePerPartition" = initial_manual_rate_per_partition;
    "initialAutoscaleRatePerPartition" = initial_autoscale_rate_per_partition;
    "minManualRate" = min_manual_rate;
    "manualRateStep" = manual_rate_step;
    "minAutoscaleRate" = min_autoscale_rate;
    "autoscaleRateStep" = autoscale_rate_step;
    "maxRate" = max_rate;
    "bytesPerMinRate" = bytes_per_min_rate;
    "highestManualDivisor" = highest_manual_divisor;
    "highestAutoscaleDivisor" = highest_autoscale_divisor;
    "sharedDatabaseContainers" = shared_database_containers;
    "sharedManualRatePerContainer" = shared_manual_rate_per_container;
    "sharedAutoscaleRatePerContainer" = shared_autoscale_rate_per_container;
    "serverlessPartitionRate" = serverless_partition_rate;
    "metadataRate" = metadata_rate;
    "burstSeconds" = burst_seconds;
    "burstRate" = burst_rate;
    "itemBytes" = item_bytes;
    "requestBytes" = request_bytes;
    "responseBytes" = response_bytes;
    "idBytes" = id_bytes;
    "keyBytes" = key_bytes;
    "nesting" = nesting;
    "queryBytes" = query_bytes;
    "batchOperations" = batch_operations;
    "batchBytes" = batch_bytes;
    "patchOperations" = patch_operations;
    "storedProcedures" = stored_procedures;
    "userDefinedFunctions" = user_defined_functions;
    "triggers" = triggers;
    "uniqueKeys" = unique_keys;
    "uniqueKeyPaths" = unique_key_paths;
    "indexPaths" = index_paths;
    "compositePaths" = composite_paths;
    "compositeIndexes" = composite_indexes;
    "databasesAndContainers" = databases_and_containers;
    "nameChars" = name_chars;
    "executionMs" = execution_ms;
    "wholeExecutionMs" = whole_execution_ms;
    "queryMemory" = query_memory;
    "queriesMemory" = queries_memory;
}

impl Limits {
    /// These limits with those of a JSON object in their places.
    pub fn with(mut self, changes: &Value<'_>) -> Result<Self, LimitsError> {
        let changes = changes.as_object().ok_or(LimitsError::Shape)?;
        for (name, value) in changes.iter() {
            let value = value
                .as_i64()
                .and_then(|value| u64::try_from(value).ok())
                .filter(|value| *value > 0)
                .ok_or_else(|| LimitsError::Value(name.to_string()))?;
            if !self.set(name, value) {
                return Err(LimitsError::Unknown(name.to_string()));
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn limits_are_read_as_they_are_shown() {
        let limits = Limits::default();
        let shown = limits.to_value();
        assert_eq!(
            shown.member("logicalPartitionBytes").as_i64(),
            Some(20 << 30)
        );
        let zeros = Limits {
            item_bytes: 1,
            physical_partition_bytes: 1,
            ..limits.clone()
        };
        assert_eq!(zeros.with(&shown), Ok(limits));
    }

    #[test]
    fn mistakes_are_named() {
        let read = |text: &str| {
            let value = json::parse_str(text).expect("JSON").into_owned();
            Limits::default().with(&value)
        };
        let changed = read(r#"{"burstRate": 5}"#).expect("a limit");
        assert_eq!(changed.burst_rate, 5);
        assert_eq!(read("[]"), Err(LimitsError::Shape));
        let unknown = LimitsError::Unknown("burst".to_owned());
        assert_eq!(read(r#"{"burst": 5}"#), Err(unknown));
        for bad in ["0", "-1", "1.5", "\"1\"", "null"] {
            let text = format!(r#"{{"burstRate": {bad}}}"#);
            let refused = LimitsError::Value("burstRate".to_owned());
            assert_eq!(read(&text), Err(refused), "{bad}");
        }
    }
}
