//! A lease: a hold that is renewed by heartbeats, and lost if they are not answered.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

use crate::decision::Reason;
use crate::engine::Engine;
use crate::error::Refusal;
use crate::hold::{Hold, HoldState};
use crate::options::Stop;

const HEARTBEATS: u32 = 3; // in a time to live

/// A slot that is held while a job runs: a task renews it at a third of its time to live. A lease
/// that is dropped frees the slot, in a task.
#[must_use = "a lease that is dropped is released"]
pub struct Lease {
    shared: Arc<Shared>,
    stop: Mutex<Option<Stop>>,
    runtime: Handle,
}

impl Lease {
    pub(crate) async fn take(
        engine: Arc<Engine>,
        ttl: Duration,
        words: &[&str],
    ) -> Result<Lease, Refusal> {
        let begin = engine.now();
        let hold = Hold::reserve(engine.clone(), ttl, words, None).await?.into_state();
        let ttl = hold.ttl;
        let state = State { is_lost: false, end: hold.is_open.then(|| begin + ttl) };
        let shared = Arc::new(Shared {
            engine: engine.clone(),
            ttl,
            has_slot: hold.is_open,
            hold: tokio::sync::Mutex::new(hold),
            state: Mutex::new(state),
        });
        let beaten = shared.clone();
        let beat = move || {
            let beaten = beaten.clone();
            Box::pin(async move { beaten.beat().await }) as _
        };
        let period = ttl / HEARTBEATS;
        let stop = shared.has_slot.then(|| (engine.settings.every)(period, Box::new(beat)));
        Ok(Lease { shared, stop: Mutex::new(stop), runtime: Handle::current() })
    }

    /// Whether weir may have given the slot to another worker. It goes by the clock, so it is in
    /// time even if the heartbeat is late.
    pub fn is_lost(&self) -> bool {
        self.shared.is_lost()
    }

    /// Frees the slot. Returns whether it was held until now.
    ///
    /// A future that is dropped frees it, too, in a task.
    pub async fn release(&self) -> bool {
        self.end_heartbeat();
        let shared = self.shared.clone();
        let releasing = async move { shared.release().await };
        let tasks = &self.shared.engine.tasks;
        tasks.start(&Handle::current(), releasing).await.unwrap_or(false)
    }

    fn end_heartbeat(&self) -> bool {
        let stop = self.stop.lock().unwrap_or_else(PoisonError::into_inner).take();
        stop.map(|stop| stop()).is_some()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.end_heartbeat() {
            let shared = self.shared.clone();
            self.shared.engine.tasks.start(&self.runtime, async move { shared.release().await });
        }
    }
}

struct Shared {
    engine: Arc<Engine>,
    ttl: Duration,
    has_slot: bool,
    hold: tokio::sync::Mutex<HoldState>, // locked during a request
    state: Mutex<State>,
}

struct State {
    is_lost: bool,
    end: Option<Instant>, // weir keeps the hold until then at least; None: there is no lease
}

impl Shared {
    fn is_lost(&self) -> bool {
        let state = self.state();
        state.is_lost || state.end.is_some_and(|end| self.engine.now() >= end)
    }

    /// Renews the lease. It is lost if weir has forgotten it.
    async fn beat(&self) {
        let mut hold = self.hold.lock().await;
        let now = self.engine.now();
        let State { is_lost, end } = *self.state();
        let Some(end) = end.filter(|end| hold.is_open && !is_lost && now < *end) else {
            return; // released, or a renewal would be a new request
        };
        let reason = hold.ask().await.map_or(Reason::Denied, |decision| decision.reason);
        match reason {
            Reason::Denied | Reason::Never => {
                self.state().is_lost = true;
                hold.is_open = false;
            }
            Reason::Unavailable => {} // the next may be answered
            Reason::Allowed if self.engine.now() >= end => {
                self.state().is_lost = true;
                hold.cancel().await; // it may have been a new request
            }
            Reason::Allowed => self.state().end = Some(now + self.ttl),
        }
    }

    /// A mistake is nothing: the hold expires.
    async fn release(&self) -> bool {
        let mut hold = self.hold.lock().await;
        if self.state().end.is_none() {
            return false;
        }
        let is_lost = self.is_lost();
        *self.state() = State { is_lost, end: None };
        hold.settle(0).await.unwrap_or(false) && !is_lost
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
