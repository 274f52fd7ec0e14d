//! What a go-between noted of the MCP servers of a trial: which came up, and which tools they told.
//!
//! Only some agents tell of their servers, and none tells all of it. So this program stands before each server that is a
//! program, passes on what it says, and writes down what it told. An agent can write these notes, too: evidence, no proof.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::record::{read_file, text_digest};

/// The folder of the notes, in a trial's private folder.
const FOLDER: &str = "m";
/// No notes of a server are longer.
const MOST_BYTES: u64 = 1 << 20;
/// Servers and tools of one that are kept.
const MOST_SERVERS: usize = 200;
const MOST_TOOLS: usize = 1_000;

/// How a server was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Met {
    /// Nobody started it.
    #[default]
    Never,
    /// It was started, and neither answered nor ended.
    Started,
    /// It ended before it had answered.
    Ended,
    /// It answered.
    Answered,
}

/// What a server's list of its tools was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolList {
    /// All of it came, as MCP asks for it; or none was told.
    #[default]
    Sound,
    /// More was to come and never did.
    Cut,
    /// A tool of it is not what MCP asks for: some agents then take none of them.
    Flawed,
}

/// What was noted of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerNoted {
    /// How far it came.
    pub met: Met,
    /// The tools that it told.
    pub tools: BTreeSet<String>,
    /// Digest of all that it told of them the last time; empty where it told none.
    pub tools_sha256: String,
    /// What that list was like.
    pub list: ToolList,
}

/// A line of a note.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Line {
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    list: Option<ToolList>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<i32>,
}

/// Where the notes of a server are, by its number.
pub(super) fn note_of(private: &Path, number: usize) -> PathBuf {
    private.join(FOLDER).join(format!("{number}.jsonl"))
}

/// Writes the notes of one server. Whatever cannot be written is not: a server works all the same.
#[derive(Debug)]
pub struct ServerNotes {
    file: Option<File>,
    answered: bool,
}

impl ServerNotes {
    /// Notes that the server of this name was started.
    #[must_use]
    pub fn begin(note: &Path, server: &str) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(note);
        let mut notes = Self {
            file: file.ok(),
            answered: false,
        };
        notes.write(&Line {
            started: Some(server.to_owned()),
            ..Line::default()
        });
        notes
    }

    /// Looks at a line of the server's output.
    pub fn look(&mut self, line: &[u8]) {
        let is_answer = memchr::memmem::find(line, b"\"result\"").is_some();
        let Some(answer) = is_answer.then(|| Answer::read(line)).flatten() else {
            return;
        };
        if !std::mem::replace(&mut self.answered, true) {
            self.write(&Line {
                answered: Some(true),
                ..Line::default()
            });
        }
        if let Some((tools, text)) = answer.tools() {
            self.write(&Line {
                list: Some(answer.list(&tools)),
                tools: Some(tools.into_iter().map(|tool| tool.name).collect()),
                tools_sha256: Some(text_digest(text)),
                ..Line::default()
            });
        }
    }

    /// Notes how the server ended.
    pub fn end(mut self, code: i32) {
        self.write(&Line {
            ended: Some(code),
            ..Line::default()
        });
    }

    fn write(&mut self, line: &Line) {
        let text = serde_json::to_string(line).unwrap_or_default() + "\n";
        let written = |file: &mut File| -> io::Result<()> { file.write_all(text.as_bytes()) };
        if self
            .file
            .as_mut()
            .is_some_and(|file| written(file).is_err())
        {
            self.file = None;
        }
    }
}

/// An answer of a server, whatever it was asked.
#[derive(Debug, Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Answered<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    #[serde(borrow, default)]
    tools: Option<&'a RawValue>,
    #[serde(default)]
    next_cursor: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default = "empty")]
    description: Value,
    #[serde(default)]
    input_schema: Value,
}

/// What stands for a description that is left out, which it may be; `null` is none.
fn empty() -> Value {
    Value::String(String::new())
}

impl Tool {
    /// Whether it is as MCP asks for: arguments are an object, a description is a text.
    fn is_sound(&self) -> bool {
        self.description.is_string() && self.input_schema["type"] == "object"
    }
}

