//! LIKE (query-language: section 6.4), matched in O(length of text x length of pattern).

use super::Run;
use memchr::memmem;

/// Comparisons of characters between two looks at the budget.
const STEPS_BETWEEN: u64 = 1 << 20;

/// One unit of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Unit {
    /// `%`
    Run,
    /// `_`
    Any,
    /// A character as such.
    One(char),
    /// `[abc]`, `[a-f]`, `[^…]`
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl Unit {
    fn takes(&self, letter: char) -> bool {
        match self {
            Self::Run | Self::Any => true,
            Self::One(own) => *own == letter,
            Self::Set { ranges, negated } => {
                ranges
                    .iter()
                    .any(|(low, high)| (*low..=*high).contains(&letter))
                    != *negated
            }
        }
    }
}

/// A pattern made ready.
#[derive(Debug, Clone)]
pub(crate) struct LikePattern {
    units: Vec<Unit>,
    /// The same in a form that is searched for, where there is one and it pays.
    pieces: Option<Pieces>,
}

/// Literals with `%` between them.
#[derive(Debug, Clone)]
struct Pieces {
    first: String,
    middle: Vec<memmem::Finder<'static>>,
    last: String,
}

impl Pieces {
    /// The pieces of a pattern of letters and at least one run.
    fn of(units: &[Unit]) -> Option<Self> {
        let letter = |unit: &Unit| match unit {
            Unit::One(letter) => Some(*letter),
            _ => None,
        };
        let literals = units
            .split(|unit| *unit == Unit::Run)
            .map(|piece| piece.iter().map(letter).collect::<Option<String>>());
        let mut literals = literals.collect::<Option<Vec<String>>>()?;
        let last = literals.pop()?;
        let mut literals = literals.into_iter();
        let first = literals.next()?;
        let finder = |piece: String| memmem::Finder::new(&piece).into_owned();
        Some(Self {
            first,
            middle: literals.map(finder).collect(),
            last,
        })
    }

    fn match_all_of(&self, text: &str) -> bool {
        let rest = text.strip_prefix(self.first.as_str());
        let Some(rest) = rest.and_then(|rest| rest.strip_suffix(self.last.as_str())) else {
            return false;
        };
        let mut rest = rest.as_bytes();
        // The first place of each leaves the most for those behind it.
        self.middle.iter().all(|piece| {
            let behind = piece.find(rest).map(|at| at + piece.needle().len());
            let Some(behind) = behind.and_then(|behind| rest.get(behind..)) else {
                return false;
            };
            rest = behind;
            true
        })
    }
}

impl LikePattern {
    pub(crate) fn new(pattern: &str, escape: Option<char>) -> Self {
        let letters: Vec<char> = pattern.chars().collect();
        let mut units = Vec::with_capacity(letters.len());
        let mut place = 0;
        while let Some(&letter) = letters.get(place) {
            place += 1;
            if Some(letter) == escape {
                if let Some(&next) = letters.get(place) {
                    units.push(Unit::One(next));
                    place += 1;
                } else {
                    units.push(Unit::One(letter));
                }
                continue;
            }
            match letter {
                // Repeated runs are one run.
                '%' if units.last() == Some(&Unit::Run) => {}
                '%' => units.push(Unit::Run),
                '_' => units.push(Unit::Any),
                '[' => match set(&letters, place) {
                    Some((unit, after)) => {
                        units.push(unit);
                        place = after;
                    }
                    None => units.push(Unit::One('[')),
                },
                other => units.push(Unit::One(other)),
            }
        }
        Self {
            units,
            pieces: None,
        }
    }

    /// A pattern for many texts.
    pub(crate) fn fixed(pattern: &str, escape: Option<char>) -> Self {
        let mut new = Self::new(pattern, escape);
        new.pieces = Pieces::of(&new.units);
        new
    }

    /// The text that every match starts with.
    pub(crate) fn prefix(&self) -> String {
        self.units
            .iter()
            .map_while(|unit| {
                if let Unit::One(letter) = unit {
                    Some(*letter)
                } else {
                    None
                }
            })
            .collect()
    }

    /// True for a pattern without wildcards.
    pub(crate) fn is_literal(&self) -> bool {
        self.units.iter().all(|unit| matches!(unit, Unit::One(_)))
    }

    /// True for a literal followed by one `%`.
    pub(crate) fn is_prefix(&self) -> bool {
        self.units.split_last().is_some_and(|(last, rest)| {
            *last == Unit::Run && rest.iter().all(|unit| matches!(unit, Unit::One(_)))
        })
    }

    /// The literal of a pattern `%literal%`.
    pub(crate) fn contained(&self) -> Option<String> {
        let inner = self
            .units
            .strip_prefix(&[Unit::Run])?
            .strip_suffix(&[Unit::Run])?;
        inner
            .iter()
            .map(|unit| {
                if let Unit::One(letter) = unit {
                    Some(*letter)
                } else {
                    None
                }
            })
            .collect()
    }

