//! Takes tokens with weir-client at the primary that Sentinel names; with the argument `tokio` by
//! the Limiter of tokio. client_programs.py says how.

use std::io::BufRead;
use std::sync::mpsc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use weir_client::{Cause, Decision, Fail, Mistake, Options};

type Allow = Box<dyn Fn(&[&str]) -> Result<Decision, Mistake>>;

fn now_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap()
}

fn make(is_tokio: bool) -> Allow {
    let sentinels = variable("WEIR_SENTINELS");
    let options = Options::new()
        .sentinels(sentinels.split_whitespace())
        .master(variable("WEIR_GROUP"))
        .deadline(Duration::from_secs(1))
        .fail(Fail::Closed)
        .on_unavailable(|_| ());
    if is_tokio {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let limiter = weir_client::tokio::Limiter::with(options).unwrap();
        return Box::new(move |words| runtime.block_on(limiter.allow(words)));
    }
    let limiter = weir_client::Limiter::with(options).unwrap();
    Box::new(move |words| limiter.allow(words))
}

fn ask(allow: &Allow, key: &str, limit: &str) -> String {
    let invoked = now_ns();
    let decision = allow(&[key, limit]).unwrap();
    match decision.cause {
        None => format!("took {key} {} {invoked} {}", i32::from(decision.allowed), now_ns()),
        Some(cause @ (Cause::Timeout | Cause::Connection | Cause::NoPrimary)) => {
            format!("failed {key} {cause}")
        }
        Some(cause) => format!("refused {key} {}", cause.to_string().to_uppercase()),
    }
}

fn main() {
    let allow = make(std::env::args().nth(1).as_deref() == Some("tokio"));
    let limit = variable("WEIR_LIMIT");
    println!("version weir-client");
    let (tell, keys) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            tell.send(line.unwrap().trim().to_string()).unwrap();
        }
    });
    let Ok(mut key) = keys.recv() else { return };
    loop {
        match keys.recv_timeout(Duration::from_millis(2)) {
            Ok(next) => key = next,
            Err(mpsc::RecvTimeoutError::Timeout) => println!("{}", ask(&allow, &key, &limit)),
            Err(mpsc::RecvTimeoutError::Disconnected) => return,
        }
    }
}
