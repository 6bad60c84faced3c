//! A wrapper that asks weir before an action and runs it, or says when it would be allowed.
//!
//!     let gate = Gate::new(Options { address: "127.0.0.1:7379".into(), ..Options::default() });
//!
//!     gate.limited(say_hello, &["greetings", "10/s", "1000/h"])?;    // the words of RL.ALLOW
//!
//!     match gate.limited(|| send(to), &[&format!("mail:{to}"), "3/h", "AND", "mailer", "100/m"]) {
//!         Ok(sent) => ...,                                           // what send() returned
//!         Err(Refusal::Limited { key, retry_after }) => ...,         // it was not called
//!         Err(Refusal::Mistake(error)) => ...,                       // weir's error: a bad limit
//!     }
//!
//!     let api = gate.slice(50, Duration::from_secs(1), &["api", "1000/s"]);
//!     api.spend()?;              // asks weir once for 50 tokens, kept for 1 s
//!
//! weir has 50 ms to answer. If it does not answer, or answers that it cannot limit (AWAY below),
//! the action is run (`fail_open: true`) or refused, and the next call connects again. Nothing is
//! sent twice: a request whose reply was lost may have been charged, and a second one would be
//! charged again. Only holds, which have an id, are sent twice: hold.rs and lease.rs.
//!
//! A denial holds for the time that it names, so the same words are not asked again during that
//! time, for a second at most: a key under attack costs one request per second.
//!
//! Threads can share a Gate and its slices.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::lease::every_in_thread;
use super::resp::{Connection, Reply};
use super::slice::Slice;

const DENIAL_TIME: Duration = Duration::from_secs(1); // the longest that a denial is kept
const DENIALS_MAX: usize = 10_000;
const IDLE_MAX: usize = 16; // connections that are kept

/// The beginnings of errors of a server that runs but cannot limit.
const AWAY: [&str; 11] = [
    "LOADING ",
    "MISCONF ",
    "READONLY ",
    "NOREPLICAS ",
    "NOACK ",
    "MASTERDOWN ",
    "CLUSTERDOWN ",
    "BUSY ",
    "OOM ",
    "NOAUTH ",
    "ERR max number of clients reached",
];

/// Calls a function again and again, until the returned function is called.
pub type Every = dyn Fn(Duration, Beat) -> Stop + Send + Sync;
pub type Beat = Box<dyn Fn() + Send + Sync>;
pub type Stop = Box<dyn FnOnce() + Send>;

/// The reason why an action was not run.
#[derive(Debug)]
pub enum Refusal {
    /// `retry_after` is None if the action is never allowed, or if weir does not answer.
    Limited { key: String, retry_after: Option<Duration> },
    /// weir's error about the request.
    Mistake(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Refusal::Limited { key, .. } => write!(f, "{key} is limited"),
            Refusal::Mistake(error) => f.write_str(error),
        }
    }
}

impl std::error::Error for Refusal {}

pub struct Options {
    pub address: String, // host:port
    pub fail_open: bool,
    pub deadline: Duration,
    pub now: Box<dyn Fn() -> Instant + Send + Sync>,
    pub every: Box<Every>, // the heartbeat of leases
}

impl Default for Options {
    fn default() -> Options {
        Options {
            address: "127.0.0.1:7379".into(),
            fail_open: true,
            deadline: Duration::from_millis(50),
            now: Box::new(Instant::now),
            every: Box::new(every_in_thread),
        }
    }
}

/// Asks one server, with as many connections as there are requests at a time.
pub struct Gate {
    pub(super) options: Options,
    idle: Mutex<Vec<Connection>>,
    denials: Mutex<HashMap<Vec<String>, Denial>>,
}

#[derive(Clone)]
struct Denial {
    key: String,
    kept_until: Instant,
    retry_at: Option<Instant>, // None: never
}

impl Denial {
    fn refusal(&self, now: Instant) -> Refusal {
        let retry_after = self.retry_at.map(|then| then - now);
        Refusal::Limited { key: self.key.clone(), retry_after }
    }
}

impl Gate {
    /// Connects when it is first asked.
    pub fn new(options: Options) -> Arc<Gate> {
        Arc::new(Gate { options, idle: Mutex::default(), denials: Mutex::default() })
    }

