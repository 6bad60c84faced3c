//! The counts of a Limiter, and how it tells its service that weir is unavailable.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cause::Cause;
use crate::decision::Decision;
use crate::options::{Fail, OnUnavailable};

const LOG_PERIOD: Duration = Duration::from_secs(60); // between two lines of the log

/// What a Limiter has counted since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Decisions that weir was asked for: each is one of allowed, denied, unavailable or a mistake.
    pub asked: u64,
    pub allowed: u64,
    pub denied: u64,
    /// Decisions that a kept denial answered.
    pub kept: u64,
    /// Also words that were not sent, and panics of `on_unavailable`.
    pub mistakes: u64,
    /// By cause.
    pub unavailable: BTreeMap<Cause, u64>,
}

/// Writes to standard error. Unlike eprintln!, it does not panic if nobody reads that any longer.
pub(crate) fn write_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

pub(crate) struct Counters {
    on_unavailable: Option<OnUnavailable>,
    fail: Fail,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    counts: Counts,
    log_next: Option<Instant>, // when the next line may be written
    log_since: u64,            // unavailable answers since the last one
}

impl Counters {
    pub fn new(on_unavailable: Option<OnUnavailable>, fail: Fail) -> Counters {
        Counters { on_unavailable, fail, state: Mutex::default() }
    }

    pub fn counts(&self) -> Counts {
        self.state().counts.clone()
    }

    pub fn add_kept(&self) {
        self.state().counts.kept += 1;
    }

    pub fn add_mistake(&self) {
        self.state().counts.mistakes += 1;
    }

    /// A mistake that weir found.
    pub fn add_asked_mistake(&self) {
        let counts = &mut self.state().counts;
        counts.asked += 1;
        counts.mistakes += 1;
    }

    pub fn add_decision(&self, decision: &Decision) {
        let counts = &mut self.state().counts;
        counts.asked += 1;
        if decision.allowed {
            counts.allowed += 1;
        } else {
            counts.denied += 1;
        }
    }

    /// Counts it and tells it. A panic of the callback is counted as a mistake.
    pub fn add_unavailable(&self, cause: Cause, now: Instant) {
        {
            let counts = &mut self.state().counts;
            counts.asked += 1;
            *counts.unavailable.entry(cause).or_default() += 1;
        }
        match &self.on_unavailable {
            None => self.write_log(cause, now),
            Some(tell) => {
                if catch_unwind(AssertUnwindSafe(|| tell(cause))).is_err() {
                    self.add_mistake();
                }
            }
        }
    }

    fn write_log(&self, cause: Cause, now: Instant) {
        let mut state = self.state();
        state.log_since += 1;
        if state.log_next.is_some_and(|next| now < next) {
            return;
        }
        let since = std::mem::take(&mut state.log_since);
        state.log_next = Some(now + LOG_PERIOD);
        let choice = if self.fail == Fail::Open { "are allowed" } else { "are not allowed" };
        drop(state);
        write_line(&format!(
            "weir is unavailable ({cause}): calls {choice}; {since} since the last line"
        ));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
