//! The words of a request, and the groups that AND divides them into.

use crate::decision::Decision;
use crate::error::{Limited, Mistake, Refusal};

const COST_PLACE: &str = "cost={}";

/// The words of a decision: keys with their limits, between them AND.
#[derive(Clone)]
pub(crate) struct Request {
    pub words: Vec<String>,
    groups: Vec<Vec<String>>,
}

impl Request {
    pub fn new(words: &[&str]) -> Result<Request, Mistake> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        let groups = split_at_and(&words);
        for (number, group) in (1..).zip(&groups) {
            match group.first() {
                None => {
                    return Err(Mistake::new(format!("group {number} of the request has no key")));
                }
                Some(key) if key.is_empty() => {
                    let text = "is empty: one bucket for all callers";
                    return Err(Mistake::new(format!("the key of group {number} {text}")));
                }
                Some(_) => {}
            }
        }
        Ok(Request { words, groups })
    }

    pub fn has_several_keys(&self) -> bool {
        self.groups.len() > 1
    }

    /// Whether a limit has a place for the cost.
    pub fn has_place(&self) -> bool {
        self.words.iter().any(|word| word.contains(COST_PLACE))
    }

    /// Whether this is a shadow limit of the group, by its text or by its label (name=).
    pub fn is_shadow(&self, group: usize, name: &str) -> bool {
        let is_said = |text: &str| text.split(',').skip(1).any(|option| option == "shadow");
        let label =
            |text: &str| text.split(',').skip(1).any(|o| o.strip_prefix("name=") == Some(name));
        let limits = self.groups.get(group).map_or(&[][..], |group| &group[1..]);
        is_said(name) || limits.iter().any(|limit| is_said(limit) && label(limit))
    }

    /// All words, with the cost in its places.
    pub fn with_cost(&self, cost: u64) -> Vec<String> {
        self.join(|group| {
            let limits = group[1..].iter().map(|word| put(word, cost));
            std::iter::once(group[0].clone()).chain(limits).collect()
        })
    }

    /// The keys, each with those limits alone that have a place for the cost.
    pub fn costs(&self, cost: u64) -> Vec<String> {
        self.join(|group| costs_of(group, cost))
    }

    /// The same without the keys that have no such limit.
    pub fn costs_of_some(&self, cost: u64) -> Vec<String> {
        self.join(|group| {
            let words = costs_of(group, cost);
            if words.len() > 1 { words } else { Vec::new() }
        })
    }

    /// All words, each group with this COST.
    pub fn charged(&self, tokens: u64) -> Vec<String> {
        self.join(|group| [group, &cost(tokens)].concat())
    }

    /// The keys, each with this COST for all of its limits.
    pub fn settled(&self, tokens: u64) -> Vec<String> {
        self.join(|group| [&group[..1], &cost(tokens)].concat())
    }

    /// The keys alone.
    pub fn keys(&self) -> Vec<String> {
        self.join(|group| group[..1].to_vec())
    }

    /// What a call is told that is not allowed.
    pub fn limited(&self, decision: Decision) -> Refusal {
        let row = decision.limit.and_then(|index| decision.limits.get(index));
        let group = row.map_or(0, |row| row.group).min(self.groups.len() - 1);
        let key = self.groups[group][0].clone();
        let retry_after = decision.retry_after;
        Refusal::Limited(Box::new(Limited { key, retry_after, decision }))
    }

    /// The groups that `words` makes of these, but for empty ones, with AND between them.
    fn join(&self, words: impl Fn(&[String]) -> Vec<String>) -> Vec<String> {
        let groups: Vec<_> = self.groups.iter().map(|group| words(group)).collect();
        let groups: Vec<_> = groups.into_iter().filter(|group| !group.is_empty()).collect();
        groups.join(&"AND".to_string())
    }
}

/// A group begins with its key, which may be "AND", too.
fn split_at_and(words: &[String]) -> Vec<Vec<String>> {
    let mut groups = vec![Vec::new()];
    for word in words {
        let last = groups.len() - 1;
        if !groups[last].is_empty() && word.eq_ignore_ascii_case("AND") {
            groups.push(Vec::new());
        } else {
            groups[last].push(word.clone());
        }
    }
    groups
}

fn costs_of(group: &[String], cost: u64) -> Vec<String> {
    let limits = group[1..].iter().filter(|word| word.contains(COST_PLACE));
    std::iter::once(group[0].clone()).chain(limits.map(|word| put(word, cost))).collect()
}

fn put(word: &str, cost: u64) -> String {
    word.replace(COST_PLACE, &format!("cost={cost}"))
}

fn cost(tokens: u64) -> [String; 2] {
    ["COST".to_string(), tokens.to_string()]
}
