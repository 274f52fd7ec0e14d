//! The questions of an `answer` grader, put to the judges of the suite: last, one by one, each reply kept.

use std::path::Path;

use serde_json::{Value, json};

use super::grade::GradeContext;
use super::{heard, inside};
use crate::judge::{Given, Judgement, Judges, Material, NoVerdict, Purse};
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
    /// What each question cost, in USD; nothing where that is not known.
    costs: Vec<Option<f64>>,
}

impl Asked {
    /// Takes in what came of another grader's questions.
    pub(super) fn add(&mut self, other: Self) {
        self.costs.extend(other.costs);
        self.judges.extend(other.judges);
    }

    /// What it cost, in USD; nothing where that of a question is not known, or none was put.
    pub(super) fn usd(&self) -> Option<f64> {
        let all: Option<f64> = self.costs.iter().copied().sum();
        all.filter(|_| !self.costs.is_empty())
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
    while let Some(check) = inquiry.question().cloned() {
        let reply = match ctx.judges {
            None => Err(JudgeFailure::NoJudge.into()),
            Some(judges) => one(judges, &check, (answer, ctx)).await,
        };
        let name = check.kind.key();
        let reply = match reply {
            Ok(judgement) => {
                asked.costs.push(judgement.cost_usd);
                lines.push_str(&line(&check, &judgement));
                asked
                    .judges
                    .push(format!("answer.{name}: {}", judgement.standing.shown()));
                Ok(told(&judgement))
            }
            Err(none) => {
                asked.costs.push(none.cost_usd);
                lines.push_str(&line_without(&check, &none));
                Err(none.why)
            }
        };
        inquiry.reply(reply);
    }
    if !asked.costs.is_empty() {
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
) -> Result<Judgement, NoVerdict> {
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
    let line = json!({
        "check": check.kind.key(),
        "rule": check.rule,
        "least_score": check.threshold.score(),
        "score": judgement.reply.score(),
        "passed": judgement.passed,
        "flags": judgement.flags,
        "calibration": judgement.standing.shown(),
        "cost_usd": judgement.cost_usd,
        "replies": replies(&judgement.given),
    });
    format!("{line}\n")
}

/// The same where there is no verdict.
fn line_without(check: &JudgeCheck, none: &NoVerdict) -> String {
    let line = json!({
        "check": check.kind.key(),
        "error": none.why.to_string(),
        "cost_usd": none.cost_usd,
        "replies": replies(&none.given),
    });
    format!("{line}\n")
}

fn replies(given: &[Given]) -> Vec<Value> {
    let each = given.iter().map(|given| {
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
    each.collect()
}
