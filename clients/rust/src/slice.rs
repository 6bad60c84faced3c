//! A slice: tokens that are taken at once and spent one by one without asking.
//!
//! For a key that is asked too often to ask weir each time. RL.SLICE says how many tokens there are
//! and how long they may be spent. What is left then comes back with the commit of what was spent.
//! A slice that is not committed counts as spent, so a process that dies admits nothing twice.
//! Where weir gives no slices of these limits, or a slice comes later than its life, each token is
//! asked for.
//!
//! Several keys (AND), and a weir that does not know RL.SLICE, have RL.TAKE with a hold instead.
//! That comes back at its end: so a process that dies again and again may admit a slice more each
//! time.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::cause::Cause;
use crate::decision::{Decision, Reason, first_integer};
use crate::engine::{Asking, Engine, HOLD_TRIES, SLICE};
use crate::error::{Error, Mistake, Refusal};
use crate::hold::random_id;
use crate::options::Stop;
use crate::words::Request;

/// The hold of RL.TAKE outlives its time by two deadlines for the last request, and two for the
/// commit.
const DEADLINES_BEYOND: u32 = 4;
/// So long is asked otherwise where there are no slices.
const OTHERWISE_TIME: Duration = Duration::from_secs(10);
/// A life is shorter by this and by a thousandth: clocks drift.
const MARGIN: Duration = Duration::from_millis(1);

/// Up to so many tokens taken at once, as many as weir can spare, to be spent within a time, or
/// less. Tasks may share it: one asks weir for more while the others wait, for a deadline at most.
///
/// A slice that is dropped is given back, in a task. The limits of several keys must not say
/// `cost=`.
pub struct Slice {
    shared: Arc<Shared>,
}

impl Slice {
    pub(crate) fn new(
        engine: Arc<Engine>,
        size: u64,
        time: Duration,
        words: &[&str],
    ) -> Result<Slice, Mistake> {
        let request = engine.request(words)?;
        let otherwise = request.has_several_keys().then_some(Otherwise::Hold { until: None });
        let state = Mutex::new(State { otherwise, ..State::default() });
        Ok(Slice { shared: Arc::new(Shared { engine, request, size, time, state }) })
    }

    /// Spends a token. It may take two deadlines: to settle the last slice, and to take the next
    /// one; a task does that, so it ends also if the future is dropped, as the tokens are for all.
    pub async fn spend(&self) -> Result<(), Refusal> {
        if self.spend_present() {
            return Ok(());
        }
        let shared = self.shared.clone();
        let spending = async move { shared.spend().await };
        let spent = tokio::spawn(spending).await;
        spent.unwrap_or_else(|_| Err(Mistake::new("the runtime has ended").into()))
    }

    /// Whether a token was there, and is spent.
    pub(crate) fn spend_present(&self) -> bool {
        let engine = &self.shared.engine;
        self.shared.state.try_lock().is_ok_and(|mut state| state.spend_present(engine))
    }

    /// Settles the slice, so that what is left comes back; a task does that, too.
    pub async fn give_back(&self) {
        let shared = self.shared.clone();
        let giving = async move { shared.state.lock().await.give_back(&shared).await };
        let _ = self.shared.engine.tasks.start(&Handle::current(), giving).await;
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        let shared = self.shared.clone();
        if let Some(runtime) = shared.runtime_to_give_back() {
            let giving = async move { shared.state.lock().await.give_back(&shared).await };
            self.shared.engine.tasks.start(&runtime, giving);
        }
    }
}

struct Shared {
    engine: Arc<Engine>,
    request: Request,
    size: u64,
    time: Duration,
    state: Mutex<State>, // locked during a request
}

#[derive(Default)]
struct State {
    number: u64, // of slices taken
    present: Option<Present>,
    runtime: Option<Handle>, // that the present one was taken on
    stop: Option<Stop>,      // of the timer that ends the present one
    otherwise: Option<Otherwise>,
}

/// What is asked in place of RL.SLICE, until then.
#[derive(Clone, Copy)]
enum Otherwise {
    Hold { until: Option<Instant> }, // None: always
    Token { until: Instant },
}

impl Otherwise {
    fn is_over(self, now: Instant) -> bool {
        match self {
            Otherwise::Hold { until } => until.is_some_and(|until| now >= until),
            Otherwise::Token { until } => now >= until,
        }
    }
}

/// The slice that is being spent.
struct Present {
    hold: String,
    lapses: bool, // else all of it comes back
    end: Instant,
    left: u64,
    spent: u64,
}

impl Shared {
    async fn spend(self: &Arc<Shared>) -> Result<(), Refusal> {
        let Ok(mut state) = timeout(self.engine.settings.deadline, self.state.lock()).await else {
            return self.check(self.engine.without_answer(Cause::Timeout));
        };
        if !state.spend_present(&self.engine) {
            state.give_back(self).await;
            state.take_and_spend(self).await?;
        }
        Ok(())
    }

    /// The runtime that gives the slice back; None if there is nothing to give back.
    fn runtime_to_give_back(&self) -> Option<Handle> {
        match self.state.try_lock() {
            Ok(state) => state.present.as_ref().and(state.runtime.clone()),
            Err(_) => Handle::try_current().ok(), // a request is under way
        }
    }

    fn check(&self, decision: Decision) -> Result<(), Refusal> {
        if decision.allowed { Ok(()) } else { Err(self.request.limited(decision)) }
    }

    /// Ends the slice of this number, if it is still present.
    async fn end(self: Arc<Shared>, number: u64) {
        let mut state = self.state.lock().await;
        if state.number == number {
            state.give_back(&self).await;
        }
    }

