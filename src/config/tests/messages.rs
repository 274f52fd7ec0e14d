//! What a person is told: one table of wrong files and the words for them.

use super::{CONFIG, TASKS, headlines, load_texts};

/// A config with `lines` added at its end.
fn with(lines: &str) -> String {
    format!("{CONFIG}{lines}")
}

/// A config whose only agent is `agent`.
fn of_agent(agent: &str) -> String {
    format!("project: {{repo_path: .}}\nagents:\n  - {agent}\n")
}

#[track_caller]
fn check_config(config: &str, expected: &[&str]) {
    let told = headlines(&load_texts(config, TASKS));
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("config.yaml:{line}"))
        .collect();
    assert_eq!(told, expected, "in\n{config}");
}

#[track_caller]
fn check_tasks(tasks: &str, expected: &[&str]) {
    let told = headlines(&load_texts(CONFIG, tasks));
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("tasks.yaml:{line}"))
        .collect();
    assert_eq!(told, expected, "in\n{tasks}");
}

#[test]
fn the_least_suite_loads_in_silence() {
    check_config(CONFIG, &[]);
    check_tasks(
        "tasks:\n  - {id: t, prompt: x, graders: [ios_launch_check]}\n",
        &[],
    );
}

#[test]
fn a_problem_is_told_with_its_place_key_words_and_hint() {
    let config = of_agent("{id: a, kind: codex, command: [codex, '{PROMPT}']}");
    let problems = load_texts(&config, TASKS).expect_err("an unknown kind");
    assert_eq!(
        problems.to_string(),
        "/suite/config.yaml:3:19: agents[0].kind: unknown kind \"codex\" (did you mean \"codex_cli\"?)\n    \
         hint: known: codex_cli, claude_code_cli, command, replay"
    );
}

#[test]
fn all_problems_of_both_files_are_told_at_once_in_order() {
    let result = load_texts(
        &with("suite:\n  jobs: 0\n  timeout_sec: soon\n"),
        "- {id: t, prompt: ''}\n- 7\n",
    );
    assert_eq!(
        headlines(&result),
        [
            "config.yaml:5:9: suite.jobs: must be between 1 and 64, not the number 0",
            "config.yaml:6:16: suite.timeout_sec: must be a number of seconds, not the text \"soon\"",
            "tasks.yaml:1:3: warning: tasks[0].graders: there are none",
            "tasks.yaml:1:19: tasks[0].prompt: must not be blank",
            "tasks.yaml:2:3: tasks[1]: must be a mapping, not the number 7",
        ]
    );
}

#[test]
fn keys_are_known_given_and_not_null() {
    check_config(
        &with("suit: {}\n"),
        &["4:1: suit: unknown key (did you mean \"suite\"?)"],
    );
    check_config(&with("zzz: 1\n"), &["4:1: zzz: unknown key"]);
    check_config(&with("x-mine: &a {b: 1}\n"), &[]);
    check_config(
        "agents: null\n",
        &[
            "1:1: project: is missing",
            "1:9: agents: must be a list, not null",
        ],
    );
    check_config(
        "project: {repo_path: .}\nagents: []\n",
        &["2:9: agents: must not be empty"],
    );
    check_config("[1]\n", &["1:1: must be a mapping, not a list"]);
    check_config(&with("suite:\nmcp: null\nscenarios:\n"), &[]);
    check_tasks("tasks: null\n", &["1:8: tasks: must be a list, not null"]);
    check_tasks("[]\n", &["1:1: tasks: must not be empty"]);
    check_tasks("x: 1\n", &["1:1: x: unknown key", "1:1: tasks: is missing"]);
}

