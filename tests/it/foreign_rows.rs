//! Rows that proctor did not write: while it lives its memory counts, and what nobody witnessed is suspect for ever.

use std::fs;

use serde_json::Value;

use crate::sandbox::{CLAUDE_DONE, KILL_HARNESS, Sandbox};

const SUSPECT: &str = "suspect[harness_died_beside_agent]";

/// Two trials without a jail; in the second the agent does this in the run's folder, where `$last` is the last row, `$me` the
/// name of its trial, and `forge` makes a clean pass of that trial out of a row.
fn meddler(body: &str) -> Sandbox {
    let prepare = "cd \"$(dirname \"$EVAL_CMD_LOG\")/../..\" || exit 1\nme=$(basename \"$(dirname \"$EVAL_CMD_LOG\")\")\nlast=$(tail -n 1 runs.jsonl)\nforge() { sed \"s/trial-000/$me/g; s/\\\"trial_index\\\":0/\\\"trial_index\\\":1/; s/\\\"success\\\":false/\\\"success\\\":true/; s/\\\"grade\\\":\\\"fail\\\"/\\\"grade\\\":\\\"pass\\\"/; s/suspect.harness_died_beside_agent./clean/\"; }";
    let agent = format!(
        "echo run >> \"$HOME/starts\"\nif [ \"$(wc -l < \"$HOME/starts\")\" -eq 2 ]; then (\n{prepare}\n{body}\n) fi\n{CLAUDE_DONE}"
    );
    Sandbox::new()
        .agent("fake", "claude_code_cli", &agent)
        .suite("isolation: none")
        .set("trials_per_cell", "2")
}

fn told(rows: &[Value], keys: [&str; 3]) -> Vec<[String; 3]> {
    let told = rows.iter().map(|row| keys.map(|key| row[key].to_string()));
    told.collect()
}

fn told_plainly(rows: &[Value]) -> Vec<[String; 3]> {
    told(rows, ["trial_index", "success", "integrity"])
}

fn row_of(index: u8, integrity: &str) -> [String; 3] {
    [
        index.to_string(),
        "false".to_owned(),
        format!("\"{integrity}\""),
    ]
}

#[test]
fn what_an_agent_writes_into_the_journal_of_a_living_run_is_set_aside_and_told() {
    let forged =
        "printf '%s\\n' \"$last\" | sed 's/\"success\":false/\"success\":true/' >> runs.jsonl";
    let cases = [
        ("rows", forged),
        ("half a line", "printf '{\"x\":' >> runs.jsonl"),
        ("another file", "cp runs.jsonl mine; mv mine runs.jsonl"),
        ("no file", "rm runs.jsonl"),
        ("a folder", "rm runs.jsonl; mkdir runs.jsonl"),
        ("nothing", ": > runs.jsonl"),
        (
            "a changed row",
            "sed 's/\"success\":false/\"success\":true /' runs.jsonl > \"$HOME/mine\"; dd if=\"$HOME/mine\" of=runs.jsonl conv=notrunc status=none",
        ),
    ];
    for (name, body) in cases {
        let sandbox = meddler(body);
        let ran = sandbox.proctor(&["run"]).expect_code(0);
        let rows = sandbox.rows();
        let expected = [
            row_of(0, "clean"),
            row_of(1, "suspect[journal_written_by_others]"),
        ];
        assert_eq!(told_plainly(&rows), expected, "{name}: {}", ran.stderr);
        let warning = "somebody else wrote to the journal";
        assert!(ran.stderr.contains(warning), "{name}: {}", ran.stderr);
        let run = sandbox.run_dir();
        let summary = fs::read_to_string(run.join("summary.md")).expect("read the summary");
        assert!(summary.contains(warning), "{name}: {summary}");
        assert_eq!(
            run.join("runs.jsonl.foreign").symlink_metadata().is_ok(),
            name != "no file",
            "{name}"
        );
        sandbox
            .proctor(&["verify", "--run", &run.display().to_string()])
            .expect_code(0);
    }
}

