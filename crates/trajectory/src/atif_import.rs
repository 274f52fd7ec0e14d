//! A trajectory read as events: checked by the rules of the format first, with the place of whatever breaks them.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::atif_check::{answers, check, parsed};
use crate::atif_export::{OURS, RAW};
use crate::atif_wire::{Answer, Call, Content, Extra, Source, Step, Trajectory};
use proctor_model::{
    AgentEvent, Cut, EventKind, McpServerSeen, ProviderFault, ProviderFaultKind, ToolCall,
    ToolResult, Usage, is_amount,
};
use proctor_record::Row;

/// No trajectory is longer.
const MOST_BYTES: usize = 256 << 20;

/// What is wrong with a trajectory, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AtifProblem {
    /// It is no JSON of this shape.
    #[error("line {line}, column {column}, at {path}: {message}")]
    Shape {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// The key.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// It breaks a rule of the format.
    #[error("at {path}: {message}")]
    Rule {
        /// The key.
        path: String,
        /// What is wrong.
        message: String,
    },
    /// It is longer than 256 MiB.
    #[error("it is longer than 256 MiB")]
    TooLong,
}

/// A trajectory as events.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Imported {
    /// Name of the agent.
    pub agent: String,
    /// When the first step was, UTC, RFC 3339; empty where that is not told.
    pub started: String,
    /// What users said, one after the other.
    pub users: Vec<String>,
    /// What the agent did; times are those of steps, from the first one's.
    pub events: Vec<AgentEvent>,
    /// The kind of the agent, where we wrote the trajectory; else empty.
    pub kind: String,
    /// Whether we wrote it of a trial.
    pub is_of_trial: bool,
    /// What it tells of the row of that trial, if there was one.
    pub row: Option<Row>,
    /// Whether the trajectory of a sub-agent stands in another file.
    pub is_elsewhere: bool,
    /// Whether the trajectory goes on in another file.
    pub goes_on: bool,
}

/// Reads a trajectory of any version from 1.0 to 1.8.
///
/// Of embedded sub-agents calls alone are read, with what tools told: they stand where the sub-agent's result does, those of sub-agents
/// that no step names before all others.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn read_atif(text: &[u8]) -> Result<Imported, AtifProblem> {
    if text.len() > MOST_BYTES {
        return Err(AtifProblem::TooLong);
    }
    let mut json = serde_json::Deserializer::from_slice(text);
    let shape = |path: String, error: &serde_json::Error| {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or(&message);
        AtifProblem::Shape {
            line: error.line(),
            column: error.column(),
            path,
            message: message.to_owned(),
        }
    };
    let trajectory: Trajectory = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| shape(error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| shape(".".to_owned(), &error))?;
    check(&trajectory, "", 0)?;
    Ok(Reader::read(&trajectory))
}

/// Turns steps into events.
struct Reader {
    told: Imported,
    start: Option<Timestamp>,
    /// Time of the step that is read.
    at: Duration,
    usage: Usage,
    /// Whether a step told any.
    tokens_told: bool,
    /// The money of all steps so far, in USD; `None` once a step told none.
    usd: Option<f64>,
}

impl Reader {
    fn read(trajectory: &Trajectory) -> Imported {
        let mut times = trajectory
            .steps
            .iter()
            .filter_map(|step| step.timestamp.as_deref());
        let root = ours(trajectory.extra.as_ref());
        let started = root.and_then(|root| root.get("started")?.as_str().map(str::to_owned));
        let started = started.filter(|time| parsed(time).is_some());
        let first = started.or_else(|| times.next().map(str::to_owned));
        let kind = root.and_then(|root| root.get("agent_kind")?.as_str());
        let trial = root.and_then(|root| root.get("trial"));
        let mut reader = Self {
            start: first.as_deref().and_then(parsed),
            told: Imported {
                agent: trajectory.agent.name.clone(),
                started: first.unwrap_or_default(),
                kind: kind.unwrap_or_default().to_owned(),
                goes_on: trajectory.continued_trajectory_ref.is_some(),
                is_of_trial: trial.is_some(),
                row: trial.and_then(|it| Row::deserialize(it).ok()),
                ..Imported::default()
            },
            at: Duration::ZERO,
            usage: Usage::default(),
            tokens_told: false,
            usd: Some(0.0),
        };
        reader.begin(trajectory);
        reader.unnamed(trajectory);
        for step in &trajectory.steps {
            reader.step(step, trajectory);
        }
        reader.end(trajectory, root);
        reader.told
    }

