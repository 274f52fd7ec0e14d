//! The fixed points of one trial: names, folders, and how its children are started.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::plan::PlannedTrial;
use crate::trial::environment::{Environment, Surroundings};
use crate::trial::outcome_builder::OutcomeBuilder;
use crate::trial::{ProgressSink, RunContext, simulator};
use proctor_config::MCP_TOOL_LOG;
use proctor_judge::JudgeBudget;
use proctor_layers::Spent;
use proctor_model::{Allowance, Progress};
use proctor_record::{Row, Stage, StageMark, TrialDir, mcp_server_log_length};
use proctor_supervise::{ChildSpec, aid_of};
use proctor_workspace::Workspace;

/// The folder in a run's scratch folder that holds what trials have for themselves, logins among it.
pub const PRIVATE: &str = "p";

/// What does not change during a trial.
pub(super) struct TrialContext<'a> {
    pub(super) context: &'a RunContext,
    pub(super) planned: &'a PlannedTrial,
    pub(super) teller: &'a ProgressSink,
    /// What the agent may spend.
    pub(super) allowance: Allowance,
    /// Whether a killed start may have paid judges of this trial.
    pub(super) judged_before: bool,
    pub(super) run_id: String,
    /// Marks the agent of this trial; others of it carry it with a word behind it.
    pub(super) marker: String,
    pub(super) trial_dir: TrialDir,
    /// Folder of this trial alone: shims, home, temporary files. Its path is short, since sockets go below it.
    pub(super) private: PathBuf,
    /// Name of the workspace folder: tells an agent nothing.
    pub(super) short_name: String,
    /// Its simulator.
    pub(super) simulator: simulator::Slot,
    /// How long the log of an MCP server was before this trial.
    pub(super) mcp_log_began: u64,
}

impl<'a> TrialContext<'a> {
    pub(super) fn new(
        context: &'a RunContext,
        planned: &'a PlannedTrial,
        teller: &'a ProgressSink,
    ) -> Self {
        let run_id = planned.key.run_id();
        let digest = Sha256::digest(format!("{}/{run_id}", context.run_dir.root().display()));
        let mut short_name = String::new();
        for byte in &digest[..5] {
            write!(short_name, "{byte:02x}").expect("a text takes what is written to it");
        }
        let marker = format!("{short_name}-{}", std::process::id());
        let mut frame = Self {
            context,
            planned,
            teller,
            allowance: Allowance::default(),
            judged_before: false,
            simulator: simulator::Slot::of(context, &marker),
            marker,
            trial_dir: context.run_dir.trial(&planned.key),
            private: context.scratch.join(PRIVATE).join(&short_name),
            short_name,
            run_id,
            mcp_log_began: 0,
        };
        // One that is not configured lies in the trial's folder.
        if context.suite.mcp.env.contains_key(MCP_TOOL_LOG) {
            frame.mcp_log_began = mcp_server_log_length(&frame.mcp_server_log());
        }
        frame
    }

    /// What `{OUT_JSON}` becomes: in a folder of its own, since some agents write a draft beside it and rename that.
    pub(super) fn out_json(&self) -> PathBuf {
        self.private.join("o/agent_output.json")
    }

    /// The same for a trial that may spend only so much.
    pub(super) fn spending(self, allowance: Allowance) -> Self {
        Self { allowance, ..self }
    }

    /// The same for a trial whose agent had ended when the harness died.
    pub(super) fn finishing(self, row: &Row) -> Self {
        let allowance = Allowance {
            trial_usd: row.trial_max_cost_usd,
            run_usd: row.run_max_cost_usd,
            is_the_rest: row.trial_max_is_rest == Some(true),
        };
        Self {
            judged_before: true,
            ..self.spending(allowance)
        }
    }

    /// What judges of this trial may cost. Where the run has a limit, that is what the agent left of what the trial may spend:
    /// nothing where nobody knows what the agent spent.
    pub(super) fn purse_of_judges(&self, spent: Option<Spent>) -> JudgeBudget {
        let share = self.allowance.run_usd.and(self.allowance.trial_usd);
        let of_agent = spent.and_then(|spent| spent.cost_usd);
        let left = share.map(|share| of_agent.map_or(0.0, |usd| (share - usd).max(0.0)));
        let purse = JudgeBudget::new(left.map(|usd| (usd, "what the agent left of max_cost_usd,")));
        if self.judged_before {
            purse.paying_replays()
        } else {
            purse
        }
    }

    /// The same for a check that is no trial: its logs go to a folder of their own.
    pub(super) fn with_folder(self, trial_dir: TrialDir) -> Self {
        Self { trial_dir, ..self }
    }

    /// Which paths count as work though the base commit ignores them, or though they are caches.
    pub(super) fn counts(&self) -> impl Fn(&Path) -> bool {
        let guard = self.context.guard(self.planned);
        move |path| guard.is_some_and(|guard| guard.counts(path))
    }

    /// Puts down how far the trial has come, for a later start; `to_grade` is whether graders are still to be asked. Says
    /// whether the disk had room for it; what else goes wrong is noted alone.
    #[must_use]
    pub(super) fn mark(
        &self,
        stage: Stage,
        (draft, to_grade): (&mut OutcomeBuilder, bool),
    ) -> bool {
        let row = (stage != Stage::Started).then(|| draft.row(&self.trial_dir));
        let mark = StageMark {
            stage,
            to_grade,
            row,
            app: self.simulator.left(),
            trial_max_cost_usd: self.allowance.own_usd().filter(|_| stage == Stage::Started),
        };
        if let Err(error) = self.trial_dir.mark(&mark, &self.context.redactor) {
            draft.note(format!("stages.jsonl: {error}"));
            return !error.is_disk_full();
        }
        true
    }

    /// Tells which stage begins.
    pub(super) fn enter(&self, stage: &'static str) {
        let key = self.planned.key.clone();
        self.teller.tell(Progress::TrialStage { key, stage });
    }

    /// Where an MCP server may have written its own log of calls.
    pub(super) fn mcp_server_log(&self) -> PathBuf {
        let configured = self.context.suite.mcp.env.get(MCP_TOOL_LOG);
        configured.map_or_else(
            || self.trial_dir.mcp_server_calls(),
            |template| PathBuf::from(template.replace("{RUN_ID}", &self.run_id)),
        )
    }

    /// The parts that environments are made of.
    pub(super) fn around<'b>(&'b self, workspace: &'b Workspace) -> Surroundings<'b> {
        Surroundings {
            context: self.context,
            planned: self.planned,
            workspace,
            trial_dir: &self.trial_dir,
            run_id: &self.run_id,
            mcp_server_log: self.mcp_server_log(),
            marker: &self.marker,
            udid: self
                .simulator
                .held()
                .map(|lease| lease.device.udid.as_str()),
        }
    }

    /// A helper process of the harness (setup, MCP start and stop) in the project's folder.
    pub(super) fn helper(&self, argv: &[String], run: HelperRun<'_>) -> ChildSpec {
        let settings = &self.context.suite.settings;
        let argv = argv.iter().map(OsString::from).collect();
        let env = run.environment.into_iter().collect();
        let mut spec = ChildSpec::helper(argv, run.cwd, env, run.limit);
        spec.limits.grace = settings.stop_grace;
        spec.limits.drain = settings.drain;
        spec.marker = Some(aid_of(&self.marker));
        spec
    }
}

/// Where, how and how long a helper runs.
pub(super) struct HelperRun<'a> {
    pub(super) cwd: &'a Path,
    pub(super) environment: Environment,
    pub(super) limit: Duration,
}
