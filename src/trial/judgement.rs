//! From what happened to the four axes, the seed's `success` and its `failure_reason`.

use crate::config::AgentKind;
use crate::graders;
use crate::model::{
    Grade, Infra, ProviderFaultKind, RUN_BUDGET, StreamReport, Terminal, Termination, Verdict,
};
use crate::record::{Row, TrialDir, read_events};
use crate::supervise::{ChildEnding, EndReason, Exit, Supervisor};

/// What is known of the agent's end before anything is graded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AgentEnd {
    pub(super) termination: Termination,
    pub(super) infra: Infra,
    /// The exit code of the row: absent when the agent never exited by itself after its final event.
    pub(super) exit_code: Option<i32>,
    pub(super) lingered: bool,
    /// Whether its last word was that it failed, which exit code 0 may hide.
    pub(super) said_failed: bool,
}

impl AgentEnd {
    /// Whether the agent ended well: it exited with 0, or said that it was done and then would not exit.
    pub(super) fn well(&self) -> bool {
        self.termination == Termination::Completed
            && !self.said_failed
            && (self.exit_code == Some(0) || (self.lingered && self.exit_code.is_none()))
    }

    /// The same as the row of a trial tells it that was graded, and the files that were kept of it.
    fn of_row(row: &Row, kept: &TrialDir) -> Result<Self, String> {
        let word = row.termination.as_deref();
        let mut all = Termination::ALL.into_iter();
        let termination = all.find(|one| word == Some(one.as_str()));
        let word = row.infra.as_deref();
        let infra = Infra::ALL
            .into_iter()
            .find(|one| word == Some(one.as_str()));
        let (Some(termination), Some(infra)) = (termination, infra) else {
            return Err("the row does not tell how its agent ended".to_owned());
        };
        Ok(Self {
            termination,
            // Of a trial that was graded this is what graders met, after the agent's end.
            infra: if infra == Infra::Simulator {
                Infra::None
            } else {
                infra
            },
            exit_code: row.exit_code.map(|code| i32::try_from(code).unwrap_or(-1)),
            lingered: row.lingered == Some(true),
            said_failed: row.exit_code == Some(0) && said_failed(row, kept)?,
        })
    }
}

/// Whether an agent that exited with 0 said that it failed. Where graders did not pass, the row names them instead.
fn said_failed(row: &Row, kept: &TrialDir) -> Result<bool, String> {
    if row.failure_reason.as_deref() == Some(SAID_FAILED) {
        return Ok(true);
    }
    let unknown = |why: &dyn std::fmt::Display| {
        format!("whether the agent said that it failed is not known: {why}")
    };
    let events = read_events(&kept.events()).map_err(|why| unknown(&why))?;
    let mut unread = None;
    let read = events.map_while(|event| event.map_err(|why| unread = Some(why)).ok());
    let said = graders::said_failed(read);
    unread.map_or(Ok(said), |why| Err(unknown(&why)))
}

/// Why a trial that was graded is no success whatever graders say, as its first grading decided.
pub(super) fn decided(row: &Row, kept: &TrialDir) -> Result<Option<String>, String> {
    if row.success {
        return Ok(None);
    }
    if row.failure_reason.as_deref() == Some(RUN_BUDGET) {
        return Ok(row.failure_reason.clone());
    }
    Ok(failure_reason(&AgentEnd::of_row(row, kept)?, &[]))
}

/// What the classification looks at.
pub(super) struct Evidence<'a> {
    pub(super) kind: AgentKind,
    pub(super) ending: &'a ChildEnding,
    pub(super) report: &'a StreamReport,
    /// Whether the last thing said was a fault of the provider.
    pub(super) ended_in_fault: bool,
    /// Whether the system killed for want of memory while it ran.
    pub(super) memory_ran_out: bool,
}

/// Classifies the end of an agent.
pub(super) fn agent_end(evidence: &Evidence<'_>) -> AgentEnd {
    let ending = evidence.ending;
    let lingered = ending.reason == EndReason::Lingered;
    let exit_code = match (lingered, evidence.report.terminal) {
        (true, Terminal::Done) => None,
        _ => ending.exit.as_ref().map(Exit::shell_code),
    };
    AgentEnd {
        termination: termination(ending),
        infra: infra(evidence),
        exit_code,
        lingered,
        said_failed: evidence.report.terminal == Terminal::Failed,
    }
}

