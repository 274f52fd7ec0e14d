//! Asking a task's graders in order, until one does not pass; those that ask judges last.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use super::baseline::ForbiddenBaseline;
use super::layered::Layered;
use super::{
    AppleEnv, Heard, TestsSeen, Tools, apple, command, forbidden, privacy, ranking, screenshot,
};
use proctor_config::GraderSpec;
use proctor_judge::{JudgeBudget, Judges};
use proctor_model::{Grade, Infra, LayerVerdicts, Reason, ReasonKind, Verdict, VerdictCause};
use proctor_supervise::{Cancel, Containment};
use proctor_workspace::ChangedPath;

/// What graders work with.
#[derive(Debug, Clone, Copy)]
pub struct GradeContext<'a> {
    /// Root of the work tree.
    pub root: &'a Path,
    /// The project's folder in it.
    pub project_dir: &'a Path,
    /// From the root to the project's folder; empty at the root.
    pub subdir: &'a Path,
    /// What was there after setup; needed by `git_diff_forbidden` only.
    pub baseline: Option<&'a ForbiddenBaseline>,
    /// What is different since then, where the tree at `root` does not say it: `git_diff_forbidden` judges by this alone.
    pub left: Option<&'a [ChangedPath]>,
    /// The whole environment of grader commands.
    pub env: &'a [(OsString, OsString)],
    /// What processes of graders carry, so that whoever outlives the harness is known.
    pub marker: &'a str,
    /// What keeps grader commands.
    pub containment: &'a Containment,
    /// The programs that graders call, as they were before the agent started.
    pub tools: &'a Tools,
    /// Folder for what graders write, made after the agent was gone: each run of one gets a folder of its own in it.
    pub out: &'a Path,
    /// Folder for the graders' logs, outside the workspace.
    pub logs: &'a Path,
    /// Limit of a command that names none.
    pub default_timeout: Duration,
    /// Between INT, TERM and KILL when a command is stopped.
    pub grace: Duration,
    /// A person's wish to stop.
    pub cancel: &'a Cancel,
    /// What Apple graders work with; nothing where there are none.
    pub apple: Option<&'a AppleEnv<'a>>,
    /// Who judges answers by a rubric, and what that may cost; nothing where the suite has nobody.
    pub judges: Option<(&'a Judges, &'a JudgeBudget)>,
    /// What the agent said; nothing where none ran.
    pub heard: Option<Heard<'a>>,
    /// Set where some of the hidden tests in the tree are wrong.
    pub mixture: Option<&'a Mixture>,
    /// Where graders note which tests ran, if anybody asks.
    pub tests: Option<&'a TestsSeen>,
}

impl GradeContext<'_> {
    /// The log of the grader at this place in the task's list.
    pub(super) fn log(&self, index: usize, spec: &GraderSpec) -> PathBuf {
        let name: String = spec
            .type_name()
            .chars()
            .map(|character| {
                if character.is_ascii_alphanumeric() {
                    character
                } else {
                    '_'
                }
            })
            .take(40)
            .collect();
        let twin = match self.mixture {
            Some(mixture) => format!(".twin-{}", mixture.number),
            None => String::new(),
        };
        self.logs
            .join(format!("grader_{:02}_{name}{twin}.log", index + 1))
    }
}

/// Hidden tests of which some were made wrong: exactly these must fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mixture {
    /// Its number, from 1: it names the log.
    pub number: usize,
    /// The tests that are wrong.
    pub wrong: Vec<String>,
    /// The other tests that have a twin.
    pub right: Vec<String>,
}

/// What one grader thinks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Opinion {
    /// Its grade.
    pub grade: Grade,
    /// The reason, unless it passed without a warning.
    pub reason: Option<String>,
    /// What it means beyond its grade.
    pub cause: Option<VerdictCause>,
}

/// It passed.
pub(super) const PASS: Opinion = Opinion {
    grade: Grade::Pass,
    reason: None,
    cause: None,
};

