//! `answer`, `path` and `budget`: the three layers over what an agent said, called and spent.
//!
//! All that needs no judge is found before the first grader is asked, so that every layer is told of whatever ends the list;
//! judges are asked when it is the turn of their grader, after all others before it passed.

use super::grade::{GradeContext, Opinion, PASS, aside, error, fail};
use super::heard;
use super::traced::{Traced, traced};
use crate::config::GraderSpec;
use crate::layers::{Findings, Inquiry, JudgeFailure, LayerStatus, Outcome, Path, cost, path};
use crate::model::{Grade, LayerVerdicts};

/// The layers of a task's graders, by their places in its list.
pub(super) struct Layered {
    layers: Vec<(usize, Layer)>,
    /// Why nothing can be said of any of them.
    unread: Option<Opinion>,
}

enum Layer {
    /// Waits for judges.
    Answer(Option<Inquiry>),
    /// Done.
    Found(&'static str, Findings),
}

impl Layered {
    /// Finds all that needs no judge.
    pub(super) async fn of(specs: &[GraderSpec], ctx: &GradeContext<'_>) -> Self {
        let none = Self {
            layers: Vec::new(),
            unread: None,
        };
        if !specs.iter().any(GraderSpec::is_layer) {
            return none;
        }
        let Some(heard) = ctx.heard else {
            // Nobody spoke: whoever proves a task by a patch asks the other graders.
            let alone = specs.iter().all(GraderSpec::is_layer);
            let unread = alone.then(|| fail("no_answer"));
            return Self { unread, ..none };
        };
        let events = heard.dir.events();
        let facts = match aside(move || traced(&events)).await {
            Some(Ok(facts)) => facts,
            Some(Err(why)) => {
                let unread = Some(heard::unreadable(why));
                return Self { unread, ..none };
            }
            None => {
                let unread = Some(error("grader_panicked"));
                return Self { unread, ..none };
            }
        };
        let found = specs.iter().enumerate();
        let layers = found.filter_map(|(index, spec)| Some((index, layer(spec, &facts, heard)?)));
        Self {
            layers: layers.collect(),
            unread: None,
        }
    }

    /// What the grader at this place says, once it is its turn.
    pub(super) fn opinion(&mut self, place: usize) -> Opinion {
        if let Some(unread) = &self.unread {
            return unread.clone();
        }
        let mut layers = self.layers.iter_mut();
        let Some((_, layer)) = layers.find(|(index, _)| *index == place) else {
            return PASS;
        };
        if let Layer::Answer(inquiry) = layer {
            let mut inquiry = inquiry.take().unwrap_or_default();
            while inquiry.question().is_some() {
                inquiry.reply(Err(JudgeFailure::NoJudge));
            }
            *layer = Layer::Found("answer", inquiry.finish());
        }
        match layer {
            Layer::Found(name, findings) => opinion(name, findings),
            Layer::Answer(_) => PASS,
        }
    }

    /// What all layers found, for the row.
    pub(super) fn finish(self) -> Option<LayerVerdicts> {
        if self.layers.is_empty() {
            return None;
        }
        let mut told = LayerVerdicts::default();
        for (_, layer) in self.layers {
            let (name, findings) = match layer {
                Layer::Answer(inquiry) => ("answer", inquiry.unwrap_or_default().finish()),
                Layer::Found(name, findings) => (name, findings),
            };
            tell(&mut told, name, &findings);
        }
        Some(told)
    }
}

fn layer(spec: &GraderSpec, facts: &Traced, heard: super::Heard<'_>) -> Option<Layer> {
    Some(match spec {
        GraderSpec::Answer(spec) => Layer::Answer(Some(Inquiry::new(spec, &facts.answer))),
        GraderSpec::Path(spec) => {
            let facts = Path {
                calls: &facts.calls,
                baseline: None,
                handoffs: None,
            };
            Layer::Found("path", path(spec, &facts))
        }
        GraderSpec::Budget(spec) => Layer::Found("budget", cost(spec, &heard.spent, None)),
        _ => return None,
    })
}

fn opinion(name: &str, findings: &Findings) -> Opinion {
    let named = |word: &str, checks: &[&str]| Some(format!("{word}:{}", checks.join(",")));
    let violations = findings.violations();
    match findings.status() {
        LayerStatus::Pass => PASS,
        LayerStatus::Warn => (Grade::Pass, named("warns", &violations)),
        LayerStatus::Fail => {
            let failed = findings
                .all()
                .iter()
                .filter(|finding| finding.outcome == Outcome::Violated(LayerStatus::Fail));
            let mut failed: Vec<&str> = failed.map(|finding| finding.check).collect();
            failed.dedup();
            (Grade::Fail, named(name, &failed))
        }
        LayerStatus::Error => {
            let unknown = findings.all().iter();
            let unknown = unknown.filter(|finding| finding.outcome == Outcome::Unknown);
            let why: Vec<String> = unknown
                .map(|finding| format!("{}: {}", finding.check, finding.detail))
                .collect();
            error(format!("{name}_unjudged:{}", why.join("; ")))
        }
    }
}

/// Where two graders are of one layer, the worse counts.
fn tell(told: &mut LayerVerdicts, name: &'static str, findings: &Findings) {
    let slot = match name {
        "answer" => &mut told.answer,
        "path" => &mut told.path,
        _ => &mut told.budget,
    };
    let known = slot.take();
    let known = LayerStatus::ALL
        .into_iter()
        .find(|(word, _)| known.as_deref() == Some(*word));
    let status = known.map_or(findings.status(), |(_, known)| known.max(findings.status()));
    *slot = Some(status.word().to_owned());
    let each = findings.all().iter().map(|finding| {
        let word = match finding.outcome {
            Outcome::Held => "pass",
            Outcome::Violated(status) => status.word(),
            Outcome::Skipped => "skipped",
            Outcome::Unknown => "error",
        };
        let detail = &finding.detail;
        let gap = if detail.is_empty() { "" } else { ": " };
        format!("{name}.{} {word}{gap}{detail}", finding.check)
    });
    told.findings.extend(each);
}
