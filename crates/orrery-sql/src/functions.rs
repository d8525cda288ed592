//! The built-in functions, a file per family (query-language: section 8).
//!
//! A function reads its arguments lazily and answers undefined for a wrong type.

mod array;
mod conditional;
mod datetime;
pub(crate) mod fulltext;
mod integer;
mod item;
mod math;
mod regular;
mod set;
mod spatial;
mod string;
mod string_convert;
mod string_search;
mod type_check;
pub(crate) mod vector;

use crate::eval::{Frame, Run, Val, eval};
use crate::program::node::Node;
use crate::signatures::BuiltIn;
use orrery_model::value::Value;

/// An implementation.
pub(crate) type Function = for<'e> fn(&Arguments<'_, 'e>) -> Val<'e>;

/// The arguments of a call, evaluated on demand.
pub(crate) struct Arguments<'a, 'e> {
    pub(crate) nodes: &'e [Node],
    pub(crate) frame: &'e Frame<'e>,
    pub(crate) run: &'a Run<'a>,
}

impl<'e> Arguments<'_, 'e> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// One of them; undefined where there is none. It is held, and paid for by its length, until
    /// the call ends.
    pub(crate) fn get(&self, index: usize) -> Val<'e> {
        let Some(node) = self.nodes.get(index) else {
            return Val::UNDEFINED;
        };
        let value = eval(node, self.frame, self.run);
        if let Value::String(text) = &*value {
            self.run.spend(text.len() as u64 / 64);
        }
        self.run.hold_value(&value);
        value
    }

    /// A double.
    pub(crate) fn number(&self, index: usize) -> Option<f64> {
        self.get(index).as_f64()
    }

    /// An integer without fraction within 64 bits.
    pub(crate) fn integer(&self, index: usize) -> Option<i64> {
        self.get(index).as_i64()
    }

    /// True only when the argument is the Boolean true.
    pub(crate) fn flag(&self, index: usize) -> bool {
        index < self.len() && matches!(*self.get(index), Value::Bool(true))
    }
}

/// Undefined in place of a missing result.
pub(crate) fn answer<'e, T: Into<Value<'e>>>(result: Option<T>) -> Val<'e> {
    Val::Own(result.map_or(Value::Undefined, Into::into))
}

/// True when equal arguments give equal results, so that constant calls may be folded.
pub(crate) fn is_pure(function: BuiltIn) -> bool {
    !matches!(function, BuiltIn::Rand | BuiltIn::DocumentId)
}

