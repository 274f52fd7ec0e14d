//! Turns an agent's lines into events, transcript, counters and progress while it runs.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use crate::trial::ProgressSink;
use crate::trial::beside::BesideCommands;
use crate::trial::cut_short::CutShort;
use crate::trial::meter::Meter;
use crate::trial::watch::Watch;
use proctor_agents::{StreamReader, transcript_line};
use proctor_gate::Gate;
use proctor_metrics::Tally;
use proctor_model::{
    AgentEvent, DoorUse, EventKind, McpServerSeen, ModelTokens, Progress, StreamReport, TrialKey,
};
use proctor_record::{EventLog, RecordError, Redactor, StreamRedactor, Transcript};
use proctor_supervise::{EndReason, Heard, Listener, OutputStream};

/// At most one progress message per trial in this time, so that a chatty agent cannot flood the console; a person who asked
/// for the stream gets it whole.
const ACTIVITY_EVERY: Duration = Duration::from_millis(100);

/// Listens to one agent.
pub(super) struct Ear {
    reader: StreamReader,
    notebook: Notebook,
    fresh: Vec<AgentEvent>,
    /// What keeps secrets out of the raw files: of standard output and of standard error.
    redactors: [StreamRedactor; 2],
    /// The door of its network, if it has one.
    gate: Option<Gate>,
    /// Whether it was stopped before its end; `None` as long as nobody stops it.
    stopped_midway: Option<bool>,
    cut_short: CutShort,
}

/// Everything that events are put down in.
struct Notebook {
    tally: Tally,
    watch: Watch,
    log: EventLog,
    transcript: Option<Transcript>,
    redactor: Redactor,
    teller: ProgressSink,
    key: TrialKey,
    last_told: Option<Duration>,
    tells_all: bool,
    seen: SeenBySelf,
    meter: Meter,
    /// Whether the model has said anything.
    has_answered: bool,
    /// Whether the agent did anything after the last fault of its provider.
    went_on_after_fault: bool,
    beside: BesideCommands,
    write_problem: Option<RecordError>,
}

/// Where an ear writes to and what it reads with.
pub(super) struct EarParts<'a> {
    /// Further watched commands.
    pub(super) watched: &'a [String],
    /// How many calls after an error are kept with it.
    pub(super) context_calls: usize,
    pub(super) watch: Watch,
    /// Whether a person wants to see every event (`--stream`).
    pub(super) tells_all: bool,
    pub(super) meter: Meter,
    pub(super) reader: StreamReader,
    pub(super) log: EventLog,
    pub(super) transcript: Option<Transcript>,
    pub(super) redactor: Redactor,
    pub(super) teller: ProgressSink,
    pub(super) key: TrialKey,
}

/// What an agent said of itself when it began.
#[derive(Debug, Default)]
pub(super) struct SeenBySelf {
    pub(super) tools: Vec<String>,
    pub(super) servers: Vec<McpServerSeen>,
}

/// What was heard in all.
pub(super) struct HeardAll {
    pub(super) report: StreamReport,
    /// What the agent said of itself when it began, or began anew.
    pub(super) seen: SeenBySelf,
    pub(super) tally: Tally,
    pub(super) watch: Watch,
    /// Whether the last word was a fault of the provider.
    pub(super) ended_in_fault: bool,
    /// Whether a command of the agent ran when its last fault was told.
    pub(super) fault_beside_command: bool,
    /// Whether a command of the agent had not ended at the end.
    pub(super) command_open: bool,
    /// What could not be written, if anything.
    pub(super) write_problem: Option<RecordError>,
    /// Limits of what is kept that were reached.
    pub(super) limits_hit: Vec<&'static str>,
    /// The model for want of whose price no limit of cost could be kept; empty where its name is not told.
    pub(super) unpriced: Option<String>,
    /// The model whose tokens were counted at another's price, the dearest; empty where its name is not told.
    pub(super) guessed: Option<String>,
    /// What went through the door of its network, if it has one.
    pub(super) door: Option<DoorUse>,
}

impl Ear {
    pub(super) fn new(parts: EarParts<'_>) -> Self {
        let redactors = [parts.redactor.stream(), parts.redactor.stream()];
        let notebook = Notebook {
            tally: Tally::watching(parts.watched, parts.context_calls),
            watch: parts.watch,
            log: parts.log,
            transcript: parts.transcript,
            redactor: parts.redactor,
            teller: parts.teller,
            key: parts.key,
            last_told: None,
            tells_all: parts.tells_all,
            seen: SeenBySelf::default(),
            meter: parts.meter,
            has_answered: false,
            went_on_after_fault: true,
            beside: BesideCommands::default(),
            write_problem: None,
        };
        Self {
            reader: parts.reader,
            notebook,
            fresh: Vec::new(),
            redactors,
            gate: None,
            stopped_midway: None,
            cut_short: CutShort::default(),
        }
    }

    /// The same beside the door of its network.
    pub(super) fn beside(self, gate: Option<Gate>) -> Self {
        Self { gate, ..self }
    }

    fn redactor(&mut self, stream: OutputStream) -> &mut StreamRedactor {
        match stream {
            OutputStream::Stdout => &mut self.redactors[0],
            OutputStream::Stderr => &mut self.redactors[1],
        }
    }

    /// Takes in what the agent wrote to `{OUT_JSON}`.
    pub(super) fn read(&mut self, file: &[u8], at: Duration) {
        self.fresh.clear();
        self.reader.file(file, at, &mut self.fresh);
        self.cut_short.see(&mut self.fresh);
        self.notebook.take_in(&self.fresh, self.reader.by_model());
    }

