//! Faults that the Limiter of threads must bear, and mistakes that it must tell.

use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::server::{ALLOWED, PATIENCE, Server};
use weir_client::{Cause, Error, Limiter, Options, Reason, Refusal, Value, rustls};

const WORDS: [&str; 2] = ["k", "1/h"];

fn allowing() -> Server {
    Server::answering(|asked| asked.reply(if asked.name() == "AUTH" { "+OK\r\n" } else { ALLOWED }))
}

// --- Connections that calls share ----------------------------------------------------------------

#[test]
fn a_command_that_changes_the_connection_is_a_mistake() {
    let server = allowing();
    let limiter = Limiter::new(&server.url()).unwrap();
    for name in ["MULTI", "subscribe", "AUTH", "Hello", "MONITOR", "RESET", "QUIT", "RL.SYNC"] {
        let refused = limiter.command(&[name, "k"]);
        assert!(matches!(refused, Err(Error::Mistake(_))), "{name}: {refused:?}");
    }
    assert!(!server.has_next());
}

#[test]
fn a_connection_on_which_another_command_was_sent_is_not_used_again() {
    let server = Server::answering(|asked| {
        asked.reply(if asked.name() == "PING" { "+PONG\r\n" } else { ALLOWED });
    });
    let limiter = Limiter::new(&server.url()).unwrap();
    assert_eq!(limiter.command(&["PING"]), Ok(Value::SimpleString("PONG".to_string())));
    assert!(limiter.command(&["rl.peek", "k", "1/h"]).is_ok());
    assert!(limiter.allow(&WORDS).unwrap().allowed);
    let connections: Vec<_> = (0..3).map(|_| server.next().connection).collect();
    assert_eq!(connections, [0, 1, 1]);
}

#[test]
fn what_follows_a_reply_is_not_the_answer_to_the_next_request() {
    let server = Server::answering(|asked| {
        let more = if asked.connection == 0 { "+more\r\n" } else { "" };
        asked.reply(format!("{ALLOWED}{more}"));
    });
    let limiter = Limiter::new(&server.url()).unwrap();
    for connection in 0..2 {
        assert_eq!(limiter.allow(&WORDS).unwrap().reason, Reason::Allowed);
        assert_eq!(server.next().connection, connection);
    }
}

#[test]
fn a_reply_of_strange_lengths_is_an_outage() {
    for text in ["*9223372036854775807\r\n", "*2147483647\r\n:1\r\n", "$-7\r\n", "!-7\r\n"] {
        let server = Server::answering(|asked| {
            asked.reply(asked.words[1].replace('~', "\r\n"));
            asked.hang_up();
        });
        let limiter = Limiter::new(&server.url()).unwrap();
        let decision = limiter.allow(&[&text.replace("\r\n", "~"), "1/h"]);
        assert!(!decision.is_ok_and(|decision| decision.reason == Reason::Allowed), "{text:?}");
    }
}

// --- Errors of the server ------------------------------------------------------------------------

#[test]
fn an_error_that_is_cut_within_a_character_is_a_mistake() {
    let server = Server::answering(|asked| asked.reply(b"-ERR invalid limit '\xd0'\r\n"));
    let mistake = Limiter::new(&server.url()).unwrap().allow(&WORDS).unwrap_err();
    assert_eq!(mistake.to_string(), "ERR invalid limit '\u{fffd}'");
}

#[test]
fn a_password_is_not_in_the_error_of_its_login() {
    for (quoted, wanted) in [
        (", with args beginning with: 'app' 's3c", "ERR unknown command 'AUTH'"),
        (" app s3cret", "ERR the login is refused"),
    ] {
        let server = Server::answering(move |asked| {
            asked.reply(format!("-ERR unknown command 'AUTH'{quoted}\r\n"));
        });
        let url = server.url().replace("//", "//app:s3cret@");
        let mistake = Limiter::new(&url).unwrap().allow(&WORDS).unwrap_err();
        assert_eq!(mistake.to_string(), wanted);
    }
}

#[test]
fn a_user_without_a_password_logs_in_as_that_user() {
    let server = allowing();
    let url = server.url().replace("//", "//app@");
    assert!(Limiter::new(&url).unwrap().allow(&WORDS).unwrap().allowed);
    assert_eq!(server.next().words, ["AUTH", "app", ""]);
}

// --- Calls under way, and callbacks --------------------------------------------------------------

