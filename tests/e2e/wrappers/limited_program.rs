//! Calls clients/rust as the lines of its standard input say (limited_test.py).

#[path = "../../../clients/rust/hold.rs"]
mod hold;
#[path = "../../../clients/rust/lease.rs"]
mod lease;
#[path = "../../../clients/rust/limited.rs"]
mod limited;
#[path = "../../../clients/rust/resp.rs"]
mod resp;
#[path = "../../../clients/rust/slice.rs"]
mod slice;

use std::io::BufRead;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hold::Hold;
use lease::Lease;
use limited::{Gate, Options, Refusal, Stop};
use slice::Slice;

/// A clock that stands still, and the heartbeats that are due when it is moved.
#[derive(Default)]
struct Clock {
    ms: AtomicU64,
    late_ms: AtomicU64, // by which the next reading moves the clock, as if what follows took that
    beats: Mutex<Vec<Beat>>,
}

struct Beat {
    due: u64,
    period: u64,
    call: Arc<dyn Fn() + Send + Sync>,
}

impl Clock {
    fn now_ms(&self) -> u64 {
        self.ms.fetch_add(self.late_ms.swap(0, Ordering::Relaxed), Ordering::Relaxed)
    }

    fn add(self: &Arc<Clock>, period: Duration, call: limited::Beat) -> Stop {
        let period = period.as_millis() as u64;
        let due = self.ms.load(Ordering::Relaxed) + period;
        let (clock, call) = (self.clone(), Arc::from(call));
        let added = Arc::downgrade(&call);
        self.beats.lock().unwrap().push(Beat { due, period, call });
        Box::new(move || {
            clock.beats.lock().unwrap().retain(|beat| !added.ptr_eq(&Arc::downgrade(&beat.call)))
        })
    }

    fn advance(&self, ms: u64) {
        let end = self.ms.load(Ordering::Relaxed) + ms;
        while let Some(call) = self.next_beat(end) {
            call();
        }
        self.ms.fetch_max(end, Ordering::Relaxed);
    }

    fn next_beat(&self, end: u64) -> Option<Arc<dyn Fn() + Send + Sync>> {
        let mut beats = self.beats.lock().unwrap();
        let beat = beats.iter_mut().min_by_key(|beat| beat.due).filter(|beat| beat.due <= end)?;
        self.ms.fetch_max(beat.due, Ordering::Relaxed);
        beat.due += beat.period;
        Some(beat.call.clone())
    }
}

#[derive(Default)]
struct Program {
    gate: Option<Arc<Gate>>,
    slice: Option<Slice>,
    hold: Option<Hold>,
    lease: Option<Lease>,
    clock: Arc<Clock>,
}

impl Program {
    fn open(&mut self, port: &str, down: &str, deadline_ms: u64, timer: bool) {
        (self.slice, self.hold, self.lease) = (None, None, None);
        self.clock = Arc::default();
        let (begin, clock) = (Instant::now(), self.clock.clone());
        let mut options = Options {
            address: format!("127.0.0.1:{port}"),
            fail_open: down == "open",
            now: Box::new(move || begin + Duration::from_millis(clock.now_ms())),
            ..Options::default()
        };
        if deadline_ms > 0 {
            options.deadline = Duration::from_millis(deadline_ms);
        }
        if !timer {
            let clock = self.clock.clone();
            options.every = Box::new(move |period, call| clock.add(period, call));
        }
        self.gate = Some(Gate::new(options));
    }

    fn gate(&self) -> &Arc<Gate> {
        self.gate.as_ref().unwrap()
    }

    fn hold(&mut self) -> &mut Hold {
        self.hold.as_mut().unwrap()
    }

    fn spend(&self) -> Result<(), Refusal> {
        self.slice.as_ref().unwrap().spend()
    }

    fn mail(&self, to: &str, limits: &[&str]) -> Result<String, Refusal> {
        let key = format!("mail:{to}");
        self.gate().limited(|| format!("to {to}"), &[&[key.as_str()], limits].concat())
    }

