//! The few command line arguments that the developer commands take.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};

/// Words of the command line not yet read.
pub struct Arguments(VecDeque<String>);

impl Arguments {
    /// The words after the program's name.
    pub fn from_environment() -> Self {
        Self(std::env::args().skip(1).collect())
    }

    /// Takes the next word that is not an option.
    pub fn command(&mut self) -> Option<String> {
        if self.0.front()?.starts_with("--") && self.0.front()? != "--help" {
            return None;
        }
        self.0.pop_front()
    }

    /// Takes `--name VALUE` or `--name=VALUE`.
    pub fn value(&mut self, name: &str) -> Result<Option<String>> {
        let prefix = format!("{name}=");
        for position in 0..self.0.len() {
            if let Some(value) = self.0[position].strip_prefix(&prefix) {
                let value = value.to_owned();
                self.0.remove(position);
                return Ok(Some(value));
            }
            if self.0[position] == name {
                self.0.remove(position);
                let value = self.0.remove(position);
                return value
                    .map(Some)
                    .with_context(|| format!("{name} wants a value"));
            }
        }
        Ok(None)
    }

    /// Takes `--name NUMBER`.
    pub fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        let Some(text) = self.value(name)? else {
            return Ok(None);
        };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => bail!("{name} wants a number, not `{text}`"),
        }
    }

    /// Takes the switch `--name`.
    pub fn switch(&mut self, name: &str) -> bool {
        let position = self.0.iter().position(|word| word == name);
        position.is_some_and(|position| self.0.remove(position).is_some())
    }

    /// Everything must have been read.
    pub fn finish(self) -> Result<()> {
        match self.0.front() {
            None => Ok(()),
            Some(word) => bail!("`{word}` is not understood here; `cargo xtask help` lists all"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Arguments {
        Arguments(text.split(' ').map(ToOwned::to_owned).collect())
    }

    #[test]
    fn options_are_taken_in_any_order() {
        let mut arguments = words("crash --seed=7 --rounds 50 --keep");
        assert_eq!(arguments.command().as_deref(), Some("crash"));
        assert_eq!(arguments.number("--rounds").expect("a number"), Some(50));
        assert_eq!(arguments.number("--seed").expect("a number"), Some(7u64));
        assert!(arguments.switch("--keep"));
        assert!(arguments.finish().is_ok());
    }

    #[test]
    fn what_is_left_over_is_an_error() {
        assert!(words("--nonsense").finish().is_err());
        assert!(words("--rounds many").number::<u32>("--rounds").is_err());
        assert!(words("--rounds").value("--rounds").is_err());
    }
}
