//! Agents: how each is started, and what each says.
//!
//! To add an agent: its kind in `config`, its stream in a folder here, one arm each in `stream`, `invocation`, `home` and
//! `commands`; the compiler names the places.

mod asked;
mod asked_model;
mod by_model;
mod calls;
pub mod cassette;
mod ccusage;
mod claude;
mod codex;
mod colours;
mod commands;
mod copilot;
mod cutting;
mod fault;
mod fault_words;
mod gemini;
mod hidden;
mod home;
mod invocation;
mod jsonc;
mod launched;
mod mcp;
mod opencode;
mod plain;
mod prompt;
mod provider;
mod redirect;
mod replay;
mod reset;
mod sessions;
pub mod steering;
mod stream;
mod toml;
mod transcript;
mod web;
mod wire;

pub use asked::{Answer, Asked, Question, settings_question};
pub use asked_model::{asked_model, settle_model};
pub use ccusage::{CcusageReport, ccusage, ccusage_report};
pub use colours::without_colours;
pub use commands::{KNOWN_AGENTS, default_command, find_on_path, lent_to, version};
pub use hidden::hides_its_calls;
pub use home::{
    Login, OperatorHome, copy_settings, git_texts, keys_of, login, login_texts, texts_of,
    usual_folder,
};
pub use invocation::{Invocation, InvocationContext, InvocationError, invocation, invocation_for};
pub use launched::{Search, programs_started};
pub use mcp::{
    McpCommand, Met, ServerNoted, ServerNotes, ToolList, mcp_commands, server_names,
    server_programs, server_variables, servers_noted,
};
pub use opencode::without_servers;
pub use prompt::compose_prompt;
pub use provider::{hosts_of, provider_hosts};
pub use redirect::{Led, SCRIPTED_KEY, led};
pub use reset::{reset_moment, zone_of};
pub use sessions::{SessionTokens, session_tokens, settle_fault, settle_usage};
pub use stream::StreamReader;
pub use transcript::transcript_line;
pub use web::{WebTools, is_web_tool};

#[cfg(test)]
mod client_tests;
#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod samples;
