use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::limited::{Gate, Refusal};

/// Tokens that are taken at once, spent one by one, and given back when their time is over, or when
/// the slice is dropped: for a key that is asked too often to ask weir each time. The time should be
/// short: until its end other processes lack the tokens that are left, and time refills a bucket
/// from which they were taken. A slice whose reply is lost is not given back, as it may not have
/// been taken. Threads can share a slice.
pub struct Slice {
    shared: Arc<Shared>,
    timer: Option<JoinHandle<()>>,
}

struct Shared {
    gate: Arc<Gate>,
    size: i64,
    time: Duration,
    words: Vec<String>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    left: i64,
    end: Option<Instant>, // None before the first tokens
    busy: bool,           // a thread asks weir, without the lock; nothing is left
    dropped: bool,
}

impl Slice {
    pub(super) fn new(gate: Arc<Gate>, size: i64, time: Duration, words: Vec<String>) -> Slice {
        let (state, changed) = Default::default();
        let shared = Arc::new(Shared { gate, size, time, words, state, changed });
        let timed = shared.clone();
        Slice { shared, timer: Some(thread::spawn(move || timed.run_timer())) }
    }

    /// Spends a token.
    pub fn spend(&self) -> Result<(), Refusal> {
        self.shared.spend()
    }

    /// Gives back what is left.
    pub fn give_back(&self) {
        drop(self.shared.give_back(self.shared.state.lock().unwrap()));
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap().dropped = true;
        self.shared.changed.notify_all();
        let _ = self.timer.take().map(JoinHandle::join);
    }
}

impl Shared {
    fn spend(&self) -> Result<(), Refusal> {
        let state = self.state.lock().unwrap();
        let deadline = self.gate.options.deadline;
        let (mut state, late) =
            self.changed.wait_timeout_while(state, deadline, |state| state.busy).unwrap();
        if late.timed_out() {
            return self.gate.no_answer::<()>(&self.words).map(|_| ());
        }
        let now = (self.gate.options.now)();
        if state.end.map_or(false, |end| now >= end) {
            state = self.give_back(state);
        }
        if state.left == 0 {
            let size = self.size.to_string();
            let ask = || self.gate.ask("RL.TAKE", &self.words, &["UPTO", &size]);
            let (again, granted) = self.unlocked(state, ask);
            state = again;
            match granted? {
                Some(granted) => state.left = granted,
                None => return Ok(()),
            }
            state.end = Some(now + self.time);
            self.changed.notify_all();
        }
        state.left -= 1;
        Ok(())
    }

    fn give_back<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let tokens = std::mem::take(&mut state.left);
        if tokens == 0 {
            return state;
        }
        self.unlocked(state, || self.gate.refund(&self.words, tokens)).0
    }

    /// Makes a request while other threads wait for its end.
    fn unlocked<'a, T>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        request: impl FnOnce() -> T,
    ) -> (MutexGuard<'a, State>, T) {
        state.busy = true;
        drop(state);
        let reply = request();
        let mut state = self.state.lock().unwrap();
        state.busy = false;
        self.changed.notify_all();
        (state, reply)
    }

    /// Gives tokens back at their end, until the slice is dropped.
    fn run_timer(&self) {
        let mut state = self.state.lock().unwrap();
        while !state.dropped {
            let end = state.end;
            if state.left == 0 {
                state = self.changed.wait(state).unwrap();
                continue;
            }
            let same = |state: &mut State| !state.dropped && state.left > 0 && state.end == end;
            let (again, late) = self.changed.wait_timeout_while(state, self.time, same).unwrap();
            state = if late.timed_out() { self.give_back(again) } else { again };
        }
        drop(self.give_back(state));
    }
}