#[test]
fn limits_are_in_range() {
    for (value, shown) in [
        ("0", "the number 0"),
        ("-5", "the number -5"),
        (".nan", "the number .nan"),
        (".inf", "the number .inf"),
        ("2592001", "the number 2592001"),
        ("1e300", "the number 1e300"),
    ] {
        for key in [
            "timeout_sec",
            "stall_timeout_sec",
            "setup_timeout_sec",
            "grader_timeout_sec",
        ] {
            let line = format!(
                "5:{}: suite.{key}: must be between 0.001 and 2592000 seconds, not {shown}",
                key.len() + 5
            );
            check_config(&with(&format!("suite:\n  {key}: {value}\n")), &[&line]);
        }
    }
    for (line, expected) in [
        (
            "trials_per_cell: 0",
            "20: suite.trials_per_cell: must be between 1 and 100000, not the number 0",
        ),
        (
            "trials_per_cell: 2.5",
            "20: suite.trials_per_cell: must be a whole number, not the number 2.5",
        ),
        (
            "trials_per_cell: 2.0",
            "20: suite.trials_per_cell: must be a whole number written without a point, not the number 2.0",
        ),
        (
            "trials_per_cell: '2'",
            "20: suite.trials_per_cell: must be a whole number, not the text \"2\"",
        ),
        (
            "jobs: 65",
            "9: suite.jobs: must be between 1 and 64, not the number 65",
        ),
        (
            "random_seed: -1",
            "16: suite.random_seed: must be between 0 and 18446744073709551615, not the number -1",
        ),
        (
            "random_seed: 18446744073709551616",
            "16: suite.random_seed: must be between 0 and 18446744073709551615, not the number 18446744073709551616",
        ),
        (
            "linger_sec: 3601",
            "15: suite.linger_sec: must be between 0 and 3600 seconds, not the number 3601",
        ),
        (
            "keep_workdirs: 'true'",
            "18: suite.keep_workdirs: must be true or false, not the text \"true\"",
        ),
        (
            "keep_workdirs: 1",
            "18: suite.keep_workdirs: must be true or false, not the number 1",
        ),
        (
            "plan_mode: rando",
            "14: suite.plan_mode: unknown plan_mode \"rando\" (did you mean \"random\"?)",
        ),
        (
            "workspace: none",
            "14: suite.workspace: unknown workspace \"none\"",
        ),
        (
            "name: 5",
            "9: suite.name: must be text that is not blank, not the number 5",
        ),
        (
            "shims: [bin/x]",
            "11: suite.shims[0]: \"bin/x\" is no program's name",
        ),
        (
            "env_pass: [A=B]",
            "14: suite.env_pass[0]: \"A=B\" cannot name an environment variable",
        ),
        (
            "post_run_report_path: ../x",
            "25: suite.post_run_report_path: \"../x\" may lead out of its folder",
        ),
    ] {
        check_config(
            &with(&format!("suite:\n  {line}\n")),
            &[&format!("5:{expected}")],
        );
    }
}

#[test]
fn values_of_the_environment_are_text_beyond_doubt() {
    check_config(
        &with(
            "suite:\n  env: {A: null, B: 1.10, C: 5, D: true, 'E=': x, F: no, G: 1.5, H: 0x10, I: [1]}\n",
        ),
        &[
            "5:12: suite.env.A: must be text, not null",
            "5:21: suite.env.B: the number 1.10 may be read in more than one way",
            "5:42: suite.env.\"E=\": \"E=\" cannot name an environment variable",
            "5:69: suite.env.H: the number 0x10 may be read in more than one way",
            "5:78: suite.env.I: must be text or a number, not a list",
        ],
    );
}

#[test]
fn ids_are_text_fit_for_paths_and_given_once() {
    for (id, expected) in [
        ("1.10", "must be an id, not the number 1.10"),
        ("7", "must be an id, not the number 7"),
        ("true", "must be an id, not the boolean true"),
        (
            "../x",
            "the id \"../x\" must start with a letter or a digit",
        ),
        (
            "a/b",
            "the id \"a/b\" may hold only ASCII letters, digits, '.', '_' and '-'",
        ),
        (
            "'a b'",
            "the id \"a b\" may hold only ASCII letters, digits, '.', '_' and '-'",
        ),
        ("con", "the id \"con\" is a reserved device name"),
        ("''", "the id \"\" is empty"),
        ("baseline", "the id \"baseline\" is kept for baseline runs"),
    ] {
        let tasks = format!("- {{id: {id}, prompt: x, graders: [ios_install_check]}}\n");
        check_tasks(&tasks, &[&format!("1:8: tasks[0].id: {expected}")]);
    }
    let suite = load_texts(CONFIG, "- {id: no, prompt: x}\n").expect("`no` is text");
    assert_eq!(suite.tasks[0].id.as_str(), "no");
    let task = |id: &str| format!("- {{id: {id}, prompt: x, graders: [ios_install_check]}}\n");
    check_tasks(
        &(task("one") + &task("One")),
        &[
            "2:8: tasks[1].id: the task \"One\" is given twice, letter case aside, first at line 1 column 8",
        ],
    );
    let agent = "  - {id: a, kind: command, command: [run, '{PROMPT}']}\n";
    check_config(
        &with(agent),
        &["4:10: agents[1].id: the agent \"a\" is given twice, first at line 3 column 10"],
    );
}

