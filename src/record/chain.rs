//! Makes a run tamper-evident: every row names the digest of the row before it and of its trial's files.
//!
//! Tamper-evident, not tamper-proof: whoever can rewrite the whole run can also make a new chain. What the chain shows is
//! that a row, or a file that a row stands for, is not the one that was written.

use std::io::{BufRead as _, BufReader};

use crate::record::artifacts::{digest, digest_of_file, names_in};
use crate::record::error::Doing as _;
use crate::record::{JournalBreak, RecordError, Row, RunDir, TrialDir, private};

/// What the first row of a journal names as the one before it.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a verification found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Rows of the journal.
    pub rows: u64,
    /// Rows without a chain: written by an older version.
    pub unchained: u64,
    /// Files whose digests were compared.
    pub files: u64,
    /// What is not as it was written, with its place; the first is the first place where the chain breaks.
    pub problems: Vec<String>,
}

/// What was noted of a journal elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Noted<'a> {
    /// Rows that it had.
    pub rows: Option<u64>,
    /// Digest of the last of them.
    pub head: Option<&'a str>,
    /// Whether that was its end.
    pub has_ended: bool,
    /// Where earlier starts found it to be another than was noted.
    pub breaks: &'a [JournalBreak],
}

/// Compares a journal with its chain and with what was noted of it, and the files of its trials with their digests.
///
/// # Errors
/// When the journal cannot be read.
pub fn verify(run: &RunDir, noted: Noted<'_>) -> Result<Verified, RecordError> {
    // Before the rows, which may come meanwhile.
    let mut sealed = run.sealed_trials();
    let path = run.runs_jsonl();
    let mut reader = BufReader::new(private::open_file(&path)?);
    let mut verified = Verified::default();
    let mut before = GENESIS.to_owned();
    let mut head_is_there = noted.rows == Some(0);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).doing("read", &path)? == 0 {
            break;
        }
        verified.rows += 1;
        let number = verified.rows;
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            verified
                .problems
                .push(format!("runs.jsonl:{number}: the row is cut off"));
        }
        if let Some(run_id) = verified.line(run, &line, &before) {
            sealed.remove(&run_id);
        }
        before = digest(&line);
        head_is_there |= noted.head == Some(before.as_str());
    }
    verified.end(noted, (&before, head_is_there));
    verified.problems.extend(run.strangers_among_trials());
    for run_id in sealed {
        verified.problems.push(format!(
            "trials/{run_id}: its files are sealed, but no row tells of it: the row was removed, or the harness died before it was written (then `run --resume` writes it)"
        ));
    }
    Ok(verified)
}

impl Verified {
    /// Compares the end with what was noted.
    fn end(&mut self, noted: Noted<'_>, (last, head_is_there): (&str, bool)) {
        let rows = self.rows;
        let problems = &mut self.problems;
        problems.extend(noted.breaks.iter().map(|one| {
            let had = one.noted_rows.map_or_else(|| "its".to_owned(), |rows| rows.to_string());
            format!(
                "runs.jsonl: {had} rows had been noted when the run was resumed at {}, and {} were found: rows were removed or changed before",
                one.at, one.found_rows
            )
        }));
        if let Some(head) = noted.head {
            let head_is_last = last == head;
            let head = head.get(..12).unwrap_or(head);
            if noted.has_ended && !head_is_last {
                problems.push(format!(
                    "runs.jsonl: the last row is not the one that the run ended with ({head}...): rows were removed or added"
                ));
            } else if !head_is_there {
                problems.push(format!(
                    "runs.jsonl: the row that was noted as its last ({head}...) is gone: rows were removed or changed"
                ));
            }
        }
        if let Some(noted) = noted.rows.filter(|noted| rows < *noted) {
            problems.push(format!(
                "runs.jsonl: {rows} rows are there, and {noted} were noted: rows were removed"
            ));
        }
    }

    /// Looks at a row; gives its trial.
    fn line(&mut self, run: &RunDir, line: &[u8], before: &str) -> Option<String> {
        let number = self.rows;
        let row: Row = match serde_json::from_slice(line) {
            Ok(row) => row,
            Err(error) => {
                self.problems
                    .push(format!("runs.jsonl:{number}: no row: {error}"));
                return None;
            }
        };
        match row.prev_sha256.as_deref() {
            None => {
                // Only rows of an older version name none, and these come first.
                if self.unchained + 1 < number {
                    self.problems.push(format!(
                        "runs.jsonl:{number}: row {} names no row before it, as those before it do: it was changed or added",
                        row.run_id
                    ));
                }
                self.unchained += 1;
            }
            Some(named) if named == before => {}
            Some(_) => self.problems.push(format!(
                "runs.jsonl:{number}: row {} does not follow the row before it: that row, or this one, was changed",
                row.run_id
            )),
        }
        if let (Some(sums), Some(trial)) = (&row.artifacts_sha256, run.recorded_trial(&row.run_id))
        {
            self.files_of(&trial, sums);
            self.problems.extend(trial.added(sums));
        }
        Some(row.run_id)
    }

