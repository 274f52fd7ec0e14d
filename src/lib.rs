//! Proctor: a measuring instrument for coding agents. This is the map of the house.
//!
//! ```text
//!  config.yaml ─┐                                            ┌─> console      (cli)
//!  tasks.yaml ──┴> config ──> plan ──> runner ── Progress ───┤
//!                  Suite      Plan       │                   └─> runs.jsonl   (record)
//!                                        │ for each trial            │
//!                                        v                           v
//!         ┌───────────────────────── trial ────────────────┐      report
//!         │ workspace → shims → agents+supervise → graders │      Summary
//!         │ worktree    PATH    AgentEvent…        Verdict │   ┌─────┴─────┐
//!         └──────────────────> TrialOutcome ───────────────┘  csv      markdown
//!                                     │
//!                                  metrics
//! ```
//!
//! **The one law: a room imports only from floors strictly below its own.** `tests/it/tidy.rs` reads the
//! table below and every `crate::` path, and fails where one does not point down.
//!
//! | floor | room | what lives there |
//! |---|---|---|
//! | 6 | `cli` | the person: flags, words, colours, exit codes; one command per file |
//! | 5 | `runner` | the whole plan: order, concurrency, cancellation, one stream of progress |
//! | 4 | `trial` | one trial, start to end |
//! | 3 | `graders` | judging what a trial left |
//! | 3 | `report` | telling a run: summaries, tables, files |
//! | 2 | `plan` | the matrix and its order |
//! | 2 | `workspace` | the tree that a trial works in; the only room that knows git |
//! | 2 | `shims` | the PATH overlay that sees every call of a watched command |
//! | 2 | `agents` | how each agent is started and what it says; cassettes |
//! | 1 | `config` | what was asked: `config.yaml` and `tasks.yaml`, checked and resolved |
//! | 1 | `supervise` | how a child ends; the only room that starts a process |
//! | 1 | `metrics` | facts to numbers |
//! | 1 | `record` | what is kept; the only room that knows a file name under `runs/` |
//! | 0 | `model` | what happened, as nouns: no I/O, no clock |
//! | 0 | `stats` | arithmetic, with the reference of each formula above it |

pub mod agents;
pub mod cli;
pub mod config;
pub mod graders;
pub mod metrics;
pub mod model;
pub mod plan;
pub mod record;
pub mod report;
pub mod runner;
pub mod shims;
pub mod stats;
pub mod supervise;
pub mod trial;
pub mod workspace;
