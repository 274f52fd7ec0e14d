//! The questions of an `answer` grader, put to the judges of the suite: last, one by one, each reply kept.

use std::path::Path;

use serde_json::json;

use super::grade::GradeContext;
use super::{heard, inside};
use crate::judge::{Judgement, Judges, Material, Purse};
use crate::layers::{Inquiry, JudgeCheck, JudgeFailure, JudgeKind, JudgeReply};
use crate::model::EventKind;
use crate::record;

/// A prompt and a file of facts are no longer.
const LONGEST: u64 = 16 << 20;

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Each check that a judge decided, with how far the judge is known.
    pub(super) judges: Vec<String>,
    /// What replies cost, in USD; nothing where that of one is not known, or none was had.
    pub(super) usd: Option<f64>,
}

impl Asked {
    /// Takes in what came of another grader's questions.
    pub(super) fn add(&mut self, other: Self) {
        self.usd = match (self.judges.is_empty(), other.judges.is_empty()) {
            (true, _) => other.usd,
            (false, true) => self.usd,
            (false, false) => self.usd.zip(other.usd).map(|(one, other)| one + other),
        };
        self.judges.extend(other.judges);
    }
}

/// Puts the questions that come up.
pub(super) async fn put(
    inquiry: &mut Inquiry,
    (answer, ctx): (&str, &GradeContext<'_>),
    log: &Path,
) -> Asked {
    let mut asked = Asked::default();
    let mut lines = String::new();
    let mut costs: Vec<Option<f64>> = Vec::new();
    while let Some(check) = inquiry.question().cloned() {
        let reply = match ctx.judges {
            None => Err(JudgeFailure::NoJudge),
            Some(judges) => one(judges, &check, (answer, ctx)).await,
        };
        let name = check.kind.key();
        let reply = match reply {
            Ok(judgement) => {
                costs.push(judgement.cost_usd);
                lines.push_str(&line(&check, &judgement));
                asked
                    .judges
                    .push(format!("answer.{name}: {}", judgement.standing.shown()));
                Ok(told(&judgement))
            }
            Err(failure) => {
                costs.push(None);
                let line = json!({"check": name, "error": failure.to_string()});
                lines.push_str(&(line.to_string() + "\n"));
                Err(failure)
            }
        };
        inquiry.reply(reply);
    }
    if !costs.is_empty() {
        asked.usd = costs.into_iter().sum();
        keep(&lines, ctx, log);
    }
    asked
}

/// Every reply, for people; the verdict stands without it.
fn keep(lines: &str, ctx: &GradeContext<'_>, log: &Path) {
    let clean: String = match ctx.heard {
        Some(heard) => lines
            .lines()
            .map(|line| heard.redactor.redact_json(line).into_owned() + "\n")
            .collect(),
        None => lines.to_owned(),
    };
    let kept = record::write_file(log, clean.as_bytes());
    tracing::debug!(?kept, "kept the replies of judges");
}

/// The reply that counts; what is odd about the others stands before its reason.
fn told(judgement: &Judgement) -> JudgeReply {
    let mut reply = judgement.reply.clone();
    if !judgement.flags.is_empty() {
        reply.reason = format!("[{}] {}", judgement.flags.join(", "), reply.reason);
    }
    reply
}

async fn one(
    (judges, purse): (&Judges, &Purse),
    check: &JudgeCheck,
    (answer, ctx): (&str, &GradeContext<'_>),
) -> Result<Judgement, JudgeFailure> {
    let facts = facts(check, ctx).map_err(JudgeFailure::Unasked)?;
    let task = ctx.heard.and_then(|heard| {
        let bytes = record::read_file(&heard.dir.prompt(), LONGEST)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    });
    let material = Material {
        task: task.as_deref().unwrap_or_default(),
        answer,
        facts: &facts,
    };
    judges.decide(check, &material, (purse, ctx.cancel)).await
}

/// What the answer is held against: the file that the rubric names, else, where claims are checked, what the agent's tools
/// told it.
fn facts(check: &JudgeCheck, ctx: &GradeContext<'_>) -> Result<Vec<(String, String)>, String> {
    if let Some(path) = &check.context_file {
        let unreadable = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let real = std::fs::canonicalize(path).map_err(|why| unreadable(&why))?;
        let bytes = inside::read_regular(&real, LONGEST).map_err(|why| unreadable(&why))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable(&"it is no UTF-8"))?;
        return Ok(vec![("the only facts that count".to_owned(), text)]);
    }
    let mut facts = Vec::new();
    if let (JudgeKind::Hallucination, Some(heard)) = (check.kind, ctx.heard) {
        heard::each(&heard.dir.events(), |event| {
            if let EventKind::ToolEnded(result) = event.kind {
                facts.push(("what a tool told".to_owned(), result.output));
            }
        })?;
    }
    Ok(facts)
}

/// A judgement with every reply, as a line of the grader's log.
fn line(check: &JudgeCheck, judgement: &Judgement) -> String {
    let replies = judgement.given.iter().map(|given| {
        json!({
            "judge": given.judge,
            "model": given.model,
            "score": given.reply.score(),
            "reason": given.reply.reason,
            "cost_usd": given.cost_usd,
            "calls": given.calls,
            "replayed": given.replayed,
            "request": given.request,
        })
    });
    let line = json!({
        "check": check.kind.key(),
        "rule": check.rule,
        "least_score": check.threshold.score(),
        "score": judgement.reply.score(),
        "passed": judgement.passed,
        "flags": judgement.flags,
        "calibration": judgement.standing.shown(),
        "cost_usd": judgement.cost_usd,
        "replies": replies.collect::<Vec<_>>(),
    });
    format!("{line}\n")
}
