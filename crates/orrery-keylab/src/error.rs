//! What can be wrong with the laboratory's input.

/// Input that cannot be used; the message says where and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeylabError {
    /// YAML that does not read as the form it should have.
    #[error("{origin}: {message}")]
    Yaml {
        /// The file's name as the user gave it.
        origin: String,
        /// The parser's message with line, column and excerpt.
        message: String,
    },
    /// YAML that reads well and contradicts itself.
    #[error("{at}: {message}")]
    Invalid {
        /// The place, as a path through the file: `candidates[2].suffix`.
        at: String,
        /// What is wrong with it.
        message: String,
    },
    /// Data in which nothing can be profiled.
    #[error("{origin}: {message}")]
    Data {
        /// The file's name.
        origin: String,
        /// What is wrong with it.
        message: String,
    },
}

impl KeylabError {
    /// A contradiction at a place of the file.
    pub fn invalid(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid {
            at: at.into(),
            message: message.into(),
        }
    }
}
