//! The Limiter of threads. A thread of its own plays the calls of the other Limiter, so that one
//! deadline covers all of a call, however many reads and writes it takes.

use std::fmt;
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::{self, ThreadId};
use std::time::Duration;

use redis::Value;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::counters::Counts;
use crate::decision::Decision;
use crate::error::{Error, Mistake, Refusal};
use crate::options::{Fail, Options};
use crate::{hold, lease, limiter, slice};

/// Plays a call of the other Limiter.
macro_rules! play {
    ($self:ident, $words:ident, |$limiter:ident, $given:ident| $call:expr) => {{
        let $limiter = $self.limiter.clone();
        let owned: Vec<String> = $words.iter().map(|word| word.to_string()).collect();
        $self.thread.run(async move {
            let $given: Vec<&str> = owned.iter().map(String::as_str).collect();
            $call.await
        })
    }};
}

/// Asks weir. Threads may share it; it connects with the first call; its clones share all of it.
///
/// `words` are those of RL.ALLOW: a key and its limits, then perhaps AND, another key, its limits;
/// COST too. A call returns a [`Decision`] also without an answer of weir, as its `fail` says. A
/// [`Mistake`] is returned always. A child process after fork() makes its own.
#[derive(Clone)]
pub struct Limiter {
    limiter: limiter::Limiter,
    thread: Arc<Thread>,
}

impl Limiter {
    /// One that fails open, unless the URL says `?fail=closed`.
    pub fn new(url: &str) -> Result<Limiter, Mistake> {
        Limiter::with(Options::new().url(url))
    }

    /// One that fails closed.
    pub fn fail_closed(url: &str) -> Result<Limiter, Mistake> {
        Limiter::with(Options::new().url(url).fail(Fail::Closed))
    }

    pub fn with(options: Options) -> Result<Limiter, Mistake> {
        let thread =
            Thread::start().map_err(|error| Mistake::new(format!("no thread: {error}")))?;
        let options = options.beating_on(thread.runtime.clone());
        Ok(Limiter { limiter: limiter::Limiter::with(options)?, thread: Arc::new(thread) })
    }

    /// One Decision.
    pub fn allow(&self, words: &[&str]) -> Result<Decision, Mistake> {
        play!(self, words, |limiter, words| limiter.allow(&words))
    }

    /// The same with a row for each limit.
    pub fn allow_with_details(&self, words: &[&str]) -> Result<Decision, Mistake> {
        play!(self, words, |limiter, words| limiter.allow_with_details(&words))
    }

    /// What `allow` would say; takes nothing.
    pub fn peek(&self, words: &[&str]) -> Result<Decision, Mistake> {
        play!(self, words, |limiter, words| limiter.peek(&words))
    }

    /// The same with a row for each limit.
    pub fn peek_with_details(&self, words: &[&str]) -> Result<Decision, Mistake> {
        play!(self, words, |limiter, words| limiter.peek_with_details(&words))
    }

    /// Charges what has been used already, whether it is there or not.
    pub fn charge(&self, words: &[&str]) -> Result<Decision, Mistake> {
        play!(self, words, |limiter, words| limiter.charge(&words))
    }

    /// Gives tokens back.
    pub fn refund(&self, words: &[&str]) -> Result<Decision, Mistake> {
        play!(self, words, |limiter, words| limiter.refund(&words))
    }

    /// Waits for the tokens, so long at most. At most 16 calls wait at a time.
    pub fn wait(&self, time: Duration, words: &[&str]) -> Result<Decision, Mistake> {
        play!(self, words, |limiter, words| limiter.wait(time, &words))
    }

    /// The reply to any command that is answered once and leaves its connection as it was: MULTI,
    /// SUBSCRIBE, AUTH and their like are a [`Mistake`]. Never fails open.
    pub fn command(&self, words: &[&str]) -> Result<Value, Error> {
        play!(self, words, |limiter, words| limiter.command(&words))
    }

    /// Connects, logs in and asks RL.PEEK, of your own words if there are any. Returns whatever is
    /// wrong, an outage too. Called when a service starts, it makes a wrong address loud.
    pub fn verify(&self, words: &[&str]) -> Result<(), Error> {
        play!(self, words, |limiter, words| limiter.verify(&words))
    }

    /// The Decision if it is allowed, else [`Refusal::Limited`].
    pub fn check(&self, words: &[&str]) -> Result<Decision, Refusal> {
        play!(self, words, |limiter, words| limiter.check(&words))
    }

    /// What the action returns, if it is allowed; else it is not called.
    pub fn limited<T>(&self, words: &[&str], action: impl FnOnce() -> T) -> Result<T, Refusal> {
        self.check(words)?;
        Ok(action())
    }

    /// A [`Hold`] for `ttl`. The estimate is put into the words' places `cost={}`.
    pub fn reserve(
        &self,
        ttl: Duration,
        words: &[&str],
        estimate: Option<u64>,
    ) -> Result<Hold, Refusal> {
        let hold = play!(self, words, |limiter, words| limiter.reserve(ttl, &words, estimate))?;
        Ok(Hold { hold: Some(hold), thread: self.thread.clone() })
    }

    /// A [`Lease`] of a slot, renewed while it is there.
    pub fn lease(&self, ttl: Duration, words: &[&str]) -> Result<Lease, Refusal> {
        let lease = play!(self, words, |limiter, words| limiter.lease(ttl, &words))?;
        Ok(Lease { lease: Arc::new(lease), thread: self.thread.clone() })
    }