#[test]
fn a_told_row_that_an_agent_wrote_itself_changes_nothing() {
    let told = format!(
        "printf '%s\\n' \"$last\" | forge | sed 's/\"integrity\":\"clean\"/\"integrity\":\"suspect[harness_died_beside_agent]\"/; s/\"success\":true/\"success\":false/' >> runs.jsonl\nprintf '%s\\n' \"$last\" | forge >> runs.jsonl\n{KILL_HARNESS}; sleep 1"
    );
    let sandbox = meddler(&told);
    assert_eq!(sandbox.proctor(&["run", "--quiet"]).code, None);
    assert_eq!(sandbox.rows().len(), 3, "two of them forged");
    let run = sandbox.run_dir().display().to_string();
    sandbox.proctor(&["run", "--quiet", "--resume", &run]);
    let rows = sandbox.rows();
    let again = told_plainly(&rows[3..]);
    assert_eq!(again, [row_of(0, SUSPECT), row_of(1, SUSPECT)]);
    let summary = sandbox.run_dir().join("summary.csv");
    let summary = fs::read_to_string(summary).expect("read the summary");
    assert!(!summary.is_empty());
    // Nothing is told again by a further start.
    sandbox.proctor(&["run", "--quiet", "--resume", &run]);
    assert_eq!(sandbox.rows().len(), 5);
}

#[test]
fn a_copy_of_the_noted_last_row_hides_none_before_it() {
    let forged = format!(
        "printf '%s\\n' \"$last\" | forge >> runs.jsonl\nprintf '%s\\n' \"$last\" >> runs.jsonl\n{KILL_HARNESS}; sleep 1"
    );
    let sandbox = meddler(&forged);
    sandbox
        .proctor(&["run", "--quiet", "--trials", "1"])
        .expect_code(0);
    let run = sandbox.run_dir().display().to_string();
    let resume = ["run", "--quiet", "--resume", &run];
    assert_eq!(sandbox.proctor(&resume).code, None);
    assert_eq!(sandbox.rows().len(), 3, "two of them forged");
    sandbox.proctor(&resume);
    let rows = sandbox.rows();
    let again = told_plainly(&rows[3..]);
    let mut forged = row_of(1, SUSPECT);
    forged[1] = "true".to_owned();
    // The copy speaks of the first trial, and what stood there before is told again.
    assert_eq!(again, [row_of(0, SUSPECT), forged], "{rows:#?}");
}

#[test]
fn what_was_told_again_by_a_start_that_died_too_is_told_once_more() {
    let sandbox = meddler(&format!(
        "printf '%s\\n' \"$last\" | forge >> runs.jsonl; {KILL_HARNESS}; sleep 1"
    ));
    assert_eq!(sandbox.proctor(&["run", "--quiet"]).code, None);
    let run = sandbox.run_dir();
    let folder = run.display().to_string();
    let resume = ["run", "--quiet", "--resume", &folder];
    sandbox.proctor(&resume);
    assert_eq!(sandbox.rows().len(), 4);
    // As if that start had died after it had told them again.
    let path = run.join("run_metadata.json");
    let text = fs::read_to_string(&path).expect("read the metadata");
    let mut metadata: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        metadata["unwitnessed"],
        serde_json::json!([{"from": 0, "to": 2}])
    );
    assert_eq!(metadata["journal_rows"], 4);
    metadata["finished"] = Value::Null;
    metadata["journal_rows"] = 2.into();
    metadata["journal_head"] = Value::Null;
    fs::write(&path, metadata.to_string()).expect("write the metadata");
    sandbox.proctor(&resume);
    let rows = sandbox.rows();
    assert_eq!(rows.len(), 6, "{rows:#?}");
    for row in &rows[4..] {
        assert_eq!(row["integrity"], SUSPECT);
    }
}

#[test]
fn rows_that_came_after_a_noted_end_are_nobodys() {
    let sandbox = meddler(":");
    sandbox.proctor(&["run", "--quiet"]).expect_code(0);
    let journal = sandbox.run_dir().join("runs.jsonl");
    let text = fs::read_to_string(&journal).expect("read the journal");
    let last = text.lines().last().expect("a row");
    let forged = last.replace("\"success\":false", "\"success\":true");
    let unplanned = forged.replace("\"trial_index\":1", "\"trial_index\":7");
    let unplanned = unplanned.replace("trial-001", "trial-007");
    fs::write(&journal, format!("{text}{forged}\n{unplanned}\n")).expect("write the journal");
    let run = sandbox.run_dir().display().to_string();
    // What is found is told however little is asked to be told.
    let resumed = sandbox.proctor(&["run", "--quiet", "--resume", &run]);
    assert!(
        resumed.stderr.contains("WARNING") && resumed.stderr.contains("stood behind the end"),
        "{}",
        resumed.stderr
    );
    let rows = sandbox.rows();
    let why = "suspect[row_behind_noted_end]";
    let again = told(&rows[4..], ["trial_index", "success", "grade"]);
    let plain =
        |index: &str, grade: &str| [index.to_owned(), "false".to_owned(), format!("{grade:?}")];
    // What the run itself had said stays, and what only somebody else said is worth nothing.
    assert_eq!(again, [plain("1", "fail"), plain("7", "not_graded")]);
    assert!(
        rows[4..].iter().all(|row| row["integrity"] == why),
        "{rows:#?}"
    );
}

