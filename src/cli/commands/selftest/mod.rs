//! `proctor selftest`: the faults of agents and machines, tried on this very machine through the real pipeline.

mod agents;
mod crash;
mod jailed;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use anstyle::{AnsiColor, Style};
use serde_json::json;

use crate::cli::args::SelftestArgs;
use crate::cli::columns::columns;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::out::{Colour, Out};
use world::World;
pub(in crate::cli::commands) use world::file_with;

/// Why processes cannot be looked for.
const NO_PROC: &str = "there is no /proc here to look for processes";

/// What came of one fault.
#[derive(Debug)]
pub(in crate::cli::commands) enum Held {
    /// It happened, and nothing was lost, left or believed.
    Yes,
    /// It happened, and this was wrong.
    No(String),
    /// It could not be tried here, for this reason.
    NotHere(String),
}

impl Held {
    /// Held if `fact` is true, else not, with this observation.
    pub(in crate::cli::commands) fn when(fact: bool, otherwise: impl FnOnce() -> String) -> Self {
        if fact {
            Self::Yes
        } else {
            Self::No(otherwise())
        }
    }

    pub(in crate::cli::commands) const fn word(&self) -> &'static str {
        match self {
            Self::Yes => "held",
            Self::No(_) => "NOT HELD",
            Self::NotHere(_) => "not tried",
        }
    }

    pub(in crate::cli::commands) fn why(&self) -> Option<&str> {
        match self {
            Self::Yes => None,
            Self::No(why) | Self::NotHere(why) => Some(why),
        }
    }
}

/// A fault that was tried: its id in `docs/guarantees.md`, what it is, and what came of it.
#[derive(Debug)]
pub(super) struct Tried {
    id: &'static str,
    what: &'static str,
    held: Held,
}

/// Tries all faults; exit code 1 when one of them did not hold.
pub(in crate::cli) fn run(args: &SelftestArgs) -> Outcome<ExitCode> {
    let started = Instant::now();
    let world = World::create()?;
    let (isolation, tried) = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::at("start the runtime", error))?
        .block_on(all(&world))?;
    let folder = world.root().to_owned();
    let mut tried = tried;
    tried.push(left_behind(world));
    let told = Told {
        isolation,
        tried,
        seconds: started.elapsed().as_secs_f64(),
    };
    let mut out = Out::new(Colour::unless(args.no_color));
    if args.json {
        out.json(&told.document())?;
    } else {
        out.text(told.page())?;
    }
    tracing::debug!(folder = %folder.display(), "gone");
    match told.count("NOT HELD") {
        0 => Ok(ExitCode::SUCCESS),
        1 => Err(Failure::new(Kind::TrialsFailed, "one fault did not hold")),
        count => Err(Failure::new(
            Kind::TrialsFailed,
            format!("{count} faults did not hold"),
        )),
    }
}

async fn all(world: &World) -> Outcome<(String, Vec<Tried>)> {
    let (isolation, mut tried) = agents::all(world).await?;
    tried.extend(crash::all(world, &isolation).await?);
    tried.extend(jailed::all(world, &isolation).await?);
    Ok((isolation, tried))
}

/// Removes the folder of all that was tried, and looks for processes.
fn left_behind(world: World) -> Tried {
    let alive = world.alive();
    let folder = world.root().to_owned();
    let problem = world.remove().err();
    let held = match (alive.is_empty(), problem) {
        (true, None) if !cfg!(target_os = "linux") => Held::NotHere(NO_PROC.to_owned()),
        (true, None) => Held::Yes,
        (false, _) => Held::No(format!("still running: {}", alive.join(", "))),
        (true, Some(error)) => Held::No(format!("{}: {error}", folder.display())),
    };
    Tried {
        id: "I3",
        what: "nothing of all this is left on the machine",
        held,
    }
}

/// All that is to be told.
struct Told {
    isolation: String,
    tried: Vec<Tried>,
    seconds: f64,
}

impl Told {
    fn count(&self, word: &str) -> usize {
        let same = self.tried.iter().filter(|tried| tried.held.word() == word);
        same.count()
    }

    fn page(&self) -> String {
        let rows: Vec<Vec<String>> = self
            .tried
            .iter()
            .map(|tried| {
                let what = tried.what.to_owned();
                vec![painted(&tried.held), tried.id.to_owned(), what]
            })
            .collect();
        let mut page = String::new();
        for (line, tried) in columns(&rows).lines().zip(&self.tried) {
            page.push_str(line);
            page.push('\n');
            if let Some(why) = tried.held.why() {
                let why = crate::report::sanitize_line(why);
                page += "           ";
                page += &why;
                page.push('\n');
            }
        }
        let counts =
            ["held", "NOT HELD", "not tried"].map(|word| format!("{} {word}", self.count(word)));
        page + &format!(
            "\n{} at isolation level {}, in {:.0} s\n",
            counts.join(", "),
            self.isolation,
            self.seconds
        )
    }

    fn document(&self) -> serde_json::Value {
        let faults = self.tried.iter().map(|tried| {
            json!({"id": tried.id, "what": tried.what, "result": tried.held.word().to_lowercase(), "why": tried.held.why()})
        });
        json!({
            "schema": 1,
            "isolation": self.isolation,
            "seconds": self.seconds,
            "held": self.count("held"),
            "not_held": self.count("NOT HELD"),
            "not_tried": self.count("not tried"),
            "faults": faults.collect::<Vec<_>>(),
        })
    }
}

pub(in crate::cli::commands) fn painted(held: &Held) -> String {
    let style = match held {
        Held::Yes => AnsiColor::Green.on_default(),
        Held::NotHere(_) => AnsiColor::Yellow.on_default(),
        Held::No(_) => Style::new().bold().fg_color(Some(AnsiColor::Red.into())),
    };
    format!("{style}{:<9}{style:#}", held.word())
}
