//! Notes: what is told beside a verdict, and how much it matters.

use serde::{Deserialize, Serialize};

/// How much a note matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The user should know it.
    Note,
    /// It weakens the verdict.
    Warning,
}

/// A sentence beside a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How much it matters.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
}

impl Note {
    /// Something that weakens the verdict.
    pub fn warning(text: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, text: text.into() }
    }

    /// Whether it weakens the verdict.
    pub fn is_warning(&self) -> bool {
        self.severity == Severity::Warning
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self { severity: Severity::Note, text }
    }
}

impl From<&str> for Note {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
