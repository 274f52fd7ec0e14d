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
//! This package holds the person, the plan, the runner and the trial. Everything below them is a crate in `crates/`, each with its
//! purpose in its `//!`. Cargo keeps imports between crates pointing down; `tests/it/tidy.rs` keeps them so between these rooms:
//!
//! | floor | room | what lives there |
//! |---|---|---|
//! | 3 | `cli` | the person: flags, words, colours, exit codes; one command per file |
//! | 2 | `runner` | the whole plan: order, lanes, further attempts, budgets, cancellation, one stream of progress |
//! | 1 | `trial` | one trial, start to end |
//! | 0 | `plan` | the matrix and its order |
//!
//! | crates | what lives there |
//! |---|---|
//! | `graders`, `report`, `trajectory` | judging what a trial left; summaries of a run; ATIF and OpenTelemetry |
//! | `agents`, `workspace`, `shims`, `apple`, `judge`, `rehearsal` | one thing of the world each: agent CLIs, git, PATH shims, Xcode, judges of answers, a scripted model server |
//! | `config`, `record`, `supervise`, `gate`, `metrics`, `retrieval` | what was asked; what is kept; how a child lives and ends; its network; facts to numbers |
//! | `model`, `layers`, `stats`, `failpoints` | what happened, as nouns; what an answer must hold to; arithmetic; where tests kill the harness |
//!
//! **Words.** Suite (what is configured), run (a folder), task, scenario (a named treatment), cell (agent x scenario x
//! task), trial (one go at a cell), attempt (inside a trial, after a fault that was not the agent's), lane (the trials
//! of one agent, which wait and stop together), event (what an agent said), grader, twin (hidden tests made wrong by an edit
//! each), verdict, outcome, row, transcript, reference patch.
//!
//! # How to add
//!
//! Sets are closed enums, so the compiler names every place. The files, in order; `trial`, `runner`, `plan` and `cli` are here, all
//! other folders are `crates/<name>/src`:
//!
//! - **an agent**: `config/agent_spec.rs` (`AgentKind`), `agents/<name>/` (its stream),
//!   `agents/stream.rs`, `agents/mcp/` (its MCP dialect), `agents/home/` (its private home and login), `agents/commands.rs`
//!   (default command, variables), `agents/invocation.rs`, `agents/web.rs` and `agents/hidden.rs` (tools that it must not have),
//!   `agents/provider.rs` (hosts of its model and login), `trial/mcp_seen.rs` (what it takes of a server's tools), then recorded
//!   streams in `tests/fixtures/streams` with their rows in `expected.tsv`.
//! - **settings that interfere with an arm**: `agents/invocation.rs` and `agents/mcp/` (what the agent is given), `agents/asked.rs`
//!   (what it is asked), `trial/asked.rs` (asking it).
//! - **a grader**: `config/grader_spec.rs`, `config/graders.rs` (its keys, and reading them),
//!   `graders/<name>.rs`, `graders/grade.rs`, SETUP.md.
//! - **a rule about what graders get of an agent's changes**: `trial/guard.rs` (the five rules), `config/protected.rs` (configuration of test
//!   runners, by name), `trial/grading_tree.rs` (the graders' tree), `model/reason.rs` (reasons), docs/guarantees.md.
//! - **twins**: `trial/twins.rs` (which tests are wrong in which run), `graders/test_run.rs` (what a run says), `config/twins.rs`.
//! - **a cheat of `validate --cheats`**: `graders/cheats/`.
//! - **a test runner whose output is read**: `config/grader_spec.rs` (`TestFormat`), `graders/test_run.rs`, a file beside it, SETUP.md.
//! - **what outlives a start**: `record/journal.rs`, `record/extent.rs` (how much of it was noted), `record/chain.rs` (`verify`),
//!   `record/strangers.rs` (what it did not write), `runner/journal_found.rs` (what a start finds), docs/guarantees.md.
//! - **what ends processes where no jail is**: `supervise/sweep.rs`, `supervise/jail/supervisor.rs` (their parent, where there is Linux).
//!   `trial/watch.rs` follows what an agent says.
//! - **an encoding of secrets**: `record/secret_encodings.rs`; `record/embedded_secrets.rs` (secrets inside of other values), `runner/secrets.rs`
//!   (which values are looked at).
//! - **a fault of the machine**: `model/axes.rs` (`Infra`), `supervise/machine_faults.rs` (which errors tell of one), `trial/stop.rs` (while trees are made or work is kept), `graders/grade.rs`
//!   (a grader that cannot be started).
//! - **words of a failure**: `agents/fault_words.rs` and `agents/reset.rs` (of a provider), `apple/fault.rs` (of Apple's tools).
//! - **a check of a layer**: `layers/correctness.rs`, `layers/path.rs` or `layers/cost.rs`, `config/layers.rs` (keys of an
//!   answer), `tests/fixtures/layers`, docs/layers.md, both schemas.
//! - **a check that asks judges**: the same, `layers/judge.rs` (`JudgeKind`), `judge/prompt.rs`, `cli/args/judge.rs`, docs/judge.md.
//! - **a key of AgentCI's spec**: `config/traces.rs`, docs/layers.md.
//! - **a format of traces**: `trajectory/`, `cli/commands/check/sources.rs`, docs/layers.md.
//! - **a fact of a trace or baseline**: `layers/trace.rs`, `record/baselines.rs` (with `#[serde(default)]`), `cli/commands/baseline/`.
//! - **a measure**: `model/measures.rs`, `metrics/`, `record/row.rs` (a column at the end), `report/columns.rs` (its mean),
//!   SETUP.md.
//! - **a column of the summary or another file of a report**: `report/columns.rs`, or a file beside `report/csv.rs` with its
//!   name in `record/run_dir.rs` and its place in `report/rebuild.rs`.
//! - **a key of the config**: the type that it is read into (`config/suite.rs`, `agents.rs`, `tasks.rs`, ...), with its text, its
//!   words of `model/vocabulary.rs` and its default; then
//!   `proctor schema config > schemas/config.schema.json`.
//! - **a provider of judges**: `config/judge.rs` (`JudgeProvider` and its keys), `judge/dialect.rs`,
//!   docs/judge.md.
//! - **a price**: `config/prices.yaml`, with its date.
//! - **a figure of `proctor metrics`**: `retrieval/figures.rs` (or `ranked.rs`), `retrieval/output.rs`, `retrieval/ownership.rs`,
//!   docs/retrieval.md.
//! - **a formula**: its file in `crates/stats/src`, with its reference; figures of another program in `crates/stats/tests/fixtures`.
//! - **a command**: `cli/args/`, one file in `cli/commands/`, an arm in `cli/commands/mod.rs`.
//!
//! # Unsafe code
//!
//! Denied but in six named places: `supervise/session.rs` (a child in a session of its own without copying this process),
//! `supervise/jail/sys.rs` and `supervise/jail/mounts.rs` (the system calls of a jail), `supervise/loopback.rs` (a network of loopback alone),
//! `supervise/own_program.rs` (a helper leaves at once) and `shims/relay/` (the program behind every shim, which runs without a C
//! library); and, for tests alone, `supervise/fifo.rs`.

pub mod cli;
pub mod plan;
pub mod runner;
pub mod trial;
