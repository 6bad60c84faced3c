//! Denials that are kept: the same words are denied again without a request.
//!
//! A denial holds for the time that it names, and is kept for a second of it at most. So a key
//! under attack costs one request per second and process, and what loosens a limit takes effect
//! after a second. A denial without a time is kept for a second, too.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::decision::Decision;

const KEPT_MAX: Duration = Duration::from_secs(1);
const KEPT_DENIALS_MAX: usize = 10_000;

struct Kept {
    asked: Instant,
    end: Instant,
    decision: Decision,
}

/// By their words, and whether they have rows.
#[derive(Default)]
pub(crate) struct Denials {
    kept: Mutex<HashMap<(Vec<String>, bool), Kept>>,
}

impl Denials {
    /// The Decision as it is now.
    pub fn find(&self, words: &[String], has_rows: bool, now: Instant) -> Option<Decision> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() {
            return None;
        }
        let key = (words.to_vec(), has_rows);
        let found = kept.get(&key)?;
        if now >= found.end {
            kept.remove(&key);
            return None;
        }
        let age = now.saturating_duration_since(found.asked);
        let mut decision = found.decision.clone();
        for time in [&mut decision.retry_after, &mut decision.reset_after] {
            *time = time.map(|time| time.saturating_sub(age));
        }
        Some(decision)
    }

    /// Keeps a denial that was asked for at `now`. Forgets all if there are too many.
    pub fn keep(&self, words: &[String], has_rows: bool, now: Instant, decision: &Decision) {
        let time = decision.retry_after.map_or(KEPT_MAX, |wait| wait.min(KEPT_MAX));
        let denial = Kept { asked: now, end: now + time, decision: decision.clone() };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_DENIALS_MAX {
            kept.clear();
        }
        kept.insert((words.to_vec(), has_rows), denial);
    }
}
