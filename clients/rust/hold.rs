use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use super::limited::{join_with_and, split_at_and, Gate, Refusal};

const TRIES: u32 = 2;
const PLACE: &str = "cost={}"; // in a word, the estimate's place

/// A reservation of what an action will use, as estimated, that is settled with what it did use.
///
///     let words = ["team:7", "5,held", "100k/m,cost={}"];
///     let mut hold = gate.reserved(1500, Duration::from_secs(120), &words)?;
///     hold.settle(call_model())?;        // frees the slot, charges 812 tokens and not 1500
///
/// Each `cost={}` is the estimate's place; the other limits are charged as they stand. A hold that
/// is dropped before it is settled is cancelled: all of it is given back at once. So it is after
/// the time to live, here 120 s, if the program dies.
///
/// A request whose reply is lost is sent once more. It has the same id, a random one, so it is
/// charged once. A Gate that fails open runs the action while weir is away; then there is no hold,
/// and settle does nothing. A denial is not kept, as a slot may be free at any time.
pub struct Hold {
    gate: Arc<Gate>,
    groups: Vec<Vec<String>>,
    words: Vec<String>,
    id: String,
    ttl_ms: String,
    pub(super) is_open: bool, // weir may have the hold, not settled
    is_settled: bool,
    has_settled: bool, // has tried to
}

impl Gate {
    /// Reserves these words of RL.RESERVE.
    pub fn reserved(
        self: &Arc<Gate>,
        estimate: i64,
        ttl: Duration,
        words: &[&str],
    ) -> Result<Hold, Refusal> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        let groups: Vec<_> = split_at_and(&words).into_iter().map(<[String]>::to_vec).collect();
        let mut hold = Hold {
            gate: self.clone(),
            words: join_with_and(&with_cost(&groups, estimate, true)),
            groups,
            id: random_id(),
            ttl_ms: ttl.as_millis().to_string(),
            is_open: false,
            is_settled: false,
            has_settled: false,
        };
        match hold.ask()? {
            Some(_) => hold.is_open = true,
            None => drop(self.no_answer::<()>(&hold.words)?),
        }
        Ok(hold)
    }
}

impl Hold {
    /// Charges what was used in place of the estimate. Returns whether that is so. It is not if
    /// there is no hold, if it has expired, or if weir does not answer; only then can it be
    /// repeated.
    pub fn settle(&mut self, used: i64) -> Result<bool, Refusal> {
        if self.is_open {
            self.has_settled = true;
            self.is_settled = self.end("RL.COMMIT", &with_cost(&self.groups, used, false))?;
        }
        Ok(self.is_settled)
    }

    /// Settles; if the hold has expired, charges what was used. Returns whether it is settled. A
    /// hold that expires gives back all that it reserved. So a budget that must not be undercounted
    /// wants this, and one that must not be overdrawn wants settle.
    pub fn settle_or_charge(&mut self, used: i64) -> Result<bool, Refusal> {
        let was_open = self.is_open;
        if self.settle(used)? || !was_open || self.is_open {
            return Ok(self.is_settled);
        }
        let mut charge = with_cost(&self.groups, used, false);
        charge.retain(|group| group.len() > 1);
        if !charge.is_empty() {
            // Without an answer it may have been charged, so it is not repeated.
            self.call("RL.CHARGE", &charge, &[], 1)?;
        }
        Ok(false)
    }

    /// Gives all of it back, unless it has been settled.
    pub fn cancel(&mut self) {
        if self.is_open && !self.has_settled {
            let keys: Vec<_> = self.groups.iter().map(|group| group[..1].to_vec()).collect();
            let _ = self.end("RL.CANCEL", &keys); // else it expires
        }
    }

    /// Reserves, or renews the time to live of what is reserved. None: weir does not answer.
    pub(super) fn ask(&self) -> Result<Option<i64>, Refusal> {
        let options = ["HOLD", &self.id, "TTL", &self.ttl_ms];
        self.gate.decide("RL.RESERVE", &self.words, &options, TRIES)
    }

    /// Ends the hold. Returns whether weir had it.
    fn end(&mut self, command: &str, groups: &[Vec<String>]) -> Result<bool, Refusal> {
        let settled = self.call(command, groups, &["HOLD", &self.id], TRIES)?;
        self.is_open &= settled.is_none();
        Ok(settled == Some(1))
    }

    /// Returns the first number of the reply.
    fn call(
        &self,
        command: &str,
        groups: &[Vec<String>],
        options: &[&str],
        tries: u32,
    ) -> Result<Option<i64>, Refusal> {
        let words = join_with_and(groups);
        let mut request = vec![command];
        request.extend(words.iter().map(String::as_str));
        request.extend(options);
        let reply = self.gate.call(&request, tries)?;
        Ok(reply.and_then(|items| items.first()?.integer()))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// 128 bits.
fn random_id() -> String {
    let mut bytes = [0; 16];
    File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)).unwrap();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The groups with the cost in its place; unless all is wanted, without the limits that have none.
fn with_cost(groups: &[Vec<String>], cost: i64, all: bool) -> Vec<Vec<String>> {
    let cost = format!("cost={cost}");
    let put = |(i, word): (usize, &String)| match i {
        0 => Some(word.clone()),
        _ if all || word.contains(PLACE) => Some(word.replace(PLACE, &cost)),
        _ => None,
    };
    groups.iter().map(|group| group.iter().enumerate().filter_map(put).collect()).collect()
}
