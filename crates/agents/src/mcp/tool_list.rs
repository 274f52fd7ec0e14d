//! What a server says of its tools, and whether that is valid MCP.
//!
//! Clients differ in what they make of a list that is not: those on MCP's TypeScript SDK take none of its tools where one field is of
//! another type, also where one that may be left out is `null`.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use proctor_record::text_digest;

/// What a server's list of its tools was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolList {
    /// All of it came and is valid MCP; or there was none.
    #[default]
    Sound,
    /// More was to come and never did.
    Cut,
    /// Something in it is not valid MCP: some agents then take none of the tools.
    Flawed,
}

/// An answer of a server, whatever it was asked.
#[derive(Debug, Deserialize)]
pub(super) struct Answer<'a> {
    #[serde(borrow)]
    result: Answered<'a>,
}

#[derive(Debug, Deserialize)]
#[serde(default)]
#[derive(Default)]
struct Answered<'a> {
    #[serde(borrow)]
    tools: Present<&'a RawValue>,
    /// What an answer of a tool has.
    content: Present<IgnoredAny>,
    /// What the answer to `initialize` has.
    capabilities: Capabilities,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Capabilities {
    tools: Present<IgnoredAny>,
}

/// A page of a list of tools.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolPage {
    /// The names of the tools that have one.
    pub(super) names: Vec<String>,
    /// What the page is like.
    pub(super) list: ToolList,
    /// Digest of all that it says of them.
    pub(super) sha256: String,
}

impl<'a> Answer<'a> {
    /// Reads a line of a server's output.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Whether the server announces tools here: it is of use once it has listed them.
    pub(super) fn announces_tools(&self) -> bool {
        self.result.capabilities.tools.0.is_some()
    }

    /// The tools that it lists, if that is what it was asked for; `line` is the same.
    pub(super) fn tools(&self, line: &[u8]) -> Option<ToolPage> {
        let tools = self.result.tools.0?.get();
        if self.result.content.0.is_some() {
            return None;
        }
        let list = match serde_json::from_slice::<Valid>(line) {
            Err(_) => ToolList::Flawed,
            Ok(valid) if valid.result.next_cursor.0.is_some() => ToolList::Cut,
            Ok(_) => ToolList::Sound,
        };
        let all: Vec<Value> = serde_json::from_str(tools).unwrap_or_default();
        let names = all.iter().filter_map(|tool| tool["name"].as_str());
        Some(ToolPage {
            names: names.map(str::to_owned).collect(),
            list,
            sha256: text_digest(tools),
        })
    }
}

/// A field that may be left out, and is not `null`.
#[derive(Debug)]
struct Present<T>(Option<T>);

impl<T> Default for Present<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Present<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(|value| Self(Some(value)))
    }
}

/// An answer with tools as MCP describes it. Nothing may stand beside its result, not even an `error` of `null`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "read to be checked")]
struct Valid {
    jsonrpc: Version,
    id: Id,
    result: ValidList,
}

#[derive(Debug, Deserialize)]
enum Version {
    #[serde(rename = "2.0")]
    Two,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "read to be checked")]
enum Id {
    Text(String),
    Number(i64),
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "read to be checked")]
struct ValidList {
    tools: Vec<Tool>,
    #[serde(default, rename = "nextCursor")]
    next_cursor: Present<String>,
    #[serde(default, rename = "_meta")]
    meta: Present<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "read to be checked")]
struct Tool {
    name: String,
    #[serde(rename = "inputSchema")]
    input_schema: Schema,
    #[serde(flatten)]
    further: Further,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Further {
    title: Present<String>,
    description: Present<String>,
    annotations: Present<Annotations>,
    output_schema: Present<Schema>,
    execution: Present<Map<String, Value>>,
    icons: Present<Vec<Icon>>,
    #[serde(rename = "_meta")]
    meta: Present<Map<String, Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Annotations {
    title: Present<String>,
    read_only_hint: Present<bool>,
    destructive_hint: Present<bool>,
    idempotent_hint: Present<bool>,
    open_world_hint: Present<bool>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "read to be checked")]
struct Icon {
    src: String,
}

/// The schema of an object.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "read to be checked")]
struct Schema {
    #[serde(rename = "type")]
    kind: SchemaKind,
    #[serde(default)]
    properties: Present<BTreeMap<String, Map<String, Value>>>,
    #[serde(default)]
    required: Present<Vec<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SchemaKind {
    Object,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[u8]) -> Option<ToolPage> {
        Answer::read(line)?.tools(line)
    }