    async fn settle(&self, present: &Present) {
        match self.commit(present).await {
            Ok(()) => {}
            Err(Error::Unavailable(error)) => drop(self.engine.without_answer(error.cause)),
            Err(Error::Mistake(_)) => self.engine.counters.add_mistake(),
        }
    }

    /// Settles what was spent. If that comes too late, nothing of a slice has come back, but all of
    /// a hold of RL.TAKE: then it is charged. A slice that is all spent counts as spent anyway.
    async fn commit(&self, present: &Present) -> Result<(), Error> {
        if present.lapses && present.left == 0 {
            return Ok(());
        }
        let words = self.request.settled(present.spent);
        let hold = vec!["HOLD".to_string(), present.hold.clone()];
        let words = [vec!["RL.COMMIT".to_string()], words, hold].concat();
        let reply = self.engine.call(&words, HOLD_TRIES).await?;
        if first_integer(&reply)? == 0 && present.spent > 0 && !present.lapses {
            let words = self.request.charged(present.spent);
            self.engine.call(&[vec!["RL.CHARGE".to_string()], words].concat(), 1).await?;
        }
        Ok(())
    }
}

impl State {
    fn spend_present(&mut self, engine: &Engine) -> bool {
        let Some(present) = &mut self.present else { return false };
        let has_token = present.left > 0 && engine.now() < present.end;
        if has_token {
            present.left -= 1;
            present.spent += 1;
        }
        has_token
    }

    async fn give_back(&mut self, shared: &Shared) {
        if let Some(stop) = self.stop.take() {
            stop();
        }
        if let Some(present) = self.present.take() {
            shared.settle(&present).await;
        }
    }

    /// The token of the caller is spent at once, however long its taking took: it is weir's word.
    async fn take_and_spend(&mut self, shared: &Arc<Shared>) -> Result<(), Refusal> {
        let engine = &shared.engine;
        let begin = engine.now();
        self.otherwise = self.otherwise.filter(|otherwise| !otherwise.is_over(begin));
        let decision = match self.otherwise {
            Some(Otherwise::Token { .. }) => {
                engine.decide_or_keep(&shared.request, Asking::new("RL.ALLOW")).await?
            }
            Some(Otherwise::Hold { .. }) => self.take(shared, begin, random_id()?).await?,
            None => self.take_slice(shared, begin).await?,
        };
        shared.check(decision)
    }

    async fn take_slice(
        &mut self,
        shared: &Arc<Shared>,
        begin: Instant,
    ) -> Result<Decision, Refusal> {
        let hold = random_id()?;
        let mut asking = Asking::new(SLICE);
        let (size, ttl) = (shared.size.to_string(), shared.time.as_millis().max(1).to_string());
        let options = ["NEED", "1", "UNIT", "1", "UPTO", &size, "HOLD", &hold, "TTL", &ttl];
        asking.options = options.map(String::from).to_vec();
        let until = begin + OTHERWISE_TIME;
        let decision = match shared.engine.decide_or_keep(&shared.request, asking).await {
            Err(mistake) if mistake.is_unknown_command() => {
                self.otherwise = Some(Otherwise::Hold { until: Some(until) });
                return self.take(shared, begin, hold).await;
            }
            decided => decided?,
        };
        match decision.life {
            Some(Duration::ZERO) => self.otherwise = Some(Otherwise::Token { until }),
            Some(life) if decision.allowed => {
                let life = life.min(shared.time);
                let margin = Duration::from_micros((life.as_micros() / 1000) as u64) + MARGIN;
                let end = begin + life.saturating_sub(margin);
                if shared.engine.now() >= end {
                    // It came late, and so would the next ones.
                    self.otherwise = Some(Otherwise::Token { until });
                }
                self.begin(shared, hold, true, &decision, end);
            }
            _ => {}
        }
        Ok(decision)
    }

    async fn take(
        &mut self,
        shared: &Arc<Shared>,
        begin: Instant,
        hold: String,
    ) -> Result<Decision, Refusal> {
        let ttl = shared.time.saturating_add(DEADLINES_BEYOND * shared.engine.settings.deadline);
        let mut asking = Asking::new("RL.TAKE");
        let options = ["UPTO", &shared.size.to_string(), "HOLD", &hold, "TTL"];
        asking.options = options.map(String::from).to_vec();
        asking.options.push(ttl.as_millis().to_string());
        let decision = shared.engine.decide_or_keep(&shared.request, asking).await?;
        if decision.reason == Reason::Allowed {
            self.begin(shared, hold, false, &decision, begin + shared.time);
        }
        Ok(decision)
    }

    fn begin(
        &mut self,
        shared: &Arc<Shared>,
        hold: String,
        lapses: bool,
        taken: &Decision,
        end: Instant,
    ) {
        self.number += 1;
        let left = taken.granted.saturating_sub(1);
        let present = Present { hold, lapses, end, left, spent: 1 };
        let runtime = Handle::current();
        let time = end.saturating_duration_since(shared.engine.now());
        if time.is_zero() {
            // The reply came late; the caller does not wait.
            let late = shared.clone();
            let settling = async move { late.settle(&present).await };
            shared.engine.tasks.start(&runtime, settling);
            return;
        }
        self.present = Some(present);
        self.runtime = Some(runtime);
        self.stop = Some(start_timer(shared, self.number, time));
    }
}

fn start_timer(shared: &Arc<Shared>, number: u64, time: Duration) -> Stop {
    let weak: Weak<Shared> = Arc::downgrade(shared);
    let beat = move || {
        let ended = weak.upgrade();
        Box::pin(async move {
            if let Some(shared) = ended {
                shared.end(number).await;
            }
        }) as _
    };
    (shared.engine.settings.every)(time, Box::new(beat))
}
