//! The meaning of an error of the server: an outage that passes, or a mistake to be mended.
//!
//! ```text
//! LOADING weir is loading its state from disk      an outage, "loading"
//! NOPERM this user has no permissions ...          a mistake; after the first success of this
//!                                                  Limiter an outage, "login"
//! ERR invalid limit '10/x': ...                    a mistake
//! ```

use std::fmt;

/// Why weir gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    Timeout,
    Connection,
    Loading,
    ReadOnly,
    NoReplicas,
    NoAck,
    MisConf,
    Oom,
    Busy,
    MasterDown,
    ClusterDown,
    Full,
    Login,
    Unblocked,
    NoPrimary,
}

impl Cause {
    /// The word for logs and metrics, such as "timeout".
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Timeout => "timeout",
            Cause::Connection => "connection",
            Cause::Loading => "loading",
            Cause::ReadOnly => "readonly",
            Cause::NoReplicas => "noreplicas",
            Cause::NoAck => "noack",
            Cause::MisConf => "misconf",
            Cause::Oom => "oom",
            Cause::Busy => "busy",
            Cause::MasterDown => "masterdown",
            Cause::ClusterDown => "clusterdown",
            Cause::Full => "full",
            Cause::Login => "login",
            Cause::Unblocked => "unblocked",
            Cause::NoPrimary => "noprimary",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

const FULL: &str = "ERR max number of clients reached";

/// An error of the server, with its whole text.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub text: String,
    pub is_login: bool, // it was the answer to AUTH
}

impl Refused {
    fn prefix(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// The cause of an outage, or None for a mistake.
    pub fn cause(&self, has_succeeded: bool) -> Option<Cause> {
        if self.text.starts_with(FULL) {
            return Some(Cause::Full);
        }
        let outage = match self.prefix() {
            "LOADING" => Some(Cause::Loading),
            "READONLY" => Some(Cause::ReadOnly),
            "NOREPLICAS" => Some(Cause::NoReplicas),
            "NOACK" => Some(Cause::NoAck),
            "MISCONF" => Some(Cause::MisConf),
            "OOM" => Some(Cause::Oom),
            "BUSY" => Some(Cause::Busy),
            "MASTERDOWN" => Some(Cause::MasterDown),
            "CLUSTERDOWN" => Some(Cause::ClusterDown),
            "UNBLOCKED" => Some(Cause::Unblocked),
            "NOPRIMARY" => Some(Cause::NoPrimary),
            _ => None,
        };
        let is_login =
            self.is_login || matches!(self.prefix(), "NOAUTH" | "WRONGPASS" | "NOPERM" | "DENIED");
        outage.or((is_login && has_succeeded).then_some(Cause::Login))
    }

    /// Whether another server may have become the primary.
    pub fn leaves_server(&self) -> bool {
        matches!(self.prefix(), "READONLY" | "LOADING" | "MASTERDOWN")
    }

    /// Whether the connection is of no use any longer.
    pub fn leaves_connection(&self) -> bool {
        matches!(self.prefix(), "NOAUTH" | "WRONGPASS" | "DENIED" | "LOADING")
            || self.text.starts_with(FULL)
    }
}
