//! opencode's word of its settings, in answers as it gives them.

use serde_json::json;

use super::*;

/// The servers that opencode is given: one that is on, and one that is switched off.
const CONTENT: &str = r#"{"mcp":{"my lab":{"type":"local","command":["x","{env:HOME}"],"environment":{"A_KEY":"1","B":"2"},"timeout":5000.0,"enabled":true},"off":{"enabled":false}}}"#;
const USUAL_WORDS: &str = "opencode run -- do";

fn question(words: &str, content: &str) -> InForce {
    InForce::of(&Invocation {
        argv: words.split(' ').map(OsString::from).collect(),
        env: vec![(OPENCODE_CONTENT.to_owned(), content.into())],
        ..Invocation::default()
    })
}

fn said(stdout: &Value) -> Answer {
    Answer {
        succeeded: true,
        stdout: stdout.to_string().into_bytes(),
        ..Answer::default()
    }
}

/// What comes of these answers, and what was asked on the way.
fn comes_to(mut question: InForce, answers: &[Answer]) -> (Asked, Vec<String>) {
    let (mut asked, mut all) = (question.first(), Vec::new());
    let mut answers = answers.iter();
    while let Asked::Further(words) = &asked {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        all.push(words.join(" "));
        let Some(answer) = answers.next() else { break };
        asked = question.heard(answer);
    }
    (asked, all)
}

/// The settings as opencode tells them, with secrets hidden and variables filled in.
fn in_force() -> Value {
    json!({"mcp": {
        "my lab": {"type": "local", "command": ["x", "/home/me"], "environment": {"B": "2", "A_KEY": "***"}, "timeout": 5000, "enabled": true},
        "off": {"enabled": false},
        "other": {"type": "local", "command": ["y"], "enabled": false},
    }})
}

/// Whether it is refused with these words, or fits where there are none.
fn is_so(asked: &Asked, expected: &str) -> bool {
    match asked {
        Asked::Refused(why) => !expected.is_empty() && why.contains(expected),
        Asked::Foreign(servers) => servers
            .iter()
            .eq(expected.strip_prefix("foreign: ").as_ref()),
        Asked::Fit => expected.is_empty(),
        Asked::Further(_) | Asked::Servers(_) | Asked::Untold(_) => false,
    }
}

#[test]
fn servers_must_be_those_that_opencode_was_given_and_no_others() {
    let agent = said(&json!({"mode": "primary", "permission": []}));
    let with = |at: &str, value: Value| {
        let mut settings = in_force();
        *settings.pointer_mut(at).expect("a place") = value;
        settings
    };
    let on = json!({"type": "remote", "url": "http://x"});
    let added = json!({"B": "2", "A_KEY": "***", "C": "3"});
    for (content, settings, expected) in [
        ("{}", json!({}), ""),
        ("{}", json!({"mcp": {"evil": {"enabled": false}}}), ""),
        ("{}", json!({"mcp": {"evil": on}}), "foreign: evil"),
        ("{}", in_force(), "foreign: my lab"),
        (
            CONTENT,
            with("/mcp/off", on.clone()),
            "server off, which the",
        ),
        (CONTENT, in_force(), ""),
        (
            CONTENT,
            with("/mcp/other/enabled", json!(true)),
            "foreign: other",
        ),
        (CONTENT, json!({}), "change mcp.my lab;"),
        (
            CONTENT,
            with("/mcp/my lab/enabled", json!(false)),
            "change mcp.my lab.enabled;",
        ),
        (
            CONTENT,
            with("/mcp/my lab/command", json!(["x"])),
            "change mcp.my lab.command;",
        ),
        (
            CONTENT,
            with("/mcp/my lab/command/0", json!("y")),
            "change mcp.my lab.command;",
        ),
        (
            CONTENT,
            with("/mcp/my lab/timeout", json!(1)),
            "change mcp.my lab.timeout;",
        ),
        (
            CONTENT,
            with("/mcp/my lab/environment", added),
            "change mcp.my lab.environment.C;",
        ),
    ] {
        let answers = [said(&settings), agent.clone()];
        let (asked, _) = comes_to(question(USUAL_WORDS, content), &answers);
        assert!(is_so(&asked, expected), "{settings}: {asked:?}");
    }
}

#[test]
fn rules_of_the_agent_that_will_work_must_leave_it_the_tools_of_a_server() {
    let all = ["*", "allow", "*"];
    for (rules, expected) in [
        (&[][..], ""),
        (
            &[all, ["my_lab_echo", "deny", "*"]],
            "permission.my_lab_echo: deny",
        ),
        (&[all, ["*_echo", "deny", "*"]], "permission.*_echo: deny"),
        // The last rule counts, in their order.
        (&[["*", "deny", "*"], ["my_lab_*", "allow", "*"]], ""),
        (
            &[["my_lab_*", "allow", "*"], ["*", "deny", "*"]],
            "permission.*: deny",
        ),
        (
            &[["my_lab_*", "deny", "*"], ["my_lab_a", "allow", "*"]],
            "permission.my_lab_*",
        ),
        // Tools of servers are asked for with `*`, and not with the names of files.
        (&[all, ["my_lab_*", "deny", "*.env"]], ""),
        (&[all, ["bash", "deny", "*"], ["mylab_*", "deny", "*"]], ""),
    ] {
        let rules = rules.iter().map(|[tools, action, pattern]| {
            json!({"permission": tools, "action": action, "pattern": pattern})
        });
        let rules: Vec<Value> = rules.collect();
        let agent = json!({"mode": "primary", "permission": rules});
        let answers = [said(&in_force()), said(&agent)];
        let (asked, _) = comes_to(question(USUAL_WORDS, CONTENT), &answers);
        assert!(is_so(&asked, expected), "{agent}: {asked:?}");
    }
}