    /// Ends the stream and gives what it amounts to.
    pub(super) fn finish(mut self, at: Duration) -> HeardAll {
        self.fresh.clear();
        let report = self.reader.finish(at, &mut self.fresh);
        self.cut_short.see(&mut self.fresh);
        self.notebook.take_in(&self.fresh, &report.by_model);
        let mut heard = self.notebook.close(report);
        if self.stopped_midway == Some(true) {
            heard.report.lacks_what_was_open();
        }
        heard.door = self.gate.map(Gate::close);
        heard
    }
}

impl Notebook {
    fn close(mut self, report: StreamReport) -> HeardAll {
        let mut limits_hit = Vec::new();
        let ends = [
            ("events_mib", Some(self.log.finish())),
            ("transcript_mib", self.transcript.map(Transcript::finish)),
        ];
        for (limit, end) in ends {
            match end {
                Some(Ok(1..)) => limits_hit.push(limit),
                Some(Err(error)) => {
                    self.write_problem.get_or_insert(error);
                }
                Some(Ok(0)) | None => {}
            }
        }
        HeardAll {
            report,
            seen: self.seen,
            tally: self.tally,
            watch: self.watch,
            ended_in_fault: !self.went_on_after_fault,
            fault_beside_command: self.beside.fault_told(),
            command_open: self.beside.is_open(),
            write_problem: self.write_problem,
            limits_hit,
            unpriced: self.meter.unpriced().map(str::to_owned),
            guessed: self.meter.guessed().map(str::to_owned),
            door: None,
        }
    }

    fn take_in(&mut self, fresh: &[AgentEvent], by_model: &[ModelTokens]) {
        for event in fresh {
            match event.kind {
                EventKind::ProviderFault(_) => self.went_on_after_fault = false,
                EventKind::Started {
                    ref tools,
                    ref mcp_servers,
                    ..
                } => {
                    self.seen.tools.clone_from(tools);
                    self.seen.servers.clone_from(mcp_servers);
                }
                EventKind::Message { .. } | EventKind::ToolStarted(_) | EventKind::ToolEnded(_) => {
                    self.went_on_after_fault = true;
                }
                _ => {}
            }
            let is_of_model = matches!(
                event.kind,
                EventKind::Message { .. } | EventKind::Reasoning { .. } | EventKind::ToolStarted(_)
            );
            if is_of_model {
                self.answered();
            }
            self.beside.see(event);
            self.meter.see(event, by_model);
            self.tally.see(event);
            self.watch.see(event);
            self.write(event);
        }
    }

    /// The model has said something.
    fn answered(&mut self) {
        if !std::mem::replace(&mut self.has_answered, true) {
            self.teller.answered(&self.key);
        }
    }

    fn write(&mut self, event: &AgentEvent) {
        if let Err(error) = self.log.write(event) {
            self.write_problem.get_or_insert(error);
        }
        let is_due = self.is_due(event.at);
        if self.transcript.is_none() && !is_due {
            return;
        }
        let Some(text) = transcript_line(event) else {
            return;
        };
        if let Some(transcript) = &mut self.transcript
            && let Err(error) = transcript.line(&text)
        {
            self.write_problem.get_or_insert(error);
        }
        if is_due {
            self.tell(event.at, &text);
        }
    }

    fn flush(&mut self) {
        let transcript = self.transcript.as_mut().map_or(Ok(()), Transcript::flush);
        if let Err(error) = self.log.flush().and(transcript) {
            self.write_problem.get_or_insert(error);
        }
    }

    /// Whether somebody should be told what comes now.
    fn is_due(&self, at: Duration) -> bool {
        let is_old = |last| at.saturating_sub(last) >= ACTIVITY_EVERY;
        self.tells_all || self.last_told.is_none_or(is_old)
    }

    fn tell(&mut self, at: Duration, text: &str) {
        self.last_told = Some(at);
        self.teller.tell(Progress::TrialActivity {
            key: self.key.clone(),
            text: self.redactor.redact(text).into_owned(),
            spent_usd: self.meter.spent(),
        });
    }
}

impl Listener for Ear {
    fn stdout_line(&mut self, line: &[u8], at: Duration) -> Heard {
        self.fresh.clear();
        self.reader.line(line, at, &mut self.fresh);
        self.cut_short.see(&mut self.fresh);
        self.notebook.take_in(&self.fresh, self.reader.by_model());
        if self.reader.done() {
            Heard::Finished
        } else if self.notebook.meter.is_empty() {
            Heard::OverBudget
        } else {
            Heard::More
        }
    }

    fn stderr_line(&mut self, line: &[u8], at: Duration) -> Heard {
        self.fresh.clear();
        self.reader.stderr_line(line, at, &mut self.fresh);
        self.cut_short.see(&mut self.fresh);
        self.notebook.take_in(&self.fresh, self.reader.by_model());
        Heard::More
    }

    fn kept(&mut self, stream: OutputStream, bytes: &[u8], keep: &mut dyn FnMut(&[u8])) {
        keep(&self.redactor(stream).push(bytes));
    }

    fn kept_last(&mut self, stream: OutputStream) -> Vec<u8> {
        self.redactor(stream).finish()
    }

    fn reached(&mut self, listeners: Vec<TcpListener>) -> io::Result<()> {
        match &mut self.gate {
            Some(gate) => gate.open(listeners),
            None => Ok(()),
        }
    }

    /// Figures that come from here on lack what the model is asked just now.
    fn stopping(&mut self, reason: EndReason) {
        if reason != EndReason::Exited {
            self.cut_short.stop();
        }
        if reason != EndReason::Lingered {
            let is_midway = !self.reader.done();
            self.stopped_midway.get_or_insert(is_midway);
        }
    }

    fn settle(&mut self) {
        self.notebook.flush();
    }
}
