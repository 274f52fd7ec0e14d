//! `agents:` as they are read, with what the key tables cannot say.

use crate::fields::Fields;
use crate::files::Files;
use crate::problem::{Report, did_you_mean};
use crate::tables::PRICING;
use crate::{AgentKind, AgentSpec, PromptVia, ReplaySpec};
use proctor_model::{AgentId, Pricing};

/// Tokens of `command` that are replaced.
const PLACEHOLDERS: [&str; 4] = ["{PROMPT}", "{WORKDIR}", "{OUT_JSON}", "{EXTRA_ARGS}"];

/// A price above this per token was surely meant per million tokens.
const HIGHEST_LIKELY_PRICE: f64 = 0.01;

impl AgentKind {
    /// The kind with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Whether it takes a prompt on standard input where its command line holds none.
    fn reads_standard_input(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Codex)
    }
}

/// One of `agents:`; none when the check found its id or kind wrong.
pub(super) fn agent(
    fields: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> Option<AgentSpec> {
    let id = fields.text("id");
    let kind = AgentKind::from_word(&fields.text_or_empty("kind"));
    let prompt_via = prompt_via(fields, kind);
    let replay = replay(fields, files, (kind, report));
    let spec = AgentSpec {
        id: AgentId::new(id.clone()?).ok()?,
        kind: kind?,
        command: fields.words("command"),
        env: fields.environment("env"),
        pricing: pricing(&fields.section("pricing", &PRICING), report),
        prompt_via,
        lane: fields.text("lane").unwrap_or(id.clone()?),
        max_parallel: fields
            .get("max_parallel")
            .map(|_| fields.count("max_parallel")),
        replay,
    };
    if spec.kind == AgentKind::Replay {
        unused_command(fields, report);
    } else {
        command(&spec, fields, report);
    }
    Some(spec)
}

/// Where no token holds the prompt, agents that read it on standard input get it there.
fn prompt_via(fields: &Fields<'_>, kind: Option<AgentKind>) -> PromptVia {
    let words = fields.words("command");
    let has_token = words.iter().any(|word| word.contains("{PROMPT}"));
    match fields.text("prompt_via").as_deref() {
        Some("stdin") => PromptVia::Stdin,
        None if !has_token && kind.is_some_and(AgentKind::reads_standard_input) => PromptVia::Stdin,
        _ => PromptVia::Argument,
    }
}

fn replay(
    fields: &Fields<'_>,
    files: &Files<'_>,
    (kind, report): (Option<AgentKind>, &mut Report),
) -> Option<ReplaySpec> {
    let cassettes = fields.path_value("cassettes", files.base);
    let plays = fields.text("plays");
    let pace = fields.number("pace");
    if kind != Some(AgentKind::Replay) {
        let keys = ["cassettes", "plays", "pace"];
        for name in keys
            .into_iter()
            .filter(|name| kind.is_some() && fields.get(name).is_some())
        {
            report
                .error(
                    fields.place_of(name),
                    &fields.path(name),
                    "belongs to kind replay alone",
                )
                .hint("remove it, or set kind: replay");
        }
        return None;
    }
    for name in ["cassettes", "plays"]
        .into_iter()
        .filter(|name| fields.get(name).is_none())
    {
        report
            .error(fields.place(), &fields.path(name), "is missing")
            .hint("an agent of kind replay needs cassettes and plays");
    }
    let cassettes = cassettes?;
    files.folder(&cassettes, &(fields, "cassettes"), report);
    Some(ReplaySpec {
        cassettes,
        plays: AgentKind::from_word(&plays?)?,
        pace: pace.unwrap_or(1.0),
    })
}

fn unused_command(fields: &Fields<'_>, report: &mut Report) {
    if fields.get("command").is_some() {
        let place = fields.place_of("command");
        report
            .warning(place, &fields.path("command"), "is not used by kind replay")
            .hint("remove it");
    }
}

fn pricing(fields: &Fields<'_>, report: &mut Report) -> Option<Pricing> {
    for name in ["input_per_token", "output_per_token"] {
        if fields
            .number(name)
            .is_some_and(|price| price > HIGHEST_LIKELY_PRICE && price.is_finite())
        {
            let message = "is a very high price for one token";
            report
                .warning(fields.place_of(name), &fields.path(name), message)
                .hint("prices are per token: divide a price per million by 1000000");
        }
    }
    let prices = [
        fields.number("input_per_token"),
        fields.number("output_per_token"),
    ];
    let names = ["input_per_token", "output_per_token"];
    let absent = names.into_iter().find(|name| fields.get(name).is_none());
    let given = names.iter().any(|name| fields.get(name).is_some());
    if let (Some(name), true) = (absent, given) {
        report
            .error(fields.place(), &fields.path(name), "is missing")
            .hint("a cost needs the prices of input and output; 0 is a price too");
    }
    let [input_per_token, output_per_token] = prices;
    Some(Pricing {
        input_per_token: input_per_token?,
        output_per_token: output_per_token?,
        cache_read_multiplier: fields.number("cache_read_multiplier")?,
        cache_write_multiplier_5m: fields.number("cache_write_multiplier_5m")?,
        cache_write_multiplier_1h: fields.number("cache_write_multiplier_1h")?,
    })
}

/// What is wrong with a command line.
fn command(spec: &AgentSpec, fields: &Fields<'_>, report: &mut Report) {
    let path = fields.path("command");
    let place = fields.place_of("command");
    let Some(program) = spec.command.first() else {
        if fields.get("command").is_none() {
            report
                .error(fields.place(), &path, "is missing")
                .hint("give the program and its arguments as a list");
        }
        return;
    };
    if program.trim().is_empty() || PLACEHOLDERS.contains(&program.as_str()) {
        report
            .error(place, &format!("{path}[0]"), "must be the program to start")
            .hint("the first word is a program's name or path");
    }
    let holds = |token: &str| spec.command.iter().any(|word| word.contains(token));
    if spec.prompt_via == PromptVia::Argument && !holds("{PROMPT}") {
        report
            .error(
                place,
                &path,
                "no token holds {PROMPT}, so the agent would not be told its task",
            )
            .hint("add \"{PROMPT}\" as a token, or set prompt_via: stdin");
    }
    let takes_mcp = !matches!(spec.kind, AgentKind::Command | AgentKind::Replay);
    if takes_mcp && !holds("{EXTRA_ARGS}") {
        report
            .warning(
                place,
                &path,
                "no token is {EXTRA_ARGS}, so scenarios cannot switch MCP on or off",
            )
            .hint("add \"{EXTRA_ARGS}\" as a token among the options");
    }
    tokens(fields, &path, report);
}

/// What is wrong with single tokens of a command line.
fn tokens(fields: &Fields<'_>, path: &str, report: &mut Report) {
    for (index, node) in fields.items("command").iter().enumerate() {
        let token = node.word().unwrap_or_default();
        let key = format!("{path}[{index}]");
        if token.contains("{EXTRA_ARGS}") && token != "{EXTRA_ARGS}" {
            report
                .error(
                    node.place,
                    &key,
                    "{EXTRA_ARGS} stands inside a larger token",
                )
                .hint("make it a token of its own: it becomes zero or more tokens");
        }
        if looks_like_placeholder(token) && !PLACEHOLDERS.contains(&token) {
            let meant = did_you_mean(token, PLACEHOLDERS);
            let message = format!("{token} is no placeholder and is passed as it is{meant}");
            report.warning(node.place, &key, message);
        }
    }
}

fn looks_like_placeholder(token: &str) -> bool {
    let name = token
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    })
}
