//! Patching items (protocol: section 10.2): the document that a client sends, and its effect on
//! an item's value. Pure; the write path brings the item and checks the condition.

mod apply;
mod condition;
mod pointer;

use orrery_model::json;
use orrery_model::value::Value;

use crate::error::Error;

pub use condition::Condition;
pub use pointer::Pointer;

/// Most operations of one patch (request units: section 9).
pub const MAX_OPERATIONS: usize = 10;

/// A patch as the client sends it.
#[derive(Debug, Clone)]
pub struct PatchDocument {
    /// When to apply it.
    pub condition: Option<Condition>,
    /// In order.
    pub operations: Vec<PatchOperation>,
}

/// One change.
#[derive(Debug, Clone, PartialEq)]
pub enum PatchOperation {
    /// Sets a member; inserts an element.
    Add(Pointer, Value<'static>),
    /// Sets a member; overwrites an element.
    Set(Pointer, Value<'static>),
    /// Overwrites what exists.
    Replace(Pointer, Value<'static>),
    /// Removes what exists.
    Remove(Pointer),
    /// Adds to a number; creates it where missing.
    Increment(Pointer, orrery_model::value::Number),
    /// Removes and adds elsewhere.
    Move {
        /// What to remove.
        from: Pointer,
        /// Where to add it.
        to: Pointer,
    },
}

impl PatchDocument {
    /// Reads a patch. `{"operations":[…],"condition":"…"}`, or the array of operations alone.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let document = json::parse(body).map_err(|error| {
            Error::bad_request(format!("The request payload is invalid: {error}"))
        })?;
        let (operations, condition) = match &document {
            Value::Array(operations) => (operations.as_slice(), Value::undefined()),
            Value::Object(_) => match document.member("operations") {
                Value::Array(operations) => (operations.as_slice(), document.member("condition")),
                _ => return Err(invalid("The patch has no array 'operations'")),
            },
            _ => return Err(invalid("A patch is an object")),
        };
        let condition = match condition {
            Value::Undefined | Value::Null => None,
            Value::String(text) => Some(Condition::parse(text)?),
            _ => return Err(invalid("The patch condition is not a string")),
        };
        if operations.is_empty() {
            return Err(invalid("A patch needs at least one operation"));
        }
        if operations.len() > MAX_OPERATIONS {
            return Err(invalid(&format!(
                "The number of patch operations can't exceed '{MAX_OPERATIONS}'"
            )));
        }
        let operations = operations
            .iter()
            .enumerate()
            .map(|(index, operation)| {
                PatchOperation::parse(operation).map_err(|problem| of_operation(index, &problem))
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            condition,
            operations,
        })
    }

    /// Refuses paths that only the service, or nobody, may change: `id`, the partition key and
    /// the system properties. `keys` are the partition key's paths as segments.
    pub fn check_paths<'a>(
        &self,
        keys: impl Iterator<Item = &'a [String]> + Clone,
    ) -> Result<(), Error> {
        for (index, operation) in self.operations.iter().enumerate() {
            for pointer in operation.changed() {
                if let Some(problem) = pointer.refused(keys.clone()) {
                    return Err(of_operation(index, &problem));
                }
            }
        }
        Ok(())
    }

    /// Applies all operations in order. On an error the item is half changed: drop it.
    pub fn apply(&self, item: &mut Value<'static>) -> Result<(), Error> {
        for (index, operation) in self.operations.iter().enumerate() {
            operation
                .apply(item)
                .map_err(|problem| of_operation(index, &problem))?;
        }
        Ok(())
    }
}

impl PatchOperation {
    fn parse(operation: &Value<'_>) -> Result<Self, String> {
        let Value::Object(members) = operation else {
            return Err("A patch operation is an object".to_owned());
        };
        let pointer = |name: &str| match members.get(name) {
            Some(Value::String(text)) => Pointer::parse(text),
            _ => Err(format!("The operation has no string '{name}'")),
        };
        let value = || match members.get("value") {
            Some(value) => Ok(value.clone().into_owned()),
            None => Err("The operation has no 'value'".to_owned()),
        };
        let name = members
            .get("op")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let path = pointer("path")?;
        Ok(match name.to_ascii_lowercase().as_str() {
            "add" => Self::Add(path, value()?),
            "set" => Self::Set(path, value()?),
            "replace" => Self::Replace(path, value()?),
            "remove" => Self::Remove(path),
            "incr" | "increment" => match value()? {
                Value::Number(number) => Self::Increment(path, number),
                _ => return Err("Increment Operation needs a number as its value".to_owned()),
            },
            "move" => {
                let from = pointer("from")?;
                if path.is_inside(&from) {
                    return Err(format!(
                        "Move Operation cannot move '{from}' into its own child '{path}'"
                    ));
                }
                Self::Move { from, to: path }
            }
            _ => return Err(format!("'{name}' is not a patch operation")),
        })
    }

    fn changed(&self) -> impl Iterator<Item = &Pointer> {
        let (first, second) = match self {
            Self::Add(path, _)
            | Self::Set(path, _)
            | Self::Replace(path, _)
            | Self::Remove(path)
            | Self::Increment(path, _) => (path, None),
            Self::Move { from, to } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }
}

fn invalid(problem: &str) -> Error {
    Error::bad_request(format!("The input content is invalid: {problem}."))
}

fn of_operation(index: usize, problem: &str) -> Error {
    Error::bad_request(format!("For Operation({}): {problem}", index + 1))
}

#[cfg(test)]
mod tests;
