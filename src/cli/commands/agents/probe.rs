//! `proctor agents probe KIND`: the real agent works against a script, in a network of loopback alone where that can be had.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use super::held::{Held, file_with};
use super::stage::{HELLO, PLANTED, SCRIPT, Stage, lines};
use crate::cli::args::ProbeArgs;
use crate::cli::commands::model_server::leave_network;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::out::{Colour, Out};
use proctor_agents::{SCRIPTED_KEY, VersionSurroundings, find_on_path, profile, version};
use proctor_config::AgentKind;
use proctor_record::JOURNAL;
use proctor_rehearsal::{KeptRequest, NameServer, Question, Script, Server, ServerOptions};
use proctor_report::sanitize_line;
use proctor_supervise::{self, Cancel, strayed};

/// The port at which programs look up names.
const NAMES: u16 = 53;

/// Turns of the play without servers.
const TURNS: usize = 3;

/// One thing that a person wants to know, and whether it holds.
type Fact = (&'static str, Held);

/// Probes one kind; exit code 1 when something does not hold.
pub(super) fn run(args: &ProbeArgs) -> Outcome<ExitCode> {
    let kind = kind(&args.kind)?;
    let program = program(kind, args.program.as_deref())?;
    let stage = Stage::create()?;
    // While this process has one thread: threads of later have its network.
    let network = leave_network();
    let probed = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::at("start the runtime", error))?
        .block_on(probe(&stage, (kind, &program), network.as_ref().map(drop)))?;
    drop(network);
    stage
        .remove()
        .map_err(|error| Failure::at("remove what was probed", error))?;
    let mut out = Out::new(Colour::AUTO);
    if args.json {
        out.json(&probed.document())?;
    } else {
        out.text(probed.page())?;
    }
    match probed
        .facts
        .iter()
        .filter(|(_, held)| matches!(held, Held::No(_)))
        .count()
    {
        0 => Ok(ExitCode::SUCCESS),
        1 => Err(Failure::new(Kind::TrialsFailed, "one thing does not hold")),
        count => Err(Failure::new(
            Kind::TrialsFailed,
            format!("{count} things do not hold"),
        )),
    }
}

fn kind(word: &str) -> Outcome<AgentKind> {
    let probed = |kind: &AgentKind| !profile(*kind).command.is_empty();
    let known = AgentKind::ALL.into_iter().filter(probed);
    let found = known.clone().find(|kind| kind.as_str() == word);
    found.ok_or_else(|| {
        let words: Vec<&str> = known.map(AgentKind::as_str).collect();
        Failure::new(Kind::Usage, format!("{word} cannot be probed"))
            .hint(format!("known are {}", words.join(", ")))
    })
}

