//! The words of a member's name, which tell what it may be.

/// Words of names, in lower case: `customerEmail`, `Customer Email` and `customer_email` have the
/// same two. Of a path the last name counts.
pub(crate) fn words(path: &str) -> Vec<String> {
    let last = path.rsplit('/').next().unwrap_or(path);
    let mut words: Vec<String> = Vec::new();
    let mut before = None;
    for letter in last.chars() {
        let begins = match before {
            None => true,
            // `orderID` has two words, not three.
            Some(before) => letter.is_uppercase() && !char::is_uppercase(before),
        };
        if !letter.is_alphanumeric() {
            before = None;
            continue;
        }
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_however_names_are_joined() {
        for name in ["customerEmail", "Customer Email", "buyer/customer_email"] {
            assert_eq!(words(name), ["customer", "email"], "{name}");
        }
        assert_eq!(words("orderID"), ["order", "id"]);
        assert_eq!(words("_ts"), ["ts"]);
        assert!(words("").is_empty());
    }
}
