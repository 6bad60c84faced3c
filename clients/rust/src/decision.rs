//! A Decision, as it is read from the reply to RL.ALLOW and to the commands that answer like it.

use std::fmt;
use std::time::Duration;

use redis::Value;

use crate::cause::Cause;
use crate::error::Mistake;
use crate::words::Request;

/// Why a Decision is as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    Allowed,
    Denied,
    /// The cost is more than the limit ever has.
    Never,
    /// weir gave no answer, and the Limiter decided by its choice of `fail`.
    Unavailable,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Allowed => "allowed",
            Reason::Denied => "denied",
            Reason::Never => "never",
            Reason::Unavailable => "unavailable",
        })
    }
}

/// What one limit says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitRow {
    /// Its label, else its text.
    pub name: String,
    pub allowed: bool,
    pub count: i64,
    pub remaining: i64,
    /// None: never.
    pub retry_after: Option<Duration>,
    pub reset_after: Duration,
    /// Which key, from 0.
    pub group: usize,
    pub cost: i64,
    pub keep: i64,
    /// It denies nothing; not known of a policy's labelled limits.
    pub is_shadow: bool,
}

/// The answer to one call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    pub allowed: bool,
    /// Tokens left, the fewest of any limit.
    pub remaining: Option<i64>,
    /// None: never, or not known.
    pub retry_after: Option<Duration>,
    /// Until all buckets are full.
    pub reset_after: Option<Duration>,
    /// The index of the limit that decided.
    pub limit: Option<usize>,
    pub reason: Reason,
    /// Of `Reason::Unavailable`.
    pub cause: Option<Cause>,
    /// A row for each limit: with details, or with several keys.
    pub limits: Vec<LimitRow>,
    pub(crate) granted: u64, // the tokens that RL.TAKE or RL.SLICE took
    pub(crate) life: Option<Duration>, // that RL.SLICE gave them
}

impl Decision {
    /// That of a Limiter without an answer.
    pub(crate) fn unavailable(cause: Cause, allowed: bool) -> Decision {
        Decision {
            allowed,
            remaining: None,
            retry_after: None,
            reset_after: None,
            limit: None,
            reason: Reason::Unavailable,
            cause: Some(cause),
            limits: Vec::new(),
            granted: 0,
            life: None,
        }
    }

    /// That in the reply to a request of these words.
    pub(crate) fn read(reply: &Value, request: &Request) -> Result<Decision, Mistake> {
        let items = array(reply)?;
        let [granted, remaining, retry_after_ms, reset_after_ms, limit] = integers(items)?;
        let rows = items.get(5).map_or(Ok(&[][..]), array)?;
        Ok(Decision {
            allowed: granted > 0,
            remaining: Some(remaining),
            retry_after: duration(retry_after_ms),
            reset_after: duration(reset_after_ms),
            limit: usize::try_from(limit).ok(),
            reason: match (granted, retry_after_ms) {
                (1.., _) => Reason::Allowed,
                (_, 0..) => Reason::Denied,
                _ => Reason::Never,
            },
            cause: None,
            limits: rows.iter().map(|row| read_row(row, request)).collect::<Result<_, _>>()?,
            granted: granted.max(0) as u64,
            life: None,
        })
    }

    /// That in the reply to RL.SLICE, whose times are in microseconds and whose rows are left out.
    pub(crate) fn read_slice(reply: &Value, request: &Request) -> Result<Decision, Mistake> {
        let [granted, remaining, retry_after_us, reset_after_us, limit, life_us] =
            integers(array(reply)?)?;
        let [retry_after_ms, reset_after_ms] = [retry_after_us, reset_after_us]
            .map(|us| if us > 0 { (us - 1) / 1000 + 1 } else { us });
        let numbers = [granted, remaining, retry_after_ms, reset_after_ms, limit];
        let reply = Value::Array(numbers.map(Value::Int).to_vec());
        let life = u64::try_from(life_us).ok().map(Duration::from_micros);
        Ok(Decision { life, ..Decision::read(&reply, request)? })
    }
}

/// The first number of a reply.
pub(crate) fn first_integer(reply: &Value) -> Result<i64, Mistake> {
    integers(array(reply)?).map(|[first]| first)
}

fn read_row(row: &Value, request: &Request) -> Result<LimitRow, Mistake> {
    let items = array(row)?;
    if items.len() < 9 {
        return Err(Mistake::new("AND needs weir 0.2 or later"));
    }
    let name = match &items[0] {
        Value::BulkString(name) => String::from_utf8_lossy(name).into_owned(),
        Value::SimpleString(name) => name.clone(),
        _ => return Err(strange()),
    };
    let [allowed, count, remaining, retry_ms, reset_ms, group, cost, keep] = integers(&items[1..])?;
    let group = usize::try_from(group).map_err(|_| strange())?;
    Ok(LimitRow {
        allowed: allowed == 1,
        count,
        remaining,
        retry_after: duration(retry_ms),
        reset_after: duration(reset_ms).unwrap_or_default(),
        group,
        cost,
        keep,
        is_shadow: request.is_shadow(group, &name),
        name,
    })
}

fn array(value: &Value) -> Result<&[Value], Mistake> {
    if let Value::Array(items) = value { Ok(items) } else { Err(strange()) }
}

fn integers<const N: usize>(items: &[Value]) -> Result<[i64; N], Mistake> {
    let mut numbers = [0; N];
    for (i, number) in numbers.iter_mut().enumerate() {
        match items.get(i) {
            Some(Value::Int(value)) => *number = *value,
            _ => return Err(strange()),
        }
    }
    Ok(numbers)
}

fn duration(milliseconds: i64) -> Option<Duration> {
    u64::try_from(milliseconds).ok().map(Duration::from_millis)
}

fn strange() -> Mistake {
    Mistake::new("the reply is none of weir's: does another server listen there?")
}
