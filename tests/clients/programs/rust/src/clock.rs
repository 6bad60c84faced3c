//! A clock that stands still, and the timers that are due when it is moved.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weir_client::{Beat, Stop};

pub struct Clock {
    begin: Instant,
    ms: AtomicU64,
    late_ms: AtomicU64, // by which the next reading moves the clock, as if what follows took that
    timers: Mutex<Vec<Timer>>,
}

struct Timer {
    due_ms: u64,
    period_ms: u64,
    beat: Arc<Beat>,
}

impl Clock {
    pub fn new() -> Arc<Clock> {
        Arc::new(Clock {
            begin: Instant::now(),
            ms: AtomicU64::new(0),
            late_ms: AtomicU64::new(0),
            timers: Mutex::default(),
        })
    }

    pub fn now(&self) -> Instant {
        let late_ms = self.late_ms.swap(0, Ordering::Relaxed);
        self.begin + Duration::from_millis(self.ms.fetch_add(late_ms, Ordering::Relaxed))
    }

    pub fn delay(&self, ms: u64) {
        self.late_ms.store(ms, Ordering::Relaxed);
    }

    pub fn every(self: &Arc<Clock>, period: Duration, beat: Beat) -> Stop {
        let period_ms = period.as_millis() as u64;
        let due_ms = self.ms.load(Ordering::Relaxed) + period_ms;
        let beat = Arc::new(beat);
        self.timers.lock().unwrap().push(Timer { due_ms, period_ms, beat: beat.clone() });
        let clock = self.clone();
        Box::new(move || {
            clock.timers.lock().unwrap().retain(|timer| !Arc::ptr_eq(&timer.beat, &beat))
        })
    }

    pub fn timers(&self) -> usize {
        self.timers.lock().unwrap().len()
    }

    /// Moves it, and calls `play` with each timer that is due on the way.
    pub fn advance(&self, ms: u64, play: impl Fn(&Beat)) {
        let end = self.ms.load(Ordering::Relaxed) + ms;
        while let Some(beat) = self.next_beat(end) {
            play(&beat);
        }
        self.ms.fetch_max(end, Ordering::Relaxed);
    }

    fn next_beat(&self, end_ms: u64) -> Option<Arc<Beat>> {
        let mut timers = self.timers.lock().unwrap();
        let due = timers.iter_mut().filter(|timer| timer.due_ms <= end_ms);
        let timer = due.min_by_key(|timer| timer.due_ms)?;
        self.ms.fetch_max(timer.due_ms, Ordering::Relaxed);
        timer.due_ms += timer.period_ms;
        Some(timer.beat.clone())
    }
}