    fn files_of(&mut self, trial: &TrialDir, sums: &str) {
        let (files, problems) = trial.compared(sums);
        self.files += files;
        self.problems.extend(problems);
    }
}

impl TrialDir {
    /// Compares the trial's files with the list of digests that a row names by its own: how many were compared, and what is not
    /// as it was, with its place in the run.
    #[must_use]
    pub fn compared(&self, sums: &str) -> (u64, Vec<String>) {
        let name = self.relative(&self.sums());
        let list = match private::read_all(&self.sums()) {
            Ok(list) if digest(&list) == sums => list,
            Ok(_) => return (0, vec![format!("{name}: not the list that the row names")]),
            Err(error) => {
                let why = match error.kind() {
                    std::io::ErrorKind::NotFound => "missing".to_owned(),
                    _ => error.to_string(),
                };
                return (0, vec![format!("{name}: {why}")]);
            }
        };
        let (mut files, mut problems) = (0, Vec::new());
        for (sum, file) in names_in(&String::from_utf8_lossy(&list)) {
            files += 1;
            let path = self.root().join(file);
            let problem = match digest_of_file(&path) {
                Ok(found) if found == sum => continue,
                Ok(_) => "changed since its row was written".to_owned(),
                Err(error) => error.to_string(),
            };
            problems.push(format!("{}: {problem}", self.relative(&path)));
        }
        (files, problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Journal;
    use std::fs;

    fn run_of(rows: usize) -> (tempfile::TempDir, RunDir) {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path(), "s").unwrap();
        for index in 0..rows {
            // Opened anew each time, as by resume.
            let (mut journal, _) = Journal::open(&run).unwrap();
            let run_id = format!("a-b-c-trial-{index:03}");
            let trial = run.recorded_trial(&run_id).unwrap();
            trial.create().unwrap();
            fs::write(trial.transcript(), format!("{index}")).unwrap();
            let row = Row {
                run_id,
                artifacts_sha256: Some(trial.sum_up().unwrap().digest),
                ..Row::default()
            };
            journal.append(&row).unwrap();
        }
        (folder, run)
    }

    fn ended(head: &str) -> Noted<'_> {
        Noted {
            head: Some(head),
            has_ended: true,
            ..Noted::default()
        }
    }

    fn problems(run: &RunDir) -> Vec<String> {
        verify(run, Noted::default()).unwrap().problems
    }

    #[test]
    fn an_untouched_run_holds() {
        let (_folder, run) = run_of(4);
        let verified = verify(&run, Noted::default()).unwrap();
        assert_eq!(verified.problems, [""; 0]);
        assert_eq!(
            (verified.rows, verified.unchained, verified.files),
            (4, 0, 4)
        );
    }

    #[test]
    fn a_changed_row_is_named_by_the_row_after_it() {
        let (_folder, run) = run_of(4);
        let text = fs::read_to_string(run.runs_jsonl()).unwrap();
        fs::write(
            run.runs_jsonl(),
            text.replacen("\"success\":false", "\"success\":true", 1),
        )
        .unwrap();
        let problems = problems(&run);
        assert!(problems[0].starts_with("runs.jsonl:2:"), "{problems:?}");
    }

    #[test]
    fn removed_and_swapped_rows_are_found() {
        let (_folder, run) = run_of(4);
        let text = fs::read_to_string(run.runs_jsonl()).unwrap();
        let head = digest(text.lines().last().unwrap().as_bytes());
        let lines: Vec<&str> = text.lines().collect();
        for order in [vec![0, 2, 3], vec![1, 0, 2, 3], vec![0, 1, 3]] {
            let chosen: Vec<&str> = order.iter().map(|index| lines[*index]).collect();
            let changed = chosen.join("\n") + "\n";
            fs::write(run.runs_jsonl(), changed).unwrap();
            assert!(!problems(&run).is_empty(), "{order:?}");
        }
        fs::write(run.runs_jsonl(), format!("{}\n", lines[..3].join("\n"))).unwrap();
        let [sealed] = &problems(&run)[..] else {
            panic!("a shorter journal is a whole one by itself")
        };
        assert!(sealed.starts_with("trials/a-b-c-trial-003: "), "{sealed}");
        fs::remove_dir_all(run.recorded_trial("a-b-c-trial-003").unwrap().root()).unwrap();
        assert_eq!(
            verify(&run, ended(&head)).unwrap().problems.len(),
            1,
            "but not the one that was noted"
        );
    }