impl Opinion {
    pub(super) fn new(grade: Grade, reason: impl Into<String>) -> Self {
        Self {
            grade,
            reason: Some(reason.into()),
            cause: None,
        }
    }

    pub(super) fn because(self, cause: VerdictCause) -> Self {
        Self {
            cause: Some(cause),
            ..self
        }
    }

    /// The same as the verdict of this grader.
    fn verdict(self, spec: &GraderSpec, duration: Duration) -> Verdict {
        Verdict {
            grader: spec.type_name().to_owned(),
            grade: self.grade,
            reason: self.reason,
            cause: self.cause,
            duration,
        }
    }
}

/// It failed.
pub(super) fn fail(reason: impl Into<String>) -> Opinion {
    Opinion::new(Grade::Fail, reason)
}

/// It could not judge.
pub(super) fn error(reason: impl Into<String>) -> Opinion {
    Opinion::new(Grade::Error, reason)
}

/// It failed: somebody killed its supervisor.
pub(super) fn supervisor_tampered() -> Opinion {
    let kind = ReasonKind::SupervisorTampered;
    fail(kind.as_str()).because(VerdictCause::Violation(Reason::of(kind)))
}

/// It failed: this test passed although it was made wrong.
pub(super) fn twin_passed(id: &str) -> Opinion {
    let kind = ReasonKind::TwinPassed;
    let reason = Reason::about(kind, id);
    fail(format!("{}:{id}", kind.as_str())).because(VerdictCause::Violation(reason))
}

/// A program that graders call is not the one that was there before the agent.
pub(super) fn tool_changed(name: &str) -> Opinion {
    let kind = ReasonKind::ToolChanged;
    let reason = Reason::about(kind, name);
    error(format!("{}:{name}", kind.as_str())).because(VerdictCause::Violation(reason))
}

/// The machine kept a grader from judging.
pub(super) fn kept_by_machine(fault: Infra, why: &str) -> Opinion {
    error(format!("machine:{}:{why}", fault.as_str())).because(VerdictCause::Machine(fault))
}

/// The simulator or Xcode kept a grader from judging.
pub(super) fn kept_by_simulator(why: impl std::fmt::Display) -> Opinion {
    error(format!("simulator:{why}")).because(VerdictCause::Simulator)
}

/// What graders say of a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Judged {
    /// One per grader that was asked, in that order.
    pub verdicts: Vec<Verdict>,
    /// The place of each of them in the task's list.
    pub places: Vec<usize>,
    /// What the three layers found, where the task asks for one and an agent spoke.
    pub layers: Option<LayerVerdicts>,
}

/// A task's graders, asked one by one, in order until one does not pass, but for those that wait for judges, which cost: they
/// come when all others have passed. The last verdict is the first that is not a pass. Nothing that
/// a workspace holds makes it fail otherwise, block or panic. Layers are told of all the same.
pub struct Round<'a> {
    specs: &'a [GraderSpec],
    layered: Layered,
    waiting: VecDeque<usize>,
    judged: Judged,
}

impl<'a> Round<'a> {
    /// Nobody was asked yet.
    pub async fn of(specs: &'a [GraderSpec], ctx: &GradeContext<'_>) -> Self {
        let layered = Layered::of(specs, ctx).await;
        let all = 0..specs.len();
        let (late, first): (Vec<_>, Vec<_>) = all.partition(|index| layered.waits(*index));
        Self {
            specs,
            layered,
            waiting: first.into_iter().chain(late).collect(),
            judged: Judged::default(),
        }
    }

    /// Whose turn it is; nobody's once all were asked, or one did not pass and nobody wants to hear the others.
    #[must_use]
    pub fn next(&self) -> Option<(usize, &'a GraderSpec)> {
        let index = *self.waiting.front()?;
        Some((index, self.specs.get(index)?))
    }

    /// Asks the next one.
    pub async fn ask(&mut self, ctx: &GradeContext<'_>) {
        let Some((index, spec)) = self.next() else {
            return;
        };
        let start = Instant::now();
        let opinion = no_panic(ask(spec, ctx, (index, &mut self.layered))).await;
        let opinion = opinion.unwrap_or_else(|| error("grader_panicked"));
        self.take(opinion, start.elapsed());
    }