fn termination(ending: &ChildEnding) -> Termination {
    match ending.reason {
        EndReason::Exited if matches!(ending.exit, Some(Exit::Signal(_))) => Termination::Crashed,
        EndReason::Exited | EndReason::Lingered => Termination::Completed,
        EndReason::HardTimeout => Termination::HardTimeout,
        EndReason::Stalled => Termination::Stall,
        EndReason::OverBudget | EndReason::OverDisk => Termination::Budget,
        EndReason::Cancelled => Termination::Cancelled,
        EndReason::NotStarted | EndReason::Homeless => Termination::Crashed,
    }
}

fn infra(evidence: &Evidence<'_>) -> Infra {
    let (ending, report) = (evidence.ending, evidence.report);
    match ending.reason {
        EndReason::NotStarted => return Infra::Spawn,
        EndReason::Homeless => return Infra::WorkspaceDead,
        EndReason::Cancelled | EndReason::OverBudget | EndReason::OverDisk => {
            return Infra::None;
        }
        // Who killed it can only have been the agent itself, or a system that lacked memory.
        _ if ending.supervisor == Supervisor::Killed => {
            return if evidence.memory_ran_out {
                Infra::Oom
            } else {
                Infra::None
            };
        }
        _ => {}
    }
    if report.terminal != Terminal::Done
        // A client that its provider fails ends by itself; who kills it can have written its last words, too.
        && !was_killed(ending, report)
        && let Some(fault) = &report.provider_fault
        && (fault.fatal || evidence.ended_in_fault)
    {
        match fault.kind {
            ProviderFaultKind::RateLimited | ProviderFaultKind::Overloaded => {
                return Infra::RateLimited;
            }
            ProviderFaultKind::Auth => return Infra::Auth,
            ProviderFaultKind::Unreachable => return Infra::ProviderUnreachable,
            // The agent's own doing: what it said or asked for.
            ProviderFaultKind::ContextOverflow
            | ProviderFaultKind::Refusal
            | ProviderFaultKind::Other => {}
        }
    }
    if was_killed(ending, report) {
        return if evidence.memory_ran_out {
            Infra::Oom
        } else {
            Infra::KilledByOther
        };
    }
    if report.mcp_failure.is_some() && report.terminal == Terminal::None {
        return Infra::McpServer;
    }
    let died_or_hung =
        ending.reason != EndReason::Exited || ending.exit.as_ref().map(Exit::shell_code) != Some(0);
    let speaks = evidence.kind != AgentKind::Command;
    if died_or_hung && report.events == 0 && ending.stdout_bytes == 0 && speaks {
        return Infra::NoActivity;
    }
    let left_without_a_word = ending.reason == EndReason::Exited
        && ending.exit == Some(Exit::Code(0))
        && report.terminal == Terminal::None;
    if left_without_a_word && speaks {
        return Infra::AgentProtocol;
    }
    Infra::None
}

/// Whether somebody else killed it. A launcher that outlives what it started passes the signal on as a code, but so does an
/// agent that ended well and says so.
fn was_killed(ending: &ChildEnding, report: &StreamReport) -> bool {
    let by_itself = ending.reason == EndReason::Exited;
    let passed_on = ending.exit == Some(Exit::Code(137)) && report.terminal == Terminal::None;
    by_itself && (ending.exit == Some(Exit::Signal(9)) || passed_on)
}

/// Whether what the agent left is worth grading: not when something else decided the trial.
pub(super) fn worth_grading(end: &AgentEnd) -> bool {
    let agents_own = matches!(
        end.infra,
        Infra::None | Infra::AgentProtocol | Infra::Oom | Infra::KilledByOther
    );
    agents_own && end.termination != Termination::Cancelled
}

/// The grade that a list of verdicts amounts to.
pub(super) fn grade_of(verdicts: &[Verdict]) -> Grade {
    deciding(verdicts).map_or(Grade::NotGraded, |one| one.grade)
}