impl<'a> Answer<'a> {
    fn read(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// The tools that it lists, and all that it says of them.
    fn tools(&self) -> Option<(Vec<Tool>, &'a str)> {
        let text = self.result.tools?.get();
        let mut tools: Vec<Tool> = serde_json::from_str(text).ok()?;
        tools.truncate(MOST_TOOLS);
        Some((tools, text))
    }

    fn list(&self, tools: &[Tool]) -> ToolList {
        if !tools.iter().all(Tool::is_sound) {
            ToolList::Flawed
        } else if self
            .result
            .next_cursor
            .as_ref()
            .is_some_and(Value::is_string)
        {
            ToolList::Cut
        } else {
            ToolList::Sound
        }
    }
}

/// What was noted of the servers of the trial whose private folder this is, by name; `None` where nothing was to be noted.
#[must_use]
pub fn servers_noted(private: &Path) -> Option<BTreeMap<String, ServerNoted>> {
    if !private.join(FOLDER).is_dir() {
        return None;
    }
    let mut noted: BTreeMap<String, ServerNoted> = BTreeMap::new();
    for number in 0..MOST_SERVERS {
        let bytes = read_file(&note_of(private, number), MOST_BYTES);
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let mut name = None;
        for line in text.iter().flat_map(|text| text.lines()) {
            let Ok(line) = serde_json::from_str::<Line>(line) else {
                continue;
            };
            name = line.started.clone().or(name);
            if let Some(name) = &name {
                noted.entry(name.clone()).or_default().take(line);
            }
        }
    }
    Some(noted)
}

impl ServerNoted {
    fn take(&mut self, line: Line) {
        // A server may be started again: that it answered once stands.
        self.met = match (self.met, &line) {
            (Met::Answered, _) => Met::Answered,
            (_, line) if line.answered == Some(true) => Met::Answered,
            (_, line) if line.ended.is_some() => Met::Ended,
            _ => Met::Started,
        };
        // The pages of a list are one: the last of them ends it, and none makes good what was flawed before it.
        self.list = match (self.list, line.list) {
            (ToolList::Flawed, _) => ToolList::Flawed,
            (known, told) => told.unwrap_or(known),
        };
        let room = MOST_TOOLS.saturating_sub(self.tools.len());
        self.tools
            .extend(line.tools.into_iter().flatten().take(room));
        self.tools_sha256 = line
            .tools_sha256
            .unwrap_or_else(|| std::mem::take(&mut self.tools_sha256));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(lines: &[&str], ended: Option<i32>) -> ServerNoted {
        let private = tempfile::tempdir().unwrap();
        std::fs::create_dir(private.path().join(FOLDER)).unwrap();
        let mut notes = ServerNotes::begin(&private.path().join("m/0.jsonl"), "lab");
        for line in lines {
            notes.look(line.as_bytes());
        }
        if let Some(code) = ended {
            notes.end(code);
        }
        servers_noted(private.path()).unwrap()["lab"].clone()
    }

    #[test]
    fn a_server_is_known_by_what_it_answered() {
        let hello = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"x"}}}"#;
        let list = r#"{"id":1,"jsonrpc":"2.0","result":{"tools":[{"name":"echo","inputSchema":{}},{"name":"run"}]}}"#;
        let up = noted(&[hello, list], Some(0));
        assert_eq!(up.met, Met::Answered);
        assert_eq!(up.tools.iter().collect::<Vec<_>>(), ["echo", "run"]);
        assert_eq!(
            up.tools_sha256,
            text_digest(r#"[{"name":"echo","inputSchema":{}},{"name":"run"}]"#)
        );
        let other = list.replace("\"run\"}", "\"run\",\"description\":\"x\"}");
        assert_ne!(noted(&[hello, &other], None).tools_sha256, up.tools_sha256);
        assert_eq!(
            noted(&["no JSON \"result\"", "[]"], Some(1)).met,
            Met::Ended
        );
        assert_eq!(noted(&[], None).met, Met::Started);
    }

    #[test]
    fn a_list_of_tools_that_is_cut_or_flawed_is_known() {
        let list = |tool: &str, more: &str| {
            format!(
                r#"{{"id":1,"jsonrpc":"2.0","result":{{"tools":[{{"name":"a",{tool}}}]{more}}}}}"#
            )
        };
        let sound = r#""inputSchema":{"type":"object"}"#;
        let more = r#","nextCursor":"2""#;
        for (lines, expected) in [
            (vec![list(sound, "")], ToolList::Sound),
            (
                vec![list(&format!("\"description\":\"d\",{sound}"), "")],
                ToolList::Sound,
            ),
            (vec![list(sound, more)], ToolList::Cut),
            (vec![list(sound, more), list(sound, "")], ToolList::Sound),
            (vec![list("\"title\":\"t\"", "")], ToolList::Flawed),
            (
                vec![list(r#""inputSchema":{"type":"string"}"#, "")],
                ToolList::Flawed,
            ),
            (
                vec![list(&format!("\"description\":null,{sound}"), "")],
                ToolList::Flawed,
            ),
        ] {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert_eq!(noted(&lines, None).list, expected, "{lines:?}");
        }
    }

    #[test]
    fn what_an_agent_wrote_into_the_notes_breaks_nothing() {
        let private = tempfile::tempdir().unwrap();
        assert_eq!(servers_noted(private.path()), None);
        let folder = private.path().join(FOLDER);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(
            folder.join("0.jsonl"),
            "{\"tools\":[\"x\"]}\n\u{0}\n[1]\n{\"started\":7}\n",
        )
        .unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.join("1.jsonl")).unwrap();
        std::fs::create_dir(folder.join("2.jsonl")).unwrap();
        assert_eq!(servers_noted(private.path()), Some(BTreeMap::new()));
    }
}