    fn push(&mut self, kind: EventKind) {
        self.told.events.push(AgentEvent { at: self.at, kind });
    }

    fn begin(&mut self, trajectory: &Trajectory) {
        let agent = &trajectory.agent;
        let extra = agent.extra.as_ref();
        let list = |name: &str| extra.and_then(|extra| extra.get(name)?.as_array());
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let server = |pair: &Value| {
            Some(McpServerSeen {
                name: text(pair.get(0)?)?,
                status: text(pair.get(1)?)?,
            })
        };
        let servers = list("mcp_servers").into_iter().flatten();
        let tools = list("tools").into_iter().flatten();
        let defined = agent.tool_definitions.iter().flatten();
        let defined = defined.filter_map(|tool| text(tool.get("function")?.get("name")?));
        self.push(EventKind::Started {
            session: trajectory.session_id.clone(),
            model: agent.model_name.clone(),
            cli_version: Some(agent.version.clone()).filter(|version| version != "unknown"),
            mcp_servers: servers.filter_map(server).collect(),
            tools: tools.filter_map(text).chain(defined).collect(),
        });
    }

    /// The calls of embedded sub-agents that no step names.
    fn unnamed(&mut self, trajectory: &Trajectory) {
        let named = |inner: &Trajectory| {
            let refs = trajectory.steps.iter().flat_map(answers);
            let mut refs = refs.flat_map(|answer| answer.subagent_trajectory_ref.iter().flatten());
            refs.any(|one| one.trajectory_id == inner.trajectory_id)
        };
        let inside = trajectory.subagent_trajectories.iter().flatten();
        for inner in inside.filter(|inner| !named(inner)) {
            self.sub_agent(inner, None);
        }
    }

    /// The calls of a sub-agent and of those below it, with what tools told.
    fn sub_agent(&mut self, inner: &Trajectory, parent: Option<&str>) {
        self.told.is_elsewhere |= inner.continued_trajectory_ref.is_some();
        self.unnamed(inner);
        for step in &inner.steps {
            for call in step.tool_calls.iter().flatten() {
                self.call(call, parent);
            }
            for answer in answers(step) {
                self.answer(answer, inner);
            }
        }
    }

    fn step(&mut self, step: &Step, within: &Trajectory) {
        let time = step.timestamp.as_deref().and_then(parsed);
        if let (Some(time), Some(start)) = (time, self.start) {
            // Steps of a clock that was set back keep their order.
            let since = time.duration_since(start);
            self.at = self.at.max(Duration::try_from(since).unwrap_or_default());
        }
        let extra = ours(step.extra.as_ref());
        match step.source {
            Source::User => self.told.users.push(step.message.text()),
            Source::System => self.aside(step, extra),
            Source::Agent => self.agent(step, extra, within),
        }
    }

    /// A step of the system: a word of the client where it is one of ours, else a prompt, which is no event.
    fn aside(&mut self, step: &Step, extra: Option<&Extra>) {
        let Some(extra) = extra else { return };
        let text = step.message.text();
        if extra.contains_key("warning") {
            self.push(EventKind::Warning { text });
        } else if let Some(what) = extra.get("cut").and_then(Value::as_str) {
            let known = Cut::ALL.into_iter().find(|cut| cut.as_str() == what);
            self.push(EventKind::Cut {
                what: known.unwrap_or(Cut::List),
            });
        } else if let Some(kind) = extra.get("provider_fault").and_then(Value::as_str) {
            let status = extra.get("status").and_then(Value::as_u64);
            self.push(EventKind::ProviderFault(ProviderFault {
                kind: fault_kind(kind),
                status: status.and_then(|status| u16::try_from(status).ok()),
                message: text,
                fatal: extra.get("fatal") == Some(&Value::Bool(true)),
                reset: None,
            }));
        }
    }

