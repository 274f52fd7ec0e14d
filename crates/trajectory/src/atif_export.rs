//! A trial as a trajectory: the prompt, then a step for each thing that the model said, with its calls and their answers.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::atif_wire::{
    Agent, Answer, Call, Content, Extra, FinalMetrics, Observation, Source, Step, Trajectory,
    VERSION,
};
use crate::{Told, tokens_of};
use proctor_model::{AgentEvent, EventKind, ToolCall, ToolResult, Usage};

/// Where in `extra` what the format has no word for stands.
pub(super) const OURS: &str = "proctor";
/// Arguments that are no JSON object stand under this key of one.
pub(super) const RAW: &str = "proctor_raw";

/// The trajectory of a trial.
#[must_use]
pub fn atif(told: &Told) -> Trajectory {
    let mut steps = Steps::new(told);
    steps.step(Source::User, told.prompt.clone(), Duration::ZERO);
    for (place, event) in told.events.iter().enumerate() {
        steps.take(event, &told.events[place + 1..]);
    }
    let first = told.events.iter().find_map(|event| match &event.kind {
        EventKind::Started { .. } => Some(&event.kind),
        _ => None,
    });
    let (session, model, version) = match first {
        Some(EventKind::Started {
            session,
            model,
            cli_version,
            ..
        }) => (session.clone(), model.clone(), cli_version.clone()),
        _ => (None, None, None),
    };
    let version = told.version().map(str::to_owned).or(version);
    Trajectory {
        schema_version: VERSION.to_owned(),
        session_id: Some(session.unwrap_or_else(|| told.header.run_id.clone())),
        trajectory_id: Some(told.header.run_id.clone()).filter(|id| !id.is_empty()),
        agent: Agent {
            name: told.agent_name().to_owned(),
            version: version.unwrap_or_else(|| "unknown".to_owned()),
            model_name: told.model().map(str::to_owned).or(model),
            tool_definitions: None,
            extra: first.and_then(started),
        },
        notes: None,
        final_metrics: Some(steps.final_metrics(told)),
        continued_trajectory_ref: None,
        extra: Some(steps.extra(told)),
        subagent_trajectories: None,
        steps: steps.done(),
    }
}

/// The steps in the making.
struct Steps {
    start: Option<Timestamp>,
    made: Vec<Step>,
    /// The step of the agent that is not over.
    open: Option<usize>,
    /// The last step of the agent, over or not.
    last: Option<usize>,
    /// Which step a call stands in.
    calls: HashMap<String, usize>,
    /// All that was used so far, and as much of it as stands in steps.
    usage: Usage,
    placed: Option<Usage>,
    usage_seen: bool,
    cost_usd: Option<f64>,
    finished: Option<Value>,
    unread: u64,
    /// Whether the stream tells of a message only what was known when it began, which is next to no output.
    output_is_placeholder: bool,
    /// Whether the last figures are those of a request, too.
    usage_is_by_request: bool,
}

impl Steps {
    fn new(told: &Told) -> Self {
        Self {
            start: told.header.started.parse().ok(),
            made: Vec::new(),
            open: None,
            last: None,
            calls: HashMap::new(),
            usage: Usage::default(),
            placed: None,
            usage_seen: false,
            cost_usd: None,
            finished: None,
            unread: 0,
            output_is_placeholder: told.output_is_placeholder(),
            usage_is_by_request: told.usage_is_by_request(),
        }
    }

