//! A scripted model server: real agents work against a script instead of a model, on loopback only.
//!
//! [`Server`] speaks the four API dialects of agents (Anthropic Messages, `OpenAI` Responses,
//! `OpenAI` Chat Completions, Gemini), streaming and whole. It answers from a [`Script`], and logs
//! requests and reported token counts, so that every number of a row can be compared with the
//! script. [`NameServer`] resolves no name and counts who asked for which: it shows where an agent
//! wanted to go.
//!
//! This crate contacts no provider and starts no agent. Start reading with [`Script`].

mod answer;
mod anthropic;
mod asked;
mod chat;
mod dialect;
mod gemini;
mod http;
mod kept;
mod name_server;
mod responses;
mod script;
mod server;
mod stage;
mod translate;

pub use kept::KeptRequest;
pub use name_server::{NameServer, Question};
pub use script::{HttpFault, Play, Script, ScriptError, Step, Tokens, Turn};
pub use server::{Server, ServerOptions};

#[cfg(test)]
mod tests;