#[test]
fn ids_that_lead_to_one_folder_are_seen() {
    let config = with("scenarios: [{id: x-t}]\n");
    let tasks = "- {id: t, prompt: x, graders: [ios_install_check]}\n- {id: t-t, prompt: x, graders: [ios_install_check]}\n";
    let config = config.replace("x-t}", "x-t}, {id: x}");
    let told = headlines(&load_texts(&config, tasks));
    assert_eq!(
        told,
        ["config.yaml: two cells would share the folder name a-x-t-t"]
    );
}

#[test]
fn a_command_can_be_started_and_tells_the_agent_its_task() {
    for (agent, expected) in [
        (
            "{id: a, kind: command}",
            vec!["3:5: agents[0].command: is missing"],
        ),
        (
            "{id: a, kind: command, command: []}",
            vec!["3:37: agents[0].command: must not be empty"],
        ),
        (
            "{id: a, kind: command, command: codex exec}",
            vec!["3:37: agents[0].command: must be a list of words, not the text \"codex exec\""],
        ),
        (
            "{id: a, kind: command, command: [run]}",
            vec![
                "3:37: agents[0].command: no token holds {PROMPT}, so the agent would not be told its task",
            ],
        ),
        (
            "{id: a, kind: command, command: [run], prompt_via: stdin}",
            vec![],
        ),
        (
            "{id: a, kind: command, command: [run, 'x={PROMPT}']}",
            vec![],
        ),
        (
            "{id: a, kind: command, command: [run, '{PROMPT}', 'x{EXTRA_ARGS}']}",
            vec!["3:55: agents[0].command[2]: {EXTRA_ARGS} stands inside a larger token"],
        ),
        (
            "{id: a, kind: command, command: [run, '{PROMPT}', '{WORKDIRS}']}",
            vec![
                "3:55: agents[0].command[2]: {WORKDIRS} is no placeholder and is passed as it is (did you mean \"{WORKDIR}\"?)",
            ],
        ),
        (
            "{id: a, kind: command, command: ['{PROMPT}']}",
            vec!["3:37: agents[0].command[0]: must be the program to start"],
        ),
        (
            "{id: a, kind: codex_cli, command: [codex, '{PROMPT}']}",
            vec![
                "3:39: agents[0].command: no token is {EXTRA_ARGS}, so scenarios cannot switch MCP on or off (add \"{EXTRA_ARGS}\" as a token among the options)",
            ],
        ),
        (
            "{id: a, kind: replay}",
            vec![
                "3:5: agents[0].cassettes: is missing",
                "3:5: agents[0].plays: is missing",
            ],
        ),
        (
            "{id: a, kind: replay, cassettes: c, plays: replay}",
            vec!["3:48: agents[0].plays: unknown plays \"replay\""],
        ),
        (
            "{id: a, kind: command, command: [run, '{PROMPT}'], pace: 1}",
            vec!["3:62: agents[0].pace: belongs to kind replay alone"],
        ),
        (
            "{id: a, kind: command, command: [run, \"{PROMPT}\\0\"]}",
            vec!["3:43: agents[0].command[1]: holds a NUL character"],
        ),
    ] {
        check_config(&of_agent(agent), &expected);
    }
}

#[test]
fn prices_are_finite_and_per_token() {
    for (pricing, expected) in [
        (
            "{input_per_token: -1, output_per_token: 0}",
            "must be a finite number of at least 0, not the number -1",
        ),
        (
            "{input_per_token: .nan, output_per_token: 0}",
            "must be a finite number of at least 0, not the number .nan",
        ),
        ("{input_per_token: 1e-6}", ""),
        (
            "{input_per_token: 3, output_per_token: 0}",
            "is a very high price for one token",
        ),
        ("{}", "fine"),
        ("null", "fine"),
    ] {
        let config = of_agent(&format!(
            "{{id: a, kind: command, command: [x, '{{PROMPT}}'], pricing: {pricing}}}"
        ));
        let told = headlines(&load_texts(&config, TASKS));
        match expected {
            "fine" => assert_eq!(told, [""; 0]),
            "" => assert_eq!(
                told,
                ["config.yaml:3:63: agents[0].pricing.output_per_token: is missing"]
            ),
            expected => assert!(told.len() == 1 && told[0].contains(expected), "{told:?}"),
        }
    }
}

