//! Words of a text: letters and digits, lower case, English stop words left out, plurals and
//! common endings cut. (The service's lists are not public.)

use super::stop_words::STOP_WORDS;
use orrery_model::value::Value;

/// The longest word that is compared within an edit distance.
const MAX_FUZZY: usize = 64;

/// The words of a text in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Words(Vec<String>);

/// The words of a term; a match is a run of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Phrase {
    words: Vec<String>,
    distance: usize,
}

impl Words {
    pub(crate) fn of(text: &str) -> Self {
        let tokens = tokens(text).map(str::to_lowercase);
        let words = tokens.filter(|word| STOP_WORDS.binary_search(&word.as_str()).is_err());
        Self(words.map(|word| stem(&word)).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// How often the phrase occurs.
    pub(crate) fn count(&self, phrase: &Phrase) -> usize {
        if phrase.words.is_empty() {
            return 0;
        }
        let alike = |own: &String, sought: &String| {
            own == sought || (phrase.distance > 0 && within(own, sought, phrase.distance))
        };
        self.0
            .windows(phrase.words.len())
            .filter(|run| {
                run.iter()
                    .zip(&phrase.words)
                    .all(|(own, sought)| alike(own, sought))
            })
            .count()
    }
}

impl Phrase {
    /// A term: a string, or `{"term": …, "distance": n}` for a fuzzy one.
    pub(crate) fn of(value: &Value<'_>) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::new(text, 0)),
            Value::Object(object) => {
                let term = object.get("term")?.as_str()?;
                let distance = object.get("distance").map_or(Some(0), Value::as_i64)?;
                Some(Self::new(
                    term,
                    usize::try_from(distance)
                        .ok()
                        .filter(|distance| *distance <= 2)?,
                ))
            }
            _ => None,
        }
    }

    /// A term, matched within so many edits a word.
    pub(crate) fn new(term: &str, distance: usize) -> Self {
        Self {
            words: Words::of(term).0,
            distance,
        }
    }
}

/// Runs of letters and digits; a comma or point between digits does not end one (`1,977`).
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let digit = move |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    let mut rest = 0;
    std::iter::from_fn(move || {
        let skipped = text.get(rest..)?.find(char::is_alphanumeric)?;
        let start = rest + skipped;
        let mut end = start;
        for letter in text.get(start..)?.chars() {
            let joins =
                matches!(letter, ',' | '.') && end > start && digit(end - 1) && digit(end + 1);
            if !letter.is_alphanumeric() && !joins {
                break;
            }
            end += letter.len_utf8();
        }
        rest = end;
        text.get(start..end)
    })
}

/// A light English stemmer: plurals, `-ing` and `-ed` of long words.
fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() <= 3 {
        return word.to_owned();
    }
    if let Some(root) = word.strip_suffix("ies") {
        return format!("{root}y");
    }
    for ending in ["sses", "shes", "ches", "xes"] {
        if word.ends_with(ending) {
            return word[..word.len() - 2].to_owned();
        }
    }
    let root = if word.ends_with('s')
        && !word.ends_with("ss")
        && !word.ends_with("us")
        && !word.ends_with("is")
    {
        &word[..word.len() - 1]
    } else {
        word
    };
    for ending in ["ing", "ed"] {
        if let Some(cut) = root.strip_suffix(ending)
            && cut.len() >= 3
            && cut.contains(['a', 'e', 'i', 'o', 'u', 'y'])
        {
            let doubled = cut
                .as_bytes()
                .windows(2)
                .next_back()
                .is_some_and(|end| end[0] == end[1]);
            let undoubled = doubled && !cut.ends_with(['l', 's', 'z']);
            return cut[..cut.len() - usize::from(undoubled)]
                .trim_end_matches('e')
                .to_owned();
        }
    }
    root.trim_end_matches('e').to_owned()
}

/// Whether two words are at most so many edits apart.
fn within(left: &str, right: &str, distance: usize) -> bool {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    if left.len().abs_diff(right.len()) > distance || left.len().max(right.len()) > MAX_FUZZY {
        return false;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (up, one) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = up + 1;
        for (across, other) in right.iter().enumerate() {
            let edited = (diagonal + usize::from(one != other))
                .min(row[across] + 1)
                .min(row[across + 1] + 1);
            diagonal = row[across + 1];
            row[across + 1] = edited;
        }
    }
    row[right.len()] <= distance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
    }

    #[test]
    fn phrases_match_in_order() {
        let words = Words::of("He was born in the United States, in Johnstown; John swims.");
        assert_eq!(words.count(&Phrase::new("united states", 0)), 1);
        assert_eq!(words.count(&Phrase::new("states united", 0)), 0);
        assert_eq!(words.count(&Phrase::new("john", 0)), 1);
        assert_eq!(words.count(&Phrase::new("swimming", 0)), 1);
        assert_eq!(words.count(&Phrase::new("Jonh", 2)), 1);
        assert_eq!(words.count(&Phrase::new("", 0)), 0);
        assert_eq!(Words::of("Of 1,977 men, 2.5 were known.").len(), 3);
    }
}
