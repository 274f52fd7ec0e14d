//! `judge`: who judges answers by a rubric, as it was asked for.

use std::path::PathBuf;
use std::time::Duration;

use crate::PriceTable;
use crate::fields::{Fields, command};
use crate::paths::Base;
use crate::problem::Report;
use crate::tables::{JUDGE, JUDGES};
use proctor_model::Pricing;
use proctor_model::host::HostRule;

/// `judge`
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeSettings {
    /// `judges`
    pub judges: Vec<JudgeSpec>,
    /// `samples` (1): how often each one is asked.
    pub samples: u32,
    /// `timeout_sec` (120): of one call.
    pub timeout: Duration,
    /// `max_attempts` (3), the first included.
    pub attempts: u32,
    /// `backoff_sec` (2): the first wait; each further one is twice as long.
    pub backoff: Duration,
    /// `max_backoff_sec` (60): the longest wait that no server told.
    pub longest_backoff: Duration,
    /// `max_wait_sec` (300): the longest wait that a server may ask for.
    pub longest_wait: Duration,
    /// `max_reply_kib` (256), in bytes.
    pub reply_bytes: usize,
    /// `max_prompt_kib` (256), in bytes.
    pub prompt_bytes: usize,
    /// `max_cost_usd`
    pub max_cost_usd: Option<f64>,
    /// `replay` (auto)
    pub replay: ReplayMode,
    /// `recordings`, absolute; none is a file of the run's own.
    pub recordings: Option<PathBuf>,
    /// `calibrations`, absolute.
    pub calibrations: PathBuf,
    /// `allow_uncalibrated`
    pub allow_uncalibrated: bool,
}

/// Whether recorded replies stand in for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayMode {
    /// Where there is one.
    Auto,
    /// Always: nobody is asked.
    Only,
    /// Never.
    Off,
}

/// One of `judges`.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeSpec {
    /// Who answers.
    pub provider: JudgeProvider,
    /// `model`
    pub model: Option<String>,
    /// Its price, where it has one.
    pub pricing: Option<Pricing>,
}

/// Who answers; a closed set.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgeProvider {
    /// Anthropic's Messages API.
    Anthropic(Endpoint),
    /// A chat completions API.
    OpenAi(Endpoint),
    /// A program.
    Command {
        /// `command`
        argv: Vec<String>,
        /// `env_pass`
        env_pass: Vec<String>,
        /// `max_call_usd`
        max_call_usd: Option<f64>,
    },
}

impl JudgeProvider {
    /// The word in config and records.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Anthropic(_) => "anthropic",
            Self::OpenAi(_) => "openai",
            Self::Command { .. } => "command",
        }
    }

    /// The server behind it, where there is one.
    #[must_use]
    pub const fn server(&self) -> Option<&Endpoint> {
        match self {
            Self::Anthropic(server) | Self::OpenAi(server) => Some(server),
            Self::Command { .. } => None,
        }
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// Where it is, without a slash at the end.
    pub base_url: String,
    /// Whether that is the provider's own server.
    pub is_own: bool,
    /// The variable that holds the key; none is no key.
    pub key_variable: Option<String>,
    /// `max_output_tokens` (2048)
    pub max_output_tokens: u32,
    /// `temperature`
    pub temperature: Option<f64>,
}

/// Where a provider's own server is, and the variable of its key.
const ANTHROPIC: (&str, &str) = ("https://api.anthropic.com", "ANTHROPIC_API_KEY");
const OPENAI: (&str, &str) = ("https://api.openai.com/v1", "OPENAI_API_KEY");

/// The judge as it was written; none where the config has none.
pub(super) fn judge(
    root: &Fields<'_>,
    (base, prices): (&Base, &PriceTable),
    report: &mut Report,
) -> Option<JudgeSettings> {
    const KIB: u64 = 1024;
    root.get("judge")?;
    let fields = root.section("judge", &JUDGE);
    let bytes = |name: &str| usize::try_from(fields.whole(name) * KIB).unwrap_or(usize::MAX);
    let max_cost_usd = fields.number("max_cost_usd");
    Some(JudgeSettings {
        judges: judges(&fields, (prices, max_cost_usd), report),
        samples: fields.count("samples"),
        timeout: fields.seconds_or_zero("timeout_sec"),
        attempts: fields.count("max_attempts"),
        backoff: fields.seconds_or_zero("backoff_sec"),
        longest_backoff: fields.seconds_or_zero("max_backoff_sec"),
        longest_wait: fields.seconds_or_zero("max_wait_sec"),
        reply_bytes: bytes("max_reply_kib"),
        prompt_bytes: bytes("max_prompt_kib"),
        max_cost_usd,
        replay: match fields.text_or_empty("replay").as_str() {
            "only" => ReplayMode::Only,
            "off" => ReplayMode::Off,
            _ => ReplayMode::Auto,
        },
        recordings: fields.path_value("recordings", base),
        calibrations: base.resolve(&fields.text_or_empty("calibrations")),
        allow_uncalibrated: fields.boolean("allow_uncalibrated"),
    })
}

