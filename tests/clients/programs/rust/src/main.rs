//! Calls weir-client as the lines of its standard input say (case_programs.py): the Limiter of
//! threads, or with the argument `tokio` the other one.

mod clock;
mod shown;

use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Runtime;
use weir_client::{Cause, Fail, Options, Refusal};

use clock::Clock;
use shown::Said;

/// One of the Limiter of threads, or of that of tokio.
#[derive(Clone)]
enum Either<T, A> {
    Threads(T),
    Tokio(A),
}

type Limiter = Either<weir_client::Limiter, weir_client::tokio::Limiter>;
type Hold = Either<weir_client::Hold, weir_client::tokio::Hold>;
type Lease = Either<weir_client::Lease, weir_client::tokio::Lease>;
type Slice = Either<Arc<weir_client::Slice>, Arc<weir_client::tokio::Slice>>;

/// The outcome of the same call to either.
macro_rules! call {
    ($program:expr, $either:expr, $name:ident $arguments:tt) => {
        match $either {
            Either::Threads(limiter) => limiter.$name $arguments,
            Either::Tokio(limiter) => $program.runtime.block_on(limiter.$name $arguments),
        }
    };
}

/// The same, with what it made.
macro_rules! make {
    ($program:expr, $limiter:expr, $name:ident $arguments:tt) => {
        match $limiter {
            Either::Threads(limiter) => limiter.$name $arguments.map(Either::Threads),
            Either::Tokio(limiter) => {
                $program.runtime.block_on(limiter.$name $arguments).map(Either::Tokio)
            }
        }
    };
}

struct Program {
    runtime: Runtime,
    is_tokio: bool,
    limiter: Option<Limiter>,
    clock: Arc<Clock>,
    causes: Arc<Mutex<Vec<Cause>>>,
    slice: Option<Slice>,
    hold: Option<Hold>,
    lease: Option<Lease>,
}

impl Program {
    fn new(is_tokio: bool) -> Program {
        Program {
            runtime: Runtime::new().unwrap(),
            is_tokio,
            limiter: None,
            clock: Clock::new(),
            causes: Arc::default(),
            slice: None,
            hold: None,
            lease: None,
        }
    }

    fn the_limiter(&self) -> &Limiter {
        self.limiter.as_ref().unwrap()
    }

    fn make_limiter(&mut self, given: &Value) -> Said {
        (self.slice, self.hold, self.lease) = (None, None, None);
        if let Some(limiter) = &self.limiter {
            call!(self, limiter, close());
        }
        (self.clock, self.causes) = (Clock::new(), Arc::default());
        let options = self.options(given)?;
        self.limiter = Some(if self.is_tokio {
            Either::Tokio(weir_client::tokio::Limiter::with(options).map_err(shown::mistake)?)
        } else {
            Either::Threads(weir_client::Limiter::with(options).map_err(shown::mistake)?)
        });
        Ok("ok".to_string())
    }

    fn options(&self, given: &Value) -> Result<Options, String> {
        let clock = self.clock.clone();
        let mut options = Options::new().clock(move || clock.now());
        if given["timer"] != true {
            let clock = self.clock.clone();
            options = options.every(move |period, beat| clock.every(period, beat));
        }
        let causes = self.causes.clone();
        options = match given["callback"].as_str() {
            Some("none") => options,
            Some("raises") => options.on_unavailable(|_| resume_unwind(Box::new("no message"))),
            _ => options.on_unavailable(move |cause| causes.lock().unwrap().push(cause)),
        };
        for (name, value) in given.as_object().unwrap() {
            let text = value.as_str().unwrap_or_default();
            options = match name.as_str() {
                "url" => options.url(text),
                "host" => match u16::try_from(given["port"].as_u64().unwrap_or_default()) {
                    Ok(_) => options.host(text),
                    Err(_) => options.host(format!("{text}:{}", given["port"])), // a port is a u16
                },
                "port" => match u16::try_from(value.as_u64().unwrap()) {
                    Ok(port) => options.port(port),
                    Err(_) => options,
                },
                "unix_socket" => options.unix_socket(text),
                "sentinels" => options.sentinels(words(value.as_array().unwrap())),
                "master" => options.master(text),
                "username" => options.username(text),
                "password" => options.password(text),
                "tls" => options.tls(value.as_bool().unwrap()),
                "deadline_ms" => options.deadline(milliseconds(value)),
                "fail" => options.fail(text.parse::<Fail>().map_err(shown::mistake)?),
                _ => options,
            };
        }
        Ok(options)
    }

    fn address(&self) -> String {
        let (address, fail, deadline) = match self.the_limiter() {
            Either::Threads(limiter) => (limiter.address(), limiter.fail(), limiter.deadline()),
            Either::Tokio(limiter) => (limiter.address(), limiter.fail(), limiter.deadline()),
        };
        let fail = if fail == Fail::Open { "open" } else { "closed" };
        format!("{address} {fail} {}", deadline.as_millis())
    }

