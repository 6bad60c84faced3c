//! What a program prints of what its caller sees.

use std::time::Duration;

use serde_json::json;
use weir_client::{Decision, Error, Mistake, Reason, Refusal, Value};

/// A line, or the line of an error.
pub type Said = Result<String, String>;

pub fn number(time: Option<Duration>) -> String {
    time.map_or("-".to_string(), |time| time.as_millis().to_string())
}

pub fn decision(decision: Decision) -> String {
    if let Some(cause) = decision.cause {
        let choice = if decision.allowed { "allowed" } else { "denied" };
        return format!("unavailable {cause} {choice}");
    }
    assert_eq!(decision.allowed, decision.reason == Reason::Allowed);
    let times = [number(decision.retry_after), number(decision.reset_after)].join(" ");
    let (remaining, limit) = (decision.remaining.unwrap(), decision.limit.unwrap());
    let mut line = format!("{} {remaining} {times} {limit}", decision.reason);
    for row in decision.limits {
        let times = [number(row.retry_after), number(Some(row.reset_after))].join(" ");
        let counts = format!("{} {} {}", i32::from(row.allowed), row.count, row.remaining);
        let rest = format!("{} {} {}", row.group, row.cost, row.keep);
        line += &format!(" | {} {counts} {times} {rest}", row.name);
    }
    line
}

pub fn fields(decision: &Decision) -> String {
    let mut lines: Vec<_> = weir_client::legacy_fields(decision)
        .into_iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    if !decision.allowed {
        let problem = weir_client::problem(decision);
        lines.push(format!("{} {}", problem.status, problem.body));
    }
    if lines.is_empty() { "none".to_string() } else { lines.join(" | ") }
}

pub fn reply(value: &Value) -> serde_json::Value {
    match value {
        Value::Nil => json!(null),
        Value::Int(number) => json!(number),
        Value::BulkString(bytes) => json!(String::from_utf8_lossy(bytes)),
        Value::SimpleString(text) => json!(text),
        Value::Okay => json!("OK"),
        Value::Array(items) => items.iter().map(reply).collect(),
        other => json!(format!("{other:?}")),
    }
}

pub fn mistake(mistake: Mistake) -> String {
    format!("mistake {mistake}")
}

pub fn refusal(refusal: Refusal) -> String {
    match refusal {
        Refusal::Mistake(error) => mistake(error),
        Refusal::Limited(limited) => {
            let time = number(limited.retry_after);
            format!("limited {} {time} {}", limited.key, limited.decision.reason)
        }
    }
}

pub fn error(error: Error) -> String {
    match error {
        Error::Mistake(error) => mistake(error),
        Error::Unavailable(error) => format!("raised {}", error.cause),
    }
}