    fn flood(&self, keys: u64) -> String {
        let passes = |i: &u64| self.gate().check(&[&format!("flood:{i}"), "none"]).is_ok();
        (0..keys).filter(passes).count().to_string()
    }

    fn crowd(&self, threads: u64, times: u64, words: &[&str]) -> String {
        let passes = || {
            if words.is_empty() {
                self.spend().is_ok()
            } else {
                self.gate().check(words).is_ok()
            }
        };
        let count = || (0..times).filter(|_| passes()).count();
        thread::scope(|scope| {
            let counts: Vec<_> = (0..threads).map(|_| scope.spawn(count)).collect();
            counts.into_iter().map(|count| count.join().unwrap()).sum::<usize>().to_string()
        })
    }

    fn scope(&self, how: &str, words: &[&str]) -> Result<String, Refusal> {
        let estimate = words[0].parse().unwrap();
        let left = catch_unwind(AssertUnwindSafe(|| {
            let mut hold = self.gate().reserved(estimate, milliseconds(words[1]), &words[2..])?;
            match how {
                "fails" => resume_unwind(Box::new("a panic without a message")),
                "settles" => hold.settle(estimate).map(drop),
                _ => Ok(()),
            }
        }));
        left.map_or(Ok("failed".into()), |left| left.map(|()| "left".into()))
    }

    fn call(&mut self, name: &str, words: &[&str]) -> Result<String, Refusal> {
        let number = |i: usize| words[i].parse::<u64>().unwrap();
        match name {
            "gate" => self.open(words[0], words[1], number(2), words.len() > 3),
            "clock" => self.clock.advance(number(0)),
            "beats" => return Ok(self.clock.beats.lock().unwrap().len().to_string()),
            "delay" => self.clock.late_ms.store(number(0), Ordering::Relaxed),
            "check" => return self.gate().check(words).map(|()| "passes".into()),
            "mail" => return self.mail(words[0], &words[1..]),
            "slice" => {
                let time = milliseconds(words[1]);
                self.slice = Some(self.gate().slice(number(0) as i64, time, &words[2..]));
            }
            "spend" => return self.spend().map(|()| "passes".into()),
            "give_back" => self.slice.as_ref().unwrap().give_back(),
            "reserve" => {
                let ttl = milliseconds(words[1]);
                self.hold = Some(self.gate().reserved(number(0) as i64, ttl, &words[2..])?);
                return Ok("passes".into());
            }
            "settle" => return self.hold().settle(number(0) as i64).map(settled),
            "settle_or_charge" => {
                return self.hold().settle_or_charge(number(0) as i64).map(settled)
            }
            "cancel" => self.hold().cancel(),
            "scope" => return self.scope(words[0], &words[1..]),
            "lease" => {
                self.lease = Some(self.gate().lease(milliseconds(words[0]), &words[1..])?);
                return Ok("passes".into());
            }
            "lost" => {
                let lost = self.lease.as_ref().unwrap().is_lost();
                return Ok(if lost { "lost" } else { "held" }.into());
            }
            "release" => {
                let freed = self.lease.as_ref().unwrap().release();
                return Ok(if freed { "freed" } else { "not held" }.into());
            }
            "lease_scope" => {
                let _slot = self.gate().lease(milliseconds(words[0]), &words[1..])?;
                return Ok("left".into());
            }
            "flood" => return Ok(self.flood(number(0))),
            "crowd" => return Ok(self.crowd(number(0), number(1), &words[2..])),
            _ => panic!("no call {name}"),
        }
        Ok("ok".into())
    }
}

fn milliseconds(word: &str) -> Duration {
    Duration::from_millis(word.parse().unwrap())
}

fn settled(is: bool) -> String {
    if is { "settled" } else { "not settled" }.into()
}

fn main() {
    let mut program = Program::default();
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        match program.call(words[0], &words[1..]) {
            Ok(said) => println!("{said}"),
            Err(Refusal::Limited { key, retry_after: Some(time) }) => {
                println!("limited {key} {}", time.as_millis())
            }
            Err(Refusal::Limited { key, retry_after: None }) => println!("limited {key} -"),
            Err(Refusal::Mistake(error)) => println!("mistake {error}"),
        }
    }
}