    fn text(&self) -> String {
        match self.the_limiter() {
            Either::Threads(limiter) => format!("{limiter:?}"),
            Either::Tokio(limiter) => format!("{limiter:?}"),
        }
    }

    fn causes(&self) -> String {
        let causes = std::mem::take(&mut *self.causes.lock().unwrap());
        let causes: Vec<_> = causes.iter().map(Cause::to_string).collect();
        if causes.is_empty() { "none".to_string() } else { causes.join(" ") }
    }

    fn counts(&self) -> String {
        let counts = match self.the_limiter() {
            Either::Threads(limiter) => limiter.counts(),
            Either::Tokio(limiter) => limiter.counts(),
        };
        let mut all = vec![
            ("asked", counts.asked),
            ("allowed", counts.allowed),
            ("denied", counts.denied),
            ("kept", counts.kept),
            ("mistakes", counts.mistakes),
        ];
        all.extend(counts.unavailable.iter().map(|(cause, count)| (cause.as_str(), *count)));
        let above = all.iter().filter(|(_, count)| *count > 0);
        above.map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(" ")
    }

    fn move_clock(&self, ms: u64) {
        self.clock.advance(ms, |beat| self.runtime.block_on(beat()));
    }

    fn mail(&self, to: &str, limits: &[&str]) -> Said {
        let key = format!("mail:{to}");
        let words = [&[key.as_str()], limits].concat();
        let sent = match self.the_limiter() {
            Either::Threads(limiter) => limiter.limited(&words, || format!("to {to}")),
            Either::Tokio(limiter) => {
                self.runtime.block_on(limiter.limited(&words, async { format!("to {to}") }))
            }
        };
        sent.map_err(shown::refusal)
    }

    fn make_slice(&mut self, size: u64, time: Duration, words: &[&str]) -> Said {
        let slice = match self.the_limiter() {
            Either::Threads(limiter) => {
                limiter.slice(size, time, words).map(|slice| Either::Threads(Arc::new(slice)))
            }
            Either::Tokio(limiter) => {
                limiter.slice(size, time, words).map(|slice| Either::Tokio(Arc::new(slice)))
            }
        };
        self.slice = Some(slice.map_err(shown::mistake)?);
        Ok("ok".to_string())
    }

    fn reserve(&self, given: &[Value]) -> Result<Hold, Refusal> {
        let (estimate, ttl, all) = (given[0].as_u64(), milliseconds(&given[1]), words(&given[2..]));
        make!(self, self.the_limiter(), reserve(ttl, &all, estimate))
    }

    /// The end of a scope tells weir before it prints.
    fn scope(&self, how: &str, given: &[Value]) -> Said {
        let left = catch_unwind(AssertUnwindSafe(|| {
            let mut hold = self.reserve(given).map_err(shown::refusal)?;
            match how {
                "fails" => resume_unwind(Box::new("no message")),
                "settles" => {
                    let used = given[0].as_u64().unwrap();
                    call!(self, &mut hold, settle(used)).map_err(shown::mistake)?;
                }
                _ => {}
            }
            Ok("left".to_string())
        }));
        self.flush();
        left.unwrap_or(Ok("failed".to_string()))
    }

    fn lease(&self, given: &[Value]) -> Result<Lease, Refusal> {
        let (ttl, all) = (milliseconds(&given[0]), words(&given[1..]));
        make!(self, self.the_limiter(), lease(ttl, &all))
    }

    fn flush(&self) {
        if let Either::Tokio(limiter) = self.the_limiter() {
            self.runtime.block_on(limiter.flush());
        }
    }

    fn flood(&self, keys: u64) -> String {
        let passes = |i: &u64| {
            call!(self, self.the_limiter(), check(&[&format!("flood:{i}"), "none"])).is_ok()
        };
        (0..keys).filter(passes).count().to_string()
    }

    fn crowd(&self, callers: u64, times: u64, all: &[&str]) -> String {
        let passes = || {
            if all.is_empty() {
                call!(self, self.slice.as_ref().unwrap(), spend()).is_ok()
            } else {
                call!(self, self.the_limiter(), check(all)).is_ok()
            }
        };
        let count = || (0..times).filter(|_| passes()).count();
        let passed: usize = std::thread::scope(|scope| {
            let counts: Vec<_> = (0..callers).map(|_| scope.spawn(count)).collect();
            counts.into_iter().map(|count| count.join().unwrap()).sum()
        });
        passed.to_string()
    }

    /// Drops the future of a call after a while, which the Limiter of threads cannot.
    fn abandon(&self, time: Duration, all: &[&str]) -> Said {
        let Either::Tokio(limiter) = self.the_limiter() else { return Ok("cannot".to_string()) };
        self.runtime.block_on(async {
            match tokio::time::timeout(time, limiter.allow(all)).await {
                Ok(decision) => decision.map(shown::decision).map_err(shown::mistake),
                Err(_) => Ok("abandoned".to_string()),
            }
        })
    }

