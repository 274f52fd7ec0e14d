//! One question to one judge: recorded, or asked until a readable reply is there.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::config::{Endpoint, JudgeProvider, JudgeSpec, ReplayMode};
use crate::judge::bench::Judges;
use crate::judge::dialect::{self, Told};
use crate::judge::fault::Fault;
use crate::judge::http::{self, Post};
use crate::judge::program::{self, Program};
use crate::judge::prompt::Prompt;
use crate::judge::purse::{Aside, Purse};
use crate::judge::recordings::Recorded;
use crate::judge::reply;
use crate::layers::{JudgeFailure, JudgeReply};
use crate::metrics::PricedTokens;
use crate::model::{CacheWrites, Pricing};
use crate::record::text_digest;
use crate::supervise::Cancel;

/// A reply of one judge.
#[derive(Debug, Clone, PartialEq)]
pub struct Given {
    /// Who was asked: type and model.
    pub judge: String,
    /// The model that answered, by its own account.
    pub model: Option<String>,
    /// What it said.
    pub reply: JudgeReply,
    /// What it cost, in USD, calls that gave no reply included.
    pub cost_usd: Option<f64>,
    /// How many calls it took.
    pub calls: u32,
    /// Whether it was recorded before, so that nobody was asked.
    pub replayed: bool,
    /// Digest of the request, by which it is recorded.
    pub request: String,
}

/// One question to one judge.
pub(super) struct Call<'a> {
    pub(super) judges: &'a Judges,
    pub(super) judge: &'a JudgeSpec,
    /// The money of whoever asks, beside that of all judges.
    pub(super) purse: &'a Purse,
    pub(super) prompt: &'a Prompt,
}

/// A judge for people.
pub(super) fn name(judge: &JudgeSpec) -> String {
    let kind = judge.provider.as_str();
    match (&judge.model, &judge.provider) {
        (Some(model), _) => format!("{kind} {model}"),
        (None, JudgeProvider::Command { argv, .. }) => format!("{kind} {}", argv.join(" ")),
        (None, _) => kind.to_owned(),
    }
}