/// The implementation of a function; `None` for aggregates and for ranking functions, which stand
/// for more than a value.
pub(crate) fn implementation(function: BuiltIn) -> Option<Function> {
    use BuiltIn as B;
    let found: Function = match function {
        B::Average
        | B::Count
        | B::CountIf
        | B::MakeList
        | B::MakeSet
        | B::Max
        | B::Min
        | B::Sum => return None,
        B::FullTextScore | B::Rrf | B::VectorDistance => return None,

        B::IsArray => type_check::is_array,
        B::IsBool => type_check::is_bool,
        B::IsDateTime => type_check::is_date_time,
        B::IsDefined => type_check::is_defined,
        B::IsFiniteNumber => type_check::is_finite_number,
        B::IsInteger => type_check::is_integer,
        B::IsNull => type_check::is_null,
        B::IsNumber => type_check::is_number,
        B::IsObject => type_check::is_object,
        B::IsPrimitive => type_check::is_primitive,
        B::IsString => type_check::is_string,

        B::Concat => string::concat,
        B::Left => string::left,
        B::Length => string::length,
        B::Lower => string::lower,
        B::LTrim => string::trim_start,
        B::Replace => string::replace,
        B::Replicate => string::replicate,
        B::Reverse => string::reverse,
        B::Right => string::right,
        B::RTrim => string::trim_end,
        B::StringJoin => string::join,
        B::StringSplit => string::split,
        B::Substring => string::substring,
        B::Trim => string::trim,
        B::Upper => string::upper,

        B::Contains => string_search::contains,
        B::ContainsAllCi => string_search::contains_all_ci,
        B::ContainsAllCs => string_search::contains_all_cs,
        B::ContainsAnyCi => string_search::contains_any_ci,
        B::ContainsAnyCs => string_search::contains_any_cs,
        B::EndsWith => string_search::ends_with,
        B::IndexOf => string_search::index_of,
        B::LastIndexOf => string_search::last_index_of,
        B::LastSubstringAfter => string_search::last_substring_after,
        B::LastSubstringBefore => string_search::last_substring_before,
        B::StartsWith => string_search::starts_with,
        B::StringEquals => string_search::equals,
        B::SubstringAfter => string_search::substring_after,
        B::SubstringBefore => string_search::substring_before,

        B::RegexExtract => regular::extract,
        B::RegexExtractAll => regular::extract_all,
        B::RegexMatch => regular::matches,

        B::StringToArray => string_convert::to_array,
        B::StringToBoolean => string_convert::to_boolean,
        B::StringToNull => string_convert::to_null,
        B::StringToNumber => string_convert::to_number,
        B::StringToObject => string_convert::to_object,
        B::ToString => string_convert::to_string,

        B::Abs => math::abs,
        B::Acos => math::acos,
        B::Asin => math::asin,
        B::Atan => math::atan,
        B::Atn2 => math::atan2,
        B::Ceiling => math::ceiling,
        B::Cos => math::cos,
        B::Cot => math::cot,
        B::Degrees => math::degrees,
        B::Exp => math::exp,
        B::Floor => math::floor,
        B::Hash => math::hash,
        B::Log => math::log,
        B::Log10 => math::log10,
        B::NumberBin => math::number_bin,
        B::Pi => math::pi,
        B::Power => math::power,
        B::Radians => math::radians,
        B::Rand => math::rand,
        B::Round => math::round,
        B::Sign => math::sign,
        B::Sin => math::sin,
        B::Sqrt => math::sqrt,
        B::Square => math::square,
        B::Tan => math::tan,
        B::Trunc => math::trunc,

        B::IntAdd => integer::add,
        B::IntBitAnd => integer::bit_and,
        B::IntBitLeftShift => integer::shift_left,
        B::IntBitNot => integer::bit_not,
        B::IntBitOr => integer::bit_or,
        B::IntBitRightShift => integer::shift_right,
        B::IntBitXor => integer::bit_xor,
        B::IntDiv => integer::divide,
        B::IntMod => integer::modulo,
        B::IntMul => integer::multiply,
        B::IntSub => integer::subtract,

        B::ArrayAvg => array::average,
        B::ArrayConcat => array::concat,
        B::ArrayContains => array::contains,
        B::ArrayContainsAll => array::contains_all,
        B::ArrayContainsAny => array::contains_any,
        B::ArrayLength => array::length,
        B::ArrayMax => array::max,
        B::ArrayMedian => array::median,
        B::ArrayMin => array::min,
        B::ArraySlice => array::slice,
        B::ArraySum => array::sum,
        B::ObjectToArray => array::from_object,
        B::SetDifference => set::difference,
        B::SetEqual => set::equal,
        B::SetIntersect => set::intersect,
        B::SetUnion => set::union,

        B::Choose => conditional::choose,
        B::Iif => conditional::iif,

        B::DocumentId => item::document_id,

        B::Ago => datetime::ago,
        B::DateTimeAdd => datetime::add,
        B::DateTimeBin => datetime::bin,
        B::DateTimeDiff => datetime::diff,
        B::DateTimeFormat => datetime::format,
        B::DateTimeFromParts => datetime::from_parts,
        B::DateTimePart => datetime::part,
        B::DateTimeToTicks => datetime::to_ticks,
        B::DateTimeToTimestamp => datetime::to_timestamp,
        B::Day => datetime::day,
        B::GetCurrentDateTime | B::GetCurrentDateTimeStatic => datetime::current_date_time,
        B::GetCurrentTicks | B::GetCurrentTicksStatic => datetime::current_ticks,
        B::GetCurrentTimestamp | B::GetCurrentTimestampStatic => datetime::current_timestamp,
        B::Month => datetime::month,
        B::Now => datetime::now,
        B::TicksToDateTime => datetime::from_ticks,
        B::TimestampToDateTime => datetime::from_timestamp,
        B::Year => datetime::year,

        B::StArea => spatial::area,
        B::StDistance => spatial::distance,
        B::StIntersects => spatial::intersects,
        B::StIsValid => spatial::is_valid,
        B::StIsValidDetailed => spatial::is_valid_detailed,
        B::StWithin => spatial::within,

        B::FullTextContains => fulltext::contains,
        B::FullTextContainsAll => fulltext::contains_all,
        B::FullTextContainsAny => fulltext::contains_any,
        B::ComponentFullTextScore => fulltext::component_score,
        B::ComponentFullTextWordCount => fulltext::word_count,
    };
    Some(found)
}
