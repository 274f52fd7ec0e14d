//! What can be seen of a call from outside, for the line of a shim that is killed before it can tell.

use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use proctor_supervise::monotonic_ns;

/// Most bytes of a command line, and of an environment, that are looked at.
const MOST_BYTES: u64 = 128 << 10;

/// What marks the caller as an MCP server, as the shims look for it.
const FROM_MCP: &[u8] = b"EVAL_MCP_PROCESS=1";

/// A call as its process showed it when the shim was let in.
#[derive(Debug)]
pub(super) struct Witness {
    arguments: Vec<Vec<u8>>,
    from_mcp: bool,
    folder: String,
    command: String,
    began: Timestamp,
    began_mono_ns: u64,
}

impl Witness {
    /// Looks at a process while it lives; nothing where it cannot be seen.
    pub(super) fn of(process: i32) -> Option<Self> {
        let began = (Timestamp::now(), monotonic_ns());
        let words = read(process, "cmdline")?;
        let program = fs::read_link(format!("/proc/{process}/exe")).ok()?;
        let environment = read(process, "environ").unwrap_or_default();
        let folder = fs::read_link(format!("/proc/{process}/cwd"));
        Some(Self {
            arguments: texts(&words).skip(1).map(<[u8]>::to_vec).collect(),
            from_mcp: texts(&environment).any(|entry| entry == FROM_MCP),
            folder: folder.map_or_else(|_| String::new(), |path| path.to_string_lossy().into()),
            command: String::from_utf8_lossy(program.file_name()?.as_bytes()).into_owned(),
            began: began.0,
            began_mono_ns: began.1,
        })
    }

    /// The line of a call that was cut short now: the shim's own, without an exit status and marked as `killed`. It lacks
    /// `pid` and `ppid`, which a jail numbers in its own way; `peer_pid` stands in every line.
    pub(super) fn line(&self) -> Vec<u8> {
        let text = |argument: &Vec<u8>| Value::from(String::from_utf8_lossy(argument));
        let mut line = Map::new();
        let mut add = |key: &str, value: Value| line.insert(key.to_owned(), value);
        add(
            "ts",
            json!(
                self.began
                    .strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
                    .to_string()
            ),
        );
        add("cmd", json!(self.command));
        add("argv", self.arguments.iter().map(text).collect());
        if self
            .arguments
            .iter()
            .any(|one| str::from_utf8(one).is_err())
        {
            let encoded = self.arguments.iter().map(|one| STANDARD.encode(one));
            add("argv_b64", encoded.collect());
        }
        add("source", json!(if self.from_mcp { "mcp" } else { "agent" }));
        add("cwd", json!(self.folder));
        add("mono_ns", json!(self.began_mono_ns));
        add(
            "dur_ns",
            json!(monotonic_ns().saturating_sub(self.began_mono_ns)),
        );
        add("exit", Value::Null);
        add("killed", json!(true));
        let mut line = Value::Object(line).to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

/// A file of a process, as far as it is looked at; nothing of one that is gone.
fn read(process: i32, name: &str) -> Option<Vec<u8>> {
    let file = fs::File::open(format!("/proc/{process}/{name}")).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    (!bytes.is_empty()).then_some(bytes)
}

/// Texts that each end in NUL.
fn texts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    bytes.split(|byte| *byte == 0)
}
