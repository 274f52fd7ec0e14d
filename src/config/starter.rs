//! Files to start from: commented, and loadable as they are.

use std::fmt::Write;

use crate::config::AgentKind;

/// A commented config for the agents that were found, each with the program that starts it.
#[must_use]
pub fn starter_config(found_agents: &[(AgentKind, String)]) -> String {
    let mut agents = String::new();
    for (index, (kind, program)) in found_agents.iter().enumerate() {
        let before = &found_agents[..index];
        let same = before.iter().filter(|(other, _)| other == kind).count();
        agents.push_str(&agent(*kind, program, same));
    }
    if agents.is_empty() {
        agents.push_str(NO_AGENT);
    }
    format!("{HEAD}{agents}{TAIL}")
}

/// Commented tasks, with one that works in any project.
#[must_use]
pub fn starter_tasks() -> String {
    TASKS.to_owned()
}

/// The entry of one agent; `same` others of its kind stand before it.
fn agent(kind: AgentKind, program: &str, same: usize) -> String {
    let (id, note, arguments) = match kind {
        AgentKind::Codex => ("codex", UNATTENDED, CODEX_ARGUMENTS),
        AgentKind::ClaudeCode => ("claude", UNATTENDED, CLAUDE_ARGUMENTS),
        AgentKind::Command => ("agent", "", "        \"{PROMPT}\",\n"),
        AgentKind::Replay => return String::new(),
    };
    let suffix = match same {
        0 => String::new(),
        same => format!("-{}", same + 1),
    };
    let kind = kind.as_str();
    let program = yaml_text(program);
    format!(
        "  - id: {id}{suffix}\n    kind: {kind}\n{note}    command:\n      [\n        {program},\n{arguments}      ]\n{PRICING}"
    )
}

/// `text` as a YAML scalar in double quotes.
fn yaml_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='~' => quoted.push(character),
            _ if character.is_alphanumeric() => quoted.push(character),
            _ => {
                write!(quoted, "\\U{:08X}", u32::from(character)).expect("a string takes all text");
            }
        }
    }
    quoted.push('"');
    quoted
}

const HEAD: &str = r#"# What proctor measures: which agents, on what, and how. `proctor doctor` says what is missing.
# For completion in an editor: `proctor schema config > config.schema.json`, and point the editor to that file.

suite:
  output_root: "./runs" # every run gets a folder of its own here
  timeout_sec: 1800 # hard limit of an agent
  stall_timeout_sec: 300 # limit of its silence
  trials_per_cell: 3 # trials of each agent x scenario x task
  run_baselines: true # also measure what starting each agent costs
  random_seed: 1337 # the same seed gives the same order
  # plan_mode: blocked_by_scenario # or random (the default)
  # clean_agent_env: true # keep your own agent settings out of the trials
  # env: # environment of every agent
  #   CI: "1"
  # scenarios: [shell_unprimed, terse] # what runs by default; else all that apply

project:
  repo_path: "." # a folder inside a git repository; relative paths start from this file
  base_ref: "HEAD" # a commit id is better: runs can then be compared
  # build_params: # listed in the prompt by the scenario shell_primed alone
  #   build: "make"
  #   test: "make test"

agents:
"#;

const UNATTENDED: &str =
    "    # It works without asking for permission: run it where nothing can be lost.\n";

const CODEX_ARGUMENTS: &str = r#"        "exec",
        "{EXTRA_ARGS}",
        "--dangerously-bypass-approvals-and-sandbox",
        "--json",
        "--output-last-message",
        "{OUT_JSON}",
        "{PROMPT}",
"#;

const CLAUDE_ARGUMENTS: &str = r#"        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        "--setting-sources",
        "local",
        "--no-session-persistence",
        "--permission-mode",
        "bypassPermissions",
        "{EXTRA_ARGS}",
        "--",
        "{PROMPT}",
"#;

const PRICING: &str = r"    # pricing: # USD per token; needed where the agent does not tell its cost
    #   input_per_token: 0.000003
    #   output_per_token: 0.000015
    #   cache_read_multiplier: 0.1
";

const NO_AGENT: &str = r#"  # No known agent was found on PATH. Any program can be one: {PROMPT} becomes the task.
  - id: my-agent
    kind: command # or codex_cli, claude_code_cli
    command: ["my-agent", "{PROMPT}"]
"#;

const TAIL: &str = r#"
# Scenarios are treatments. shell_unprimed and shell_primed are built in; more can be added:
# scenarios:
#   - id: terse
#     prompt_suffix: "Change as little as possible."
#     # files: [{ from: "AGENTS.md", to: "AGENTS.md" }] # laid into the workspace
#     # mcp_config: "mcp.json" # a file with mcpServers
#     # agent_args: { codex_cli: ["-c", "model_reasoning_effort=high"] }
"#;

const TASKS: &str = r#"# What the agents are asked, and how it is judged. `proctor validate` tries the reference patches.
# For completion in an editor: `proctor schema tasks > tasks.schema.json`, and point the editor to that file.

tasks:
  - id: hello_file
    description: "A first task that works in any project."
    kind: regression # can every agent do it? (capability: can any?)
    prompt: |
      Create a file named HELLO.txt in the current folder. It holds one line: hello

      When the file is there, you are done: exit.
    graders:
      # The first that fails ends the judging. Each is a name, or a mapping with `type` and options.
      - type: command
        argv: ["grep", "-qx", "hello", "HELLO.txt"]
      - type: git_diff_forbidden
        forbidden_globs: ["README*"]
    # setup_commands: # run in the workspace before the agent
    #   - ["git", "apply", "task_assets/failing_test.patch"]
    # reference_patch: "task_assets/hello_file.patch" # solves the task
"#;