    fn take(&mut self, event: &AgentEvent, later: &[AgentEvent]) {
        let at = event.at;
        match &event.kind {
            EventKind::Started { .. } => {}
            EventKind::Message { text } | EventKind::Reasoning { text } if text.is_empty() => {}
            EventKind::Message { text } => {
                let step = self.agent_step(at, |step| !is_empty(&step.message) || answered(step));
                step.message = Content::Text(text.clone());
            }
            EventKind::Reasoning { text } => {
                let step = self.agent_step(at, |step| {
                    !is_empty(&step.message)
                        || step.tool_calls.is_some()
                        || step.reasoning_content.is_some()
                });
                step.reasoning_content = Some(text.clone());
            }
            EventKind::ToolStarted(call) => self.call(call, at),
            EventKind::ToolEnded(result) => self.answer(result, at),
            EventKind::FilesChanged { changes, ok } => {
                let step = match self.last {
                    Some(last) => &mut self.made[last],
                    None => self.agent_step(at, |_| true),
                };
                let list = ours(&mut step.extra)
                    .entry("files_changed")
                    .or_insert_with(|| json!([]));
                if let Value::Array(list) = list {
                    list.push(json!({"ok": ok, "changes": changes}));
                }
            }
            EventKind::UsageSeen(total) => self.usage(*total, later),
            EventKind::CostSeen { usd } => self.cost_usd = Some(*usd),
            EventKind::ProviderFault(fault) => {
                let kind = fault.kind.as_str();
                let told =
                    json!({"provider_fault": kind, "status": fault.status, "fatal": fault.fatal});
                self.aside(&fault.message, told, at);
            }
            EventKind::Warning { text } => self.aside(text, json!({"warning": true}), at),
            EventKind::Finished { ok, answer } => {
                let at_ms = millis(at);
                self.finished = Some(json!({"ok": ok, "answer": answer, "at_ms": at_ms}));
            }
            EventKind::Cut { what } => {
                let told = json!({"cut": what.as_str()});
                self.aside("the last output is not kept whole", told, at);
            }
            EventKind::Unknown { .. } | EventKind::Unparsed { .. } => self.unread += 1,
        }
    }

    /// The agent's open step, or a new one where there is none or the open one `is_over`.
    fn agent_step(&mut self, at: Duration, is_over: impl Fn(&Step) -> bool) -> &mut Step {
        let open = self.open.filter(|open| !is_over(&self.made[*open]));
        let place = open.unwrap_or_else(|| {
            let place = self.step(Source::Agent, String::new(), at);
            self.open = Some(place);
            self.last = Some(place);
            place
        });
        &mut self.made[place]
    }

    fn call(&mut self, call: &ToolCall, at: Duration) {
        if self.calls.contains_key(&call.id) {
            return;
        }
        let mut extra = None;
        let told = ours(&mut extra);
        told.insert("at_ms".to_owned(), millis(at));
        if let Some((server, tool)) = &call.mcp {
            told.insert("mcp".to_owned(), json!([server, tool]));
        }
        if let Some(command) = &call.command {
            told.insert("command".to_owned(), command.clone().into());
        }
        if let Some(parent) = &call.parent {
            told.insert("parent_tool_call_id".to_owned(), parent.clone().into());
        }
        let call = Call {
            tool_call_id: call.id.clone(),
            function_name: call.name.clone(),
            arguments: arguments(&call.arguments),
            extra,
        };
        let id = call.tool_call_id.clone();
        let step = self.agent_step(at, answered);
        step.tool_calls.get_or_insert_default().push(call);
        if let Some(open) = self.open {
            self.calls.insert(id, open);
        }
    }

    fn answer(&mut self, result: &ToolResult, at: Duration) {
        let known = self.calls.get(&result.id).copied();
        let mut extra = None;
        let told = ours(&mut extra);
        told.insert("at_ms".to_owned(), millis(at));
        told.insert("is_error".to_owned(), result.is_error.into());
        if let Some(code) = result.exit_code {
            told.insert("exit_code".to_owned(), code.into());
        }
        if known.is_none() {
            told.insert("tool_call_id".to_owned(), result.id.clone().into());
        }
        let answer = Answer {
            source_call_id: known.map(|_| result.id.clone()),
            content: Some(Content::Text(result.output.clone())),
            subagent_trajectory_ref: None,
            extra,
        };
        let step = match known {
            Some(place) => &mut self.made[place],
            None => self.agent_step(at, |_| false),
        };
        let observation = step.observation.get_or_insert_with(|| Observation {
            results: Vec::new(),
        });
        observation.results.push(answer);
    }

