//! Faults that the Limiter of tokio must bear: futures that are dropped, runtimes that end, times
//! that a clock of the test brings about.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::server::{ALLOWED, Asked, PATIENCE, Server, next_of};
use tokio::runtime::{Builder, Runtime};
use weir_client::tokio::Limiter;
use weir_client::{Cause, Reason};

const WORDS: [&str; 2] = ["k", "1/h"];

const SLICED: &str = "*8\r\n:3\r\n:6\r\n:0\r\n:900\r\n:0\r\n:60000000\r\n:7\r\n*0\r\n";

fn answer(asked: &Asked) {
    asked.reply(if asked.name() == "RL.SLICE" { SLICED } else { ALLOWED });
}

fn allowing() -> Arc<Server> {
    Arc::new(Server::answering(answer))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Polls a future once, and drops it.
async fn begin(future: impl Future) {
    tokio::select! {
        biased;
        _ = future => {}
        () = std::future::ready(()) => {}
    }
}

// --- Futures that are dropped --------------------------------------------------------------------

#[tokio::test]
async fn a_reservation_that_is_dropped_before_its_reply_is_cancelled() {
    let server = Arc::new(Server::silent());
    let limiter = Limiter::new(&server.url()).unwrap();
    for is_lease in [false, true] {
        let limiter = limiter.clone();
        let reserving = tokio::spawn(async move {
            if is_lease {
                drop(limiter.lease(PATIENCE, &WORDS).await);
            } else {
                drop(limiter.reserve(PATIENCE, &WORDS, None).await);
            }
        });
        let reserved = next_of(&server, "RL.RESERVE").await;
        reserving.abort();
        let cancelled = next_of(&server, "RL.CANCEL").await;
        cancelled.reply(ALLOWED);
        assert_eq!(cancelled.words[2..4], reserved.words[3..5]); // HOLD and its id
    }
}

/// A server that hangs up after the first request, so that the next one has to connect.
fn once() -> Arc<Server> {
    Arc::new(Server::answering(|asked| {
        answer(asked);
        if asked.connection == 0 {
            asked.hang_up();
        }
    }))
}

#[tokio::test]
async fn a_release_that_is_dropped_is_made() {
    let server = once();
    let limiter = Limiter::new(&server.url()).unwrap();
    let lease = limiter.lease(PATIENCE, &WORDS).await.unwrap();
    next_of(&server, "RL.RESERVE").await;
    begin(lease.release()).await;
    next_of(&server, "RL.COMMIT").await;
}

#[tokio::test]
async fn a_slice_whose_giving_back_is_dropped_is_settled() {
    let server = once();
    let limiter = Limiter::new(&server.url()).unwrap();
    let slice = limiter.slice(3, PATIENCE, &WORDS).unwrap();
    slice.spend().await.unwrap();
    next_of(&server, "RL.SLICE").await;
    begin(slice.give_back()).await;
    next_of(&server, "RL.COMMIT").await;
}

#[tokio::test]
async fn a_charge_in_place_of_a_settlement_that_is_dropped_is_made() {
    let late = "*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n"; // the hold has expired
    let server = Arc::new(Server::answering(move |asked| match asked.name() {
        "RL.COMMIT" => {
            asked.reply(late);
            asked.hang_up();
        }
        _ => asked.reply(ALLOWED),
    }));
    let limiter = Limiter::new(&server.url()).unwrap();
    let words = ["k", "9/m,cost={}"];
    let mut held = limiter.reserve(PATIENCE, &words, Some(4)).await.unwrap();
    let mut settling = Box::pin(held.settle_or_charge(3));
    tokio::select! {
        biased;
        _ = &mut settling => {}
        _ = next_of(&server, "RL.COMMIT") => begin(&mut settling).await,
    }
    drop(settling);
    assert_eq!(next_of(&server, "RL.CHARGE").await.words[1..], ["k", "9/m,cost=3"]);
}

#[test]
fn a_slice_that_is_dropped_outside_of_its_runtime_is_settled() {
    let (server, runtime) = (allowing(), runtime());
    let limiter = Limiter::new(&server.url()).unwrap();
    let slice = limiter.slice(3, PATIENCE, &WORDS).unwrap();
    runtime.block_on(slice.spend()).unwrap();
    drop(slice);
    runtime.block_on(limiter.flush());
    server.next();
    assert_eq!(server.next().words[..4], ["RL.COMMIT", "k", "COST", "1"]);
}

// --- Runtimes ------------------------------------------------------------------------------------

#[test]
fn each_runtime_keeps_its_connection() {
    let (server, runtimes) = (allowing(), [runtime(), runtime()]);
    let limiter = Limiter::new(&server.url()).unwrap();
    for _ in 0..3 {
        for runtime in &runtimes {
            assert!(runtime.block_on(limiter.allow(&WORDS)).unwrap().allowed);
        }
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

#[test]
fn the_connections_of_runtimes_that_have_ended_make_room() {
    let server = allowing();
    let limiter = Limiter::new(&server.url()).unwrap();
    for _ in 0..20 {
        let runtime = runtime();
        let (first, second) = (limiter.allow(&WORDS), limiter.wait(PATIENCE, &WORDS));
        let (first, second) = runtime.block_on(async { (first.await, second.await) });
        assert_eq!(first.unwrap().reason, Reason::Allowed);
        assert_eq!(second.unwrap().reason, Reason::Allowed);
    }
}

// --- Connecting ----------------------------------------------------------------------------------

/// Stops the clock, which does not move on its own while the sender is there.
fn stop_clock() -> Sender<()> {
    let (end, ended) = channel();
    tokio::task::spawn_blocking(move || ended.recv());
    tokio::time::pause();
    end
}

// Goal: connecting may take as long as the deadline, if that is more than a second.
#[tokio::test]
async fn a_login_that_takes_longer_than_a_second() {
    let server = Arc::new(Server::silent());
    let limiter = Limiter::new(&server.url().replace("//", "//app:s3cret@")).unwrap();
    let _stopped = stop_clock();
    let asking = tokio::spawn(async move { limiter.allow(&WORDS).await });
    let login = next_of(&server, "AUTH").await;
    tokio::time::advance(PATIENCE / 2).await;
    login.reply("+OK\r\n");
    next_of(&server, "RL.ALLOW").await.reply(ALLOWED);
    assert_eq!(asking.await.unwrap().unwrap().reason, Reason::Allowed);
}

#[tokio::test]
async fn a_server_that_hangs_up_after_each_login_is_an_outage() {
    let server = Arc::new(Server::silent());
    let limiter = Limiter::new(&server.url().replace("//", "//app:s3cret@")).unwrap();
    let asking = tokio::spawn(async move { limiter.allow(&WORDS).await });
    for _ in 0..3 {
        let login = next_of(&server, "AUTH").await;
        login.reply("+OK\r\n");
        login.hang_up(); // before the Limiter has read the reply
    }
    assert_eq!(asking.await.unwrap().unwrap().cause, Some(Cause::Connection));
}

/// A Sentinel that names the primary of this port.
fn naming(port: &Arc<AtomicU16>) -> Server {
    let port = port.clone();
    Server::answering(move |asked: &Asked| {
        let port = port.load(Ordering::SeqCst).to_string();
        asked.reply(format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{port}\r\n", port.len()));
    })
}

fn url_of(sentinels: &[&Server]) -> String {
    let places: Vec<_> = sentinels.iter().map(|each| format!("127.0.0.1:{}", each.port)).collect();
    format!("redis+sentinel://{}/main?deadline={}s", places.join(","), PATIENCE.as_secs())
}

#[tokio::test]
async fn a_sentinel_that_does_not_answer_leaves_time_for_the_next() {
    let server = allowing();
    let (silent, sentinel) = (Arc::new(Server::silent()), naming(&Arc::new(server.port.into())));
    let limiter = Limiter::new(&url_of(&[&silent, &sentinel])).unwrap();
    let _stopped = stop_clock();
    let asking = tokio::spawn(async move { limiter.allow(&WORDS).await });
    next_of(&silent, "SENTINEL").await;
    tokio::time::advance(PATIENCE / 2 + Duration::from_secs(1)).await;
    assert_eq!(asking.await.unwrap().unwrap().reason, Reason::Allowed);
}

// Goal: a connection that was begun before its server ceased to be the primary is not used. Method:
// the first primary answers the login of that connection only after it has refused a request.
#[tokio::test]
async fn a_connection_that_is_late_for_a_failover_is_not_used() {
    let (first, second) = (Arc::new(Server::silent()), Arc::new(Server::silent()));
    let primary = Arc::new(AtomicU16::new(first.port));
    let sentinel = naming(&primary);
    let limiter = Limiter::new(&url_of(&[&sentinel]).replace("//", "//:s3cret@")).unwrap();
    let allow = |limiter: &Limiter| {
        let limiter = limiter.clone();
        tokio::spawn(async move { limiter.allow(&WORDS).await })
    };
    let refused = allow(&limiter);
    next_of(&first, "AUTH").await.reply("+OK\r\n");
    let asked = next_of(&first, "RL.ALLOW").await;
    let late = allow(&limiter);
    let login = next_of(&first, "AUTH").await;
    asked.reply("-READONLY You can't write against a read only replica.\r\n");
    assert_eq!(refused.await.unwrap().unwrap().reason, Reason::Unavailable);
    primary.store(second.port, Ordering::SeqCst);
    login.reply("+OK\r\n");
    next_of(&second, "AUTH").await.reply("+OK\r\n");
    next_of(&second, "RL.ALLOW").await.reply(ALLOWED);
    assert_eq!(late.await.unwrap().unwrap().reason, Reason::Allowed);
}