    fn agent(&mut self, step: &Step, extra: Option<&Extra>, within: &Trajectory) {
        if let Some(text) = step.reasoning_content.clone() {
            self.push(EventKind::Reasoning { text });
        }
        let text = step.message.text();
        if !text.is_empty() {
            self.push(EventKind::Message { text });
        }
        for call in step.tool_calls.iter().flatten() {
            self.call(call, None);
        }
        for answer in answers(step) {
            self.answer(answer, within);
        }
        let usd = usd_of(step);
        self.usd = self.usd.zip(usd).map(|(sum, usd)| sum + usd);
        let files = extra.and_then(|extra| extra.get("files_changed")?.as_array());
        for change in files.into_iter().flatten() {
            let changes = change.get("changes").cloned().unwrap_or_default();
            self.push(EventKind::FilesChanged {
                changes: serde_json::from_value(changes).unwrap_or_default(),
                ok: change.get("ok") != Some(&Value::Bool(false)),
            });
        }
        if let Some(metrics) = &step.metrics {
            let told = |name: &str| {
                let extra = metrics.extra.as_ref();
                extra
                    .and_then(|extra| extra.get(name)?.as_u64())
                    .unwrap_or(0)
            };
            let cached = metrics.cached_tokens.unwrap_or(0);
            let written = told("cache_creation_input_tokens");
            let output = metrics
                .completion_tokens
                .unwrap_or_else(|| told("completion_tokens_at_least"));
            let prompt = metrics.prompt_tokens.unwrap_or(0);
            self.tokens_told = true;
            let usage = &mut self.usage;
            let uncached = prompt.saturating_sub(cached).saturating_sub(written);
            usage.uncached_input = usage.uncached_input.saturating_add(uncached);
            usage.cached_read = usage.cached_read.saturating_add(cached);
            usage.cache_write = usage.cache_write.saturating_add(written);
            usage.output = usage.output.saturating_add(output);
            self.push(EventKind::UsageSeen(self.usage));
        }
    }

    fn call(&mut self, call: &Call, parent: Option<&str>) {
        let extra = ours(call.extra.as_ref());
        let text =
            |name: &str| extra.and_then(|extra| extra.get(name)?.as_str().map(str::to_owned));
        let mcp = extra.and_then(|extra| extra.get("mcp").cloned());
        let at = self.time(extra);
        let call = ToolCall {
            id: call.tool_call_id.clone(),
            name: call.function_name.clone(),
            mcp: mcp.and_then(|pair| serde_json::from_value(pair).ok()),
            command: text("command"),
            arguments: arguments(call.arguments.get()),
            parent: text("parent_tool_call_id").or(parent.map(str::to_owned)),
        };
        let kind = EventKind::ToolStarted(call);
        self.told.events.push(AgentEvent { at, kind });
    }