    /// Gives what was used since the last figures to the agent's last step. The figures of the end are of the whole, but where each
    /// request tells its own.
    fn usage(&mut self, total: Usage, later: &[AgentEvent]) {
        self.usage = total;
        self.usage_seen = true;
        let next = later.iter().find(|event| {
            !matches!(
                event.kind,
                EventKind::ProviderFault(_)
                    | EventKind::Warning { .. }
                    | EventKind::CostSeen { .. }
            )
        });
        let is_end = next.is_some_and(|event| matches!(event.kind, EventKind::Finished { .. }));
        if !is_end || self.usage_is_by_request {
            self.place();
        }
    }

    /// Puts what is not in a step yet into the agent's last one.
    fn place(&mut self) {
        let Some(last) = self.last else { return };
        let total = self.usage;
        let before = self.placed.replace(total).unwrap_or_default();
        let placeholder = self.output_is_placeholder;
        let metrics = self.made[last].metrics.get_or_insert_default();
        let cached = total.cached_read.saturating_sub(before.cached_read);
        let written = total.cache_write.saturating_sub(before.cache_write);
        let output = total.output.saturating_sub(before.output);
        let uncached = total.uncached_input.saturating_sub(before.uncached_input);
        let prompt = uncached.saturating_add(cached).saturating_add(written);
        more(&mut metrics.prompt_tokens, prompt);
        more(&mut metrics.cached_tokens, cached);
        let extra = metrics.extra.get_or_insert_default();
        let mut count = |name: &str, tokens: u64| {
            let known = extra.get(name).and_then(Value::as_u64).unwrap_or(0);
            extra.insert(name.to_owned(), known.saturating_add(tokens).into());
        };
        count("cache_creation_input_tokens", written);
        if placeholder {
            count("completion_tokens_at_least", output);
        } else {
            more(&mut metrics.completion_tokens, output);
        }
    }

    /// Something that the client said, between the steps of the agent.
    fn aside(&mut self, text: &str, told: Value, at: Duration) {
        let place = self.step(Source::System, text.to_owned(), at);
        if let Value::Object(told) = told {
            *ours(&mut self.made[place].extra) = told;
        }
        self.open = None;
    }

    fn step(&mut self, source: Source, message: String, at: Duration) -> usize {
        let mut step = Step::new(source, message);
        step.step_id = self.made.len() as u64 + 1;
        step.timestamp = self.start.and_then(|start| moment(start, at));
        self.made.push(step);
        self.made.len() - 1
    }

    /// What the row says of tokens and money, where there is one: what is unknown there is left out, whatever the stream told.
    fn final_metrics(&self, told: &Told) -> FinalMetrics {
        let row = told.row.as_ref();
        let by_stream = || self.usage_seen.then_some(self.usage);
        let usage = row.map_or_else(by_stream, tokens_of);
        let prompt = |usage: Usage| {
            let cached = usage.cached_read.saturating_add(usage.cache_write);
            usage.uncached_input.saturating_add(cached)
        };
        let mut extra = Extra::new();
        if let Some(usage) = usage {
            extra.insert(
                "cache_creation_input_tokens".to_owned(),
                usage.cache_write.into(),
            );
        }
        if let Some(row) = row {
            extra.insert("cost_source".to_owned(), json!(row.cost_source));
            extra.insert(
                "usage_is_lower_bound".to_owned(),
                json!(row.usage_is_lower_bound),
            );
        }
        FinalMetrics {
            total_prompt_tokens: usage.map(prompt),
            total_completion_tokens: usage.map(|usage| usage.output),
            total_cached_tokens: usage.map(|usage| usage.cached_read),
            total_cost_usd: row.map_or(self.cost_usd, |row| row.billed_cost_usd),
            total_steps: Some(self.made.len() as u64),
            extra: (!extra.is_empty()).then_some(extra),
        }
    }

