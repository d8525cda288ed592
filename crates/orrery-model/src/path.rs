//! Paths into items as policies write them: `/a/"b c"/[]/?`, `/*`.

use std::fmt;

use crate::value::Value;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// A member of an object.
    Property(String),
    /// Any element of an array: `[]`.
    Element,
}

/// What the end of a path covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathEnd {
    /// No mark: the value itself.
    Exact,
    /// `/?`: the scalar at the path.
    Scalar,
    /// `/*`: the value at the path and everything below it.
    Subtree,
}

/// A parsed path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ItemPath {
    steps: Vec<Step>,
    end: PathEnd,
}

/// A text that is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The path '{path}' is invalid: {reason}.")]
pub struct PathError {
    /// The text.
    pub path: String,
    /// What is wrong with it.
    pub reason: &'static str,
    /// Where, in bytes.
    pub position: usize,
}

/// Longest path and most steps that are taken; the service's nesting limit.
const MAX_STEPS: usize = crate::json::MAX_DEPTH;

impl ItemPath {
    /// A path of member names without a mark at its end.
    pub fn of_properties<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let steps = names
            .into_iter()
            .map(|name| Step::Property(name.into()))
            .collect();
        Self {
            steps,
            end: PathEnd::Exact,
        }
    }

    /// A path of these steps without a mark at its end.
    pub fn of_steps(steps: &[Step]) -> Self {
        Self {
            steps: steps.to_vec(),
            end: PathEnd::Exact,
        }
    }

    /// Parses a path. Names may be quoted (`"b c"`, with `\"` and `\\` inside).
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let error = |rest: &str, reason| PathError {
            path: text.to_owned(),
            reason,
            position: text.len() - rest.len(),
        };
        let mut rest = text
            .strip_prefix('/')
            .ok_or_else(|| error(text, "it must start with '/'"))?;
        let mut path = Self {
            steps: Vec::new(),
            end: PathEnd::Exact,
        };
        if rest.is_empty() {
            return Ok(path);
        }
        loop {
            let (segment, quoted, after) =
                split_segment(rest).map_err(|reason| error(rest, reason))?;
            let last = after.is_none();
            match segment.as_str() {
                "" if !quoted => return Err(error(rest, "a segment is empty")),
                "?" if !quoted && last => path.end = PathEnd::Scalar,
                "*" if !quoted && last => path.end = PathEnd::Subtree,
                "?" | "*" if !quoted => {
                    return Err(error(rest, "'?' and '*' stand only at the end"));
                }
                "[]" if !quoted => path.steps.push(Step::Element),
                _ => path.steps.push(Step::Property(segment)),
            }
            if path.steps.len() > MAX_STEPS {
                return Err(error(rest, "it has too many segments"));
            }
            match after {
                Some(after) => rest = after,
                None => return Ok(path),
            }
        }
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What the end covers.
    pub fn end(&self) -> PathEnd {
        self.end
    }

    /// The member names, where the path has no array steps.
    pub fn properties(&self) -> Option<Vec<&str>> {
        fn name(step: &Step) -> Option<&str> {
            match step {
                Step::Property(name) => Some(name),
                Step::Element => None,
            }
        }
        self.steps.iter().map(name).collect()
    }

    /// The value at the path, through members only; `Undefined` where there is none and for
    /// paths with array steps, which have no single value.
    pub fn evaluate<'v, 'a>(&self, value: &'v Value<'a>) -> &'v Value<'a> {
        self.steps.iter().fold(value, |value, step| match step {
            Step::Property(name) => value.member(name),
            Step::Element => Value::undefined(),
        })
    }
}

type Segment<'a> = (String, bool, Option<&'a str>);

/// The next segment, whether it was quoted, and the text behind the following `/`.
fn split_segment(text: &str) -> Result<Segment<'_>, &'static str> {
    let Some(quote @ ('"' | '\'')) = text.chars().next() else {
        return Ok(match text.split_once('/') {
            Some((segment, after)) => (segment.to_owned(), false, Some(after)),
            None => (text.to_owned(), false, None),
        });
    };
    let mut segment = String::new();
    let mut chars = text[1..].char_indices();
    while let Some((at, char)) = chars.next() {
        if char == '\\' {
            let (_, escaped) = chars.next().ok_or("a quote is not closed")?;
            segment.push(escaped);
        } else if char == quote {
            let after = &text[1 + at + 1..];
            return match after.strip_prefix('/') {
                Some(after) => Ok((segment, true, Some(after))),
                None if after.is_empty() => Ok((segment, true, None)),
                None => Err("text follows a quoted segment"),
            };
        } else {
            segment.push(char);
        }
    }
    Err("a quote is not closed")
}

fn needs_quotes(name: &str) -> bool {
    name.is_empty()
        || !name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

impl fmt::Display for ItemPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            match step {
                Step::Element => formatter.write_str("/[]")?,
                Step::Property(name) if needs_quotes(name) => {
                    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
                    write!(formatter, "/\"{escaped}\"")?;
                }
                Step::Property(name) => write!(formatter, "/{name}")?,
            }
        }
        match self.end {
            PathEnd::Exact if self.steps.is_empty() => formatter.write_str("/"),
            PathEnd::Exact => Ok(()),
            PathEnd::Scalar => formatter.write_str("/?"),
            PathEnd::Subtree => formatter.write_str("/*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        for text in [
            "/*",
            "/?",
            "/",
            "/a",
            "/a/?",
            "/a/\"b c\"/[]/?",
            "/\"_e\\\"tag\"/*",
            "/\"*\"/?",
        ] {
            assert_eq!(ItemPath::parse(text).expect(text).to_string(), text);
        }
        for text in [
            "", "a", "//", "/a/", "/a/*/b", "/?/a", "/\"a", "/\"a\"b", "/\"a\\",
        ] {
            assert!(ItemPath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn evaluates_members() {
        let value = crate::json::parse_str(r#"{"a":{"b c":[1]},"n":null}"#).expect("JSON");
        let at = |path: &str| ItemPath::parse(path).expect(path).evaluate(&value).clone();
        assert_eq!(at("/a/\"b c\""), Value::from(vec![1]));
        assert_eq!(at("/n"), Value::Null);
        assert!(at("/a/x/y").is_undefined());
        assert!(at("/a/\"b c\"/[]").is_undefined());
    }
}