#[test]
fn close_ends_the_calls_that_are_under_way() {
    let server = Server::silent();
    let limiter = Limiter::new(&server.url()).unwrap();
    let (tell, told) = channel();
    let calls: [fn(&Limiter) -> Option<Cause>; 3] = [
        |limiter| limiter.allow(&WORDS).unwrap().cause,
        |limiter| limiter.wait(PATIENCE, &WORDS).unwrap().cause,
        |limiter| match limiter.command(&["RL.RESET", "k"]) {
            Err(Error::Unavailable(error)) => Some(error.cause),
            other => panic!("{other:?}"),
        },
    ];
    for call in calls {
        let (limiter, tell) = (limiter.clone(), tell.clone());
        thread::spawn(move || tell.send(call(&limiter)));
        server.next();
    }
    let (closing, reserving) = (limiter.clone(), limiter.clone());
    thread::spawn(move || {
        let held = reserving.reserve(PATIENCE, &WORDS, None).unwrap();
        tell.send((!held.is_open()).then_some(Cause::Connection))
    });
    server.next_of("RL.RESERVE");
    thread::spawn(move || closing.close());
    for _ in 0..4 {
        assert_eq!(told.recv_timeout(PATIENCE / 2), Ok(Some(Cause::Connection)));
    }
    assert!(limiter.allow(&WORDS).is_err());
}

#[test]
fn a_callback_that_asks_its_own_limiter_does_not_hang() {
    let slot: Arc<Mutex<Option<Limiter>>> = Arc::default();
    let inner = slot.clone();
    let options = Options::new().url("redis://127.0.0.1:1").on_unavailable(move |_| {
        let limiter = inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        let _ = limiter.unwrap().allow(&WORDS);
    });
    let limiter = Limiter::with(options).unwrap();
    *slot.lock().unwrap() = Some(limiter.clone());
    let (tell, told) = channel();
    thread::spawn(move || {
        let is_allowed = limiter.allow(&WORDS).unwrap().allowed;
        tell.send((is_allowed, limiter.counts().mistakes))
    });
    assert_eq!(told.recv_timeout(PATIENCE).unwrap(), (true, 1));
}

// Goal: a log that nobody reads any longer is no reason to panic. Method: this test runs itself in
// a process whose standard error is a pipe without a reader.
#[test]
fn a_log_that_nobody_reads() {
    let name = "WEIR_CLIENT_TEST_WITHOUT_LOG";
    if std::env::var_os(name).is_some() {
        assert!(Limiter::new("redis://127.0.0.1:1").unwrap().allow(&WORDS).unwrap().allowed);
        return;
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "threads::a_log_that_nobody_reads", "--nocapture"])
        .env(name, "1")
        .stderr(writer);
    assert!(child.status().unwrap().success());
}

// --- Values at their ends ------------------------------------------------------------------------

#[test]
fn the_longest_times() {
    let server = Server::answering(|asked| asked.reply("-ERR the time is too long\r\n"));
    let limiter = Limiter::new(&server.url()).unwrap();
    assert!(limiter.wait(Duration::MAX, &WORDS).is_err());
    let slice = limiter.slice(3, Duration::MAX, &WORDS).unwrap();
    assert!(matches!(slice.spend(), Err(Refusal::Mistake(_))));
    assert!(limiter.lease(Duration::MAX, &WORDS).is_err());
}

#[test]
fn a_settlement_above_what_weir_counts_leaves_the_hold_open() {
    let server = allowing();
    let limiter = Limiter::new(&server.url()).unwrap();
    let mut held = limiter.reserve(PATIENCE, &["k", "9/m,cost={}"], Some(4)).unwrap();
    assert!(held.settle(u64::MAX).is_err());
    assert!(held.is_open());
    assert_eq!(held.settle(3), Ok(true));
    server.next();
    assert_eq!(server.next().words[..3], ["RL.COMMIT", "k", "9/m,cost=3"]);
}

#[test]
fn a_slice_whose_time_is_over_when_it_comes_is_charged() {
    let server = allowing();
    let limiter = Limiter::new(&server.url()).unwrap();
    let words = ["k", "1/h", "AND", "l", "1/h"]; // several keys have a hold
    let slice = limiter.slice(1, Duration::ZERO, &words).unwrap();
    assert_eq!(slice.spend(), Ok(()));
    slice.give_back();
    assert_eq!(server.next_of("RL.COMMIT").words[1..4], ["k", "COST", "1"]);
}

#[test]
fn a_configuration_of_tls_goes_with_a_url_of_tls() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let config = Arc::new(config);
    for url in ["redis://weir.internal", "rediss://weir.internal"] {
        let options = Options::new().url(url).tls_config(config.clone());
        assert_eq!(Limiter::with(options).unwrap().address(), "rediss://weir.internal:7379");
    }
    let twice = Options::new().url("rediss://weir.internal?ca=/x").tls_config(config);
    assert!(Limiter::with(twice).unwrap_err().to_string().contains("authorities"));
}
