//! A harness that is killed with SIGKILL in the middle of a run, a torn journal, the run that finishes it, and a forged row.

use std::fs;

use serde_json::{Value, json};

use super::agents::{DONE, SOLVE};
use super::world::{KEY, Said, World};
use super::{Held, NO_PROC, Tried};
use crate::cli::failure::Outcome;
use crate::record::JOURNAL;

/// Starts a run of three trials of which one ends, kills proctor, counts who lives a second later, tears the journal, and
/// finishes the run. The bracket in the pattern keeps a process from finding itself.
const SCRIPT: &str = r#"
cd "$1" || exit 90
"$0" run --quiet --config config.yaml >first.out 2>first.err &
pid=$!
n=0
while [ $n -lt 300 ]; do
    ended=$(cat runs/*/runs.jsonl 2>/dev/null | wc -l)
    going=$(cat runs/*/trials/*/stdout.raw 2>/dev/null | grep -c going)
    [ "$ended" -ge 1 ] && [ "$going" -ge 3 ] && break
    n=$((n + 1)); sleep 0.1
done
[ $n -lt 300 ] || { kill -9 $pid; exit 91; }
kill -9 $pid; wait $pid 2>/dev/null
grep -rlF "$ANTHROPIC_API_KEY" runs > secret
sleep 1
: > alive
for one in /proc/[0-9]*; do
    tr '\0' ' ' < "$one/cmdline" 2>/dev/null | grep -q "^sleep $2" && echo "$one" >> alive
done
run=$(ls -d runs/*)
cp "$run/runs.jsonl" before.jsonl
printf '{"run_id":"torn' >> "$run/runs.jsonl"
SELFTEST_GO=1 "$0" run --config config.yaml --resume "$run" >second.out 2>second.err
echo $? > second.code
"#;

/// All of it.
pub(super) async fn all(world: &World, isolation: &str) -> Outcome<Vec<Tried>> {
    let nap = world.nap();
    let (key, _) = KEY;
    let agent = format!(
        "echo \"my key: ${key}\"; echo \"${key}\" >&2\necho '{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"going\"}}]}}}}'\ncase \"$EVAL_RUN_ID\" in *-000) ;; *) [ \"$SELFTEST_GO\" = 1 ] || sleep {nap};; esac\n{SOLVE}\n{DONE}"
    );
    let further = json!({"trials_per_cell": 3, "timeout_sec": 60, "stall_timeout_sec": 50, "env_pass": ["SELFTEST_GO"]});
    world.suite("crash", &[("worker", agent)], further)?;
    let folder = world.path("crash");
    let pattern = nap.replace('.', "[.]");
    let quoted = [folder.to_string_lossy().into_owned(), pattern];
    let script = format!("set -- {}\n{SCRIPT}", shell_words::join(quoted));
    let said = world.shell(&script).await;
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    if said.code != Some(0) {
        let why = format!(
            "the run to be killed did not come that far (code {:?}): {}{}",
            said.code,
            read("first.err"),
            said.stderr
        );
        let held = Held::No(why);
        return Ok(vec![Tried {
            id: "P13",
            what: "a killed harness",
            held,
        }]);
    }
    let (alive, told, keys) = (read("alive"), read("second.err"), read("secret"));
    let survived = alive.lines().count();
    let processes = match (cfg!(target_os = "linux"), isolation) {
        (false, _) => Held::NotHere(NO_PROC.to_owned()),
        (true, "jail") => Held::when(survived == 0, || {
            format!("{survived} processes lived a second later")
        }),
        (true, _) => Held::when(survived == 0 || told.contains("are still alive"), || {
            format!("{survived} processes lived and the next start did not say so: {told}")
        }),
    };
    let mut tried = vec![
        Tried {
            id: "P13",
            what: "after SIGKILL of proctor its agents are dead, or told at the next start (none)",
            held: processes,
        },
        Tried {
            id: "N03",
            what: "no key stands in what its agents had printed by then",
            held: Held::when(keys.is_empty(), || format!("one stands in {}", keys.trim())),
        },
        Tried {
            id: "D01",
            what: "the killed run is finished: what had ended stays, what was missing runs once",
            held: finished(world, (&read("before.jsonl"), &told)),
        },
        Tried {
            id: "D02",
            what: "the torn last line of its journal is put aside",
            held: torn(world),
        },
    ];
    tried.extend(verified(world).await);
    Ok(tried)
}

fn finished(world: &World, (before, told): (&str, &str)) -> Held {
    let journal = world.run_dir("crash").map(|run| run.join(JOURNAL));
    let text = journal
        .and_then(|path| fs::read_to_string(path).ok())
        .unwrap_or_default();
    let done = successes(&world.rows("crash"));
    if !text.starts_with(before) {
        return Held::No("rows that were there have changed".to_owned());
    }
    Held::when(done == [0, 1, 2], || {
        format!("successes of the trials {done:?}: {told}")
    })
}

/// The trials that succeeded, each as often as a row of it says so.
fn successes(rows: &[Value]) -> Vec<u64> {
    let mut trials: Vec<u64> = rows
        .iter()
        .filter(|row| row["success"] == true)
        .filter_map(|row| row["trial_index"].as_u64())
        .collect();
    trials.sort_unstable();
    trials
}

fn torn(world: &World) -> Held {
    let aside = world
        .run_dir("crash")
        .map(|run| run.join("runs.jsonl.torn"));
    let text = aside
        .and_then(|path| fs::read_to_string(path).ok())
        .unwrap_or_default();
    Held::when(text.contains("{\"run_id\":\"torn"), || {
        format!("runs.jsonl.torn holds {text:?}")
    })
}

/// The run is as it was written, until somebody writes into it.
async fn verified(world: &World) -> Vec<Tried> {
    let Some(run) = world.run_dir("crash") else {
        return Vec::new();
    };
    let words = run.to_string_lossy().into_owned();
    let intact = world.proctor(&["verify", "--run", &words]).await;
    let journal = run.join(JOURNAL);
    let text = fs::read_to_string(&journal).unwrap_or_default();
    let forged = text.replacen("\"success\":true", "\"success\":null", 1);
    let written = fs::write(&journal, &forged).is_ok() && forged != text;
    let found = world.proctor(&["verify", "--run", &words]).await;
    let outcome = |said: &Said| {
        format!(
            "verify said {:?}: {}{}",
            said.code, said.stdout, said.stderr
        )
    };
    vec![
        Tried {
            id: "D17",
            what: "its rows and files are as they were written",
            held: Held::when(intact.code == Some(0), || outcome(&intact)),
        },
        Tried {
            id: "D24",
            what: "a row that somebody changed is found out",
            held: Held::when(written && found.code == Some(1), || outcome(&found)),
        },
    ]
}
