//! The Limiters bear servers and Sentinels that misbehave, callers that leave, and values at the
//! ends of their ranges. The cases that all clients play are clients/cases.json.

mod layer;
mod server;
mod tasks;
mod threads;
