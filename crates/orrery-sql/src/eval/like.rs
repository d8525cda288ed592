//! LIKE (query-language: section 6.4), matched in O(length of text x length of pattern).

use super::Run;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LikePattern {
    units: Vec<Unit>,
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
        Self { units }
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
        LikePattern::new(pattern, escape).matches(text, &Run::new(&settings, 1 << 30, 1 << 20))
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
