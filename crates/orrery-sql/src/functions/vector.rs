//! VECTORDISTANCE, exact (query-language: section 9.3).

use crate::environment::DistanceFunction;
use crate::eval::Run;
use orrery_model::value::Value;

/// The distance or similarity of two arrays of numbers of the same length; else undefined.
pub(crate) fn distance<'e>(
    function: DistanceFunction,
    left: &Value<'_>,
    right: &Value<'_>,
    run: &Run<'_>,
) -> Value<'e> {
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return Value::Undefined;
    };
    if left.len() != right.len() || left.is_empty() {
        return Value::Undefined;
    }
    run.spend(left.len() as u64 / 16);
    let (mut product, mut left_square, mut right_square, mut apart) = (0.0, 0.0, 0.0, 0.0);
    for (left, right) in left.iter().zip(right) {
        let (Some(left), Some(right)) = (left.as_f64(), right.as_f64()) else {
            return Value::Undefined;
        };
        product += left * right;
        left_square += left * left;
        right_square += right * right;
        apart += (left - right) * (left - right);
    }
    Value::from(match function {
        DistanceFunction::DotProduct => product,
        DistanceFunction::Euclidean => apart.sqrt(),
        // A zero vector is similar to nothing.
        DistanceFunction::Cosine if left_square == 0.0 || right_square == 0.0 => 0.0,
        DistanceFunction::Cosine => product / (left_square * right_square).sqrt(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Settings;

    #[test]
    fn recorded_values() {
        let settings = Settings::default();
        let run = Run::new(&settings, 1_000, 1_000);
        let (left, right) = (Value::from(vec![1, 2, 3]), Value::from(vec![2, 3, 4]));
        let of = |function| distance(function, &left, &right, &run).as_f64();
        assert_eq!(of(DistanceFunction::Cosine), Some(0.9925833339709302));
        assert_eq!(of(DistanceFunction::DotProduct), Some(20.0));
        assert_eq!(of(DistanceFunction::Euclidean), Some(1.7320508075688772));
        assert!(
            distance(DistanceFunction::Cosine, &left, &Value::from("AAAA"), &run).is_undefined()
        );
    }
}
