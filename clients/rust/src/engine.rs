//! The calls of a Limiter, and its memory: what it counts, and the denials that it keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use redis::Value;

use crate::cause::Cause;
use crate::counters::Counters;
use crate::decision::{Decision, Reason};
use crate::denials::Denials;
use crate::error::{Error, Mistake, Unavailable};
use crate::link::NoReply;
use crate::options::{Fail, Settings};
use crate::tasks::Tasks;
use crate::wire::{CONNECT_TIME, Wire};
use crate::words::Request;

/// A hold has an id, so that a request whose reply is lost may be sent again.
pub(crate) const HOLD_TRIES: usize = 2;
pub(crate) const SLICE: &str = "RL.SLICE";
const LINKS_MAX: usize = 16;
const WAITS_MAX: usize = 16;
const VERIFIED: [&str; 2] = ["weir:verify", "1/s"];
/// Commands that would change a connection, which a Limiter's calls share.
const OF_A_CONNECTION: [&str; 23] = [
    "ASKING",
    "AUTH",
    "DISCARD",
    "EXEC",
    "HELLO",
    "MONITOR",
    "MULTI",
    "PSUBSCRIBE",
    "PSYNC",
    "PUNSUBSCRIBE",
    "QUIT",
    "READONLY",
    "READWRITE",
    "REPLCONF",
    "RESET",
    "RL.SYNC",
    "SELECT",
    "SSUBSCRIBE",
    "SUBSCRIBE",
    "SYNC",
    "UNSUBSCRIBE",
    "UNWATCH",
    "WATCH",
];

pub(crate) struct Engine {
    pub settings: Arc<Settings>,
    pub counters: Counters,
    pub tasks: Tasks,
    denials: Denials,
    has_succeeded: AtomicBool,
    wire: Arc<Wire>,
    waits: Arc<Wire>,
}

/// How a request is asked.
pub(crate) struct Asking {
    pub command: &'static str,
    pub options: Vec<String>, // behind the words
    pub details: bool,
    pub tries: usize,
    pub wait: Option<Duration>, // on a connection of its own, so long beyond the deadline
}

impl Asking {
    pub fn new(command: &'static str) -> Asking {
        Asking { command, options: Vec::new(), details: false, tries: 1, wait: None }
    }

    pub fn with_details(command: &'static str, details: bool) -> Asking {
        Asking { details, ..Asking::new(command) }
    }
}

impl Engine {
    pub fn new(settings: Settings) -> Engine {
        let settings = Arc::new(settings);
        Engine {
            counters: Counters::new(settings.on_unavailable.clone(), settings.fail),
            tasks: Tasks::new(),
            denials: Denials::default(),
            has_succeeded: AtomicBool::new(false),
            wire: Wire::new(settings.clone(), LINKS_MAX, false),
            waits: Wire::new(settings.clone(), WAITS_MAX, true),
            settings,
        }
    }

    pub fn now(&self) -> Instant {
        (self.settings.clock)()
    }

    pub fn close(&self) {
        self.wire.close();
        self.waits.close();
    }

    /// The Request of these words; counts a mistake in them.
    pub fn request(&self, words: &[&str]) -> Result<Request, Mistake> {
        Request::new(words).inspect_err(|_| self.counters.add_mistake())
    }

    // --- Decisions -------------------------------------------------------------------------------

    /// The Decision, without a request if a denial of the same words is kept.
    pub async fn decide_or_keep(
        &self,
        request: &Request,
        asking: Asking,
    ) -> Result<Decision, Mistake> {
        let now = self.now();
        let has_rows = asking.details || request.has_several_keys();
        if let Some(kept) = self.denials.find(&request.words, has_rows, now) {
            self.counters.add_kept();
            return Ok(kept);
        }
        let decision = self.decide(request, &request.words, asking).await?;
        if matches!(decision.reason, Reason::Denied | Reason::Never) {
            self.denials.keep(&request.words, has_rows, now, &decision);
        }
        Ok(decision)
    }

