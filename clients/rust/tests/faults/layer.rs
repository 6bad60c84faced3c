//! The layer of tower, whose requests are addresses and whose responses are statuses here.

use std::future::Ready;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tower_layer::Layer;
use tower_service::Service;
use weir_client::Decision;
use weir_client::tokio::Limiter;
use weir_client::tower::{Http, RateLimit};

use crate::server::{ALLOWED, Server, next_of};

struct Plain;

impl Http<String, u16> for Plain {
    fn method<'a>(&self, _: &'a String) -> &'a str {
        "GET"
    }

    fn header<'a>(&self, _: &'a String, _: &str) -> Vec<&'a str> {
        Vec::new()
    }

    fn peer(&self, request: &String) -> Option<String> {
        Some(request.clone())
    }

    fn keep(&self, _: &mut String, _: Decision) {}

    fn add(&self, _: &mut u16, _: &'static str, _: &str) {}

    fn respond(&self, status: u16, _: &'static str, _: String) -> u16 {
        status
    }
}

/// Answers 401.
#[derive(Clone)]
struct Refusing;

impl Service<String> for Refusing {
    type Response = u16;
    type Error = ();
    type Future = Ready<Result<u16, ()>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: String) -> Self::Future {
        std::future::ready(Ok(401))
    }
}

// Goal: a caller that leaves while it is charged is charged. Method: the server hangs up before, so
// that the charge has to connect, and the future is dropped meanwhile.
#[tokio::test]
async fn a_charge_of_a_caller_that_leaves_is_made() {
    let row = "*9\r\n$3\r\nfew\r\n:1\r\n:9\r\n:9\r\n:0\r\n:0\r\n:0\r\n:0\r\n:1\r\n";
    let reply = format!("*6\r\n:1\r\n:9\r\n:0\r\n:0\r\n:0\r\n*1\r\n{row}");
    let server = Arc::new(Server::silent());
    let limiter = Limiter::new(&server.url()).unwrap();
    let (tell, charged) = oneshot::channel();
    let tell = Mutex::new(Some(tell));
    let limits = RateLimit::builder(Plain, limiter, ["9/h"]).charge_when(move |_| {
        let _ = tell.lock().unwrap().take().unwrap().send(());
        true
    });
    let mut response = limits.build().layer(Refusing).call("192.0.2.7".to_string());
    tokio::select! {
        biased;
        _ = &mut response => {}
        asked = next_of(&server, "RL.ALLOW") => {
            asked.reply(reply);
            asked.hang_up();
        }
    }
    tokio::select! {
        biased;
        _ = &mut response => {}
        _ = charged => {}
    }
    drop(response);
    let charge = next_of(&server, "RL.CHARGE").await;
    charge.reply(ALLOWED);
    assert_eq!(charge.words[1..], ["ip:192.0.2.7", "9/h"]);
}
