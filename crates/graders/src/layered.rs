//! `answer`, `path` and `budget`: the three layers over what an agent said, called and spent.
//!
//! All that needs no judge is found before the first grader is asked, so that every layer is told of whatever ends the list;
//! judges are asked when it is the turn of their grader, after all others passed.

use super::context::{GradeContext, aside};
use super::held::LayersFound;
use super::judged::Asked;
use super::layer::{Layer, layer};
use super::opinion::{Opinion, PASS, error, fail};
use super::traced::traced;
use super::{heard, judged};
use proctor_config::GraderSpec;
use proctor_layers::{Findings, LayerStatus, Outcome};
use proctor_model::{Grade, LayerVerdicts, Verdict, VerdictCause};
use proctor_record::Reference;

/// The layers of a task's graders, by their places in its list.
pub(super) struct Layered {
    layers: Vec<(usize, Layer)>,
    /// What judges are shown.
    answer: String,
    /// What came of it.
    asked: Asked,
    /// The baseline that had a part in it.
    baseline: Option<String>,
    /// Why nothing can be said of any of them.
    unread: Option<Opinion>,
}

impl Layered {
    /// Finds all that needs no judge.
    pub(super) async fn of(specs: &[GraderSpec], ctx: &GradeContext<'_>) -> Self {
        let none = Self {
            layers: Vec::new(),
            answer: String::new(),
            asked: Asked::default(),
            baseline: None,
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
        let used = specs.iter().any(GraderSpec::reads_baseline);
        let reference = heard.baseline.filter(|_| used);
        let before = reference.map(|it| it.trace.clone());
        let (dir, specs, spent) = (heard.dir.clone(), specs.to_vec(), heard.spent);
        // Patterns of a spec may look long at a long answer.
        let found = aside(move || {
            let trace = traced(&dir, spent)?;
            let layers = specs.iter().enumerate();
            let layers = layers
                .filter_map(|(index, spec)| Some((index, layer(spec, &trace, before.as_ref())?)));
            let layers = layers.collect();
            Ok::<_, String>((layers, trace.answer))
        });
        let unread = match found.await {
            Some(Ok((layers, answer))) => {
                return Self {
                    layers,
                    answer,
                    baseline: reference.map(Reference::told),
                    ..none
                };
            }
            Some(Err(why)) => heard::unreadable(why),
            None => error("grader_panicked"),
        };
        Self {
            unread: Some(unread),
            ..none
        }
    }

    /// Whether the grader at this place waits for judges: all else that it asks for holds.
    pub(super) fn waits(&self, place: usize) -> bool {
        let waiting = |layer: &Layer| matches!(layer, Layer::Answer(it) if it.question().is_some());
        let mut layers = self.layers.iter();
        layers.any(|(index, layer)| *index == place && waiting(layer))
    }

    /// What the grader at this place says, once it is its turn.
    pub(super) async fn opinion(
        &mut self,
        place: usize,
        ctx: &GradeContext<'_>,
        log: &std::path::Path,
    ) -> Opinion {
        if let Some(unread) = &self.unread {
            return unread.clone();
        }
        let mut layers = self.layers.iter_mut();
        let Some((_, layer)) = layers.find(|(index, _)| *index == place) else {
            return PASS;
        };
        if let Layer::Answer(inquiry) = layer {
            let mut inquiry = std::mem::take(inquiry);
            let decided = ctx.heard.and_then(|heard| heard.decided);
            if let Some(why) = decided.filter(|_| inquiry.question().is_some()) {
                let not_asked = format!("not asked, since the trial is no success: {why}");
                *layer = Layer::Found("answer", inquiry.finish_unasked(Some(&not_asked)));
                return Opinion::new(Grade::Pass, format!("judges_not_asked:{why}"))
                    .because(VerdictCause::Unjudged);
            }
            let asked = judged::put_in_trial(&mut inquiry, &self.answer, ctx, log).await;
            self.asked.add(asked);
            *layer = Layer::Found("answer", inquiry.finish());
        }
        match layer {
            Layer::Found(name, findings) => opinion(name, findings),
            Layer::Answer(_) => PASS,
        }
    }

    /// What all layers found, for the row. The last verdict says why judges were not asked who were not.
    pub(super) fn finish(self, last: Option<&Verdict>) -> Option<LayerVerdicts> {
        let why = last.map(|last| {
            let reason = last.reason.as_deref().unwrap_or_default();
            format!("not asked, since {} did not pass: {reason}", last.grader)
        });
        let layers = self.layers.into_iter().map(|(_, layer)| match layer {
            Layer::Answer(inquiry) => ("answer", inquiry.finish_unasked(why.as_deref())),
            Layer::Found(name, findings) => (name, findings),
        });
        let found: LayersFound = layers.collect();
        (!found.all().is_empty()).then(|| LayerVerdicts {
            judge_cost_usd: self.asked.usd(),
            judges: self.asked.judges,
            baseline: self.baseline,
            ..found.verdicts()
        })
    }
}

fn opinion(name: &str, findings: &Findings) -> Opinion {
    let named = |word: &str, checks: &[&str]| format!("{word}:{}", checks.join(","));
    match findings.status() {
        LayerStatus::Pass => PASS,
        LayerStatus::Warn => Opinion::new(Grade::Pass, named("warns", &findings.violations())),
        LayerStatus::Fail => fail(named(name, &findings.failures())),
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
