//! The scenarios of a run over all agents: what a person asks first.

use std::collections::BTreeMap;

use crate::cell_stats::CellStats;
use crate::layers::LayerCounts;
use crate::number::ratio;
use crate::summary::Summary;
use proctor_model::{Cell, ScenarioId};

/// Every scenario, over all agents and tasks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overview {
    /// The scenarios by name.
    pub scenarios: BTreeMap<ScenarioId, ScenarioLine>,
    /// What a reader should know before comparing them.
    pub warnings: Vec<String>,
}

/// One scenario. A mean or median is over the trials that have the value.
#[derive(Debug, Clone, PartialEq)]
pub struct ScenarioLine {
    /// Trials that have a row: in a run that was stopped, fewer than were planned.
    pub runs: usize,
    /// Successes.
    pub successes: usize,
    /// Successes over these trials.
    pub success_rate: Option<f64>,
    /// Trials with a verdict.
    pub graded: usize,
    /// Successes over trials with a verdict.
    pub success_rate_graded: Option<f64>,
    /// Trials that an infra fault decided.
    pub infra: usize,
    /// Trials that were cancelled or lost.
    pub interrupted: usize,
    /// Median of agent-only seconds.
    pub time_median: Option<f64>,
    /// Mean of uncached input + cached reads + cache writes + output.
    pub tokens_mean: Option<f64>,
    /// Median of cold-equivalent USD.
    pub cold_cost_median: Option<f64>,
    /// Mean of agent calls of `xcodebuild`.
    pub xcodebuild_calls_mean: Option<f64>,
    /// Mean of tool errors, one fewer after a session-defaults discovery.
    pub tool_errors_mean: Option<f64>,
    /// USD billed for all attempts, as far as it is known.
    pub spent: Option<f64>,
    /// Attempts that cost more than is known.
    pub cost_incomplete: usize,
    /// How many of the costs that the median is of are lower bounds.
    pub cost_lower_bounds: usize,
    /// How many of the tokens that the mean is of are lower bounds.
    pub token_lower_bounds: usize,
}

impl Overview {
    /// Makes the overview of a finished summary.
    #[must_use]
    pub fn new(summary: &Summary) -> Self {
        let mut arms: BTreeMap<ScenarioId, Vec<&CellStats>> = BTreeMap::new();
        for (cell, stats) in &summary.cells {
            arms.entry(cell.scenario.clone()).or_default().push(stats);
        }
        let scenarios: BTreeMap<_, _> = arms
            .into_iter()
            .map(|(name, cells)| (name, line(&cells)))
            .collect();
        let warnings = alarms(summary)
            .chain(gaps(summary))
            .chain(infra_warning(summary))
            .chain(servers_warning(summary))
            .chain(doubtful_successes(summary))
            .chain(judged(summary))
            .chain(attestation_warning(summary))
            .collect();
        Self {
            scenarios,
            warnings,
        }
    }

    /// A list of objects, and the warnings.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let lines: Vec<_> = self
            .scenarios
            .iter()
            .map(|(name, line)| line.to_json(name))
            .collect();
        serde_json::json!({ "scenarios": lines, "warnings": self.warnings })
    }
}

impl ScenarioLine {
    fn to_json(&self, name: &ScenarioId) -> serde_json::Value {
        serde_json::json!({
            "scenario": name.as_str(), "runs": self.runs, "successes": self.successes, "success_rate": self.success_rate,
            "graded": self.graded, "success_rate_graded": self.success_rate_graded, "infra_trials": self.infra,
            "interrupted_trials": self.interrupted, "time_median": self.time_median, "tokens_mean": self.tokens_mean,
            "cold_cost_median": self.cold_cost_median, "xcodebuild_calls_mean": self.xcodebuild_calls_mean,
            "tool_error_mean": self.tool_errors_mean, "cost_total_usd": self.spent,
            "cost_incomplete_rows": self.cost_incomplete,
        })
    }
}

fn line(cells: &[&CellStats]) -> ScenarioLine {
    let mut all = CellStats::default();
    for cell in cells {
        all.merge(cell);
    }
    all.finish();
    ScenarioLine {
        runs: all.runs,
        successes: all.successes,
        success_rate: all.success_rate(),
        graded: all.graded,
        success_rate_graded: all.success_rate_graded(),
        infra: all.infra,
        interrupted: all.interrupted,
        time_median: all.times.quantile(0.5),
        tokens_mean: all.sums.tokens.mean(),
        cold_cost_median: all.cold_costs.quantile(0.5),
        xcodebuild_calls_mean: all.sums.xcodebuild_calls.mean(),
        tool_errors_mean: all.sums.tool_errors.mean(),
        spent: (all.spent.count() > 0).then(|| all.spent.total()),
        cost_incomplete: all.cost_incomplete,
        cost_lower_bounds: all.cost_lower_bounds,
        token_lower_bounds: all.token_lower_bounds,
    }
}

/// Says so where trials of one arm were not of one agent.
fn attestation_warning(summary: &Summary) -> Option<String> {
    let mut arms: BTreeMap<String, usize> = BTreeMap::new();
    for (cell, stats) in &summary.cells {
        if stats.another_agent > 0 {
            let arm = format!("{} in {}", cell.agent, cell.scenario);
            *arms.entry(arm).or_default() += stats.another_agent;
        }
    }
    let told: Vec<String> = arms
        .iter()
        .map(|(arm, trials)| format!("{arm}: {trials}"))
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "trials of another agent than the arm's first, or without what the scenario asks for ({}): see `attestation_flags` and `notes` of their rows",
            told.join(", ")
        )
    })
}

