//! The key tables: every key of both files, once.

mod agents;
mod config;
mod graders;
mod isolation;
mod judge;
mod layers;
mod limits;
mod measured;
mod prices;
mod retries;
mod scenarios;
mod suite;
mod tasks;
pub(super) mod traces;

pub(super) use agents::{AGENT, KINDS, PRICING};
pub(super) use config::{BUILD_PARAMS, CONFIG, MCP, PROJECT};
pub(super) use graders::{GRADERS, TWIN};
pub(super) use isolation::{ISOLATION, LENT};
pub(super) use judge::{JUDGE, JUDGES};
pub(super) use layers::{ANSWER, BUDGET, EXPECT, FORBIDDEN_CALL, PATH, RUBRIC, TRACE_PATH};
pub(super) use limits::LIMITS;
pub(super) use prices::{PRICE, PRICES, SHIPPED};
pub(super) use retries::RETRIES;
pub(super) use scenarios::{FILE, SCENARIO};
pub(super) use suite::SUITE;
pub(super) use tasks::{TASK, TASKS};

use crate::shape::{FreeKey, Shape};

/// Environment variables.
const ENVIRONMENT: Shape = Shape::Map {
    keys: FreeKey::Variable,
    of: &Shape::Word,
};

/// Words that may be none.
const WORDS: Shape = Shape::List {
    of: &Shape::Word,
    least: 0,
};

/// Patterns for paths; maybe none.
const GLOBS: Shape = Shape::List {
    of: &Shape::Glob,
    least: 0,
};

/// A program with its arguments.
const ARGV: Shape = Shape::List {
    of: &Shape::Word,
    least: 1,
};

/// A program with its arguments, or a line for the shell.
const COMMAND: Shape = Shape::Either(&[ARGV, Shape::Filled]);