    /// What the trial was and how it came out.
    fn extra(&self, told: &Told) -> Extra {
        #[derive(Serialize)]
        struct OfRow<'a> {
            agent_id: &'a str,
            scenario: &'a str,
            task_id: &'a str,
            trial_index: Option<u32>,
            attempt: Option<u32>,
            success: bool,
            failure_reason: Option<&'a str>,
            exit_code: Option<i64>,
            termination: Option<&'a str>,
            grade: Option<&'a str>,
            /// How far the judges are known that had a part in the grade.
            #[serde(skip_serializing_if = "Option::is_none")]
            judged: Option<&'a [String]>,
            integrity: Option<&'a str>,
            infra: Option<&'a str>,
            wall_time_sec: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            sub_agent_tool_calls: Option<u64>,
            #[serde(flatten)]
            layers: Layers<'a>,
        }
        /// How each layer ended, of those that were asked for, and every check.
        #[derive(Serialize)]
        struct Layers<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            answer_layer: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            path_layer: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            budget_layer: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            layer_findings: Option<&'a [String]>,
        }
        let row = told.row.as_ref().map(|row| OfRow {
            agent_id: &row.agent_id,
            scenario: &row.scenario,
            task_id: &row.task_id,
            trial_index: row.trial_index,
            attempt: row.attempt,
            success: row.success,
            failure_reason: row.failure_reason.as_deref(),
            exit_code: row.exit_code,
            termination: row.termination.as_deref(),
            grade: row.grade.as_deref(),
            judged: row.judged.as_deref(),
            integrity: row.integrity.as_deref(),
            infra: row.infra.as_deref(),
            wall_time_sec: row.wall_time_sec,
            sub_agent_tool_calls: row.sub_agent_tool_calls,
            layers: Layers {
                answer_layer: row.answer_layer.as_deref(),
                path_layer: row.path_layer.as_deref(),
                budget_layer: row.budget_layer.as_deref(),
                layer_findings: row.layer_findings.as_deref(),
            },
        });
        let ours = json!({
            "agent_kind": told.header.agent_kind,
            "started": told.header.started,
            "trial": row,
            "finished": self.finished,
            "unread_events": self.unread,
            "problems": told.problems,
        });
        Extra::from_iter([(OURS.to_owned(), ours)])
    }

    fn done(mut self) -> Vec<Step> {
        // Figures that no end followed are of what was done until then.
        if self.usage_seen && self.finished.is_none() && self.placed != Some(self.usage) {
            self.place();
        }
        self.made
    }
}

fn answered(step: &Step) -> bool {
    step.observation.is_some()
}

fn is_empty(content: &Content) -> bool {
    matches!(content, Content::Text(text) if text.is_empty())
}

fn more(count: &mut Option<u64>, tokens: u64) {
    *count = Some(count.unwrap_or(0).saturating_add(tokens));
}

/// Our part of some custom data.
fn ours(extra: &mut Option<Extra>) -> &mut Extra {
    let entry = extra.get_or_insert_default().entry(OURS);
    let entry = entry.or_insert_with(|| Value::Object(Extra::new()));
    if !entry.is_object() {
        *entry = Value::Object(Extra::new());
    }
    entry.as_object_mut().expect("it was just made one")
}

/// The arguments as the object that the format asks for.
fn arguments(text: &str) -> Box<RawValue> {
    let is_object = text.trim_start().starts_with('{');
    let raw = is_object.then(|| RawValue::from_string(text.trim().to_owned()).ok());
    raw.flatten().unwrap_or_else(|| {
        let object = if text.is_empty() {
            json!({})
        } else {
            json!({RAW: text})
        };
        serde_json::value::to_raw_value(&object).expect("a text is JSON")
    })
}

/// What an agent was given, as it told it when it began.
fn started(kind: &EventKind) -> Option<Extra> {
    let mut extra = Extra::new();
    if let EventKind::Started {
        mcp_servers, tools, ..
    } = kind
    {
        let servers = mcp_servers
            .iter()
            .map(|seen| json!([seen.name, seen.status]));
        if !mcp_servers.is_empty() {
            extra.insert("mcp_servers".to_owned(), servers.collect());
        }
        if !tools.is_empty() {
            extra.insert("tools".to_owned(), json!(tools));
        }
    }
    (!extra.is_empty()).then_some(extra)
}

/// A time since the start in milliseconds.
fn millis(at: Duration) -> Value {
    (at.as_secs_f64() * 1e3).into()
}

/// A moment in UTC with milliseconds.
fn moment(start: Timestamp, at: Duration) -> Option<String> {
    let at = SignedDuration::try_from(at).ok()?;
    let moment = start.checked_add(at).ok()?;
    Some(moment.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}