    /// Takes a token from each limit, or from none. The words are those of RL.ALLOW: a key and its
    /// limits, then perhaps AND, a key, its limits.
    pub fn check(&self, words: &[&str]) -> Result<(), Refusal> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        self.ask("RL.ALLOW", &words, &[]).map(|_| ())
    }

    /// Runs the action if the words are allowed.
    pub fn limited<T>(&self, action: impl FnOnce() -> T, words: &[&str]) -> Result<T, Refusal> {
        self.check(words).map(|()| action())
    }

    /// Returns a slice of these limits, which must not have costs.
    pub fn slice(self: &Arc<Gate>, size: i64, time: Duration, words: &[&str]) -> Slice {
        let words = words.iter().map(|word| word.to_string()).collect();
        Slice::new(self.clone(), size, time, words)
    }

    /// Returns the tokens that weir grants, None if it does not answer.
    pub(super) fn ask(
        &self,
        command: &str,
        words: &[String],
        options: &[&str],
    ) -> Result<Option<i64>, Refusal> {
        let now = (self.options.now)();
        if let Some(denial) = self.denials.lock().unwrap().get(words) {
            if now < denial.kept_until {
                return Err(denial.refusal(now));
            }
        }
        match self.decide(command, words, options, 1) {
            Ok(None) => self.no_answer(words),
            Err(Refusal::Limited { key, retry_after }) => {
                let denial = Denial {
                    key,
                    kept_until: now + retry_after.unwrap_or(DENIAL_TIME).min(DENIAL_TIME),
                    retry_at: retry_after.map(|time| now + time),
                };
                self.keep(words, &denial);
                Err(denial.refusal(now))
            }
            decided => decided,
        }
    }

    /// Returns the tokens that weir grants, None if it does not answer. Keeps no denial.
    pub(super) fn decide(
        &self,
        command: &str,
        words: &[String],
        options: &[&str],
        tries: u32,
    ) -> Result<Option<i64>, Refusal> {
        let groups = split_at_and(words);
        let mut request = vec![command];
        request.extend(words.iter().map(String::as_str));
        request.extend(options);
        if groups.len() > 1 {
            request.push("WITHLIMITS"); // says which key was denied
        }
        let reply = match self.call(&request, tries)? {
            Some(reply) => reply,
            None => return Ok(None),
        };
        let number = |i: usize| reply.get(i).and_then(Reply::integer).unwrap_or(0);
        let (granted, retry_after_ms, decisive) = (number(0), number(2), number(4));
        if granted > 0 {
            return Ok(Some(granted));
        }
        let group = match reply.get(5) {
            Some(rows) => group_of(rows, decisive).ok_or_else(too_old)?,
            None => 0,
        };
        let retry_after = u64::try_from(retry_after_ms).ok().map(Duration::from_millis);
        Err(Refusal::Limited { key: groups[group][0].clone(), retry_after })
    }

    /// Returns weir's reply, None if it does not answer. With more than one try, a request whose
    /// reply is lost is sent again.
    pub(super) fn call(&self, words: &[&str], tries: u32) -> Result<Option<Vec<Reply>>, Refusal> {
        match (0..tries).find_map(|_| self.send(words).ok()) {
            Some(Reply::Error(error)) if !AWAY.iter().any(|away| error.starts_with(away)) => {
                Err(Refusal::Mistake(error))
            }
            Some(Reply::Array(items)) => Ok(Some(items)),
            _ => Ok(None),
        }
    }

    pub(super) fn no_answer<T>(&self, words: &[String]) -> Result<Option<T>, Refusal> {
        if self.options.fail_open {
            return Ok(None);
        }
        Err(Refusal::Limited { key: words[0].clone(), retry_after: None })
    }

    /// Gives tokens back. A refund that fails is not repeated: it may have been made. Without it
    /// the tokens come back in time.
    pub(super) fn refund(&self, words: &[String], tokens: i64) {
        let cost = ["COST".to_string(), tokens.to_string()];
        let groups = split_at_and(words);
        let groups: Vec<_> = groups.iter().map(|group| [*group, &cost].concat()).collect();
        let words = join_with_and(&groups);
        let mut request = vec!["RL.REFUND"];
        request.extend(words.iter().map(String::as_str));
        let _ = self.send(&request);
    }

    fn keep(&self, words: &[String], denial: &Denial) {
        let mut denials = self.denials.lock().unwrap();
        if denials.len() >= DENIALS_MAX {
            denials.clear();
        }
        denials.insert(words.to_vec(), denial.clone());
    }

    fn send(&self, words: &[&str]) -> io::Result<Reply> {
        let deadline = Instant::now() + self.options.deadline;
        let mut connection = match self.idle_connection() {
            Some(connection) => connection,
            None => Connection::connect(&self.options.address, deadline)?,
        };
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let reply = connection.call(&words, deadline)?;
        let mut idle = self.idle.lock().unwrap();
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        Ok(reply)
    }

    /// A connection that the server has not closed.
    fn idle_connection(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap();
        while let Some(connection) = idle.pop() {
            if connection.is_idle() {
                return Some(connection);
            }
        }
        None
    }
}

/// The group of the limit that decided, from its row of WITHLIMITS.
fn group_of(rows: &Reply, decisive: i64) -> Option<usize> {
    let row = rows.items().get(usize::try_from(decisive).ok()?)?;
    usize::try_from(row.items().get(6)?.integer()?).ok()
}

fn too_old() -> Refusal {
    Refusal::Mistake("AND needs weir 0.2 or later".into())
}

/// The groups of a request: a key, its limits and its cost.
pub(super) fn split_at_and(words: &[String]) -> Vec<&[String]> {
    let (mut groups, mut begin) = (vec![], 0);
    for i in 1..=words.len() {
        if i == words.len() || (i > begin && words[i].eq_ignore_ascii_case("AND")) {
            groups.push(&words[begin..i]);
            begin = i + 1;
        }
    }
    groups
}

/// The words of a request.
pub(super) fn join_with_and(groups: &[Vec<String>]) -> Vec<String> {
    groups.join(&"AND".to_string())
}