/// The verdict that decides: the first that is no pass, or else the last.
pub(super) fn deciding(verdicts: &[Verdict]) -> Option<&Verdict> {
    let objection = verdicts.iter().find(|one| one.grade != Grade::Pass);
    objection.or(verdicts.last())
}

/// The reason of a trial that had `own` before graders were asked: a verdict counts more than an exit code, and less than
/// all else.
pub(super) fn reason_with(own: Option<String>, verdicts: &[Verdict]) -> Option<String> {
    match own {
        Some(reason) if ![EXIT_NONZERO, SAID_FAILED].contains(&reason.as_str()) => Some(reason),
        own => verdict_reason(verdicts).or(own),
    }
}

const EXIT_NONZERO: &str = "agent_exit_nonzero";
const SAID_FAILED: &str = "agent_said_failed";

/// Why the first grader that did not pass did not.
fn verdict_reason(verdicts: &[Verdict]) -> Option<String> {
    let failed = verdicts
        .iter()
        .find(|verdict| verdict.grade != Grade::Pass)?;
    let reason = failed.reason.clone();
    Some(reason.unwrap_or_else(|| format!("{}_failed", failed.grader)))
}

/// The seed's `failure_reason`.
pub(super) fn failure_reason(end: &AgentEnd, verdicts: &[Verdict]) -> Option<String> {
    match end.termination {
        Termination::HardTimeout => return Some("timeout_hard".to_owned()),
        Termination::Stall => return Some("timeout_stall".to_owned()),
        Termination::Budget => return Some("budget".to_owned()),
        Termination::Cancelled => return Some("cancelled".to_owned()),
        Termination::Interrupted => return Some("interrupted".to_owned()),
        Termination::Completed | Termination::Crashed => {}
    }
    if !matches!(end.infra, Infra::None | Infra::AgentProtocol) {
        return Some(end.infra.as_str().to_owned());
    }
    let word = if end.exit_code == Some(0) {
        SAID_FAILED
    } else {
        EXIT_NONZERO
    };
    let own = (!end.well()).then(|| word.to_owned());
    reason_with(own, verdicts)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::ProviderFault;

    fn ending(reason: EndReason, exit: Option<Exit>) -> ChildEnding {
        ChildEnding {
            exit,
            stdout_bytes: 10,
            ..ChildEnding::unstarted(reason, None)
        }
    }

    fn fault(kind: ProviderFaultKind, fatal: bool) -> ProviderFault {
        ProviderFault {
            kind,
            status: None,
            message: String::new(),
            fatal,
            reset: None,
        }
    }

    fn report(terminal: Terminal, provider_fault: Option<ProviderFault>) -> StreamReport {
        StreamReport {
            terminal,
            provider_fault,
            events: 3,
            ..StreamReport::default()
        }
    }

    fn end(ending: &ChildEnding, report: &StreamReport) -> AgentEnd {
        agent_end(&Evidence {
            kind: AgentKind::ClaudeCode,
            ending,
            report,
            ended_in_fault: true,
            memory_ran_out: false,
        })
    }

    #[test]
    fn a_kill_is_called_a_want_of_memory_only_where_the_system_told_one() {
        let killed = ending(EndReason::Exited, Some(Exit::Signal(9)));
        let forged = report(
            Terminal::Failed,
            Some(fault(ProviderFaultKind::RateLimited, true)),
        );
        for (memory_ran_out, expected) in [(true, Infra::Oom), (false, Infra::KilledByOther)] {
            for report in [&report(Terminal::None, None), &forged] {
                let found = agent_end(&Evidence {
                    kind: AgentKind::ClaudeCode,
                    ending: &killed,
                    report,
                    ended_in_fault: true,
                    memory_ran_out,
                });
                assert_eq!(found.infra, expected);
                assert!(worth_grading(&found));
            }
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table of all ends")]
    fn every_end_has_its_name() {
        let cases = [
            (
                EndReason::Exited,
                Some(Exit::Code(0)),
                Terminal::Done,
                None,
                "completed none success",
            ),
            (
                EndReason::Exited,
                Some(Exit::Code(7)),
                Terminal::Done,
                None,
                "completed none agent_exit_nonzero",
            ),
            (
                EndReason::Exited,
                Some(Exit::Code(0)),
                Terminal::None,
                None,
                "completed agent_protocol success",
            ),
            (
                EndReason::HardTimeout,
                Some(Exit::Signal(9)),
                Terminal::None,
                None,
                "hard_timeout none timeout_hard",
            ),
            (
                EndReason::Stalled,
                Some(Exit::Signal(15)),
                Terminal::None,
                None,
                "stall none timeout_stall",
            ),
            (
                EndReason::Lingered,
                Some(Exit::Signal(15)),
                Terminal::Done,
                None,
                "completed none success",
            ),
            (
                EndReason::Lingered,
                Some(Exit::Signal(15)),
                Terminal::Failed,
                None,
                "completed none agent_exit_nonzero",
            ),
            (
                EndReason::Exited,
                Some(Exit::Signal(9)),
                Terminal::None,
                None,
                "crashed killed_by_other killed_by_other",
            ),
            (
                EndReason::Exited,
                Some(Exit::Code(137)),
                Terminal::None,
                None,
                "completed killed_by_other killed_by_other",
            ),
            (
                EndReason::Exited,
                Some(Exit::Code(137)),
                Terminal::Done,
                None,
                "completed none agent_exit_nonzero",
            ),
            (
                EndReason::Exited,
                Some(Exit::Signal(11)),
                Terminal::None,
                None,
                "crashed none agent_exit_nonzero",
            ),
            (
                EndReason::NotStarted,
                None,
                Terminal::None,
                None,
                "crashed spawn spawn",
            ),
            (
                EndReason::Cancelled,
                Some(Exit::Signal(2)),
                Terminal::None,
                None,
                "cancelled none cancelled",
            ),
            (
                EndReason::Exited,
                Some(Exit::Code(1)),
                Terminal::Failed,
                Some(fault(ProviderFaultKind::RateLimited, true)),
                "completed rate_limited rate_limited",
            ),
            (
                EndReason::Exited,
                Some(Exit::Code(1)),
                Terminal::Failed,
                Some(fault(ProviderFaultKind::Auth, true)),
                "completed auth auth",
            ),
            (
                EndReason::HardTimeout,
                Some(Exit::Signal(2)),
                Terminal::None,
                Some(fault(ProviderFaultKind::Unreachable, false)),
                "hard_timeout provider_unreachable timeout_hard",
            ),
            (
                EndReason::Exited,
                Some(Exit::Code(0)),
                Terminal::Done,
                Some(fault(ProviderFaultKind::RateLimited, false)),
                "completed none success",
            ),
        ];
        for (reason, exit, terminal, fault, expected) in cases {
            let found = end(&ending(reason, exit), &report(terminal, fault));
            let why = failure_reason(&found, &[]).unwrap_or_else(|| "success".to_owned());
            let told = format!(
                "{} {} {why}",
                found.termination.as_str(),
                found.infra.as_str()
            );
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn an_agent_that_never_spoke_is_no_failure_of_the_agent() {
        let mut silent = ending(EndReason::Stalled, Some(Exit::Signal(15)));
        silent.stdout_bytes = 0;
        let found = end(&silent, &StreamReport::default());
        assert_eq!(found.infra, Infra::NoActivity);
        assert!(!worth_grading(&found));
    }

    #[test]
    fn the_grader_that_failed_names_the_reason() {
        let found = end(
            &ending(EndReason::Exited, Some(Exit::Code(1))),
            &report(Terminal::Done, None),
        );
        let verdict = |grade, reason: Option<&str>| Verdict {
            grader: "command".to_owned(),
            grade,
            reason: reason.map(str::to_owned),
            duration: Duration::ZERO,
        };
        let verdicts = [
            verdict(Grade::Pass, None),
            verdict(Grade::Fail, Some("tests_failed")),
        ];
        assert_eq!(
            failure_reason(&found, &verdicts).as_deref(),
            Some("tests_failed")
        );
        assert_eq!(grade_of(&verdicts), Grade::Fail);
        assert_eq!(
            failure_reason(&found, &verdicts[..1]).as_deref(),
            Some("agent_exit_nonzero")
        );
    }
}
