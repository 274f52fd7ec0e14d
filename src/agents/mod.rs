//! Agents: how each is started, and what each says.

mod claude;
mod codex;
mod fault;
mod plain;
mod stream;
mod wire;

pub use stream::StreamReader;

#[cfg(test)]
mod recorded;