    fn decide(&self, name: &str, given: &[Value]) -> Said {
        let limiter = self.the_limiter();
        let all = words(given);
        let decision = match name {
            "allow" | "plain_fields" => call!(self, limiter, allow(&all)),
            "details" | "fields" => call!(self, limiter, allow_with_details(&all)),
            "peek" => call!(self, limiter, peek(&all)),
            "charge" => call!(self, limiter, charge(&all)),
            "refund" => call!(self, limiter, refund(&all)),
            _ => call!(self, limiter, wait(milliseconds(&given[0]), &all[1..])),
        };
        let decision = decision.map_err(shown::mistake)?;
        let is_fields = name.ends_with("fields");
        Ok(if is_fields { shown::fields(&decision) } else { shown::decision(decision) })
    }

    fn call(&mut self, name: &str, given: &[Value]) -> Said {
        let all = words(given);
        let number = |i: usize| given[i].as_u64().unwrap();
        let passes = "passes".to_string();
        match name {
            "limiter" => return self.make_limiter(&given[0]),
            "address" => return Ok(self.address()),
            "text" => return Ok(self.text()),
            "causes" => return Ok(self.causes()),
            "counts" => return Ok(self.counts()),
            "beats" => return Ok(self.clock.timers().to_string()),
            "close" => call!(self, self.the_limiter(), close()),
            "clock" => self.move_clock(number(0)),
            "delay" => self.clock.delay(number(0)),
            "allow" | "details" | "peek" | "charge" | "refund" | "wait" | "fields"
            | "plain_fields" => return self.decide(name, given),
            "command" => {
                let reply = call!(self, self.the_limiter(), command(&all));
                return reply.map(|reply| python_json(&shown::reply(&reply))).map_err(shown::error);
            }
            "verify" => {
                call!(self, self.the_limiter(), verify(&all)).map_err(shown::error)?;
            }
            "caller" => {
                let forwarded = words(given[1].as_array().unwrap());
                let key = weir_client::caller_key(all[0], &forwarded, number(2) as usize);
                return key.map_err(shown::mistake);
            }
            "check" => {
                let checked = call!(self, self.the_limiter(), check(&all));
                return checked.map(|_| passes).map_err(shown::refusal);
            }
            "mail" => return self.mail(all[0], &all[1..]),
            "slice" => return self.make_slice(number(0), milliseconds(&given[1]), &all[2..]),
            "spend" => {
                let spent = call!(self, self.slice.as_ref().unwrap(), spend());
                return spent.map(|()| passes).map_err(shown::refusal);
            }
            "give_back" => call!(self, self.slice.as_ref().unwrap(), give_back()),
            "reserve" => {
                self.hold = None;
                self.hold = Some(self.reserve(given).map_err(shown::refusal)?);
                return Ok(passes);
            }
            "settle" | "settle_or_charge" => return self.settle(name, number(0)),
            "cancel" => call!(self, self.hold.as_mut().unwrap(), cancel()),
            "scope" => return self.scope(all[0], &given[1..]),
            "lease" => {
                self.lease = Some(self.lease(given).map_err(shown::refusal)?);
                return Ok(passes);
            }
            "lost" => {
                let is_lost = match self.lease.as_ref().unwrap() {
                    Either::Threads(lease) => lease.is_lost(),
                    Either::Tokio(lease) => lease.is_lost(),
                };
                return Ok(if is_lost { "lost" } else { "held" }.to_string());
            }
            "release" => {
                let is_freed = call!(self, self.lease.as_ref().unwrap(), release());
                return Ok(if is_freed { "freed" } else { "not held" }.to_string());
            }
            "lease_scope" => {
                drop(self.lease(given).map_err(shown::refusal)?);
                self.flush();
                return Ok("left".to_string());
            }
            "flood" => return Ok(self.flood(number(0))),
            "crowd" => return Ok(self.crowd(number(0), number(1), &all[2..])),
            "abandon" => return self.abandon(milliseconds(&given[0]), &all[1..]),
            _ => panic!("no call {name}"),
        }
        Ok("ok".to_string())
    }

    fn settle(&mut self, name: &str, used: u64) -> Said {
        let hold = self.hold.as_mut().unwrap();
        let settled = if name == "settle" {
            call!(self, hold, settle(used))
        } else {
            call!(self, hold, settle_or_charge(used))
        };
        let said = |is_settled| if is_settled { "settled" } else { "not settled" };
        settled.map(|is_settled| said(is_settled).to_string()).map_err(shown::mistake)
    }
}

/// Those that are strings; others are empty.
fn words(given: &[Value]) -> Vec<&str> {
    given.iter().map(|word| word.as_str().unwrap_or_default()).collect()
}

fn milliseconds(value: &Value) -> Duration {
    Duration::from_millis(value.as_u64().unwrap())
}

/// As Python lays it out.
fn python_json(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python_json).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn main() {
    let mut program = Program::new(std::env::args().nth(1).as_deref() == Some("tokio"));
    for line in std::io::stdin().lock().lines() {
        let call: Vec<Value> = serde_json::from_str(&line.unwrap()).unwrap();
        let (Ok(said) | Err(said)) = program.call(call[0].as_str().unwrap(), &call[1..]);
        println!("{said}");
    }
}
