//! The JSON Schemas of the files that a person writes, from the types that they are read into.

use std::sync::LazyLock;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::load::ConfigFile;
use crate::prices::ShippedKeys;
use crate::tasks::TasksFile;
use crate::traces::AgentCi;

/// Every type that a file or a part of one is read into; its definitions are all there are.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema alone is of use")]
struct All {
    config: ConfigFile,
    tasks: TasksFile,
    traces: AgentCi,
    shipped: ShippedKeys,
}

pub(super) static DEFINITIONS: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let root = SchemaGenerator::default().into_root_schema_for::<All>();
    let raw = match root.get("$defs") {
        Some(Value::Object(raw)) => raw.clone(),
        _ => Map::new(),
    };
    let finished = raw.iter().map(|(name, schema)| {
        let mut schema = schema.clone();
        finish(&mut schema, &raw);
        (name.clone(), schema)
    });
    finished.collect()
});

/// The schema of a type of [`All`].
pub(super) fn of<T: JsonSchema>() -> &'static Value {
    named(&T::schema_name())
}

fn named(name: &str) -> &'static Value {
    DEFINITIONS.get(name).unwrap_or(&Value::Null)
}

/// The schema itself: references and `or null` are followed.
pub(super) fn resolved(schema: &'static Value) -> &'static Value {
    if let Some(name) = schema["$ref"].as_str() {
        return resolved(named(name.trim_start_matches("#/$defs/")));
    }
    let alternatives = schema["anyOf"].as_array().map(Vec::as_slice);
    match alternatives.unwrap_or_default() {
        [only, null] if null["type"] == "null" => resolved(only),
        _ => schema,
    }
}

/// Whether values of this type are among what a schema is about.
pub(super) fn of_type(schema: &Value, name: &str) -> bool {
    match &schema["type"] {
        Value::Array(names) => names.iter().any(|it| it == name),
        kind => kind == name,
    }
}

/// What the derived schema leaves open: unknown keys are refused, a key with a default need not be there, and null is the
/// same as absent.
fn finish(schema: &mut Value, definitions: &Map<String, Value>) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| finish(item, definitions)),
        Value::Object(object) => {
            inline(object, definitions);
            describe(object);
            object
                .values_mut()
                .for_each(|value| finish(value, definitions));
            close(object);
        }
        _ => {}
    }
}

/// A variant of a tagged enum refers to the type that it holds: its keys stand beside the tag.
fn inline(object: &mut Map<String, Value>, definitions: &Map<String, Value>) {
    let name = object.get("$ref").and_then(Value::as_str);
    let Some(name) = name.filter(|_| object.contains_key("properties")) else {
        return;
    };
    let inner = definitions.get(name.trim_start_matches("#/$defs/"));
    let inner = inner
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    object.remove("$ref");
    for (key, value) in inner {
        match (object.get_mut(&key), value) {
            (Some(Value::Object(own)), Value::Object(further)) => own.extend(further),
            (Some(Value::Array(own)), Value::Array(further)) => own.extend(further),
            (Some(_), _) => {}
            (None, value) => drop(object.insert(key, value)),
        }
    }
}

/// Lines of comments become lines of text; how wide a number is in memory concerns nobody, and none is negative.
fn describe(object: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if object
        .remove("format")
        .is_some_and(|format| format == "double")
    {
        object.entry("minimum").or_insert(0.into());
    }
}

fn close(object: &mut Map<String, Value>) {
    if object.get("type").is_none_or(|kind| kind != "object") {
        return;
    }
    let required = object.get("required").and_then(Value::as_array);
    let mut required = required.cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = object.get_mut("properties") else {
        return;
    };
    required.retain(|name| {
        let property = name.as_str().and_then(|name| properties.get(name));
        property.is_some_and(|property| property.get("default").is_none())
    });
    for (name, property) in properties {
        if !required.iter().any(|known| known == name) {
            nullable(property);
        }
    }
    if required.is_empty() {
        object.remove("required");
    } else {
        object.insert("required".to_owned(), required.into());
    }
    object.entry("additionalProperties").or_insert(false.into());
}

/// The same, or null.
fn nullable(schema: &mut Value) {
    let null = json!("null");
    if let Some(kind) = schema.get_mut("type") {
        let mut kinds = match kind.take() {
            Value::Array(kinds) => kinds,
            kind => vec![kind],
        };
        if !kinds.contains(&null) {
            kinds.push(null);
        }
        *kind = kinds.into();
    } else if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        if !alternatives.iter().any(|it| it["type"] == "null") {
            alternatives.push(json!({"type": "null"}));
        }
    } else if let Some(target) = schema.as_object_mut().and_then(|it| it.remove("$ref")) {
        schema["anyOf"] = json!([{"$ref": target}, {"type": "null"}]);
    }
}

/// JSON Schema (draft 2020-12) of `config.yaml`.
#[must_use]
pub fn schema_config() -> Value {
    titled("proctor config.yaml", &open(of::<ConfigFile>()))
}

/// JSON Schema (draft 2020-12) of `tasks.yaml`: a mapping with `tasks`, or that list alone.
#[must_use]
pub fn schema_tasks() -> Value {
    let file = of::<TasksFile>();
    let list = &file["properties"]["tasks"];
    titled("proctor tasks.yaml", &json!({"anyOf": [open(file), list]}))
}

/// A file may hold keys of its own.
fn open(file: &Value) -> Value {
    let mut file = file.clone();
    file["patternProperties"] = json!({"^x-": {"description": "Yours: a place for anchors."}});
    file
}

fn titled(title: &str, schema: &Value) -> Value {
    let mut whole = exported(schema);
    let mut used = Map::new();
    let mut open = references(schema);
    while let Some(name) = open.pop() {
        if !used.contains_key(&name) {
            let definition = named(&name);
            open.extend(references(definition));
            used.insert(name, exported(definition));
        }
    }
    whole["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    whole["title"] = title.into();
    whole["$defs"] = used.into();
    whole
}

/// The names of the definitions that a schema refers to.
fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(object) => {
            let own = object.get("$ref").and_then(Value::as_str);
            let own = own.map(|name| name.trim_start_matches("#/$defs/").to_owned());
            own.into_iter()
                .chain(object.values().flat_map(references))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// As others read it: a mapping that may be written short is either, and so is a tagged one that needs no keys.
fn exported(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => items.iter().map(exported).collect(),
        Value::Object(object) => {
            let whole: Map<String, Value> = object
                .iter()
                .map(|(key, value)| (key.clone(), exported(value)))
                .collect();
            let mut whole = either(whole);
            if let Value::Object(whole) = &mut whole {
                whole.retain(|key, _| !key.starts_with("x-"));
            }
            whole
        }
        value => value.clone(),
    }
}

fn either(mut whole: Map<String, Value>) -> Value {
    let short = whole.remove("x-short");
    if let Some(key) = short.as_ref().and_then(Value::as_str) {
        let alone = whole["properties"][key].clone();
        return json!({"anyOf": [alone, whole]});
    }
    if !whole.contains_key("x-noun") {
        return whole.into();
    }
    let variants = whole.remove("oneOf");
    let variants = variants
        .as_ref()
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let needs_no_keys =
        |it: &&Value| it["required"] == json!(["type"]) && it.get("oneOf").is_none();
    let bare = variants.iter().filter(needs_no_keys);
    let bare: Vec<&Value> = bare.map(|it| &it["properties"]["type"]["const"]).collect();
    let mut alternatives = vec![json!({"type": "string", "enum": bare})];
    alternatives.extend(variants);
    whole.insert("anyOf".to_owned(), alternatives.into());
    whole.into()
}
