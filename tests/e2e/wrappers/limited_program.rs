//! Calls examples/rust as the lines of its standard input say (limited_test.py).

#[path = "../../../examples/rust/limited.rs"]
mod limited;
#[path = "../../../examples/rust/resp.rs"]
mod resp;
#[path = "../../../examples/rust/slice.rs"]
mod slice;

use std::io::BufRead;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use limited::{Gate, Options, Refusal};
use slice::Slice;

#[derive(Default)]
struct Program {
    gate: Option<Arc<Gate>>,
    slice: Option<Slice>,
    ms: Arc<AtomicU64>,
}

impl Program {
    fn open(&mut self, port: &str, down: &str, deadline_ms: u64) {
        self.slice = None;
        self.ms.store(0, Ordering::Relaxed);
        let (begin, ms) = (Instant::now(), self.ms.clone());
        let mut options = Options {
            address: format!("127.0.0.1:{port}"),
            fail_open: down == "open",
            now: Box::new(move || begin + Duration::from_millis(ms.load(Ordering::Relaxed))),
            ..Options::default()
        };
        if deadline_ms > 0 {
            options.deadline = Duration::from_millis(deadline_ms);
        }
        self.gate = Some(Gate::new(options));
    }

    fn gate(&self) -> &Arc<Gate> {
        self.gate.as_ref().unwrap()
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

    fn call(&mut self, name: &str, words: &[&str]) -> Result<String, Refusal> {
        let number = |i: usize| words[i].parse::<u64>().unwrap();
        match name {
            "gate" => self.open(words[0], words[1], number(2)),
            "clock" => drop(self.ms.fetch_add(number(0), Ordering::Relaxed)),
            "check" => return self.gate().check(words).map(|()| "passes".into()),
            "mail" => return self.mail(words[0], &words[1..]),
            "slice" => {
                let time = Duration::from_millis(number(1));
                self.slice = Some(self.gate().slice(number(0) as i64, time, &words[2..]));
            }
            "spend" => return self.spend().map(|()| "passes".into()),
            "give_back" => self.slice.as_ref().unwrap().give_back(),
            "flood" => return Ok(self.flood(number(0))),
            "crowd" => return Ok(self.crowd(number(0), number(1), &words[2..])),
            _ => panic!("no call {name}"),
        }
        Ok("ok".into())
    }
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