fn program(kind: AgentKind, given: Option<&Path>) -> Outcome<PathBuf> {
    if let Some(given) = given {
        return std::path::absolute(given)
            .ok()
            .filter(|path| path.is_file())
            .ok_or_else(|| {
                Failure::new(Kind::Usage, format!("{}: no such program", given.display()))
            });
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_on_path(kind, &path).ok_or_else(|| {
        let name = profile(kind).command.first().copied().unwrap_or_default();
        Failure::new(Kind::Infrastructure, format!("{name} is not on PATH"))
            .hint("install it, or name it with --program")
    })
}

async fn probe(
    stage: &Stage,
    (kind, program): (AgentKind, &Path),
    network: Result<(), &Failure>,
) -> Outcome<Probed> {
    let script = Script::parse(SCRIPT).map_err(|error| Failure::at("read the script", error))?;
    let server = Server::start(script, ServerOptions::default())
        .await
        .map_err(|error| Failure::at("listen on 127.0.0.1", error))?;
    let names = match network {
        Ok(()) => NameServer::start(NAMES)
            .await
            .map_err(|error| error.to_string()),
        Err(failure) => Err(failure.message().to_owned()),
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let surroundings = VersionSurroundings {
        path: &path,
        home: &stage.path("home"),
        isolation: proctor_supervise::probe().level,
        cancel: &Cancel::new(),
    };
    let version = version(program, surroundings).await;
    stage.suite(kind, program, &server.url())?;
    let before = strayed();
    let said = stage.run().await?;
    let Some(run) = stage.run_dir() else {
        return Err(Failure::at("run the probe", said.trim()));
    };
    let seen = Seen {
        rows: lines(&run.join(JOURNAL)),
        requests: server.requests(),
        names: names.map(|names| names.questions()),
        strayed: strayed().saturating_sub(before),
        run,
        real_tool: stage.path("bin/xcodebuild").display().to_string(),
    };
    Ok(Probed {
        kind,
        program: program.to_owned(),
        version,
        isolation: seen.row("without")["isolation"]
            .as_str()
            .unwrap_or("unknown")
            .to_owned(),
        facts: seen.facts(),
    })
}

/// What a probe left.
struct Seen {
    rows: Vec<Value>,
    requests: Vec<KeptRequest>,
    names: Result<Vec<Question>, String>,
    /// How often an address of the world was asked for.
    strayed: u64,
    run: PathBuf,
    real_tool: String,
}

impl Seen {
    fn facts(&self) -> Vec<Fact> {
        // What a program did not do that never asked its model says nothing of an agent.
        let of_agent = |held: Held| match held {
            Held::Yes if self.asked("without") == 0 || self.asked("with") == 0 => {
                Held::NotHere("it did not ask its model in both trials".to_owned())
            }
            held => held,
        };
        vec![
            (
                "it works without a person, and says that it is done",
                self.works(),
            ),
            (
                "tokens of the row are those that the model server told",
                self.counts(),
            ),
            (
                "its shell finds the shim before the tool, and the shim saw the call once",
                self.overlay(),
            ),
            (
                "MCP off is off: servers of your settings and of the project stay out",
                self.mcp_off(),
            ),
            (
                "MCP on is on: it calls the tool of the scenario's server",
                self.mcp_on(),
            ),
            (
                "everything that it said was understood",
                of_agent(self.understood()),
            ),
            ("it asks nobody but its model", of_agent(self.silence())),
            ("its key stands in no file of the run", of_agent(self.key())),
        ]
    }

    /// How often it asked its model in a scenario.
    fn asked(&self, scenario: &str) -> usize {
        let of_play = |request: &&KeptRequest| request.play.as_deref() == Some(scenario);
        self.requests.iter().filter(of_play).count()
    }

    fn row(&self, scenario: &str) -> &Value {
        let row = self
            .rows
            .iter()
            .rev()
            .find(|row| row["scenario"] == scenario);
        row.unwrap_or(&Value::Null)
    }

    /// Held if the columns of a scenario's row are as given.
    fn says(&self, scenario: &str, columns: &[(&str, Value)]) -> Held {
        let row = self.row(scenario);
        let wrong: Vec<String> = columns
            .iter()
            .filter(|(name, value)| row[name] != *value)
            .map(|(name, value)| format!("{name} is {} and not {value}", row[name]))
            .collect();
        Held::when(wrong.is_empty(), || wrong.join("; "))
    }

    fn works(&self) -> Held {
        let done = [
            ("termination", json!("completed")),
            ("infra", json!("none")),
            ("success", json!(true)),
        ];
        match self.says("without", &done) {
            Held::Yes => self.says("with", &done),
            otherwise => otherwise,
        }
    }

    /// Only what every dialect tells is compared: all input, what of it came from a cache, and output.
    fn counts(&self) -> Held {
        let told: Vec<_> = self
            .requests
            .iter()
            .filter(|request| request.play.as_deref() == Some("without") || request.besides)
            .filter_map(|request| request.usage)
            .collect();
        let row = self.row("without");
        let is = [
            "uncached_input_tokens",
            "cached_read_tokens",
            "output_tokens",
        ]
        .map(|name| row[name].as_u64());
        let sums = [
            told.iter().map(|tokens| tokens.input).sum(),
            told.iter().map(|tokens| tokens.cache_read).sum(),
            told.iter().map(|tokens| tokens.output).sum(),
        ];
        Held::when(is == sums.map(Some), || {
            format!(
                "the row says {is:?} (uncached input, cached input, output) and the server told {sums:?}"
            )
        })
    }

    fn overlay(&self) -> Held {
        let found = self
            .requests
            .iter()
            .filter(|request| request.play.as_deref() == Some("without"));
        let found: String = found.map(|request| request.body.to_string()).collect();
        let Some((_, place)) = found.rsplit_once("found at /") else {
            return Held::No("its shell told no place of the tool".to_owned());
        };
        let place: String = place
            .chars()
            .take_while(|next| !next.is_whitespace() && !"\\\"'".contains(*next))
            .collect();
        if format!("/{place}") == self.real_tool {
            return Held::No("its shell finds the tool itself: calls are not seen".to_owned());
        }
        let log = self.row("without")["command_log_path"]
            .as_str()
            .unwrap_or_default();
        let calls = lines(&self.run.join(log));
        let calls = calls
            .iter()
            .filter(|call| call["cmd"] == "xcodebuild" && call["seen_by"] != "stream")
            .count();
        if calls != 1 {
            return Held::No(format!("the shim saw {calls} calls and not 1"));
        }
        self.says("without", &[("xcodebuild_calls", json!(1))])
    }

    /// A tool may be offered only when it is looked for, so it was also called.
    fn mcp_off(&self) -> Held {
        let asked = || {
            let of_play = |request: &&KeptRequest| request.play.as_deref() == Some("without");
            self.requests.iter().filter(of_play)
        };
        let mut offers = asked().map(|request| request.body["tools"].to_string());
        let mut bodies = asked().map(|request| request.body.to_string());
        if offers.any(|tools| tools.contains(PLANTED)) {
            return Held::No("it offers a tool of a server that no scenario names".to_owned());
        }
        if bodies.any(|body| body.contains(HELLO)) {
            return Held::No(
                "it finds and calls a tool of a server that no scenario names".to_owned(),
            );
        }
        // The last turn comes after the call.
        if self.asked("without") < TURNS {
            return Held::NotHere("it never came to call a tool of such a server".to_owned());
        }
        Held::Yes
    }

    fn mcp_on(&self) -> Held {
        self.says(
            "with",
            &[("mcp_tool_calls", json!(1)), ("tool_error_total", json!(0))],
        )
    }

    fn understood(&self) -> Held {
        let all = [("unknown_events", json!(0)), ("unparsed_lines", json!(0))];
        match self.says("without", &all) {
            Held::Yes => self.says("with", &all),
            otherwise => otherwise,
        }
    }

    fn silence(&self) -> Held {
        match &self.names {
            Err(why) => Held::NotHere(format!(
                "no network of loopback alone can be had here: {why}"
            )),
            Ok(names) => Held::when(names.is_empty() && self.strayed == 0, || {
                let names = names.iter();
                let mut asked: Vec<String> = names
                    .map(|one| format!("{} ({})", one.name, one.times))
                    .collect();
                if self.strayed > 0 {
                    asked.push(format!("addresses of the world ({})", self.strayed));
                }
                format!("in two trials it asked for {}", asked.join(", "))
            }),
        }
    }

    fn key(&self) -> Held {
        let found = file_with(&self.run, SCRIPTED_KEY);
        Held::when(found.is_none(), || {
            format!("{} holds it", found.unwrap_or_default().display())
        })
    }
}

/// All that is to be told.
struct Probed {
    kind: AgentKind,
    program: PathBuf,
    version: Option<String>,
    isolation: String,
    facts: Vec<Fact>,
}

impl Probed {
    fn page(&self) -> String {
        let version = self.version.as_deref().unwrap_or("says no version");
        let mut page = format!(
            "{}: {} at {}, isolation level {}\n\n",
            self.kind.as_str(),
            sanitize_line(version),
            self.program.display(),
            self.isolation
        );
        for (what, held) in &self.facts {
            page = page + &held.painted() + "  " + what + "\n";
            if let Some(why) = held.why() {
                page = page + "           " + &sanitize_line(why) + "\n";
            }
        }
        page
    }

    fn document(&self) -> Value {
        let facts = self.facts.iter();
        let facts = facts.map(|(what, held)| json!({"what": what, "result": held.word().to_lowercase(), "why": held.why()}));
        json!({
            "schema": 1, "kind": self.kind.as_str(), "program": self.program, "version": self.version,
            "isolation": self.isolation, "facts": facts.collect::<Vec<_>>(),
        })
    }
}
