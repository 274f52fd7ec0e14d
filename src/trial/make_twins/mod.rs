//! Proposes twins by experiment: an edit of a hidden file is one where exactly one test fails by it, with the reference patch and
//! with each alternative.

mod candidates;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use candidates::{Candidate, Kind, candidates, declared, of_output};

use crate::trial::Guard;
use crate::trial::alone::{Done, Job, done};
use crate::trial::blocking::blocking;
use crate::trial::grading::{GraderEnv, sorted};
use crate::trial::grading_tree::GradingTree;
use crate::trial::trial_context::TrialContext;
use crate::trial::twins::{asked, edited};
use proctor_config::{GraderSpec, TaskSpec, TwinEdit};
use proctor_graders::{GradeContext, Tests, TestsSeen};
use proctor_model::Progress;
use proctor_workspace::Workspace;

/// So many edits are tried for one test.
const PER_TEST: usize = 16;

/// So many edits are tried in one file that declares no test, such as one of expected output.
const PER_DATA_FILE: usize = 60;

/// Larger files are not read for edits.
const LARGEST: u64 = 1 << 20;

/// What was found for one grader.
#[derive(Debug, Clone, Default)]
pub struct Proposal {
    /// Its place in the task's list, from 1.
    pub grader: usize,
    /// Edits by which exactly one test fails.
    pub twin: Vec<TwinEdit>,
    /// Those of them whose test fails without a word of an assertion: a person should look.
    pub unclear: Vec<String>,
    /// Those that negate an assertion: code that reads the test can tell.
    pub negated: Vec<String>,
    /// Tests that hidden files declare, and for which none was found.
    pub rest: Vec<String>,
    /// Other tests without one: agents can read them, or they are named while they run.
    pub undeclared: Vec<String>,
    /// Why there is nothing to find.
    pub why: Option<String>,
}

/// Proposes twins for each grader that runs tests, for those tests that have none.
///
/// # Errors
/// When a solution cannot be had, or a tree cannot be built.
pub(super) async fn propose(
    frame: &TrialContext<'_>,
    task: &TaskSpec,
) -> Result<Vec<Proposal>, String> {
    let graders = task.graders.iter().enumerate();
    let graders = graders.filter(|(_, spec)| runs_tests(spec));
    let mut proposals = Vec::new();
    for (place, spec) in graders {
        let mut proposal = Proposal {
            grader: place + 1,
            ..Proposal::default()
        };
        if task.grader_files.is_empty() {
            let why = "no grader_files: tests that agents can read have no twin";
            proposal.why = Some(why.to_owned());
        } else {
            Lab::new(frame, task, place)
                .fill(&mut proposal, spec)
                .await?;
        }
        proposals.push(proposal);
    }
    Ok(proposals)
}

/// The tests that hidden files declare and that have no twin, of graders where others have one.
///
/// # Errors
/// When a solution cannot be had, or a tree cannot be built.
pub(super) async fn untwinned(
    frame: &TrialContext<'_>,
    (task, patch): (&TaskSpec, &Path),
) -> Result<Vec<(usize, Vec<String>)>, String> {
    let mut found = Vec::new();
    for (place, spec) in task.graders.iter().enumerate() {
        if spec.twin().is_empty() {
            continue;
        }
        let lab = Lab::new(frame, task, place);
        let solutions = Solutions::of(&lab, [patch]).await?;
        let open = lab.wanted(&solutions.right, spec);
        solutions.leave();
        if !open.is_empty() {
            found.push((place + 1, open.into_keys().collect()));
        }
    }
    Ok(found)
}

fn has_twin(spec: &GraderSpec, id: &str) -> bool {
    spec.twin().iter().any(|edit| {
        let rest = id.strip_suffix(edit.test.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', ':', '/', ' ']))
    })
}

fn runs_tests(spec: &GraderSpec) -> bool {
    matches!(
        spec,
        GraderSpec::Command { .. } | GraderSpec::IosTestPass(_)
    )
}

/// Experiments with the hidden files of one grader.
struct Lab<'a> {
    frame: &'a TrialContext<'a>,
    task: &'a TaskSpec,
    place: usize,
    hidden: Vec<Hidden>,
}

/// A hidden file of text.
struct Hidden {
    /// From the project's folder.
    path: PathBuf,
    text: String,
    edits: Vec<Candidate>,
    /// The same, if it is expected output.
    lines: Vec<Candidate>,
}

/// A test without a twin, where its file declares it, and up to which line.
struct Wanted {
    file: usize,
    lines: std::ops::Range<usize>,
}

impl<'a> Lab<'a> {
    fn new(frame: &'a TrialContext<'a>, task: &'a TaskSpec, place: usize) -> Self {
        let guard = frame.context.guard(frame.planned);
        let laid = guard.map(Guard::laid_files);
        let subdir = &frame.context.source.subdir;
        let hidden = laid.into_iter().flatten().filter_map(|(to, from)| {
            let size = fs::metadata(from).ok()?.len();
            let text = (size <= LARGEST).then(|| fs::read_to_string(from).ok())??;
            Some(Hidden {
                path: to.strip_prefix(subdir).unwrap_or(to).to_owned(),
                edits: candidates(&text),
                lines: of_output(&text),
                text,
            })
        });
        Self {
            frame,
            task,
            place,
            hidden: hidden.collect(),
        }
    }