impl Call<'_> {
    /// Its reply.
    pub(super) async fn reply(&self, cancel: &Cancel) -> Result<Given, JudgeFailure> {
        let request = dialect::request(self.judge, self.prompt);
        let digest = text_digest(&request.to_string());
        if self.judges.settings.replay == ReplayMode::Off {
            return self.recorded((&request, digest), cancel).await;
        }
        // Trials go on side by side: of the same request, one is sent, and the others find its reply.
        let turn = self.judges.recordings.turn(&digest);
        let held = tokio::select! {
            held = turn.lock() => held,
            () = cancel.reached(1) => return Err(JudgeFailure::Cancelled),
        };
        let given = match self.judges.recordings.find(&digest) {
            Some(recorded) => self.replayed(recorded),
            None if self.judges.only_recorded() => {
                let path = self.judges.recordings.path().display();
                let why = format!("replay is `only`, and {path} has no reply to {digest}");
                Err(JudgeFailure::Unasked(why))
            }
            None => self.recorded((&request, digest), cancel).await,
        };
        drop(held);
        given
    }

    /// A reply that was recorded before.
    fn replayed(&self, recorded: Recorded) -> Result<Given, JudgeFailure> {
        let read = reply::read(&recorded.reply, &self.prompt.fence).map_err(|why| {
            let digest = &recorded.request;
            JudgeFailure::Unreadable(format!("the recorded reply {digest}: {why}"))
        })?;
        self.purse.replayed(recorded.cost_usd);
        Ok(given(recorded, read, true))
    }

    /// A new reply, recorded.
    async fn recorded(
        &self,
        request: (&Value, String),
        cancel: &Cancel,
    ) -> Result<Given, JudgeFailure> {
        let (recorded, read) = self.asked(request, cancel).await?;
        let kept = self.judges.recordings.keep(recorded.clone());
        kept.map_err(|why| JudgeFailure::Unasked(why.to_string()))?;
        Ok(given(recorded, read, false))
    }

    /// Asks until a readable reply is there.
    async fn asked(
        &self,
        (request, digest): (&Value, String),
        cancel: &Cancel,
    ) -> Result<(Recorded, JudgeReply), JudgeFailure> {
        let mut cost = Some(0.0);
        let mut calls = 0;
        loop {
            calls += 1;
            let worst = self.worst(request);
            let asides = self.set_aside(worst).map_err(JudgeFailure::OverBudget)?;
            let told = self.once(request, cancel).await;
            let usd = self.cost(&told);
            for aside in asides {
                aside.spent(usd);
            }
            cost = cost.zip(usd).map(|(sum, usd)| sum + usd);
            let fault = match told.and_then(|told| self.read(told)) {
                Ok((told, read)) => {
                    let recorded = Recorded {
                        request: digest,
                        judge: name(self.judge),
                        reply: told.text,
                        model: told.model,
                        tokens: told.usage.map(Into::into),
                        cost_usd: cost,
                        calls,
                        at: Timestamp::now().to_string(),
                    };
                    return Ok((recorded, read));
                }
                Err(fault) => fault,
            };
            let wait = self.wait(&fault, (&digest, calls));
            let Some(wait) = wait.filter(|_| calls < self.judges.settings.attempts) else {
                return Err(self.failure(fault, calls));
            };
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = cancel.reached(1) => return Err(JudgeFailure::Cancelled),
            }
        }
    }

    /// Sets money aside in both purses, or in none.
    fn set_aside(&self, worst: Option<f64>) -> Result<[Aside<'_>; 2], String> {
        let of_all = self.judges.purse.set_aside(worst)?;
        match self.purse.set_aside(worst) {
            Ok(own) => Ok([of_all, own]),
            Err(why) => {
                of_all.spent(Some(0.0));
                Err(why)
            }
        }
    }

    /// One call.
    async fn once(&self, request: &Value, cancel: &Cancel) -> Result<Told, Fault> {
        let settings = &self.judges.settings;
        let provider = &self.judge.provider;
        match provider {
            JudgeProvider::Anthropic(server) | JudgeProvider::OpenAi(server) => {
                let post = Post {
                    url: request["url"].as_str().unwrap_or_default().to_owned(),
                    headers: dialect::headers(provider, self.key(server)?),
                    body: request["body"].to_string().into_bytes(),
                    timeout: settings.timeout,
                    most_bytes: settings.reply_bytes,
                };
                let answer = http::post(post, cancel).await?;
                dialect::told(provider, &answer)
            }
            JudgeProvider::Command { argv, env_pass, .. } => {
                let program = Program {
                    argv,
                    env_pass,
                    operator: &self.judges.operator,
                    stdin: request["stdin"].as_str().unwrap_or_default().to_owned(),
                    timeout: settings.timeout,
                    most_bytes: settings.reply_bytes,
                };
                program::ask(program, cancel).await
            }
        }
    }

    fn key(&self, server: &Endpoint) -> Result<Option<String>, Fault> {
        let Some(name) = server.key_variable.as_deref() else {
            return Ok(None);
        };
        match self.judges.variable(name) {
            Some(key) => Ok(Some(key.to_owned())),
            None => Err(Fault::Final(format!("the variable {name} holds no key"))),
        }
    }

    fn read(&self, told: Told) -> Result<(Told, JudgeReply), Fault> {
        let read = match &told.cut {
            Some(why) => Err(why.clone()),
            None => reply::read(&told.text, &self.prompt.fence),
        };
        read.map(|read| (told, read)).map_err(Fault::Unreadable)
    }

    /// What a call cost; nothing where that is not known.
    fn cost(&self, told: &Result<Told, Fault>) -> Option<f64> {
        match told {
            Ok(told) => told.usd.or_else(|| {
                let tokens = PricedTokens {
                    usage: told.usage?,
                    writes: CacheWrites::default(),
                    pricing: self.judge.pricing?,
                };
                tokens.usd()
            }),
            Err(Fault::Final(_) | Fault::Passing(..)) => Some(0.0),
            Err(Fault::Broken(_) | Fault::Unreadable(_) | Fault::Cancelled) => None,
        }
    }

    /// The most that a call can cost: a token of input for every byte, and all tokens of output.
    fn worst(&self, request: &Value) -> Option<f64> {
        match &self.judge.provider {
            JudgeProvider::Command { max_call_usd, .. } => *max_call_usd,
            JudgeProvider::Anthropic(server) | JudgeProvider::OpenAi(server) => {
                let bytes = u32::try_from(request["body"].to_string().len()).unwrap_or(u32::MAX);
                self.judge.pricing.map(|pricing| {
                    f64::from(bytes) * dearest(&pricing)
                        + f64::from(server.max_output_tokens) * pricing.output_per_token
                })
            }
        }
    }

    /// How long to wait before the next call; nothing where there is none.
    fn wait(&self, fault: &Fault, (digest, calls): (&str, u32)) -> Option<Duration> {
        let settings = &self.judges.settings;
        let doubled = settings.backoff.saturating_mul(1 << (calls - 1).min(20));
        let own = doubled.min(settings.longest_backoff);
        // Up to a half more, by the request: calls that failed at once do not come again at once.
        let spread = text_digest(&format!("{digest} {calls}"));
        let digits = spread.get("sha256:".len().."sha256:".len() + 2);
        let share = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let own = own.mul_f64(1.0 + f64::from(share.unwrap_or_default()) / 510.0);
        match fault {
            Fault::Passing(_, Some(told)) if *told > settings.longest_wait => None,
            Fault::Passing(_, Some(told)) => Some((*told).max(own.min(Duration::from_secs(1)))),
            Fault::Passing(_, None) | Fault::Broken(_) | Fault::Unreadable(_) => Some(own),
            Fault::Final(_) | Fault::Cancelled => None,
        }
    }

    fn failure(&self, fault: Fault, calls: u32) -> JudgeFailure {
        let said = |why: &str| {
            let why = self.judges.redactor.redact(why);
            format!("{}: {why} (calls: {calls})", name(self.judge))
        };
        match fault {
            Fault::Passing(why, Some(wait)) if wait > self.judges.settings.longest_wait => {
                let seconds = wait.as_secs();
                let why = format!("{why}; it asks to wait {seconds} s, more than max_wait_sec");
                JudgeFailure::Unreachable(said(&why))
            }
            Fault::Final(why) | Fault::Passing(why, _) | Fault::Broken(why) => {
                JudgeFailure::Unreachable(said(&why))
            }
            Fault::Unreadable(why) => JudgeFailure::Unreadable(said(&why)),
            Fault::Cancelled => JudgeFailure::Cancelled,
        }
    }
}

/// The highest price of a token of input.
fn dearest(pricing: &Pricing) -> f64 {
    let multipliers = [
        pricing.cache_read_multiplier,
        pricing.cache_write_multiplier_5m,
        pricing.cache_write_multiplier_1h,
    ];
    pricing.input_per_token * multipliers.into_iter().fold(1.0, f64::max)
}

fn given(recorded: Recorded, reply: JudgeReply, replayed: bool) -> Given {
    Given {
        judge: recorded.judge,
        model: recorded.model,
        reply,
        cost_usd: recorded.cost_usd,
        calls: recorded.calls,
        replayed,
        request: recorded.request,
    }
}
