//! The Limiter of tokio.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use tokio::time::timeout;

use crate::counters::Counts;
use crate::decision::Decision;
use crate::engine::{Asking, Engine};
use crate::error::{Error, Mistake, Refusal};
use crate::hold::Hold;
use crate::lease::Lease;
use crate::options::{Fail, Options};
use crate::slice::Slice;

/// A hold that was dropped may take two, for the two tries of its cancellation, and so may a slice
/// that waits for another request first.
const FLUSH_DEADLINES: u32 = 4;

/// Asks weir. It connects with the first call; its clones share all of it.
///
/// `words` are those of RL.ALLOW: a key and its limits, then perhaps AND, another key, its limits;
/// COST too. A call returns a [`Decision`] also without an answer of weir, as its `fail` says. A
/// [`Mistake`] is returned always. A future that is dropped closes its connection.
#[derive(Clone)]
pub struct Limiter {
    engine: Arc<Engine>,
}

impl Limiter {
    /// One that fails open, unless the URL says `?fail=closed`.
    #[cfg(feature = "tokio")]
    pub fn new(url: &str) -> Result<Limiter, Mistake> {
        Limiter::with(Options::new().url(url))
    }

    /// One that fails closed.
    #[cfg(feature = "tokio")]
    pub fn fail_closed(url: &str) -> Result<Limiter, Mistake> {
        Limiter::with(Options::new().url(url).fail(Fail::Closed))
    }

    pub fn with(options: Options) -> Result<Limiter, Mistake> {
        Ok(Limiter { engine: Arc::new(Engine::new(options.settings()?)) })
    }

    /// One Decision.
    pub async fn allow(&self, words: &[&str]) -> Result<Decision, Mistake> {
        let request = self.engine.request(words)?;
        self.engine.decide_or_keep(&request, Asking::new("RL.ALLOW")).await
    }

    /// The same with a row for each limit.
    pub async fn allow_with_details(&self, words: &[&str]) -> Result<Decision, Mistake> {
        let request = self.engine.request(words)?;
        self.engine.decide_or_keep(&request, Asking::with_details("RL.ALLOW", true)).await
    }

    /// What `allow` would say; takes nothing.
    pub async fn peek(&self, words: &[&str]) -> Result<Decision, Mistake> {
        self.decide(words, Asking::new("RL.PEEK")).await
    }

    /// The same with a row for each limit.
    pub async fn peek_with_details(&self, words: &[&str]) -> Result<Decision, Mistake> {
        self.decide(words, Asking::with_details("RL.PEEK", true)).await
    }

    /// Charges what has been used already, whether it is there or not.
    pub async fn charge(&self, words: &[&str]) -> Result<Decision, Mistake> {
        self.decide(words, Asking::new("RL.CHARGE")).await
    }

    /// Gives tokens back.
    pub async fn refund(&self, words: &[&str]) -> Result<Decision, Mistake> {
        self.decide(words, Asking::new("RL.REFUND")).await
    }

    /// Waits for the tokens, so long at most. At most 16 calls wait at a time.
    pub async fn wait(&self, time: Duration, words: &[&str]) -> Result<Decision, Mistake> {
        let mut asking = Asking::new("RL.WAIT");
        asking.options = vec!["TIMEOUT".to_string(), time.as_millis().to_string()];
        asking.wait = Some(time);
        self.decide(words, asking).await
    }

    /// The reply to any command that is answered once and leaves its connection as it was: MULTI,
    /// SUBSCRIBE, AUTH and their like are a [`Mistake`]. Never fails open.
    pub async fn command(&self, words: &[&str]) -> Result<Value, Error> {
        self.engine.command(words).await
    }

    /// Connects, logs in and asks RL.PEEK, of your own words if there are any. Returns whatever is
    /// wrong, an outage too. Called when a service starts, it makes a wrong address loud.
    pub async fn verify(&self, words: &[&str]) -> Result<(), Error> {
        self.engine.verify(words).await
    }

    /// The Decision if it is allowed, else [`Refusal::Limited`].
    pub async fn check(&self, words: &[&str]) -> Result<Decision, Refusal> {
        let request = self.engine.request(words)?;
        let decision = self.engine.decide_or_keep(&request, Asking::new("RL.ALLOW")).await?;
        if decision.allowed { Ok(decision) } else { Err(request.limited(decision)) }
    }

    /// What the action returns, if it is allowed; else it does not begin.
    #[cfg(feature = "tokio")]
    pub async fn limited<T>(
        &self,
        words: &[&str],
        action: impl Future<Output = T>,
    ) -> Result<T, Refusal> {
        self.check(words).await?;
        Ok(action.await)
    }

    /// A [`Hold`] for `ttl`. The estimate is put into the words' places `cost={}`.
    pub async fn reserve(
        &self,
        ttl: Duration,
        words: &[&str],
        estimate: Option<u64>,
    ) -> Result<Hold, Refusal> {
        Hold::reserve(self.engine.clone(), ttl, words, estimate).await
    }

    /// A [`Lease`] of a slot, renewed while it is there.
    pub async fn lease(&self, ttl: Duration, words: &[&str]) -> Result<Lease, Refusal> {
        Lease::take(self.engine.clone(), ttl, words).await
    }

    /// A [`Slice`]: up to `size` tokens taken at once, as many as weir can spare, to be spent
    /// within `time`, or less.
    pub fn slice(&self, size: u64, time: Duration, words: &[&str]) -> Result<Slice, Mistake> {
        Slice::new(self.engine.clone(), size, time, words)
    }

    /// The [`Counts`] since the Limiter was made.
    pub fn counts(&self) -> Counts {
        self.engine.counters.counts()
    }

    /// The URL without the password.
    pub fn address(&self) -> String {
        self.engine.settings.address.to_string()
    }

    pub fn fail(&self) -> Fail {
        self.engine.settings.fail
    }

    pub fn deadline(&self) -> Duration {
        self.engine.settings.deadline
    }

    /// Waits until the holds, leases and slices that were dropped have been given back.
    pub async fn flush(&self) {
        self.engine.tasks.ended().await;
    }

    /// Flushes, for four deadlines at most, and closes the connections. Calls that are under way
    /// end without an answer; later ones return a [`Mistake`].
    pub async fn close(&self) {
        let _ = timeout(FLUSH_DEADLINES * self.deadline(), self.flush()).await;
        self.engine.close();
    }

    async fn decide(&self, words: &[&str], asking: Asking) -> Result<Decision, Mistake> {
        let request = self.engine.request(words)?;
        self.engine.decide(&request, &request.words, asking).await
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fail = self.fail();
        f.debug_struct("Limiter").field("address", &self.address()).field("fail", &fail).finish()
    }
}