    #[test]
    fn what_was_noted_is_missed_though_no_end_was() {
        let (_folder, run) = run_of(3);
        let text = fs::read_to_string(run.runs_jsonl()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let head = digest(lines[1].as_bytes());
        let found = |noted| verify(&run, noted).unwrap().problems.len();
        let of_two = Noted {
            rows: Some(2),
            head: Some(&head),
            ..Noted::default()
        };
        assert_eq!(found(of_two), 0, "rows may have come since");
        fs::write(run.runs_jsonl(), format!("{}\n", lines[0])).unwrap();
        for index in [1, 2] {
            let trial = format!("a-b-c-trial-{index:03}");
            fs::remove_dir_all(run.recorded_trial(&trial).unwrap().root()).unwrap();
        }
        assert_eq!(found(Noted::default()), 0);
        assert_eq!(found(of_two), 2);
        let head_alone = Noted {
            rows: None,
            ..of_two
        };
        assert_eq!(found(head_alone), 1);
        let rows_alone = Noted {
            head: None,
            ..of_two
        };
        assert_eq!(found(rows_alone), 1);
    }

    #[test]
    fn a_row_without_a_chain_after_one_that_has_it_is_a_problem() {
        let (_folder, run) = run_of(3);
        let text = fs::read_to_string(run.runs_jsonl()).unwrap();
        let (start, last) = text.trim_end().rsplit_once('\n').unwrap();
        let mut row: Row = serde_json::from_str(last).unwrap();
        row.prev_sha256 = None;
        row.success = true;
        let row = serde_json::to_string(&row).unwrap();
        fs::write(run.runs_jsonl(), format!("{start}\n{row}\n")).unwrap();
        let problems = problems(&run);
        assert!(problems[0].starts_with("runs.jsonl:3:"), "{problems:?}");
    }

    #[test]
    fn changed_missing_and_replaced_files_are_named() {
        let (_folder, run) = run_of(3);
        let trial = |index: usize| {
            run.recorded_trial(&format!("a-b-c-trial-{index:03}"))
                .unwrap()
        };
        fs::write(trial(0).transcript(), "other").unwrap();
        fs::remove_file(trial(1).transcript()).unwrap();
        fs::write(trial(2).sums(), "").unwrap();
        let problems = problems(&run);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(
            problems[0].contains("trial-000/transcript.txt: changed"),
            "{problems:?}"
        );
        assert!(
            problems[1].contains("trial-001/transcript.txt"),
            "{problems:?}"
        );
        assert!(problems[2].contains("not the list"), "{problems:?}");
    }

    #[test]
    fn what_was_added_to_a_sealed_trial_or_among_the_trials_is_named() {
        let (folder, run) = run_of(2);
        let trial = run.recorded_trial("a-b-c-trial-001").unwrap();
        let outside = folder.path().join("outside");
        fs::write(&outside, "").unwrap();
        let link = |place: &std::path::Path| std::os::unix::fs::symlink(&outside, place).unwrap();
        fs::write(trial.root().join("changes.patch"), "mine").unwrap();
        fs::create_dir(trial.root().join("folder")).unwrap();
        link(&trial.root().join("link"));
        fs::write(run.trials().join("stray"), "").unwrap();
        link(&run.trials().join("elsewhere"));
        // Those of a start that was killed, and what a file manager leaves.
        fs::create_dir(run.trials().join("a-b-c-trial-002")).unwrap();
        fs::write(trial.root().join(".DS_Store"), "").unwrap();
        fs::write(run.trials().join(".DS_Store"), "").unwrap();
        let mut problems = problems(&run);
        problems.sort_unstable();
        let places = problems.iter().map(|one| one.split(':').next().unwrap());
        let places: Vec<&str> = places.collect();
        let inside = |name: &str| format!("trials/a-b-c-trial-001/{name}");
        let expected = [
            inside("changes.patch"),
            inside("folder"),
            inside("link"),
            "trials/elsewhere".to_owned(),
            "trials/stray".to_owned(),
        ];
        assert_eq!(places, expected, "{problems:?}");
    }

    #[test]
    fn rows_of_older_versions_have_no_chain_and_no_problem() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path(), "s").unwrap();
        fs::write(run.runs_jsonl(), "{\"run_id\":\"x\"}\n{\"run_id\":\"y\"}\n").unwrap();
        let (mut journal, _) = Journal::open(&run).unwrap();
        journal.append(&Row::default()).unwrap();
        let verified = verify(&run, Noted::default()).unwrap();
        assert_eq!((verified.rows, verified.unchained), (3, 2));
        assert_eq!(verified.problems, [""; 0]);
    }
}
