use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::hold::Hold;
use super::limited::{Beat, Gate, Refusal, Stop};

const HEARTBEATS: u32 = 3; // in a time to live

/// A slot that is held while a job runs, by a heartbeat, and is free soon after the worker dies.
///
///     let slot = gate.lease(Duration::from_secs(30), &["printer", "1,held"])?;
///     for page in pages {
///         if slot.is_lost() {            // another worker may have the slot
///             break;
///         }
///         print(page);
///     }
///
/// A thread renews the lease at a third of its time to live, here 30 s. If weir has forgotten it,
/// or does not answer for the whole of that time, the lease is lost, and is not taken again.
/// `is_lost` goes by the clock, so it is in time even if the heartbeat is late. A lease that is
/// dropped frees the slot; other limits, such as a rate, stay charged.
///
/// A Gate that fails open runs the job while weir is away; then there is no lease that could be
/// lost. Threads can share a lease.
pub struct Lease {
    shared: Arc<Shared>,
    stop: Mutex<Option<Stop>>, // ends the heartbeat; None: there is no lease
}

struct Shared {
    gate: Arc<Gate>,
    ttl: Duration,
    hold: Mutex<Hold>, // locked during a request
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_lost: bool,
    end: Option<Instant>, // weir keeps the hold until then at least; None: there is no lease
}

impl Gate {
    /// Leases a slot by these words of RL.RESERVE.
    pub fn lease(self: &Arc<Gate>, ttl: Duration, words: &[&str]) -> Result<Lease, Refusal> {
        let begin = (self.options.now)();
        let hold = self.reserved(0, ttl, words)?;
        let end = hold.is_open.then(|| begin + ttl);
        let state = Mutex::new(State { is_lost: false, end });
        let shared = Arc::new(Shared { gate: self.clone(), ttl, hold: Mutex::new(hold), state });
        let beaten = shared.clone();
        let beat = Box::new(move || beaten.beat());
        let stop = end.map(|_| (self.options.every)(ttl / HEARTBEATS, beat));
        Ok(Lease { shared, stop: Mutex::new(stop) })
    }
}

impl Lease {
    /// Whether weir may have given the slot to another worker.
    pub fn is_lost(&self) -> bool {
        let now = (self.shared.gate.options.now)();
        let state = self.shared.state.lock().unwrap();
        state.is_lost || state.end.map_or(false, |end| now >= end)
    }

    /// Frees the slot. Returns whether it was held until now.
    pub fn release(&self) -> bool {
        match self.stop.lock().unwrap().take() {
            Some(stop) => stop(),
            None => return false,
        }
        let mut hold = self.shared.hold.lock().unwrap();
        let lost = self.is_lost();
        self.shared.state.lock().unwrap().end = None;
        hold.settle(0).unwrap_or(false) && !lost // without an answer it expires
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release();
    }
}

impl Shared {
    fn beat(&self) {
        let mut hold = self.hold.lock().unwrap();
        let now = (self.gate.options.now)();
        let end = self.state.lock().unwrap().end;
        if !hold.is_open || end.map_or(true, |end| now >= end) {
            return; // a renewal would be a new request
        }
        let renewed = match hold.ask() {
            Ok(None) => return, // the next may be answered
            Ok(Some(_)) if Some((self.gate.options.now)()) < end => true,
            Ok(Some(_)) => {
                hold.cancel(); // it may have been a new request
                false
            }
            Err(_) => {
                hold.is_open = false;
                false
            }
        };
        let mut state = self.state.lock().unwrap();
        if renewed {
            state.end = Some(now + self.ttl);
        } else {
            state.is_lost = true;
        }
    }
}

/// Calls a function in a thread, which the returned function ends.
pub(super) fn every_in_thread(period: Duration, beat: Beat) -> Stop {
    let (stop, stopped) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
            beat();
        }
    });
    Box::new(move || {
        drop(stop);
        let _ = thread.join();
    })
}
