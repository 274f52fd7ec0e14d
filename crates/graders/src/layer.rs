//! One layer over a trace: what it finds without a judge.

use proctor_config::GraderSpec;
use proctor_layers::{Findings, Inquiry, Path, Trace, cost, path, path_in_part};

/// A layer of a task's graders.
pub(super) enum Layer {
    /// Waits for judges.
    Answer(Inquiry),
    /// Done.
    Found(&'static str, Findings),
}

/// What a grader finds that is a layer, but for what judges say.
pub(super) fn layer(spec: &GraderSpec, trace: &Trace, baseline: Option<&Trace>) -> Option<Layer> {
    Some(match spec {
        GraderSpec::Answer(spec) => Layer::Answer(match &trace.gaps.answer {
            Some(why) => Inquiry::in_part(spec, &trace.answer, why),
            None => Inquiry::new(spec, &trace.answer),
        }),
        GraderSpec::Path(spec) => {
            let before = baseline.map(|it| (it.tools(), it.gaps.calls.as_deref()));
            let facts = Path {
                calls: &trace.calls,
                watched: &trace.watched,
                baseline: before
                    .as_ref()
                    .map(|(tools, gap)| gap.map_or(Ok(&tools[..]), Err)),
                handoffs: trace.handoffs.as_ref(),
            };
            let found = match &trace.gaps.calls {
                Some(why) => path_in_part(spec, &facts, why),
                None => path(spec, &facts),
            };
            Layer::Found("path", found)
        }
        GraderSpec::Budget(spec) => {
            let before = baseline.and_then(|baseline| baseline.spent.cost_usd);
            Layer::Found("budget", cost(spec, &trace.spent, before))
        }
        _ => return None,
    })
}