    /// What a tool told, behind the calls of the sub-agents that it stands for.
    fn answer(&mut self, answer: &Answer, within: &Trajectory) {
        for one in answer.subagent_trajectory_ref.iter().flatten() {
            let mut inside = within.subagent_trajectories.iter().flatten();
            let inner = inside.find(|inner| {
                inner.trajectory_id.is_some() && inner.trajectory_id == one.trajectory_id
            });
            match inner {
                Some(inner) => self.sub_agent(inner, answer.source_call_id.as_deref()),
                None => self.told.is_elsewhere = true,
            }
        }
        let extra = ours(answer.extra.as_ref());
        let get = |name: &str| extra.and_then(|extra| extra.get(name));
        let id = answer.source_call_id.clone();
        let id = id.or_else(|| get("tool_call_id")?.as_str().map(str::to_owned));
        let code = get("exit_code").and_then(Value::as_i64);
        let at = self.time(extra);
        let result = ToolResult {
            id: id.unwrap_or_default(),
            is_error: get("is_error") == Some(&Value::Bool(true)),
            exit_code: code.and_then(|code| i32::try_from(code).ok()),
            output: answer
                .content
                .as_ref()
                .map(Content::text)
                .unwrap_or_default(),
        };
        let kind = EventKind::ToolEnded(result);
        self.told.events.push(AgentEvent { at, kind });
    }

    /// The time that we put down, else that of the step.
    fn time(&self, extra: Option<&Extra>) -> Duration {
        let millis = extra.and_then(|extra| extra.get("at_ms")?.as_f64());
        let exact = millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1e3).ok());
        exact.unwrap_or(self.at)
    }

    fn end(&mut self, trajectory: &Trajectory, root: Option<&Extra>) {
        let finished = root.and_then(|root| root.get("finished")?.as_object());
        if finished.is_some() {
            self.at = self.at.max(self.time(finished));
        }
        if let Some(last) = &trajectory.final_metrics {
            let extra = last.extra.as_ref();
            let written =
                extra.and_then(|extra| extra.get("cache_creation_input_tokens")?.as_u64());
            let (cached, written) = (last.total_cached_tokens.unwrap_or(0), written.unwrap_or(0));
            let total = last.total_prompt_tokens.map(|prompt| Usage {
                uncached_input: prompt.saturating_sub(cached).saturating_sub(written),
                cached_read: cached,
                cache_write: written,
                output: last.total_completion_tokens.unwrap_or(0),
            });
            let untold = !self.tokens_told;
            let is_told = |total: &Usage| finished.is_some() || untold || *total != self.usage;
            if let Some(total) = total.filter(is_told) {
                self.push(EventKind::UsageSeen(total));
            }
        }
        let last = trajectory.final_metrics.as_ref();
        let total = last.and_then(|last| last.total_cost_usd);
        let sum = self.usd.filter(|usd| *usd > 0.0);
        if let Some(usd) = total.or(sum).filter(|usd| is_amount(*usd)) {
            self.push(EventKind::CostSeen { usd });
        }
        if let Some(finished) = finished {
            let answer = finished.get("answer").and_then(Value::as_str);
            self.push(EventKind::Finished {
                ok: finished.get("ok") == Some(&Value::Bool(true)),
                answer: answer.map(str::to_owned),
            });
        }
    }
}

/// What a step of the agent cost, in USD: unknown where it does not tell, or had a sub-agent, whose money stands elsewhere.
fn usd_of(step: &Step) -> Option<f64> {
    let had_sub_agent = answers(step).any(|answer| answer.subagent_trajectory_ref.is_some());
    if had_sub_agent {
        return None;
    }
    let usd = step.metrics.as_ref().and_then(|metrics| metrics.cost_usd);
    usd.or((step.llm_call_count == Some(0)).then_some(0.0))
}

/// The kind with this word.
fn fault_kind(word: &str) -> ProviderFaultKind {
    let known = ProviderFaultKind::ALL.into_iter();
    let found = known.into_iter().find(|kind| kind.as_str() == word);
    found.unwrap_or(ProviderFaultKind::Other)
}

fn ours(extra: Option<&Extra>) -> Option<&Extra> {
    extra?.get(OURS)?.as_object()
}

/// The arguments as the agent wrote them.
fn arguments(object: &str) -> String {
    if object.contains(RAW)
        && let Ok(Value::Object(mut wrapped)) = serde_json::from_str(object)
        && wrapped.len() == 1
        && let Some(Value::String(raw)) = wrapped.remove(RAW)
    {
        return raw;
    }
    object.to_owned()
}
