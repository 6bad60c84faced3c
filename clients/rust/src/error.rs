//! The errors that callers see.

use std::fmt;
use std::time::Duration;

use crate::cause::Cause;
use crate::decision::Decision;

/// The program, its configuration or its user is wrong: a bad limit, a bad URL, NOPERM.
///
/// A Limiter that fails open returns it, too, since it does not pass with time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    text: String,
}

impl Mistake {
    pub(crate) fn new(text: impl Into<String>) -> Mistake {
        Mistake { text: text.into() }
    }

    /// Whether the server is too old for the command.
    pub(crate) fn is_unknown_command(&self) -> bool {
        self.text.starts_with("ERR unknown command ")
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Mistake {}

/// weir gave no answer, or cannot limit now. Of `command` and `verify` only: the other calls return
/// a [`Decision`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    pub cause: Cause,
    pub(crate) text: String,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "weir is unavailable ({})", self.cause)?;
        if self.text.is_empty() { Ok(()) } else { write!(f, ": {}", self.text) }
    }
}

impl std::error::Error for Unavailable {}

/// What `command` and `verify` return in place of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    Mistake(Mistake),
    Unavailable(Unavailable),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Mistake(mistake) => mistake.fmt(f),
            Error::Unavailable(unavailable) => unavailable.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<Mistake> for Error {
    fn from(mistake: Mistake) -> Error {
        Error::Mistake(mistake)
    }
}

/// An action may not run now.
#[derive(Clone, Debug, PartialEq)]
pub struct Limited {
    /// The key whose limit decided.
    pub key: String,
    /// When the same call would pass; None for never and for not known.
    pub retry_after: Option<Duration>,
    /// The whole Decision; its `reason` is `Unavailable` if weir is away.
    pub decision: Decision,
}

impl fmt::Display for Limited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is limited ({})", self.key, self.decision.reason)
    }
}

impl std::error::Error for Limited {}

/// Why an action was not run.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    Limited(Box<Limited>),
    Mistake(Mistake),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Limited(limited) => limited.fmt(f),
            Refusal::Mistake(mistake) => mistake.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Mistake> for Refusal {
    fn from(mistake: Mistake) -> Refusal {
        Refusal::Mistake(mistake)
    }
}