    /// Whether the whole text matches. Greedy with one point of return: the last run.
    pub(crate) fn matches(&self, text: &str, run: &Run<'_>) -> bool {
        if let Some(pieces) = &self.pieces {
            run.spend(text.len() as u64 / 64);
            return pieces.match_all_of(text);
        }
        let mut unit = 0;
        let mut rest = text;
        let mut back: Option<(usize, &str)> = None;
        let mut steps = 0_u64;
        let matched = loop {
            steps += 1;
            if steps.is_multiple_of(STEPS_BETWEEN) {
                run.spend(STEPS_BETWEEN / 16);
                if run.exhausted() {
                    break false;
                }
            }
            match (self.units.get(unit), rest.chars().next()) {
                (Some(Unit::Run), _) => {
                    unit += 1;
                    if unit == self.units.len() {
                        break true;
                    }
                    back = Some((unit, rest));
                    continue;
                }
                (None, None) => break true,
                (Some(wanted), Some(letter)) if wanted.takes(letter) => {
                    unit += 1;
                    rest = &rest[letter.len_utf8()..];
                    continue;
                }
                _ => {}
            }
            let Some((after, start)) = back else {
                break false;
            };
            let Some(skipped) = start.chars().next() else {
                break false;
            };
            rest = &start[skipped.len_utf8()..];
            back = Some((after, rest));
            unit = after;
        };
        run.spend(steps % STEPS_BETWEEN / 16);
        matched
    }
}

/// A set whose `[` stands before `place`; `None` when it never ends, so that `[` is a letter.
fn set(letters: &[char], mut place: usize) -> Option<(Unit, usize)> {
    let negated = letters.get(place) == Some(&'^');
    if negated {
        place += 1;
    }
    let mut ranges = Vec::new();
    let first = place;
    loop {
        let letter = *letters.get(place)?;
        if letter == ']' && place > first {
            return Some((Unit::Set { ranges, negated }, place + 1));
        }
        match (letters.get(place + 1), letters.get(place + 2)) {
            (Some('-'), Some(&high)) if high != ']' => {
                ranges.push((letter, high));
                place += 3;
            }
            _ => {
                ranges.push((letter, letter));
                place += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Settings;

    fn like(text: &str, pattern: &str, escape: Option<char>) -> bool {
        let settings = Settings::default();
        let run = Run::new(&settings, 1 << 30, 1 << 20);
        let matched = LikePattern::new(pattern, escape).matches(text, &run);
        let fixed = LikePattern::fixed(pattern, escape).matches(text, &run);
        assert_eq!(matched, fixed, "{text} LIKE {pattern}");
        matched
    }

    #[test]
    fn pieces_are_matched_as_letters_are() {
        let texts = ["", "a", "aa", "aba", "abab", "aéa", "éé", "xaxbxa", "abaab"];
        let mut patterns = vec![String::new()];
        for _ in 0..5 {
            let longer = patterns
                .iter()
                .flat_map(|pattern| ["%", "a", "b", "é"].map(|next| format!("{pattern}{next}")));
            patterns.extend(longer.collect::<Vec<_>>());
            patterns.sort();
            patterns.dedup();
        }
        for pattern in &patterns {
            for text in texts {
                like(text, pattern, None);
            }
        }
        assert!(like("abaab", "a%b", None) && like("xaxbxa", "%a%b%a", None));
        assert!(!like("aba", "ab%ba", None) && !like("a", "a%a", None));
    }

    #[test]
    fn wildcards() {
        assert!(like("fruit salad", "fruit%", None));
        assert!(!like("dried fruit", "fruit%", None));
        assert!(like("dried fruit", "%fruit%", None));
        assert!(like("xSO1PSy", "%SO_PS%", None));
        assert!(!like("SOPS", "%SO_PS%", None));
        assert!(like("", "%", None));
        assert!(!like("a", "", None));
        assert!(like("aéb", "a_b", None));
    }

    #[test]
    fn sets() {
        assert!(like("xSOtPSy", "%SO[t-z]PS%", None));
        assert!(!like("xSOaPSy", "%SO[^abc]PS%", None));
        assert!(like("20-30%", "20-30[%]", None));
        assert!(like("[", "[[]", None));
        assert!(like("]", "]", None));
        assert!(like("[open", "[open", None));
    }

    #[test]
    fn escapes() {
        assert!(like("20-30%", "%20-30!%%", Some('!')));
        assert!(!like("20-30x", "20-30!%", Some('!')));
        assert!(like("a!", "a!", Some('!')));
    }

    #[test]
    fn hostile_patterns_take_polynomial_time() {
        let text = "a".repeat(5_000);
        let pattern = "%a".repeat(2_000) + "b";
        assert!(!like(&text, &pattern, None));
    }
}