#[test]
fn rules_that_the_suite_itself_puts_over_all_others_are_its_own_doing() {
    let denies = json!({"permission": "my_lab_echo", "action": "deny", "pattern": "*"});
    let agent = json!({"mode": "primary", "permission": [denies]});
    let answers = [said(&in_force()), said(&agent)];
    for (own, expected) in [
        (r#""permission":{"my_lab_echo":"deny"}"#, ""),
        (r#""agent":{"build":{"tools":{"my_lab_echo":false}}}"#, ""),
        (
            r#""agent":{"plan":{"tools":{"my_lab_echo":false}}}"#,
            "permission.my_lab_echo",
        ),
    ] {
        let content = CONTENT.replacen('{', &format!("{{{own},"), 1);
        let (asked, _) = comes_to(question(USUAL_WORDS, &content), &answers);
        assert!(is_so(&asked, expected), "{own}: {asked:?}");
    }
}

#[test]
fn a_rule_for_a_tool_of_opencodes_own_takes_none_of_a_server_whose_name_begins_so() {
    let content = CONTENT.replace("my lab", "plan");
    let settings: Value = serde_json::from_str(&content).expect("JSON");
    let rule = json!({"permission": "plan_enter", "action": "deny", "pattern": "*"});
    let agent = json!({"mode": "primary", "permission": [rule]});
    let answers = [said(&settings), said(&agent)];
    let (asked, _) = comes_to(question(USUAL_WORDS, &content), &answers);
    assert_eq!(asked, Asked::Fit);
}

#[test]
fn the_agent_is_asked_for_that_the_command_or_else_the_settings_name() {
    let rev = json!({"default_agent": "rev", "mcp": in_force()["mcp"]});
    let alone = json!({"default_agent": "rev"});
    for (words, content, settings, expected) in [
        (
            "node oc --pure run --agent a -- --agent b",
            CONTENT,
            &rev,
            "node oc --pure debug agent a",
        ),
        (
            "opencode run --agent=a x",
            "{}",
            &alone,
            "opencode debug agent a",
        ),
        ("opencode run x", CONTENT, &rev, "opencode debug agent rev"),
        ("opencode run x", "{}", &alone, "opencode debug agent rev"),
        (
            "opencode run x",
            CONTENT,
            &in_force(),
            "opencode debug agent build",
        ),
    ] {
        let (_, all) = comes_to(question(words, content), &[said(settings)]);
        assert!(all[0].ends_with("debug config"), "{all:?}");
        assert_eq!(all[1..], [expected], "{words}");
    }
    let (asked, all) = comes_to(question(USUAL_WORDS, "{}"), &[said(&json!({}))]);
    assert_eq!((asked, all.len()), (Asked::Fit, 1));
}

#[test]
fn an_agent_in_whose_place_another_one_would_work_is_refused() {
    let ask = |answer: Answer| {
        let question = question("opencode run --agent nope -- do", "{}");
        comes_to(question, &[said(&json!({})), answer]).0
    };
    let missing = Answer {
        stderr: b"Agent nope not found, run 'opencode agent list'".to_vec(),
        ..Answer::default()
    };
    for (answer, expected) in [
        (missing, "has no agent nope"),
        (
            said(&json!({"mode": "subagent", "permission": []})),
            "nope of opencode is a sub-agent",
        ),
        (said(&json!({"mode": "all", "permission": []})), ""),
    ] {
        let asked = ask(answer);
        assert!(is_so(&asked, expected), "{asked:?}");
    }
}

#[test]
fn an_agent_that_a_jail_may_hide_is_told_with_what_shows_it() {
    let missing = Answer {
        stderr: b"Agent docs not found, run 'opencode agent list'".to_vec(),
        ..Answer::default()
    };
    let answers = [said(&json!({"default_agent": "docs"})), missing];
    let (asked, _) = comes_to(question(USUAL_WORDS, "{}"), &answers);
    for part in [
        "has no agent docs",
        "~/.config/opencode/agents",
        "suite.lend",
    ] {
        assert!(is_so(&asked, part), "{asked:?}");
    }
}

#[test]
fn what_opencode_does_not_tell_is_not_guessed() {
    let failed = Answer {
        succeeded: false,
        ended: "exit code 3".to_owned(),
        ..said(&json!({}))
    };
    for (words, answers, expected) in [
        (USUAL_WORDS, vec![failed.clone()], "exit code 3"),
        (USUAL_WORDS, vec![said(&json!("no settings"))], "debug"),
        (USUAL_WORDS, vec![said(&in_force()), failed], "exit code 3"),
        (
            USUAL_WORDS,
            vec![said(&in_force()), said(&json!({}))],
            "told no permissions",
        ),
        ("mine do", Vec::new(), "no word `run`"),
        ("opencode run --dir /x -- do", Vec::new(), "--dir"),
        ("opencode run --attach=http://x do", Vec::new(), "--attach"),
    ] {
        let (asked, _) = comes_to(question(words, CONTENT), &answers);
        let told = matches!(&asked, Asked::Untold(why) if why.contains(expected));
        assert!(told, "{words}: {asked:?}");
    }
}
