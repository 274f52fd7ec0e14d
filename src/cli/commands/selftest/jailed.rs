//! What only a jail keeps from an agent; at level `none` these are told as not tried.

use serde_json::json;

use super::agents::{DONE, SOLVE};
use super::world::World;
use super::{Held, Tried};
use crate::cli::failure::Outcome;

/// A thing that an agent does in a jail; its script says `reached` where it got through.
struct Escape {
    id: &'static str,
    what: &'static str,
    name: &'static str,
    script: String,
}

/// Tries them in a run of their own, in which they cannot run without a jail.
pub(super) async fn all(world: &World, isolation: &str) -> Outcome<Vec<Tried>> {
    let escapes = escapes(world);
    if isolation != "jail" {
        let why = format!("the level is {isolation}: `proctor doctor` says why not higher");
        let told = escapes.into_iter().map(|escape| Tried {
            id: escape.id,
            what: escape.what,
            held: Held::NotHere(why.clone()),
        });
        return Ok(told.collect());
    }
    let agents: Vec<(&str, String)> = escapes
        .iter()
        .map(|escape| (escape.name, format!("{}\n{SOLVE}\n{DONE}", escape.script)))
        .collect();
    let config = world.suite("jailed", &agents, json!({"isolation": "jail"}))?;
    let said = world
        .proctor(&["run", "--quiet", "--config", &config.to_string_lossy()])
        .await;
    let rows = world.rows("jailed");
    let run = world.run_dir("jailed").unwrap_or_default();
    let written = ["home", "project", "."].map(|folder| world.path(folder).join("written"));
    let written: Vec<_> = written.iter().filter(|file| file.exists()).collect();
    let told = escapes.into_iter().map(|escape| {
        let row = rows.iter().find(|row| row["agent_id"] == escape.name);
        let held = row.map_or_else(
            || Held::No(format!("its trial has no row: {}", said.stderr)),
            |row| {
                let id = row["run_id"].as_str().unwrap_or_default();
                let words = std::fs::read_to_string(run.join("trials").join(id).join("stderr.raw"));
                let mut words = words.unwrap_or_default();
                if escape.name == "writer" && !written.is_empty() {
                    words = format!("reached: {written:?}");
                }
                Held::when(
                    row["isolation"] == "jail" && !words.contains("reached"),
                    || words,
                )
            },
        );
        Tried {
            id: escape.id,
            what: escape.what,
            held,
        }
    });
    Ok(told.collect())
}

fn escapes(world: &World) -> Vec<Escape> {
    // A file that a command line names by its whole path is lent: these are put together from parts.
    let root = format!("r='{}'", world.root().display());
    let harness = std::process::id();
    vec![
        Escape {
            id: "P15",
            what: "an agent that kills everything it sees kills only its own",
            name: "killer",
            script: "(trap '' TERM; kill -TERM -1) 2>/dev/null; sleep 0.3".to_owned(),
        },
        Escape {
            id: "P14",
            what: "an agent does not see proctor among the processes",
            name: "watcher",
            script: format!(
                "[ -e /proc/{harness}/cmdline ] && tr '\\0' ' ' < /proc/{harness}/cmdline | grep -q selftest && echo reached >&2"
            ),
        },
        Escape {
            id: "P11",
            what: "a chain of forks, each in a session of its own, ends with the trial",
            name: "chain",
            script: format!(
                "f='n=$1; [ $n -lt 40 ] || exec sleep {nap}; setsid sh -c \"$0\" \"$0\" $((n + 1)) & exit'; setsid sh -c \"$f\" \"$f\" 0 >/dev/null 2>&1 &\nsleep 0.3",
                nap = world.nap()
            ),
        },
        Escape {
            id: "R09",
            what: "an agent cannot read the suite that it is measured by",
            name: "reader",
            script: format!(
                "{root}; cat \"$r/jailed/tasks.yaml\" >/dev/null 2>&1 && echo reached >&2"
            ),
        },
        Escape {
            id: "G18",
            what: "nor the rows and files of this run and of earlier ones",
            name: "peeper",
            script: format!(
                "{root}; cat \"$r\"/agents/runs/*/runs.jsonl \"$r\"/jailed/runs/*/runs.jsonl 2>/dev/null | grep -q run_id && echo reached >&2"
            ),
        },
        Escape {
            id: "R13",
            what: "nor a secret in the operator's home",
            name: "thief",
            script: format!(
                "{root}; grep -q canary \"$r/home/.secret\" 2>/dev/null && echo reached >&2"
            ),
        },
        Escape {
            id: "G17",
            what: "nor write into it, or into the project under test",
            name: "writer",
            script: format!(
                "{root}; for f in home project .; do echo x 2>/dev/null > \"$r/$f/written\"; done"
            ),
        },
    ]
}