    /// A [`Slice`]: up to `size` tokens taken at once, as many as weir can spare, to be spent
    /// within `time`, or less.
    pub fn slice(&self, size: u64, time: Duration, words: &[&str]) -> Result<Slice, Mistake> {
        let slice = Arc::new(self.limiter.slice(size, time, words)?);
        Ok(Slice { slice, thread: self.thread.clone() })
    }

    /// The [`Counts`] since the Limiter was made.
    pub fn counts(&self) -> Counts {
        self.limiter.counts()
    }

    /// The URL without the password.
    pub fn address(&self) -> String {
        self.limiter.address()
    }

    pub fn fail(&self) -> Fail {
        self.limiter.fail()
    }

    pub fn deadline(&self) -> Duration {
        self.limiter.deadline()
    }

    /// Closes the connections. Calls that are under way end without an answer; later ones return a
    /// [`Mistake`].
    pub fn close(&self) {
        let limiter = self.limiter.clone();
        self.thread.run(async move { limiter.close().await });
    }
}

impl fmt::Debug for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.limiter.fmt(f)
    }
}

/// A reservation. One that is dropped without [`Hold::settle`] is cancelled; so it is at the end of
/// its time to live.
#[must_use = "a hold that is dropped is cancelled"]
pub struct Hold {
    hold: Option<hold::Hold>, // None: a call is being played
    thread: Arc<Thread>,
}

impl Hold {
    /// Whether there is a hold to settle: not without an answer of weir.
    pub fn is_open(&self) -> bool {
        self.hold.as_ref().is_some_and(hold::Hold::is_open)
    }

    /// Charges what was used in place of the estimate. Returns whether that is so.
    ///
    /// It is not if there is no hold, if it has expired, or if weir does not answer; only then can
    /// it be repeated.
    pub fn settle(&mut self, used: u64) -> Result<bool, Mistake> {
        let Some(mut hold) = self.hold.take() else { return Ok(false) };
        let (hold, settled) = self.thread.run(async move {
            let settled = hold.settle(used).await;
            (hold, settled)
        });
        self.hold = Some(hold);
        settled
    }

    /// Settles; if the hold has expired, charges what was used. Returns whether it is settled.
    ///
    /// A hold that expires gives back all that it reserved. So a budget that must not be
    /// undercounted wants this, and one that must not be overdrawn wants [`Hold::settle`].
    pub fn settle_or_charge(&mut self, used: u64) -> Result<bool, Mistake> {
        let Some(mut hold) = self.hold.take() else { return Ok(false) };
        let (hold, settled) = self.thread.run(async move {
            let settled = hold.settle_or_charge(used).await;
            (hold, settled)
        });
        self.hold = Some(hold);
        settled
    }

    /// Gives all of it back, unless it has been settled.
    pub fn cancel(&mut self) {
        let Some(mut hold) = self.hold.take() else { return };
        self.hold = Some(self.thread.run(async move {
            hold.cancel().await;
            hold
        }));
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(hold) = self.hold.take() {
            self.thread.run(hold.end());
        }
    }
}

/// A slot that is held while a job runs, renewed at a third of its time to live. A lease that is
/// dropped frees the slot. Threads may share it.
#[must_use = "a lease that is dropped is released"]
pub struct Lease {
    lease: Arc<lease::Lease>,
    thread: Arc<Thread>,
}

impl Lease {
    /// Whether weir may have given the slot to another worker. It goes by the clock, so it is in
    /// time even if the heartbeat is late.
    pub fn is_lost(&self) -> bool {
        self.lease.is_lost()
    }

    /// Frees the slot. Returns whether it was held until now.
    pub fn release(&self) -> bool {
        let lease = self.lease.clone();
        self.thread.run(async move { lease.release().await })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release();
    }
}

/// Up to so many tokens taken at once, as many as weir can spare, to be spent within a time, or
/// less. Threads may share it: one asks weir for more while the others wait, for a deadline at
/// most. A slice that is dropped is given back. The limits of several keys must not say `cost=`.
pub struct Slice {
    slice: Arc<slice::Slice>,
    thread: Arc<Thread>,
}

impl Slice {
    /// Spends a token. It may take two deadlines: to settle the last slice, and to take the next
    /// one.
    pub fn spend(&self) -> Result<(), Refusal> {
        if self.slice.spend_present() {
            return Ok(());
        }
        let slice = self.slice.clone();
        self.thread.run(async move { slice.spend().await })
    }

    /// Settles the slice, so that what is left comes back.
    pub fn give_back(&self) {
        let slice = self.slice.clone();
        self.thread.run(async move { slice.give_back().await });
    }
}

impl Drop for Slice {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// A thread with a runtime.
struct Thread {
    runtime: Handle,
    id: ThreadId,
    _stop: oneshot::Sender<()>, // dropped: the thread ends
}

impl Thread {
    fn start() -> io::Result<Thread> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let run = move || drop(runtime.block_on(stopped));
        let started = thread::Builder::new().name("weir-client".to_string()).spawn(run)?;
        Ok(Thread { runtime: handle, id: started.thread().id(), _stop: stop })
    }

    /// The result of a future. Unlike block_on(), it may be called in a task of another runtime.
    fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        let is_outside = thread::current().id() != self.id; // else nobody would play the future
        assert!(is_outside, "a callback of a Limiter of threads must not call it");
        let (tell, told) = mpsc::sync_channel(1);
        self.runtime.spawn(async move { drop(tell.send(future.await)) });
        told.recv().expect("a call does not panic, and the thread is there")
    }
}
