//! Which partition holds a key, from the positions at which partitions begin.

use orrery_model::partition_key::KeyComponent;

use crate::placement::version2;

/// The partitions of a container in order of position.
#[derive(Debug, Clone)]
pub struct Places {
    /// Where all partitions but the first begin.
    begins: Vec<Vec<u8>>,
}

impl Places {
    /// Partitions that begin at these positions, and one before them.
    pub fn new(begins: Vec<Vec<u8>>) -> Self {
        Self { begins }
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.begins.len() + 1
    }

    /// Never: a container has at least one.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Where all partitions but the first begin, as effective partition keys.
    pub fn begins(&self) -> &[Vec<u8>] {
        &self.begins
    }

    /// The partitions that hold keys which begin with these components.
    pub fn holding(&self, key: &[KeyComponent], is_whole: bool) -> std::ops::RangeInclusive<usize> {
        let mut position = position(key);
        let first = self.owner(&position);
        if is_whole {
            return first..=first;
        }
        // No hash begins with these bits, so this is behind everything under the prefix.
        position.push(0xff);
        first..=self.owner(&position)
    }

    fn owner(&self, position: &[u8]) -> usize {
        self.begins
            .partition_point(|begin| begin.as_slice() <= position)
    }
}

/// The position of a key, level after level.
pub fn position(key: &[KeyComponent]) -> Vec<u8> {
    key.iter()
        .flat_map(|component| version2(component).to_be_bytes())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_reach_over_cuts_inside_them() {
        let tenant = KeyComponent::from("C");
        let mut cut = position(std::slice::from_ref(&tenant));
        cut.extend_from_slice(&[0x20; 16]);
        let places = Places::new(vec![cut.clone()]);
        assert_eq!(places.holding(std::slice::from_ref(&tenant), false), 0..=1);
        for number in 0..50 {
            let key = [tenant.clone(), KeyComponent::from(f64::from(number))];
            let expected = usize::from(position(&key) >= cut);
            assert_eq!(places.holding(&key, true), expected..=expected);
        }
        assert_eq!(Places::new(Vec::new()).holding(&[tenant], false), 0..=0);
    }
}