fn judges(
    fields: &Fields<'_>,
    (prices, budget): (&PriceTable, Option<f64>),
    report: &mut Report,
) -> Vec<JudgeSpec> {
    let mut judges: Vec<JudgeSpec> = Vec::new();
    for (word, options) in fields.tagged("judges", JUDGES) {
        let model = options.text("model");
        let pricing = model.as_deref().and_then(|model| prices.find(model));
        let Some(provider) = provider(word, &options, report) else {
            continue;
        };
        let judge = JudgeSpec {
            provider,
            model,
            pricing: pricing.map(|(pricing, _)| pricing),
        };
        if budget.is_some() {
            unbounded(&judge, &options, report);
        }
        if judges.iter().any(|known| known.asks_like(&judge)) {
            let message = "asks what another of the judges asks, so one reply would count twice";
            report
                .error(options.place(), options.name(), message)
                .hint("list each judge once, and say with `samples` how often each is asked");
        }
        judges.push(judge);
    }
    judges
}

fn provider(word: &str, options: &Fields<'_>, report: &mut Report) -> Option<JudgeProvider> {
    Some(match word {
        "anthropic" => JudgeProvider::Anthropic(endpoint(ANTHROPIC, options, report)),
        "openai" => JudgeProvider::OpenAi(endpoint(OPENAI, options, report)),
        "command" => JudgeProvider::Command {
            argv: command(options.get("command")?),
            env_pass: options.words("env_pass"),
            max_call_usd: options.number("max_call_usd"),
        },
        _ => return None,
    })
}

/// A key goes to the provider's own server or where its variable is named beside the server, and nowhere else.
fn endpoint(
    (own_url, own_variable): (&str, &str),
    options: &Fields<'_>,
    report: &mut Report,
) -> Endpoint {
    let written = options.text("base_url");
    let is_own = written.is_none();
    let base_url = written.unwrap_or_else(|| own_url.to_owned());
    let base_url = base_url.trim_end_matches('/').to_owned();
    let own_variable = is_own.then(|| own_variable.to_owned());
    let key_variable = options.text("api_key_env").or(own_variable);
    if let Some(problem) = url_problem(&base_url) {
        let place = options.place_of("base_url");
        report
            .error(place, &options.path("base_url"), problem)
            .hint("write it as https://HOST[:PORT][/PATH]");
    } else if key_variable.is_some() && base_url.starts_with("http://") && !is_loopback(&base_url) {
        let message = "sends a key without encryption";
        report.warning(
            options.place_of("base_url"),
            &options.path("base_url"),
            message,
        );
    }
    Endpoint {
        base_url,
        is_own,
        key_variable,
        max_output_tokens: options.count("max_output_tokens"),
        temperature: options.number("temperature"),
    }
}

fn url_problem(url: &str) -> Option<&'static str> {
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    if !is_web || HostRule::of_url(url).is_none() {
        Some("is no address of a server")
    } else if url.split('/').nth(2).is_some_and(|host| host.contains('@')) {
        Some("must hold no name and no password")
    } else if url.contains(['?', '#']) || url.contains(char::is_whitespace) {
        Some("must hold no query, no fragment and no spaces")
    } else {
        None
    }
}

fn is_loopback(url: &str) -> bool {
    HostRule::of_url(url).is_some_and(|host| host.port_of_loopback().is_some())
}

/// What keeps anybody from knowing what a call of a judge can cost at most.
#[derive(Debug, Clone, Copy)]
pub struct Unbounded {
    /// The key that it hangs on.
    pub key: &'static str,
    /// What is wrong with it.
    message: &'static str,
    /// What to do.
    pub hint: &'static str,
}

impl JudgeSpec {
    /// What keeps anybody from knowing what a call can cost at most; nothing where that is known.
    #[must_use]
    pub fn unbounded(&self) -> Option<Unbounded> {
        match &self.provider {
            JudgeProvider::Command {
                max_call_usd: None, ..
            } => Some(Unbounded {
                key: "max_call_usd",
                message: "is missing, so max_cost_usd cannot be kept",
                hint: "say what one call can cost at most; 0 where it is free",
            }),
            JudgeProvider::Anthropic(_) | JudgeProvider::OpenAi(_) if self.pricing.is_none() => {
                Some(Unbounded {
                    key: "model",
                    message: "has no price, so max_cost_usd cannot be kept",
                    hint: "give it one under `prices:`",
                })
            }
            _ => None,
        }
    }

    /// Whether both send the same requests; keys and limits of cost are in none.
    fn asks_like(&self, other: &Self) -> bool {
        use JudgeProvider::{Anthropic, Command, OpenAi};
        let sent = |server: &Endpoint| (server.base_url.clone(), server.max_output_tokens);
        let same = match (&self.provider, &other.provider) {
            (Anthropic(one), Anthropic(other)) | (OpenAi(one), OpenAi(other)) => {
                sent(one) == sent(other) && one.temperature == other.temperature
            }
            (Command { argv: one, .. }, Command { argv: other, .. }) => one == other,
            _ => false,
        };
        same && self.model == other.model
    }
}

/// A budget that cannot be kept is none.
fn unbounded(judge: &JudgeSpec, options: &Fields<'_>, report: &mut Report) {
    if let Some(Unbounded { key, message, hint }) = judge.unbounded() {
        let place = options.place_of(key);
        report.error(place, &options.path(key), message).hint(hint);
    }
}