#[test]
fn rows_of_an_ended_run_that_was_edited_are_told_again_and_nobody_is_said_to_have_died() {
    let sandbox = meddler(":");
    sandbox.proctor(&["run", "--quiet"]).expect_code(0);
    let journal = sandbox.run_dir().join("runs.jsonl");
    let text = fs::read_to_string(&journal).expect("read the journal");
    let edited = text.replacen("\"success\":false", "\"success\":true", 1);
    fs::write(&journal, edited).expect("write the journal");
    let run = sandbox.run_dir().display().to_string();
    let resumed = sandbox.proctor(&["run", "--quiet", "--resume", &run]);
    let told =
        "2 row(s) stand in the journal of a run that had ended, of which noted rows are gone";
    assert!(resumed.stderr.contains(told), "{}", resumed.stderr);
    let rows = sandbox.rows();
    assert_eq!(rows.len(), 4, "{rows:#?}");
    for row in &rows[2..] {
        assert_eq!(row["integrity"], "suspect[noted_rows_gone]", "{row:#}");
        assert!(!row["notes"].to_string().contains("harness"), "{row:#}");
    }
    // A further start tells nothing again.
    sandbox.proctor(&["run", "--quiet", "--resume", &run]);
    assert_eq!(sandbox.rows().len(), 4);
}

/// A run of two trials in the usual level, whose graders fail the work; the row of its last trial is cut out afterwards.
fn cut_run() -> Sandbox {
    let sandbox = Sandbox::new()
        .agent("fake", "claude_code_cli", CLAUDE_DONE)
        .set("trials_per_cell", "2");
    sandbox.proctor(&["run", "--quiet"]).expect_code(0);
    let journal = sandbox.run_dir().join("runs.jsonl");
    let text = fs::read_to_string(&journal).expect("read the journal");
    let first = text.lines().next().expect("a row");
    fs::write(&journal, format!("{first}\n")).expect("write the journal");
    sandbox
}

#[test]
fn a_resumed_run_whose_noted_rows_were_gone_tells_of_it_for_good() {
    let sandbox = cut_run();
    let run = sandbox.run_dir().display().to_string();
    let verify = ["verify", "--run", &run];
    sandbox.proctor(&verify).expect_code(1);
    let resumed = sandbox
        .proctor(&["run", "--quiet", "--resume", &run])
        .expect_code(0);
    assert!(
        resumed.stderr.contains("gone or changed"),
        "{}",
        resumed.stderr
    );
    let rows = sandbox.rows();
    let again = told_plainly(&rows[1..]);
    assert_eq!(again, [row_of(1, "suspect[noted_rows_gone]")], "{rows:#?}");
    let told = "2 rows had been noted when the run was resumed at";
    for _ in 0..2 {
        let verified = sandbox.proctor(&verify).expect_code(1);
        assert_eq!(
            verified.stdout.matches(told).count(),
            1,
            "{}",
            verified.stdout
        );
        // A further start finds nothing new.
        sandbox
            .proctor(&["run", "--quiet", "--resume", &run])
            .expect_code(0);
    }
}

#[test]
fn marks_that_were_changed_after_their_trial_was_sealed_are_worth_no_grade() {
    let sandbox = cut_run();
    let run = sandbox.run_dir();
    let row = sandbox.row();
    let name = row["run_id"]
        .as_str()
        .expect("an id")
        .replace("-trial-000", "-trial-001");
    let last = run.join("trials").join(name);
    let stages = last.join("stages.jsonl");
    let text = fs::read_to_string(&stages).expect("read the marks");
    let forged = text
        .replace("\"grade\":\"fail\"", "\"grade\":\"pass\"")
        .replace("\"success\":false", "\"success\":true");
    assert_ne!(forged, text);
    fs::write(&stages, forged).expect("write the marks");
    let folder = run.display().to_string();
    sandbox
        .proctor(&["run", "--quiet", "--resume", &folder])
        .expect_code(0);
    let rows = sandbox.rows();
    let suspect = "suspect[marks_changed_since_sealed;noted_rows_gone]";
    assert_eq!(told_plainly(&rows[1..]), [row_of(1, suspect)], "{rows:#?}");
}