    /// The next one cannot be asked.
    pub fn give_up(&mut self, why: String) {
        self.take(error(why), Duration::ZERO);
    }

    fn take(&mut self, opinion: Opinion, duration: Duration) {
        let Some((index, spec)) = self.next() else {
            return;
        };
        self.waiting.pop_front();
        self.judged.places.push(index);
        if opinion.grade != Grade::Pass {
            self.waiting.clear();
        }
        self.judged.verdicts.push(opinion.verdict(spec, duration));
    }

    /// What all of them said.
    #[must_use]
    pub fn finish(self) -> Judged {
        let mut judged = self.judged;
        judged.layers = self.layered.finish(judged.verdicts.last());
        judged
    }
}

/// Runs the graders of a task in one place.
pub async fn grade(specs: &[GraderSpec], ctx: &GradeContext<'_>) -> Judged {
    let mut round = Round::of(specs, ctx).await;
    while round.next().is_some() {
        round.ask(ctx).await;
    }
    round.finish()
}

/// Asks one grader that runs code, at this place in the task's list.
pub async fn ask_alone((index, spec): (usize, &GraderSpec), ctx: &GradeContext<'_>) -> Verdict {
    let start = Instant::now();
    let log = ctx.log(index, spec);
    let asked = async {
        match spec {
            GraderSpec::Command { .. } => command::judge(spec, ctx, (index, &log)).await,
            spec if spec.is_apple() => apple::judge(spec, ctx, (index, &log)).await,
            _ => error("not_alone"),
        }
    };
    let opinion = no_panic(asked).await;
    let opinion = opinion.unwrap_or_else(|| error("grader_panicked"));
    opinion.verdict(spec, start.elapsed())
}

async fn ask(
    spec: &GraderSpec,
    ctx: &GradeContext<'_>,
    (index, layered): (usize, &mut Layered),
) -> Opinion {
    if ctx.cancel.level() > 0 {
        return error("cancelled");
    }
    let log = ctx.log(index, spec);
    match spec {
        GraderSpec::GitDiffForbidden { forbidden_globs } => {
            forbidden::judge(forbidden_globs, ctx, &log).await
        }
        GraderSpec::Command { .. } => command::judge(spec, ctx, (index, &log)).await,
        GraderSpec::ScreenshotExists { path } => screenshot::exists(path, ctx).await,
        GraderSpec::ScreenshotCompare {
            path,
            reference_path,
            threshold,
        } => screenshot::compare(path, (reference_path, *threshold), (ctx, &log)).await,
        GraderSpec::IosTestPass(_)
        | GraderSpec::IosInstallCheck { .. }
        | GraderSpec::IosLaunchCheck { .. } => apple::judge(spec, ctx, (index, &log)).await,
        GraderSpec::Retrieval(options) => ranking::judge(options, ctx).await,
        GraderSpec::Privacy(options) => privacy::judge(options, ctx).await,
        GraderSpec::Answer(_) | GraderSpec::Path(_) | GraderSpec::Budget(_) => {
            layered.opinion(index, (ctx, &log)).await
        }
        GraderSpec::Unknown { name } => fail(format!("unknown_grader:{name}")),
    }
}

/// Runs work that looks at many files or pixels where it holds up nobody; `None` when it panicked.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Awaits `future`; `None` when it panicked.
pub async fn no_panic<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        // After a panic the future is never polled again, so that nobody sees a broken state.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Some(value)),
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_grader_is_no_panic_of_the_harness() {
        assert_eq!(no_panic(async { 7 }).await, Some(7));
        let broken = async {
            tokio::task::yield_now().await;
            panic!("a grader's defect");
        };
        assert_eq!(no_panic::<()>(broken).await, None);
        assert_eq!(aside(|| panic!("another")).await, None::<()>);
    }
}