    /// The Decision of these words, which is unavailable if there is no answer.
    pub async fn decide(
        &self,
        request: &Request,
        words: &[String],
        asking: Asking,
    ) -> Result<Decision, Mistake> {
        let has_rows = asking.details || request.has_several_keys(); // to know which was denied
        let mut sent = vec![asking.command.to_string()];
        sent.extend(words.iter().cloned());
        sent.extend(asking.options);
        sent.extend(has_rows.then(|| "WITHLIMITS".to_string()));
        let reply = match asking.wait {
            Some(time) => {
                let time = time.saturating_add(self.settings.deadline);
                self.outcome(self.waits.ask(&sent, time).await)
            }
            None => self.call(&sent, asking.tries).await,
        };
        let is_slice = asking.command == SLICE;
        let decided = match reply {
            Ok(reply) if is_slice => Decision::read_slice(&reply, request),
            Ok(reply) => Decision::read(&reply, request),
            Err(Error::Mistake(mistake)) => Err(mistake),
            Err(Error::Unavailable(error)) => return Ok(self.without_answer(error.cause)),
        };
        match &decided {
            Ok(decision) => self.counters.add_decision(decision),
            Err(mistake) if is_slice && mistake.is_unknown_command() => {} // weir is older
            Err(_) => self.counters.add_asked_mistake(),
        }
        decided
    }

    /// Tells the outage; the Decision that the Limiter is to take.
    pub fn without_answer(&self, cause: Cause) -> Decision {
        self.counters.add_unavailable(cause, self.now());
        Decision::unavailable(cause, self.settings.fail == Fail::Open)
    }

    // --- Other calls -----------------------------------------------------------------------------

    /// The reply to any command but those that would change the connection of other calls.
    pub async fn command(&self, words: &[&str]) -> Result<Value, Error> {
        let Some(name) = words.first() else {
            return Err(Mistake::new("a command has at least one word").into());
        };
        if let Some(name) = OF_A_CONNECTION.iter().find(|other| other.eq_ignore_ascii_case(name)) {
            let text =
                format!("{name} changes a connection, and a Limiter's are for all its calls");
            return Err(Mistake::new(text).into());
        }
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        self.call(&words, 1).await
    }

    /// The reply. If it is lost, sends the words again while `tries` are left.
    pub async fn call(&self, words: &[String], tries: usize) -> Result<Value, Error> {
        let mut reply = self.wire.ask(words, self.settings.deadline).await;
        for _ in 1..tries {
            if !matches!(reply, Err(NoReply::Lost(..))) {
                break;
            }
            match self.wire.ask(words, self.settings.deadline).await {
                Err(NoReply::Closed) => break, // meanwhile
                next => reply = next,
            }
        }
        self.outcome(reply)
    }

    /// Asks RL.PEEK, with time to connect.
    pub async fn verify(&self, words: &[&str]) -> Result<(), Error> {
        let request = Request::new(if words.is_empty() { &VERIFIED } else { words })?;
        let words = [&["RL.PEEK".to_string()], request.words.as_slice()].concat();
        let time = self.settings.deadline.max(CONNECT_TIME);
        self.outcome(self.wire.ask(&words, time).await).map(drop)
    }

    fn outcome(&self, reply: Result<Value, NoReply>) -> Result<Value, Error> {
        match reply {
            Ok(value) => {
                self.has_succeeded.store(true, Ordering::Relaxed);
                Ok(value)
            }
            Err(NoReply::Lost(cause, text)) => Err(Error::Unavailable(Unavailable { cause, text })),
            Err(NoReply::Refused(refused)) => {
                match refused.cause(self.has_succeeded.load(Ordering::Relaxed)) {
                    Some(cause) => {
                        Err(Error::Unavailable(Unavailable { cause, text: refused.text }))
                    }
                    None => Err(Mistake::new(refused.text).into()),
                }
            }
            Err(NoReply::Closed) => Err(Mistake::new("the Limiter is closed").into()),
        }
    }
}
