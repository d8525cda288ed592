//! The id of an imported item: its own, made of members, or new.

use orrery_model::json;
use orrery_model::value::{Object, Value};

/// How items get their ids.
pub struct IdRule {
    members: Vec<String>,
}

impl IdRule {
    /// A rule; no members mean the member `id`, or a new id for each item.
    pub fn new(members: &[String]) -> Self {
        Self {
            members: members.to_vec(),
        }
    }

    /// Checks that a record is an item and gives it its id. The text is kept when it needs no
    /// change.
    pub fn apply(&self, body: Vec<u8>) -> Result<Vec<u8>, String> {
        let value = json::parse(&body).map_err(|error| error.to_string())?;
        let Value::Object(mut item) = value else {
            return Err("not a JSON object".to_owned());
        };
        let id = match (self.members.is_empty(), item.get("id")) {
            (true, Some(Value::String(_))) => return Ok(body),
            (true, Some(Value::Number(_))) => part(item.get("id")).unwrap_or_default(),
            (true, None) => new_id()?,
            (true, Some(_)) => return Err("the id is no string".to_owned()),
            (false, _) => self.joined(&item)?,
        };
        item.insert("id".to_owned(), Value::from(id));
        Ok(json::to_string(&Value::Object(item)).into_bytes())
    }

    fn joined(&self, item: &Object<'_>) -> Result<String, String> {
        let mut parts = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let text = part(item.get(member));
            parts.push(text.ok_or_else(|| {
                format!("the member `{member}` of the id is missing or no scalar")
            })?);
        }
        Ok(parts.join("-"))
    }
}

fn part(value: Option<&Value<'_>>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone().into_owned()),
        value @ (Value::Number(_) | Value::Bool(_)) => Some(json::to_string(value)),
        _ => None,
    }
}

/// A random GUID, as the SDKs make them.
fn new_id() -> Result<String, String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness for a new id: {error}"))?;
    bytes[6] = (bytes[6] & 0x0F) | 0x40;
    bytes[8] = (bytes[8] & 0x3F) | 0x80;
    let number = u128::from_be_bytes(bytes);
    let hex = format!("{number:032x}");
    Ok(format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(members: &[&str], body: &str) -> Result<String, String> {
        let members: Vec<String> = members.iter().map(|member| (*member).to_owned()).collect();
        IdRule::new(&members)
            .apply(body.as_bytes().to_vec())
            .map(|body| String::from_utf8(body).unwrap())
    }

    #[test]
    fn ids_are_kept_made_or_new() {
        assert_eq!(
            applied(&[], r#"{"id":"a", "n":1}"#).unwrap(),
            r#"{"id":"a", "n":1}"#
        );
        assert_eq!(applied(&[], r#"{"id":7}"#).unwrap(), r#"{"id":"7"}"#);
        assert_eq!(
            applied(&["a", "b"], r#"{"a":"x","b":2.5}"#).unwrap(),
            r#"{"a":"x","b":2.5,"id":"x-2.5"}"#
        );
        let new = applied(&[], "{}").unwrap();
        assert_eq!(
            new.len(),
            r#"{"id":"00000000-0000-4000-8000-000000000000"}"#.len()
        );
        assert_ne!(new, applied(&[], "{}").unwrap());
    }

    #[test]
    fn what_is_no_item_is_told() {
        assert!(applied(&[], "[1]").is_err());
        assert!(applied(&[], "{\"a\":").is_err());
        assert!(applied(&[], r#"{"id":null}"#).is_err());
        assert!(applied(&["a"], r#"{"a":[1]}"#).unwrap_err().contains("`a`"));
    }
}
