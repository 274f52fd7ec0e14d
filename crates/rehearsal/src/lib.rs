//! Rehearsals: agents that work against a script instead of a model, on loopback alone.
//!
//! [`Server`] speaks the four dialects in which agents ask models (Anthropic Messages, `OpenAI` Responses, `OpenAI` Chat
//! Completions, Gemini), streaming and whole. What it answers is read from a [`Script`]; what it was asked and which token
//! counts it told are kept, so that every number of a row can be compared with what was dictated. [`NameServer`] knows no
//! name and counts who asked for which: in a network of loopback alone it tells where an agent wanted to go.

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
mod translate;

pub use kept::KeptRequest;
pub use name_server::{NameServer, Question};
pub use script::{HttpFault, Play, Script, ScriptError, Step, Tokens, Turn};
pub use server::{Server, ServerOptions};

#[cfg(test)]
mod tests;
