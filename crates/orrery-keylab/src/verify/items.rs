//! Items as JSON text, from the values of their members.

use orrery_model::json;
use orrery_model::partition_key::KeyComponent;
use orrery_model::value::{Number, Object, Value};

use crate::generate::{fill, insert};

/// An item's text: its id, its members, and something that nobody reads up to the wanted size.
pub fn text<'a>(
    id: &str,
    members: impl Iterator<Item = (&'a str, &'a KeyComponent)>,
    made_key: Option<(&'a str, &'a KeyComponent)>,
    version: u64,
    bytes: usize,
) -> Vec<u8> {
    let mut item = Object::new();
    item.insert("id", id.to_owned());
    for (path, component) in members.chain(made_key) {
        let value = owned(component);
        if path != "id" && !value.is_undefined() {
            let path: Vec<String> = path.split('/').map(str::to_owned).collect();
            insert(&mut item, &path, value);
        }
    }
    item.insert("version", Number::from(version as f64));
    let mut text = Vec::with_capacity(bytes + 64);
    json::write(&Value::Object(item), &mut text);
    fill(&mut text, bytes);
    text
}

/// A component as a value of its own.
pub fn owned(component: &KeyComponent) -> Value<'static> {
    match component {
        KeyComponent::Null => Value::Null,
        KeyComponent::Bool(value) => Value::Bool(*value),
        KeyComponent::Number(value) => Value::Number(Number::from(*value)),
        KeyComponent::String(text) => Value::from(text.clone()),
        _ => Value::Undefined,
    }
}
