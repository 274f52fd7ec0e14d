//! What a server told of its tools, and whether that is what MCP asks for.
//!
//! Clients that are built on MCP's TypeScript SDK check each list by its schema, and take none of the tools where one field is of
//! another type: also where one that may be left out is `null`. So a list is sound only where all that the schema names is as it asks;
//! what it does not name may be there.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a server's list of its tools was like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolList {
    /// All of it came, as MCP asks for it; or none was told.
    #[default]
    Sound,
    /// More was to come and never did.
    Cut,
    /// Something in it is not what MCP asks for, or it is no list of tools: some agents then take none of them.
    Flawed,
}

/// A page of a list of tools.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolsTold {
    /// The names of the tools that have one.
    pub(super) names: Vec<String>,
    /// What it was like, but for what the tools say of their output.
    pub(super) list: ToolList,
    /// Whether what a tool says of its output is not what MCP asks for: some agents then do without that part alone.
    pub(super) odd_outputs: bool,
}

impl ToolsTold {
    /// Reads a line of a server's output; `None` where that is no answer with tools. The answer of a tool has `content`.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let answer: Value = serde_json::from_slice(line).ok()?;
        let result = &answer["result"];
        let told = result.get("tools")?;
        if result.get("content").is_some() {
            return None;
        }
        let tools = told.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_sound = told.is_array()
            && is_answer(&answer)
            && may(result, "_meta", is_meta)
            && may(result, "nextCursor", Value::is_string)
            && tools.iter().all(is_tool);
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        Some(Self {
            names: names.map(str::to_owned).collect(),
            list: match result.get("nextCursor") {
                _ if !is_sound => ToolList::Flawed,
                Some(_) => ToolList::Cut,
                None => ToolList::Sound,
            },
            odd_outputs: !tools
                .iter()
                .all(|tool| may(tool, "outputSchema", is_schema)),
        })
    }
}

/// Whether a field is left out, or is what it has to be.
fn may(of: &Value, key: &str, is: impl Fn(&Value) -> bool) -> bool {
    of.get(key).is_none_or(is)
}

fn texts(value: &Value) -> bool {
    (value.as_array()).is_some_and(|texts| texts.iter().all(Value::is_string))
}

/// An answer of JSON-RPC: nothing may stand beside its result, not even an `error` of `null`.
fn is_answer(answer: &Value) -> bool {
    let known = |key: &String| ["jsonrpc", "id", "result"].contains(&key.as_str());
    (answer.as_object()).is_some_and(|answer| answer.keys().all(known))
        && answer["jsonrpc"] == "2.0"
        && is_id(&answer["id"])
}

/// A text or a whole number.
fn is_id(value: &Value) -> bool {
    value.is_string() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn is_meta(meta: &Value) -> bool {
    let is_task = |task: &Value| task["taskId"].is_string();
    meta.is_object()
        && may(meta, "progressToken", is_id)
        && may(meta, "io.modelcontextprotocol/related-task", is_task)
}

fn is_tool(tool: &Value) -> bool {
    tool["name"].is_string()
        && is_schema(&tool["inputSchema"])
        && may(tool, "title", Value::is_string)
        && may(tool, "description", Value::is_string)
        && may(tool, "annotations", are_annotations)
        && may(tool, "execution", is_execution)
        && may(tool, "icons", are_icons)
        && may(tool, "_meta", Value::is_object)
}

/// The schema of a tool's arguments or of its output, as far as it is looked at: that of an object, whose properties are objects.
fn is_schema(schema: &Value) -> bool {
    let is_property = |value: &Value| value.is_object() || value.is_array();
    let are_properties = |value: &Value| {
        (value.as_object()).is_some_and(|properties| properties.values().all(is_property))
    };
    schema["type"] == "object"
        && may(schema, "properties", are_properties)
        && may(schema, "required", texts)
}

fn are_annotations(annotations: &Value) -> bool {
    let hints = [
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    ];
    annotations.is_object()
        && may(annotations, "title", Value::is_string)
        && (hints.iter()).all(|hint| may(annotations, hint, Value::is_boolean))
}

fn is_execution(execution: &Value) -> bool {
    let words = ["required", "optional", "forbidden"];
    let is_word = |word: &Value| words.iter().any(|known| word == known);
    execution.is_object() && may(execution, "taskSupport", is_word)
}

fn are_icons(icons: &Value) -> bool {
    let is_theme = |theme: &Value| theme == "light" || theme == "dark";
    let is_icon = |icon: &Value| {
        icon["src"].is_string()
            && may(icon, "mimeType", Value::is_string)
            && may(icon, "sizes", texts)
            && may(icon, "theme", is_theme)
    };
    (icons.as_array()).is_some_and(|icons| icons.iter().all(is_icon))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told by an answer with this result.
    fn of(result: &str) -> ToolsTold {
        let line = format!(r#"{{"id":1,"jsonrpc":"2.0","result":{result}}}"#);
        ToolsTold::read(line.as_bytes()).unwrap()
    }

    /// What is told by a tool with these fields beside its name and the plainest schema.
    fn with(fields: &str) -> ToolsTold {
        of(&format!(
            r#"{{"tools":[{{"name":"a","inputSchema":{{"type":"object"}},{fields}}}]}}"#
        ))
    }

    #[test]
    fn a_list_that_is_what_mcp_asks_for_is_sound() {
        for fields in [
            r#""description":"","title":"A","_meta":{"any":null}"#,
            r#""annotations":{"title":"A","readOnlyHint":true,"destructiveHint":false,"x":null}"#,
            r#""outputSchema":{"type":"object","properties":{"a":{}},"required":[]}"#,
            r#""execution":{"taskSupport":"optional"},"icons":[{"src":"data:,","theme":"dark","sizes":["any"]}]"#,
            r#""unknown":null,"inputSchema":{"type":"object","properties":{"a":{"enum":[null]},"b":[]},"required":["a"],"$defs":null,"additionalProperties":true}"#,
        ] {
            let told = with(fields);
            assert_eq!(
                (told.list, told.odd_outputs),
                (ToolList::Sound, false),
                "{fields}"
            );
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
            r#""icons":[{"src":"x","theme":"blue"}]"#,
            r#""execution":null"#,
            r#""execution":{"taskSupport":"maybe"}"#,
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
        assert_eq!(ToolsTold::read(beside).unwrap().list, ToolList::Flawed);
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
    fn what_a_tool_says_of_its_output_is_told_apart() {
        for output in ["null", "{}", r#"{"type":"array"}"#] {
            let told = with(&format!("\"outputSchema\":{output}"));
            assert_eq!(
                (told.list, told.odd_outputs),
                (ToolList::Sound, true),
                "{output}"
            );
        }
    }

    #[test]
    fn the_answer_of_a_tool_is_no_list_of_tools() {
        for line in [
            &br#"{"id":1,"jsonrpc":"2.0","result":{"content":[],"tools":7}}"#[..],
            br#"{"id":1,"jsonrpc":"2.0","result":{"capabilities":{"tools":{}}}}"#,
            b"no JSON",
        ] {
            assert_eq!(ToolsTold::read(line), None);
        }
    }
}
