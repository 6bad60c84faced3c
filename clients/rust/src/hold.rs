//! A reservation, which is settled with what was really used, or cancelled.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::decision::{Decision, Reason, first_integer};
use crate::engine::{Asking, Engine, HOLD_TRIES};
use crate::error::{Error, Mistake, Refusal};
use crate::words::Request;

/// A reservation. One that is dropped without [`Hold::settle`] is cancelled, in a task; so it is at
/// the end of its time to live.
#[must_use = "a hold that is dropped is cancelled"]
pub struct Hold {
    state: Option<HoldState>, // None: dropped
    runtime: Handle,
}

impl Hold {
    /// A future that is dropped cancels what it may have reserved.
    pub(crate) async fn reserve(
        engine: Arc<Engine>,
        ttl: Duration,
        words: &[&str],
        estimate: Option<u64>,
    ) -> Result<Hold, Refusal> {
        let state = HoldState::new(engine, ttl, words, estimate)?;
        let mut hold = Hold { state: Some(state), runtime: Handle::current() };
        if let Some(state) = &mut hold.state {
            state.reserve().await?; // dropped meanwhile, it is cancelled
        }
        Ok(hold)
    }

    /// What it is made of, which is not cancelled when it is dropped.
    pub(crate) fn into_state(mut self) -> HoldState {
        self.state.take().expect("it is there until the Hold is dropped")
    }

    /// Whether there is a hold to settle: not without an answer of weir.
    pub fn is_open(&self) -> bool {
        self.state.as_ref().is_some_and(|state| state.is_open)
    }

    /// Charges what was used in place of the estimate. Returns whether that is so.
    ///
    /// It is not if there is no hold, if it has expired, or if weir does not answer; only then can
    /// it be repeated.
    pub async fn settle(&mut self, used: u64) -> Result<bool, Mistake> {
        match &mut self.state {
            Some(state) => state.settle(used).await,
            None => Ok(false),
        }
    }

    /// Settles; if the hold has expired, charges what was used. Returns whether it is settled.
    ///
    /// A hold that expires gives back all that it reserved. So a budget that must not be
    /// undercounted wants this, and one that must not be overdrawn wants [`Hold::settle`].
    pub async fn settle_or_charge(&mut self, used: u64) -> Result<bool, Mistake> {
        match &mut self.state {
            Some(state) => state.settle_or_charge(used).await,
            None => Ok(false),
        }
    }

    /// Gives all of it back, unless it has been settled.
    pub async fn cancel(&mut self) {
        if let Some(state) = &mut self.state {
            state.cancel().await;
        }
    }

    /// The same once, for a Hold that is dropped.
    #[cfg(feature = "blocking")]
    pub(crate) async fn end(mut self) {
        if let Some(mut state) = self.state.take() {
            state.cancel().await;
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(mut state) = self.state.take().filter(HoldState::is_to_cancel) {
            let engine = state.engine.clone();
            engine.tasks.start(&self.runtime, async move { state.cancel().await });
        }
    }
}

/// One hold, with a random id.
pub(crate) struct HoldState {
    pub engine: Arc<Engine>,
    pub ttl: Duration,
    pub is_open: bool, // weir may have the hold, not settled
    request: Request,
    words: Vec<String>,
    id: String,
    is_settled: bool,
    has_settled: bool, // has tried to
}

impl HoldState {
    pub fn new(
        engine: Arc<Engine>,
        ttl: Duration,
        words: &[&str],
        estimate: Option<u64>,
    ) -> Result<HoldState, Mistake> {
        let request = engine.request(words)?;
        if estimate.is_none() && request.has_place() {
            engine.counters.add_mistake();
            return Err(Mistake::new("cost={} needs an estimate"));
        }
        Ok(HoldState {
            engine,
            ttl: ttl.max(Duration::from_millis(1)),
            is_open: false,
            words: request.with_cost(estimate.unwrap_or_default()),
            request,
            id: random_id()?,
            is_settled: false,
            has_settled: false,
        })
    }

    /// Without an answer there is no hold, and a Limiter that fails open goes on.
    pub async fn reserve(&mut self) -> Result<(), Refusal> {
        self.is_open = true; // weir may have it before its reply is read
        let asked = self.ask().await;
        self.is_open = asked.as_ref().is_ok_and(|decision| decision.reason == Reason::Allowed);
        let decision = asked?;
        if decision.allowed { Ok(()) } else { Err(self.request.limited(decision)) }
    }

    /// Reserves, or begins the time to live again.
    pub async fn ask(&self) -> Result<Decision, Mistake> {
        let mut asking = Asking::new("RL.RESERVE");
        asking.options = self.named();
        asking.options.extend(["TTL".to_string(), self.ttl.as_millis().to_string()]);
        asking.tries = HOLD_TRIES;
        self.engine.decide(&self.request, &self.words, asking).await
    }

    pub async fn settle(&mut self, used: u64) -> Result<bool, Mistake> {
        if self.is_open {
            if i64::try_from(used).is_err() {
                self.engine.counters.add_mistake();
                return Err(Mistake::new("more was used than weir counts"));
            }
            self.has_settled = true;
            self.is_settled = self.end("RL.COMMIT", self.request.costs(used)).await?;
        }
        Ok(self.is_settled)
    }

    pub async fn settle_or_charge(&mut self, used: u64) -> Result<bool, Mistake> {
        let was_open = self.is_open;
        let is_settled = self.settle(used).await?;
        if !is_settled && was_open && !self.is_open {
            let words = self.request.costs_of_some(used);
            if !words.is_empty() {
                // Once, as it may have been made; also if nobody waits for it any longer.
                let engine = self.engine.clone();
                let charging = async move { attempt(&engine, "RL.CHARGE", words, 1).await };
                let charged = self.engine.tasks.start(&Handle::current(), charging).await;
                charged.unwrap_or(Ok(None))?;
            }
        }
        Ok(is_settled)
    }

    /// A mistake is counted only: the hold expires.
    pub async fn cancel(&mut self) {
        if self.is_to_cancel() && self.end("RL.CANCEL", self.request.keys()).await.is_err() {
            self.engine.counters.add_mistake();
        }
    }

    fn is_to_cancel(&self) -> bool {
        self.is_open && !self.has_settled
    }

    fn named(&self) -> Vec<String> {
        vec!["HOLD".to_string(), self.id.clone()]
    }

    /// Ends the hold. Returns whether weir had it.
    async fn end(&mut self, command: &str, words: Vec<String>) -> Result<bool, Mistake> {
        let words = [words, self.named()].concat();
        let Some(first) = attempt(&self.engine, command, words, HOLD_TRIES).await? else {
            return Ok(false);
        };
        self.is_open = false;
        Ok(first == 1)
    }
}

/// The first number of the reply, or None without an answer.
async fn attempt(
    engine: &Engine,
    command: &str,
    words: Vec<String>,
    tries: usize,
) -> Result<Option<i64>, Mistake> {
    let words = [vec![command.to_string()], words].concat();
    match engine.call(&words, tries).await {
        Ok(reply) => first_integer(&reply).map(Some),
        Err(Error::Mistake(mistake)) => Err(mistake),
        Err(Error::Unavailable(error)) => {
            engine.without_answer(error.cause);
            Ok(None)
        }
    }
}

/// 128 bits.
pub(crate) fn random_id() -> Result<String, Mistake> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| Mistake::new(format!("no random id: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
