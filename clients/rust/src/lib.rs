//! A client of weir, the rate-limit server: [`Limiter`] here, the same with `await` in
//! [`tokio::Limiter`] (feature `tokio`).
//!
//! ```no_run
//! # #[cfg(feature = "blocking")]
//! # fn main() -> Result<(), weir_client::Mistake> {
//! use weir_client::Limiter;
//!
//! let limiter = Limiter::new("redis://app:secret@weir.internal:7379")?;
//! let decision = limiter.allow(&["user:42", "10/s", "1000/h"])?;
//! if !decision.allowed {
//!     println!("{} {:?}", decision.reason, decision.retry_after);
//! }
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "blocking"))]
//! # fn main() {}
//! ```
//!
//! Features: `blocking` (by default), `tokio`, `tls` (`rediss://`), `tower` (a middleware).

#[cfg(not(any(feature = "blocking", feature = "tokio")))]
compile_error!("weir-client needs the feature `blocking` or `tokio`");

mod address;
#[cfg(feature = "blocking")]
mod blocking;
mod caller;
mod cause;
mod counters;
mod decision;
mod denials;
mod engine;
mod error;
mod fields;
mod hold;
mod lease;
mod limiter;
mod link;
mod options;
mod route;
mod slice;
mod tasks;
#[cfg(feature = "tls")]
mod tls;
mod wire;
mod words;

#[cfg(feature = "tower")]
pub mod tower;

#[cfg(feature = "blocking")]
pub use blocking::{Hold, Lease, Limiter, Slice};
pub use caller::caller_key;
pub use cause::Cause;
pub use counters::Counts;
pub use decision::{Decision, LimitRow, Reason};
pub use error::{Error, Limited, Mistake, Refusal, Unavailable};
pub use fields::{PROBLEM_TYPE, Problem, fields, legacy_fields, problem};
pub use options::{Beat, Fail, Options, Stop};
/// The reply to [`Limiter::command`], as the crate `redis` has it.
pub use redis::Value;
/// The crate that [`Options::tls_config`] takes its configuration from.
#[cfg(feature = "tls")]
pub use tokio_rustls::rustls;

/// The [`Limiter`](tokio::Limiter) of tokio, and its scopes.
///
/// A call whose future is dropped closes its connection, so that no reply reaches another call.
#[cfg(feature = "tokio")]
pub mod tokio {
    pub use crate::hold::Hold;
    pub use crate::lease::Lease;
    pub use crate::limiter::Limiter;
    pub use crate::slice::Slice;
}
