//! The HTTP fields and the body that tell a caller of its limits, as weir's own /check writes them.
//!
//! ```text
//! RateLimit-Policy: "burst";q=40
//! RateLimit: "burst";r=0;t=1
//! Retry-After: 1
//! ```
//!
//! The first two have the form of draft-ietf-httpapi-ratelimit-headers-11, which is not settled: it
//! is in this file only. A denial lists in RateLimit the limits that denied, with the time to wait
//! for `t`. A row of a Decision does not say whether its limit is a bucket or a window, so an
//! admission has no `t`, and a policy no `w`. Shadow limits are never listed, and at most 8 are.

use std::fmt::Write;
use std::time::Duration;

use crate::decision::{Decision, LimitRow, Reason};

const ITEMS_MAX: usize = 8;
const NUMBER_MAX: i64 = 999_999_999_999_999; // an Integer of RFC 9651 has at most 15 digits
const QUOTA_EXCEEDED: &str = "https://iana.org/assignments/http-problem-types#quota-exceeded";

/// The media type of [`Problem::body`].
pub const PROBLEM_TYPE: &str = "application/problem+json";

/// The status and the body (RFC 9457) for a call that is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    pub body: String,
}

/// Names and values; empty if weir is unavailable.
pub fn fields(decision: &Decision) -> Vec<(&'static str, String)> {
    found(decision, false)
}

/// The same with X-RateLimit-Limit, -Remaining and -Reset.
pub fn legacy_fields(decision: &Decision) -> Vec<(&'static str, String)> {
    found(decision, true)
}

/// The Problem of a Decision that is not allowed: 429, or 503 if weir is unavailable.
pub fn problem(decision: &Decision) -> Problem {
    if decision.reason == Reason::Unavailable {
        return Problem { status: 503, body: r#"{"title":"Service Unavailable"}"#.to_string() };
    }
    let title = "Request cannot be satisfied as assigned quota has been exceeded";
    let mut body = format!(r#"{{"type":"{QUOTA_EXCEEDED}","title":"{title}""#);
    let listed = listed(decision);
    let violated: Vec<_> =
        listed.iter().filter(|row| !row.allowed).map(|row| json(&row.name)).collect();
    if !violated.is_empty() {
        let _ = write!(body, r#","violated-policies":[{}]"#, violated.join(","));
    }
    body.push('}');
    Problem { status: 429, body }
}

fn found(decision: &Decision, has_legacy: bool) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    if decision.reason == Reason::Unavailable {
        return found;
    }
    let rows = listed(decision);
    if !rows.is_empty() {
        let policies = rows.iter().map(|row| format!("{};q={}", quoted(&row.name), row.count));
        found.push(("RateLimit-Policy", policies.collect::<Vec<_>>().join(", ")));
    }
    let limits = limits(decision, &rows);
    if !limits.is_empty() {
        found.push(("RateLimit", limits.join(", ")));
    }
    if let (true, Some(row)) = (has_legacy, rows.first()) {
        found.push(("X-RateLimit-Limit", row.count.to_string()));
        found.push(("X-RateLimit-Remaining", remaining(row).to_string()));
        found.push(("X-RateLimit-Reset", seconds_up(row.reset_after).to_string()));
    }
    if let (Reason::Denied, Some(time)) = (decision.reason, decision.retry_after) {
        found.push(("Retry-After", seconds_up(time).max(1).to_string()));
    }
    found
}

/// The rows that a caller is told of, first the one that decided.
fn listed(decision: &Decision) -> Vec<&LimitRow> {
    let mut rows: Vec<&LimitRow> = decision.limits.iter().collect();
    if let Some(index) = decision.limit.filter(|index| *index < rows.len()) {
        rows[..=index].rotate_right(1);
    }
    let mut listed: Vec<&LimitRow> = Vec::new();
    for row in rows {
        let is_same = |other: &&LimitRow| (other.group, &other.name) == (row.group, &row.name);
        if !row.is_shadow && row.count <= NUMBER_MAX && !listed.iter().any(is_same) {
            listed.push(row);
        }
    }
    listed.truncate(ITEMS_MAX);
    listed
}

fn limits(decision: &Decision, rows: &[&LimitRow]) -> Vec<String> {
    if decision.limits.is_empty() {
        let remaining = decision.remaining.unwrap_or_default();
        return vec![item("limit", remaining, decision.retry_after, decision.allowed)];
    }
    let told = rows.iter().filter(|row| decision.allowed || !row.allowed);
    told.map(|row| item(&row.name, remaining(row), row.retry_after, row.allowed)).collect()
}

fn item(name: &str, remaining: i64, retry_after: Option<Duration>, allowed: bool) -> String {
    let mut item = quoted(name);
    if remaining <= NUMBER_MAX {
        let _ = write!(item, ";r={remaining}");
    }
    if let (false, Some(time)) = (allowed, retry_after) {
        let _ = write!(item, ";t={}", seconds_up(time));
    }
    item
}

fn remaining(row: &LimitRow) -> i64 {
    row.remaining.saturating_sub(row.keep).max(0)
}

fn seconds_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// A String of RFC 9651. Bytes that it cannot have are written as those of a Display String.
fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => written.extend(['\\', byte as char]),
            b'%' | ..0x20 | 0x7F.. => {
                let _ = write!(written, "%{byte:02x}");
            }
            _ => written.push(byte as char),
        }
    }
    written.push('"');
    written
}

fn json(text: &str) -> String {
    let mut written = String::from("\"");
    for each in text.chars() {
        match each {
            '"' | '\\' => written.extend(['\\', each]),
            ..' ' => {
                let _ = write!(written, "\\u{:04x}", each as u32);
            }
            _ => written.push(each),
        }
    }
    written.push('"');
    written
}
