//! Full-text search without an index: analysis, matching and BM25 from given statistics
//! (query-language: section 9.1).

mod analysis;
mod stop_words;

use super::{Arguments, answer};
use crate::eval::Val;

pub(crate) use analysis::{Phrase, Words};

fn words(call: &Arguments<'_, '_>, index: usize) -> Option<Words> {
    let text = call.get(index);
    let text = text.as_str()?;
    call.run.spend(text.len() as u64 / 8);
    // Short words take many times the place of their letters.
    call.run.hold(text.len().saturating_mul(16));
    if call.run.exhausted() {
        return None;
    }
    Some(Words::of(text))
}

pub(super) fn contains<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let (Some(words), Some(phrase)) = (words(call, 0), Phrase::of(&call.get(1))) else {
        return Val::UNDEFINED;
    };
    answer(Some(words.count(&phrase) > 0))
}

/// OR (`wanted`) or AND (not `wanted`) over the terms.
fn terms<'e>(call: &Arguments<'_, 'e>, wanted: bool) -> Val<'e> {
    let Some(words) = words(call, 0) else {
        return Val::UNDEFINED;
    };
    for index in 1..call.len() {
        let Some(phrase) = Phrase::of(&call.get(index)) else {
            return Val::UNDEFINED;
        };
        if (words.count(&phrase) > 0) == wanted {
            return answer(Some(wanted));
        }
    }
    answer(Some(!wanted))
}

pub(super) fn contains_any<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    terms(call, true)
}

pub(super) fn contains_all<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    terms(call, false)
}

/// `_FullTextWordCount(path)`
pub(super) fn word_count<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    answer(words(call, 0).map(|words| words.len() as u64))
}

/// `_FullTextScore(path, [terms], documents, words, [hits])`: statistics come from the client.
pub(super) fn component_score<'e>(call: &Arguments<'_, 'e>) -> Val<'e> {
    let Some(words) = words(call, 0) else {
        return Val::UNDEFINED;
    };
    let (terms, hits) = (call.get(1), call.get(4));
    let (Some(terms), Some(hits)) = (terms.as_array(), hits.as_array()) else {
        return Val::UNDEFINED;
    };
    let (Some(documents), Some(total_words)) = (call.number(2), call.number(3)) else {
        return Val::UNDEFINED;
    };
    let mut score = 0.0;
    for (term, hits) in terms.iter().zip(hits) {
        let (Some(phrase), Some(hits)) = (Phrase::of(term), hits.as_f64()) else {
            return Val::UNDEFINED;
        };
        score += bm25(
            words.count(&phrase),
            words.len(),
            documents,
            total_words,
            hits,
        );
    }
    answer(Some(score))
}

/// BM25 of one term in one text, with the usual constants (the service's are not public).
pub(crate) fn bm25(
    occurrences: usize,
    length: usize,
    documents: f64,
    total_words: f64,
    hits: f64,
) -> f64 {
    const SATURATION: f64 = 1.2;
    const LENGTH_WEIGHT: f64 = 0.75;
    if occurrences == 0 {
        return 0.0;
    }
    let average = if documents > 0.0 {
        (total_words / documents).max(1.0)
    } else {
        1.0
    };
    let rarity = (1.0 + (documents - hits + 0.5) / (hits + 0.5))
        .max(1.0)
        .ln();
    let occurrences = occurrences as f64;
    let norm = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length as f64 / average;
    rarity * occurrences * (SATURATION + 1.0) / (occurrences + SATURATION * norm)
}
