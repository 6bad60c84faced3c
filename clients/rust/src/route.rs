//! The way to a server: which Sentinel to ask, where the primary is, and the login.
//!
//! The crate `redis` has a client of Sentinel, too. It asks each primary for its role, and asks all
//! Sentinels each time; this one believes the first that answers.

use std::time::Duration;

use redis::Value;
use tokio::time::timeout;

use crate::address::{Address, Place};
use crate::cause::{Cause, Refused};
use crate::link::{Link, NoReply};
use crate::options::Settings;

/// Knows the primary that Sentinels have named, and asks the Sentinel first that did.
#[derive(Clone)]
pub(crate) struct Route {
    master: Option<String>,
    sentinels: Vec<Place>,
    primary: Option<Place>,
}

impl Route {
    pub fn new(address: &Address) -> Route {
        let places = address.places.clone();
        let primary = address.master.is_none().then(|| places[0].clone());
        Route { master: address.master.clone(), sentinels: places, primary }
    }

    /// The primary is to be asked for again, if Sentinels know it.
    pub fn forget(&mut self) {
        if self.master.is_some() {
            self.primary = None;
        }
    }

    /// A link to the server, logged in. The Sentinels together take a part of this time.
    pub async fn connect(&mut self, settings: &Settings, time: Duration) -> Result<Link, NoReply> {
        let primary = match (&self.primary, &self.master) {
            (None, Some(name)) => self.ask_sentinels(&name.clone(), settings, time).await?,
            (known, _) => known.clone().unwrap_or_else(|| self.sentinels[0].clone()),
        };
        let mut link = Link::connect(&primary, settings).await?;
        let address = &settings.address;
        if address.has_login() {
            let password = address.password.as_deref().unwrap_or_default();
            let words = ["AUTH", address.username.as_str(), password];
            let is_user = !address.username.is_empty();
            let words = if is_user { words.to_vec() } else { vec!["AUTH", password] };
            link.ask(&words).await.map_err(|error| match error {
                NoReply::Refused(refused) => NoReply::Refused(login_refused(&refused, password)),
                lost => lost,
            })?;
        }
        Ok(link)
    }

    /// A Sentinel that does not answer leaves time for the others, and for the primary.
    async fn ask_sentinels(
        &mut self,
        name: &str,
        settings: &Settings,
        time: Duration,
    ) -> Result<Place, NoReply> {
        let shares = u32::try_from(self.sentinels.len()).map_or(u32::MAX, |count| count + 1);
        let time = settings.deadline.min(time / shares);
        for (index, sentinel) in self.sentinels.iter().enumerate() {
            let asking = async {
                let mut link = Link::connect(sentinel, settings).await?;
                link.ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]).await
            };
            let Ok(Ok(reply)) = timeout(time, asking).await else { continue };
            if let Some(primary) = read_place(&reply) {
                self.sentinels[..=index].rotate_right(1);
                self.primary = Some(primary.clone());
                return Ok(primary);
            }
        }
        Err(NoReply::Lost(Cause::NoPrimary, "no Sentinel names a primary".to_string()))
    }
}

/// A server that does not know AUTH quotes its words, the password among them.
fn login_refused(refused: &Refused, password: &str) -> Refused {
    let text = refused.text.split(", with args").next().unwrap_or_default();
    let is_shown = password.is_empty() || !text.contains(password);
    let text = if is_shown { text } else { "ERR the login is refused" };
    Refused { text: text.to_string(), is_login: true }
}

fn read_place(reply: &Value) -> Option<Place> {
    let Value::Array(items) = reply else { return None };
    let [Value::BulkString(host), Value::BulkString(port)] = items.as_slice() else { return None };
    let port = std::str::from_utf8(port).ok()?.parse().ok()?;
    Some(Place::Host(String::from_utf8(host.clone()).ok()?, port))
}
