//! Manifests and reports that follow a run.

use std::fs;

use proctor_record::{ROW_SCHEMA, Row, RunDir};
use proctor_report::post_run::{
    failure_analysis_prompt, manifests, tool_error_prompt, write_manifests,
};

fn row(index: u32, success: bool, errors: u64) -> Row {
    let run_id = format!("a-s-t-trial-{index:03}");
    Row {
        tool_error_log_path: (errors > 0).then(|| format!("trials/{run_id}/tool_errors.jsonl")),
        agent_id: "a".to_owned(),
        scenario: "s".to_owned(),
        task_id: "t".to_owned(),
        success,
        failure_reason: (!success).then(|| "forbidden_modified:a|b".to_owned()),
        tool_error_total: Some(errors),
        tool_error_mcp: Some(0),
        schema: ROW_SCHEMA,
        trial_index: Some(index),
        attempt: Some(0),
        run_id,
        ..Row::default()
    }
}

fn run(scratch: &tempfile::TempDir) -> RunDir {
    let run = RunDir::create(scratch.path(), "run").expect("create a run directory");
    let baseline = Row {
        baseline_run: true,
        ..row(9, false, 0)
    };
    let rows = [
        row(0, true, 0),
        row(1, false, 0),
        row(2, true, 3),
        row(3, true, 1),
        baseline,
    ];
    let lines: Vec<_> = rows
        .iter()
        .map(|row| serde_json::to_string(row).expect("a row is JSON") + "\n")
        .collect();
    fs::write(run.runs_jsonl(), lines.concat()).expect("write below the run directory");
    let trial = run.trials().join("a-s-t-trial-002");
    fs::create_dir_all(&trial).expect("write below the run directory");
    let error = |payload: &str, kind: &str, tool: &str| {
        serde_json::json!({"tool_name": tool, "tool_kind": kind, "payload": payload}).to_string()
            + "\n"
    };
    let log = [
        error("Missing required session defaults", "mcp", "mcp__x__build"),
        error("Sibling tool call errored", "non_mcp", "Bash"),
        error("no such file | <img src=x>\nmore", "non_mcp", "Bash"),
    ];
    fs::write(trial.join("tool_errors.jsonl"), log.concat())
        .expect("write below the run directory");
    run
}

#[test]
fn the_tool_error_manifest_tells_classes_tools_and_where_to_look() {
    let scratch = tempfile::tempdir().unwrap();
    let run = run(&scratch);
    let manifest = manifests(&run, &run.tool_error_report())
        .unwrap()
        .tool_errors;
    assert_eq!(
        (
            manifest.trials,
            manifest.trials_with_errors,
            manifest.errors
        ),
        (4, 2, 4)
    );
    assert_eq!(
        manifest.by_class.values().copied().collect::<Vec<_>>(),
        [1, 1, 1],
        "{:?}",
        manifest.by_class
    );
    assert!(
        manifest
            .by_class
            .keys()
            .all(|class| manifest.classes.contains_key(class.as_str()))
    );
    assert_eq!(manifest.by_tool["Bash"], 2);
    assert_eq!(manifest.report_path, "tool_error_report.md");
    let listed: Vec<_> = manifest
        .trials_listed
        .iter()
        .map(|trial| trial.run_id.as_str())
        .collect();
    assert_eq!(listed, ["a-s-t-trial-002", "a-s-t-trial-003"]);
    let report = manifest.to_markdown();
    assert!(
        report.contains("4 errors, 0 of them of MCP tools, in 2 of 4 trials"),
        "{report}"
    );
    assert!(
        report.contains("| Bash | 1 | no such file \\| &lt;img src=x&gt; |"),
        "{report}"
    );
}

#[test]
fn the_failure_manifest_lists_failures_beside_a_success_of_their_cell() {
    let scratch = tempfile::tempdir().unwrap();
    let run = run(&scratch);
    let manifest = manifests(&run, &run.tool_error_report()).unwrap().failures;
    assert_eq!(
        (manifest.trials, manifest.failures, manifest.trials_left_out),
        (4, 1, 0)
    );
    assert_eq!(manifest.by_outcome["forbidden_modified"], 1);
    assert_eq!(manifest.successes_to_compare["a/s/t"], "a-s-t-trial-000");
    assert!(manifest.to_markdown().contains(
        "| a-s-t-trial-001 | forbidden_modified | forbidden_modified:a\\|b | a | s | t |"
    ));
}

#[test]
fn manifests_are_written_under_the_names_of_the_contract_and_the_prompts_name_them() {
    let scratch = tempfile::tempdir().unwrap();
    let run = run(&scratch);
    write_manifests(&run, &manifests(&run, &run.tool_error_report()).unwrap()).unwrap();
    for (name, prompt) in [
        (
            "tool_error_report_manifest.json",
            tool_error_prompt("tool_error_report_manifest.json", "tool_error_report.md"),
        ),
        (
            "failure_analysis_manifest.json",
            failure_analysis_prompt(
                "failure_analysis_manifest.json",
                "failure_analysis_report.md",
            ),
        ),
    ] {
        let text = fs::read_to_string(run.root().join(name)).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(manifest["version"], 1);
        assert!(prompt.contains(&format!("`{name}`")), "{prompt}");
        assert!(
            prompt.contains(&format!("`{}`", manifest["report_path"].as_str().unwrap())),
            "{prompt}"
        );
    }
}