    /// Tries edits until each test has one or none is left.
    async fn fill(&self, proposal: &mut Proposal, spec: &GraderSpec) -> Result<(), String> {
        let Some(patch) = &self.task.reference_patch else {
            proposal.why = Some("no reference_patch: nothing to try edits with".to_owned());
            return Ok(());
        };
        let alternatives = self.task.alternatives.iter().map(PathBuf::as_path);
        let patches = [patch.as_path()].into_iter().chain(alternatives);
        let mut solutions = Solutions::of(self, patches).await?;
        let right = solutions.right.clone();
        if right.passed.is_empty() {
            let why = "its runner reports no test by name: set `tests` to the format of its report";
            proposal.why = Some(why.to_owned());
            solutions.leave();
            return Ok(());
        }
        let mut open = self.wanted(&right, spec);
        let mut undeclared = right.passed.clone();
        undeclared.retain(|id| !open.contains_key(id) && !has_twin(spec, id));
        let mut fallback: BTreeMap<String, TwinEdit> = BTreeMap::new();
        for (wants, file, edit) in self.order(&open, undeclared.is_empty()) {
            if (open.is_empty() && undeclared.is_empty()) || self.frame.context.cancel.level() > 0 {
                break;
            }
            // A test that has its twin needs no further edit.
            if wants.is_some_and(|test| !open.contains_key(&test)) {
                continue;
            }
            let tried = TwinEdit {
                test: String::new(),
                file: self.hidden[file].path.clone(),
                from: edit.from.clone(),
                to: edit.to.clone(),
            };
            let Some((test, by_assertion)) = solutions.fails_alone(self, &tried).await? else {
                continue;
            };
            let found = TwinEdit { test, ..tried };
            let is_open = open.contains_key(&found.test) || undeclared.contains(&found.test);
            let is_open =
                is_open && self.fits(file, &found, proposal.twin.iter().chain(spec.twin()));
            if is_open && by_assertion {
                open.remove(&found.test);
                undeclared.remove(&found.test);
                fallback.remove(&found.test);
                self.say(&found.test);
                if edit.kind == Kind::Negated {
                    proposal.negated.push(found.test.clone());
                }
                proposal.twin.push(found);
            } else if is_open {
                fallback.entry(found.test.clone()).or_insert(found);
            }
        }
        solutions.leave();
        for (test, edit) in fallback {
            open.remove(&test);
            undeclared.remove(&test);
            proposal.unclear.push(test);
            proposal.twin.push(edit);
        }
        proposal.rest = open.into_keys().collect();
        proposal.undeclared = undeclared.into_iter().collect();
        Ok(())
    }

    fn say(&self, test: &str) {
        self.frame.teller.tell(Progress::Notice {
            text: format!("{}: a twin for {test}", self.task.id),
        });
    }

    /// The tests that hidden files declare, or that the grader names, and that have no twin.
    fn wanted(&self, right: &Tests, spec: &GraderSpec) -> BTreeMap<String, Wanted> {
        let mut wanted = BTreeMap::new();
        for id in right.passed.iter().filter(|id| !has_twin(spec, id)) {
            let mut files = self.hidden.iter().enumerate();
            let declared =
                files.find_map(|(file, hidden)| Some((file, declared(&hidden.text, id)?)));
            if let Some((file, line)) = declared {
                let lines = line..usize::MAX;
                wanted.insert(id.clone(), Wanted { file, lines });
            }
        }
        // Each one reaches to where the next begins.
        let starts: BTreeSet<_> = wanted
            .values()
            .map(|it| (it.file, it.lines.start))
            .collect();
        for it in wanted.values_mut() {
            let next = starts.range((it.file, it.lines.start + 1)..).next();
            if let Some((_, next)) = next.filter(|(file, _)| *file == it.file) {
                it.lines.end = *next;
            }
        }
        wanted
    }

