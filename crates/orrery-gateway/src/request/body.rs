//! Bodies that the gateway itself takes apart.

use std::collections::HashSet;

use orrery_model::json;
use orrery_model::value::Value;

use crate::respond::errors::GatewayError;

/// Longest query text (the account document promises it, protocol: section 1.2).
const MAX_QUERY_CHARS: usize = 524_288;

/// Parses a JSON body.
pub fn json_body(body: &[u8]) -> Result<Value<'_>, GatewayError> {
    json::parse(body).map_err(|error| GatewayError::Body(error.to_string()))
}

/// The body of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryBody {
    /// SQL text.
    pub text: String,
    /// Parameters by name, `@` included.
    pub parameters: Vec<(String, Value<'static>)>,
    /// Where an ORDER BY resumes (protocol: section 8.1).
    pub resume_filter: Option<Value<'static>>,
}

impl QueryBody {
    /// Reads `{"query", "parameters"?, "resumeFilter"?}`.
    pub fn parse(body: &[u8]) -> Result<Self, GatewayError> {
        let value = json_body(body)?;
        let invalid = |what: &str| GatewayError::Body(what.to_owned());
        if value.as_object().is_none() {
            return Err(invalid("A query is a JSON object."));
        }
        let text = value
            .member("query")
            .as_str()
            .ok_or_else(|| invalid("The member 'query' must be a string."))?;
        if text.len() > MAX_QUERY_CHARS {
            return Err(invalid("The query text exceeds the maximum length."));
        }
        let resume_filter = match value.member("resumeFilter") {
            Value::Undefined | Value::Null => None,
            filter => Some(filter.clone().into_owned()),
        };
        Ok(Self {
            text: text.to_owned(),
            parameters: parameters(value.member("parameters"))?,
            resume_filter,
        })
    }
}

fn parameters(list: &Value<'_>) -> Result<Vec<(String, Value<'static>)>, GatewayError> {
    let invalid = |what: &str| GatewayError::Body(what.to_owned());
    let list = match list {
        Value::Undefined | Value::Null => return Ok(Vec::new()),
        list => list
            .as_array()
            .ok_or_else(|| invalid("The member 'parameters' must be an array."))?,
    };
    let mut parameters: Vec<(String, Value<'static>)> = Vec::with_capacity(list.len());
    let mut names = HashSet::new();
    for parameter in list {
        let name = parameter
            .member("name")
            .as_str()
            .filter(|name| name.starts_with('@') && name.len() > 1)
            .ok_or_else(|| invalid("A parameter needs a name that starts with '@'."))?;
        if !names.insert(name) {
            return Err(invalid("A parameter is given twice."));
        }
        parameters.push((
            name.to_owned(),
            parameter.member("value").clone().into_owned(),
        ));
    }
    Ok(parameters)
}