#[test]
fn a_project_has_one_source() {
    let agents = "agents: [{id: a, kind: command, command: [x, '{PROMPT}']}]\n";
    check_config(
        &format!("{agents}project: {{repo_path: a, template: b}}\n"),
        &["2:35: project.template: contradicts project.repo_path"],
    );
    check_config(
        &format!("{agents}project: {{repo_path: null}}\n"),
        &["2:10: project.repo_path: is missing"],
    );
    check_config(
        &format!("{agents}project: {{repo_path: a, template: null}}\n"),
        &[],
    );
    check_config(
        &format!("{agents}project: {{repo_path: a, build_params: {{shceme: x, deep: [1]}}}}\n"),
        &[
            "2:40: warning: project.build_params.shceme: is kept as a key of its own (did you mean \"scheme\"?)",
            "2:57: project.build_params.deep: must be text or a number, not a list",
        ],
    );
}

#[test]
fn graders_are_known_and_have_what_they_need() {
    for (grader, expected) in [
        (
            "ios_tests_pass",
            "1:32: tasks[0].graders[0]: unknown grader \"ios_tests_pass\" (did you mean \"ios_test_pass\"?)",
        ),
        (
            "{type: comand}",
            "1:39: tasks[0].graders[0]: unknown grader \"comand\" (did you mean \"command\"?)",
        ),
        ("{path: x}", "1:32: tasks[0].graders[0].type: is missing"),
        (
            "5",
            "1:32: tasks[0].graders[0]: must be a name, or a mapping with `type`, not the number 5",
        ),
        (
            "git_diff_forbidden",
            "1:32: tasks[0].graders[0].forbidden_globs: is missing",
        ),
        (
            "{type: git_diff_forbidden, forbidden_globs: []}",
            "1:76: tasks[0].graders[0].forbidden_globs: must not be empty",
        ),
        (
            "{type: git_diff_forbidden, forbidden_globs: ['a[']}",
            "1:77: tasks[0].graders[0].forbidden_globs[0]: \"a[\" is no pattern: unclosed character class; missing ']'",
        ),
        ("command", "1:32: tasks[0].graders[0].argv: is missing"),
        (
            "{type: command, argv: []}",
            "1:54: tasks[0].graders[0].argv: must not be empty",
        ),
        (
            "{type: command, argv: [a], command: b}",
            "1:68: tasks[0].graders[0].command: contradicts argv",
        ),
        (
            "{type: command, argv: [a], expected_exit: 256}",
            "1:74: tasks[0].graders[0].expected_exit: must be between 0 and 255, not the number 256",
        ),
        (
            "{type: command, argv: [a], cwd: /etc}",
            "1:64: tasks[0].graders[0].cwd: \"/etc\" is not relative",
        ),
        (
            "{type: screenshot_exists, path: ../x.png}",
            "1:64: tasks[0].graders[0].path: \"../x.png\" may lead out of its folder",
        ),
        (
            "{type: screenshot_compare, path: x, reference_path: y, threshold: 65}",
            "1:98: tasks[0].graders[0].threshold: must be between 0 and 64, not the number 65",
        ),
        (
            "{type: ios_install_check, path: x}",
            "1:58: tasks[0].graders[0].path: unknown key",
        ),
    ] {
        let tasks = format!("- {{id: t, prompt: x, graders: [{grader}]}}\n");
        check_tasks(&tasks, &[expected]);
    }
}

#[test]
fn setup_commands_are_lists_or_lines() {
    check_tasks(
        "- {id: t, prompt: x, graders: [ios_install_check], setup_commands: [[], 'ls -l', [a, null], 5]}\n",
        &[
            "1:69: tasks[0].setup_commands[0]: must not be empty",
            "1:86: tasks[0].setup_commands[2][1]: must be text, not null",
            "1:93: tasks[0].setup_commands[3]: must be text that is not blank, not the number 5",
        ],
    );
}