/// Who passed what no honest work can pass.
fn alarms(summary: &Summary) -> impl Iterator<Item = String> {
    let cells = summary
        .cells
        .iter()
        .filter(|(_, stats)| stats.impossible > 0);
    cells.map(|(cell, stats)| {
        format!(
            "ALARM: {} passed the impossible task {} in {} of {} trials ({}): what it did there it may do elsewhere; look at their transcripts",
            cell.agent, cell.task, stats.impossible, stats.runs, cell.scenario
        )
    })
}

/// Where work passes the tests that the agent could know and not those that were held out.
fn gaps(summary: &Summary) -> impl Iterator<Item = String> {
    let cells = summary
        .cells
        .iter()
        .filter(|(_, stats)| stats.suites.1 > stats.suites.2);
    cells.map(|(cell, stats)| {
        let (all, visible, held_out) = stats.suites;
        format!(
            "visible and held-out tests differ: of {all} trials of {} on {} ({}), {visible} pass the visible tests and {held_out} the held-out ones",
            cell.agent, cell.task, cell.scenario
        )
    })
}

/// Says which successes are in one of the two rates alone.
fn doubtful_successes(summary: &Summary) -> Option<String> {
    let cells = summary.cells.values();
    let count: usize = cells
        .map(|stats| stats.successes - stats.sound_successes)
        .sum();
    (count > 0).then(|| {
        format!(
            "successes of trials with an infra fault: {count} (`agent_protocol`: no last word of the agent). They count in the rate over all trials and not in the one over graded trials, where failures of such trials do not count either"
        )
    })
}

/// Says who decided by a rubric, and how far to trust it: no rate is shown without.
fn judged(summary: &Summary) -> Option<String> {
    let mut all = LayerCounts::default();
    for stats in summary.cells.values() {
        all.merge(&stats.layers);
    }
    let judged = Some(all.judged()).filter(|judged| !judged.is_empty())?;
    Some(format!(
        "judges decided whether some trials pass, and judges err; how far each is known: {judged}"
    ))
}

/// Says so where infra faults hit some arms harder than others, or some tasks where the arms are alike.
fn infra_warning(summary: &Summary) -> Option<String> {
    const TOLD: usize = 12;
    let infra = |stats: &CellStats| stats.infra;
    let by_arm = hit((summary, infra), arm);
    let by_task = || hit((summary, infra), |cell| format!("task {}", cell.task));
    let by_cell = || {
        hit((summary, infra), |cell| {
            format!("{}/{}/{}", cell.agent, cell.scenario, cell.task)
        })
    };
    let groups = differing(by_arm)
        .or_else(|| differing(by_task()))
        .or_else(|| differing(by_cell()))?;
    let told = groups.iter().take(TOLD);
    let mut told: Vec<String> = told
        .map(|(name, (infra, runs))| format!("{name} {infra} of {runs}"))
        .collect();
    if groups.len() > TOLD {
        told.push(format!("and {} more", groups.len() - TOLD));
    }
    Some(format!(
        "infra faults differ between cells ({}): compare rates over graded trials, or resume the run to repeat what failed",
        told.join(", ")
    ))
}

/// Says in which arms an MCP server of the scenario never started.
fn servers_warning(summary: &Summary) -> Option<String> {
    let arms = hit((summary, |stats| stats.lacked_servers), arm).into_iter();
    let arms = arms.filter(|(_, (trials, _))| *trials > 0);
    let told: Vec<String> = arms
        .map(|(arm, (trials, runs))| format!("{arm} {trials} of {runs}"))
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "MCP servers did not start in trials of {}: `infra` of their rows is `setup`, and `notes` says which server and why",
            told.join(", ")
        )
    })
}

fn arm(cell: &Cell) -> String {
    format!("{}/{}", cell.agent, cell.scenario)
}

/// How many trials something befell, and all, by a name that cells share.
type Hit = BTreeMap<String, (usize, usize)>;

fn hit(
    (summary, count): (&Summary, impl Fn(&CellStats) -> usize),
    name: impl Fn(&Cell) -> String,
) -> Hit {
    let mut hit = Hit::new();
    for (cell, stats) in &summary.cells {
        let (befell, runs) = hit.entry(name(cell)).or_default();
        *befell += count(stats);
        *runs += stats.runs;
    }
    hit
}

/// The groups, those that were hit most first, if they were not all hit alike.
fn differing(hit: Hit) -> Option<Vec<(String, (usize, usize))>> {
    let share = |(infra, runs): (usize, usize)| ratio(infra, runs).unwrap_or(0.0);
    let mut groups: Vec<_> = hit.into_iter().filter(|(_, (_, runs))| *runs > 0).collect();
    groups.sort_by(|(_, one), (_, other)| share(*other).total_cmp(&share(*one)));
    let (_, most) = groups.first()?;
    let (_, least) = groups.last()?;
    (share(*most) - share(*least) > 1e-12).then_some(groups)
}