    /// The page of an answer with this result.
    fn of(result: &str) -> ToolPage {
        let line = format!(r#"{{"id":1,"jsonrpc":"2.0","result":{result}}}"#);
        read(line.as_bytes()).unwrap()
    }

    /// The page of a tool with these fields beside its name and the plainest schema.
    fn with(fields: &str) -> ToolPage {
        let tool = format!(r#"{{"name":"a","inputSchema":{{"type":"object"}},{fields}}}"#);
        let tool: Value = serde_json::from_str(&tool).unwrap();
        of(&serde_json::json!({"tools": [tool]}).to_string())
    }

    #[test]
    fn a_list_that_is_what_mcp_asks_for_is_sound() {
        for fields in [
            r#""description":"","title":"A","_meta":{"any":null}"#,
            r#""annotations":{"title":"A","readOnlyHint":true,"destructiveHint":false,"x":null}"#,
            r#""outputSchema":{"type":"object","properties":{"a":{}},"required":[]}"#,
            r#""execution":{"taskSupport":"optional"},"icons":[{"src":"data:,","theme":"dark","sizes":["any"]}]"#,
            r#""unknown":null,"inputSchema":{"type":"object","properties":{"a":{"enum":[null]}},"required":["a"],"$defs":null,"additionalProperties":true}"#,
        ] {
            assert_eq!(with(fields).list, ToolList::Sound, "{fields}");
        }
        for more in ["", r#","_meta":{"progressToken":1,"x":null},"ttlMs":null"#] {
            let told = of(&format!("{{\"tools\":[]{more}}}"));
            assert_eq!(told.list, ToolList::Sound, "{more}");
        }
        let cut = of(r#"{"tools":[],"nextCursor":"2"}"#);
        assert_eq!(cut.list, ToolList::Cut);
    }

    #[test]
    fn a_list_with_a_field_of_another_type_is_flawed() {
        for fields in [
            r#""annotations":null"#,
            r#""annotations":{"readOnlyHint":"yes"}"#,
            r#""annotations":{"title":null}"#,
            r#""title":null"#,
            r#""description":null"#,
            r#""_meta":null"#,
            r#""_meta":[]"#,
            r#""icons":null"#,
            r#""icons":[{"src":null}]"#,
            r#""execution":null"#,
            r#""outputSchema":null"#,
            r#""outputSchema":{}"#,
            r#""outputSchema":{"type":"array"}"#,
            r#""inputSchema":null"#,
            r#""inputSchema":{}"#,
            r#""inputSchema":{"type":"string"}"#,
            r#""inputSchema":{"type":["object"]}"#,
            r#""inputSchema":{"type":"object","properties":null}"#,
            r#""inputSchema":{"type":"object","properties":[]}"#,
            r#""inputSchema":{"type":"object","properties":{"a":true}}"#,
            r#""inputSchema":{"type":"object","required":null}"#,
            r#""inputSchema":{"type":"object","required":[1]}"#,
            r#""name":1"#,
        ] {
            assert_eq!(with(fields).list, ToolList::Flawed, "{fields}");
        }
        for result in [
            r#"{"tools":[],"nextCursor":null}"#,
            r#"{"tools":[],"_meta":null}"#,
            r#"{"tools":[{"name":"a"}]}"#,
        ] {
            assert_eq!(of(result).list, ToolList::Flawed, "{result}");
        }
        let beside = br#"{"id":1,"jsonrpc":"2.0","error":null,"result":{"tools":[]}}"#;
        assert_eq!(read(beside).unwrap().list, ToolList::Flawed);
    }

    #[test]
    fn what_is_no_list_of_tools_is_a_flawed_one() {
        for tools in ["null", "{}", "7", "[1]", r#"[{"description":"x"}]"#] {
            let told = of(&format!("{{\"tools\":{tools}}}"));
            assert_eq!(
                (told.list, told.names.len()),
                (ToolList::Flawed, 0),
                "{tools}"
            );
        }
        let told = of(r#"{"tools":[{"name":"echo"},{"description":"x"}]}"#);
        assert_eq!(told.names, ["echo"]);
    }

    #[test]
    fn the_answer_of_a_tool_is_no_list_of_tools() {
        for line in [
            &br#"{"id":1,"jsonrpc":"2.0","result":{"content":[],"tools":7}}"#[..],
            br#"{"id":1,"jsonrpc":"2.0","result":{"capabilities":{"tools":{}}}}"#,
            b"no JSON",
        ] {
            assert_eq!(read(line), None);
        }
    }
}
