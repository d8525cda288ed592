//! The effect of one patch operation.

use std::borrow::Cow;

use orrery_model::value::{Number, Value};

use super::{PatchOperation, Pointer};

type Item = Value<'static>;

impl PatchOperation {
    pub(super) fn apply(&self, item: &mut Item) -> Result<(), String> {
        match self {
            Self::Add(path, value) => add(item, path, value.clone(), "Add"),
            Self::Set(path, value) => set(item, path, value.clone()),
            Self::Replace(path, value) => {
                *existing(item, path, "Replace")? = value.clone();
                Ok(())
            }
            Self::Remove(path) => remove(item, path, "Remove").map(drop),
            Self::Increment(path, by) => increment(item, path, *by),
            Self::Move { from, to } => {
                let value = remove(item, from, "Move")?;
                add(item, to, value, "Move")
            }
        }
    }
}

/// The parent of a place, or how far the path led.
fn parent<'v>(item: &'v mut Item, path: &Pointer, name: &str) -> Result<&'v mut Item, String> {
    let (parents, _) = path.split_last();
    let mut here = item;
    let mut reached = String::new();
    for segment in parents {
        let next = match here {
            Value::Object(members) => members.get_mut(segment),
            Value::Array(elements) => position(segment).and_then(|index| elements.get_mut(index)),
            _ => None,
        };
        here = next.ok_or_else(|| no_path(name, &reached))?;
        reached.push('/');
        reached.push_str(segment);
    }
    match here {
        Value::Object(_) | Value::Array(_) => Ok(here),
        _ => Err(no_path(name, &reached)),
    }
}

fn add(item: &mut Item, path: &Pointer, value: Item, name: &str) -> Result<(), String> {
    let (_, last) = path.split_last();
    match parent(item, path, name)? {
        Value::Array(elements) if last == "-" => elements.push(value),
        Value::Array(elements) => match position(last) {
            Some(index) if index <= elements.len() => elements.insert(index, value),
            _ => return Err(out_of_range(name, path)),
        },
        Value::Object(members) => {
            members.insert(Cow::Owned(last.to_owned()), value);
        }
        _ => return Err(no_path(name, &path.to_string())),
    }
    Ok(())
}

fn set(item: &mut Item, path: &Pointer, value: Item) -> Result<(), String> {
    let (_, last) = path.split_last();
    if let Value::Array(elements) = parent(item, path, "Set")?
        && let Some(element) = position(last).and_then(|index| elements.get_mut(index))
    {
        *element = value;
        return Ok(());
    }
    add(item, path, value, "Set")
}

fn existing<'v>(item: &'v mut Item, path: &Pointer, name: &str) -> Result<&'v mut Item, String> {
    let (_, last) = path.split_last();
    let place = match parent(item, path, name)? {
        Value::Object(members) => members.get_mut(last),
        Value::Array(elements) => position(last).and_then(|index| elements.get_mut(index)),
        _ => None,
    };
    place.ok_or_else(|| absent(name, path))
}

fn remove(item: &mut Item, path: &Pointer, name: &str) -> Result<Item, String> {
    let (_, last) = path.split_last();
    let removed = match parent(item, path, name)? {
        Value::Object(members) => members.remove(last),
        Value::Array(elements) => position(last)
            .filter(|index| *index < elements.len())
            .map(|index| elements.remove(index)),
        _ => None,
    };
    removed.ok_or_else(|| absent(name, path))
}

fn increment(item: &mut Item, path: &Pointer, by: Number) -> Result<(), String> {
    let name = "Increment";
    let (_, last) = path.split_last();
    let place = match parent(item, path, name)? {
        Value::Object(members) => {
            if !members.contains(last) {
                members.insert(Cow::Owned(last.to_owned()), Value::Number(by));
                return Ok(());
            }
            members.get_mut(last)
        }
        Value::Array(elements) => position(last).and_then(|index| elements.get_mut(index)),
        _ => None,
    };
    match place {
        Some(Value::Number(number)) => {
            *number = sum(*number, by).ok_or("Increment Operation leads to an infinite number")?;
            Ok(())
        }
        Some(_) => Err(format!(
            "Increment Operation needs a number at path '{path}'"
        )),
        None => Err(absent(name, path)),
    }
}

fn sum(a: Number, b: Number) -> Option<Number> {
    if let (Number::Int(a), Number::Int(b)) = (a, b)
        && let Some(sum) = a.checked_add(b)
    {
        return Some(Number::Int(sum));
    }
    let sum = a.as_f64() + b.as_f64();
    sum.is_finite().then_some(Number::Double(sum))
}

fn position(segment: &str) -> Option<usize> {
    let plain = segment == "0" || !segment.starts_with(['0', '+']);
    segment.parse().ok().filter(|_| plain)
}

fn no_path(name: &str, reached: &str) -> String {
    format!(
        "{name} Operation can only create a child object of an existing node(array or object) \
         and cannot create path recursively, no path found beyond: '{reached}'"
    )
}

fn absent(name: &str, path: &Pointer) -> String {
    format!("{name} Operation needs an existing path, no path found: '{path}'")
}

fn out_of_range(name: &str, path: &Pointer) -> String {
    format!("{name} Operation has an array index out of range: '{path}'")
}