    /// Whether an edit can be made together with all others.
    fn fits<'b>(
        &self,
        file: usize,
        found: &'b TwinEdit,
        others: impl Iterator<Item = &'b TwinEdit>,
    ) -> bool {
        let hidden = &self.hidden[file];
        let others = others.filter(|edit| edit.file == hidden.path);
        let all: Vec<&TwinEdit> = others.chain([found]).collect();
        edited(hidden.text.clone(), &all.iter().collect::<Vec<_>>()).is_ok()
    }

    /// The edits in the order in which they are tried: of expected output, then of each test, the most likely first.
    fn order(
        &self,
        open: &BTreeMap<String, Wanted>,
        are_all_declared: bool,
    ) -> Vec<(Option<String>, usize, &Candidate)> {
        let declares = |file: usize| open.values().any(|it| it.file == file);
        let mut order = Vec::new();
        for (file, hidden) in self
            .hidden
            .iter()
            .enumerate()
            .filter(|(file, _)| !declares(*file))
        {
            let lines = hidden.lines.iter().take(PER_DATA_FILE);
            order.extend(lines.map(|edit| (None, file, edit)));
        }
        // Tables stand before the tests that are made of them.
        let first = |file: usize| {
            let lines = open.values().filter(|it| it.file == file);
            lines.map(|it| it.lines.start).min()
        };
        for (file, hidden) in self.hidden.iter().enumerate() {
            let Some(first) = first(file).filter(|_| !are_all_declared) else {
                continue;
            };
            let table = hidden.edits.iter();
            let table = table.filter(|edit| edit.line < first && edit.kind != Kind::Negated);
            order.extend(table.take(PER_DATA_FILE).map(|edit| (None, file, edit)));
        }
        for (test, it) in open {
            let edits = self.hidden[it.file].edits.iter();
            let mut edits: Vec<_> = edits.filter(|edit| it.lines.contains(&edit.line)).collect();
            edits.sort_by_key(|edit| edit.kind);
            let likely = edits.iter().filter(|edit| edit.kind != Kind::Negated);
            let negated = edits.iter().filter(|edit| edit.kind == Kind::Negated);
            let tried = likely.take(PER_TEST).chain(negated.take(PER_TEST / 4));
            order.extend(tried.map(|edit| (Some(test.clone()), it.file, *edit)));
        }
        order
    }
}

/// The right solutions, each with the trees in which hidden tests meet it.
struct Solutions<'a> {
    all: Vec<(Done, Workspace)>,
    frame: &'a TrialContext<'a>,
    /// The tests of the first one, without any edit.
    right: Tests,
}

impl<'a> Solutions<'a> {
    async fn of(lab: &Lab<'a>, patches: impl IntoIterator<Item = &Path>) -> Result<Self, String> {
        let frame = lab.frame;
        let mut solutions = Self {
            all: Vec::new(),
            frame,
            right: Tests::default(),
        };
        for patch in patches {
            let parent = frame.context.scratch.join("w");
            let name = format!("{}-{}", frame.short_name, solutions.all.len());
            let workspace = blocking(|| frame.context.template.prepare(&parent, &name));
            let workspace = workspace.map_err(|error| format!("workspace: {error}"))?;
            let done = done(frame, lab.task, (Job::Patch(patch), &workspace)).await?;
            solutions.all.push((done, workspace));
        }
        let right = solutions.tests(lab, (0, &[])).await?;
        solutions.right = right.unwrap_or_default();
        Ok(solutions)
    }

    /// The one test that fails with this edit, with every solution, and whether by an assertion.
    async fn fails_alone(
        &mut self,
        lab: &Lab<'_>,
        edit: &TwinEdit,
    ) -> Result<Option<(String, bool)>, String> {
        let mut told: Option<(String, bool)> = None;
        for solution in 0..self.all.len() {
            let Some(tests) = self.tests(lab, (solution, &[edit])).await? else {
                return Ok(None);
            };
            let mut failed = tests.failed.iter();
            let (Some(test), None) = (failed.next(), failed.next()) else {
                return Ok(None);
            };
            let others = self.right.passed.iter().filter(|id| *id != test);
            let is_whole =
                { others }.all(|id| tests.passed.contains(id) || test.starts_with(id.as_str()));
            let is_same = told.as_ref().is_none_or(|(known, _)| known == test);
            if !self.right.passed.contains(test) || !is_whole || !is_same {
                return Ok(None);
            }
            let asserted = told.is_none_or(|(_, asserted)| asserted) && tests.by_assertion;
            told = Some((test.clone(), asserted));
        }
        Ok(told)
    }

    /// What the grader's runner reports in a fresh tree with these edits; nothing where it came to no report.
    async fn tests(
        &self,
        lab: &Lab<'_>,
        (solution, edits): (usize, &[&TwinEdit]),
    ) -> Result<Option<Tests>, String> {
        let (done, _) = &self.all[solution];
        let work = done.work();
        let carried = sorted(self.frame, work).carried;
        let mut grounds = GradingTree::new(self.frame, (lab.task, work, carried.as_slice()));
        let seen = TestsSeen::default();
        let ran = async {
            grounds.renew_with(edits).await?;
            let desk = GraderEnv::of(self.frame, lab.task, work).await;
            let asking = |plain| GradeContext {
                tests: Some(&seen),
                ..plain
            };
            asked(&grounds, (&desk, lab.task), (lab.place, &asking)).await?;
            Ok::<_, crate::trial::unbuilt::Unbuilt>(())
        };
        let ran = Box::pin(ran).await;
        grounds.leave();
        ran.map_err(|unbuilt| format!("fresh_tree:{}", unbuilt.why))?;
        Ok(seen.take())
    }

    fn leave(self) {
        for (_, workspace) in self.all {
            blocking(|| workspace.discard());
        }
    }
}
