//! JSON Schemas of both files, from the same tables that loading goes by.

use serde_json::{Map, Value, json};

use crate::check_scalar::{LONGEST_PAUSE, LONGEST_SECONDS, SHORTEST_SECONDS};
use crate::shape::{Choice, FreeKey, Key, Need, Section, Shape, Variant};
use crate::tables::{AGENT, CONFIG, KINDS, PRICING, PROJECT, TASKS};

const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
const ID_PATTERN: &str = "^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?$";

/// JSON Schema (draft 2020-12) of `config.yaml`.
#[must_use]
pub fn schema_config() -> Value {
    titled("proctor config.yaml", object(&CONFIG))
}

/// JSON Schema (draft 2020-12) of `tasks.yaml`.
#[must_use]
pub fn schema_tasks() -> Value {
    let mut file = object(&TASKS);
    let list = std::mem::replace(
        &mut file["properties"]["tasks"],
        json!({"$ref": "#/$defs/tasks"}),
    );
    titled(
        "proctor tasks.yaml",
        json!({
            "description": TASKS.doc,
            "anyOf": [file, {"$ref": "#/$defs/tasks"}],
            "$defs": {"tasks": list},
        }),
    )
}

fn titled(title: &str, mut schema: Value) -> Value {
    schema["$schema"] = DIALECT.into();
    schema["title"] = title.into();
    schema
}

fn object(section: &'static Section) -> Value {
    let properties: Map<String, Value> = section
        .keys
        .iter()
        .map(|key| (key.name.to_owned(), property(key)))
        .collect();
    let required: Vec<&str> = section
        .keys
        .iter()
        .filter(|key| key.need == Need::Required)
        .map(|key| key.name)
        .collect();
    let mut schema = json!({
        "type": "object",
        "description": section.doc,
        "properties": properties,
        "additionalProperties": section.open.map_or(json!(false), |shape| nullable(of(shape))),
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if std::ptr::eq(section, &raw const CONFIG) || std::ptr::eq(section, &raw const TASKS) {
        schema["patternProperties"] =
            json!({"^x-": {"description": "Yours: a place for anchors."}});
    }
    for (rule, value) in rules(section) {
        schema[rule] = value;
    }
    schema
}

/// What holds between keys of a section.
fn rules(section: &'static Section) -> Vec<(&'static str, Value)> {
    if std::ptr::eq(section, &raw const AGENT) {
        return vec![
            (
                "if",
                json!({"properties": {"kind": {"const": "replay"}}, "required": ["kind"]}),
            ),
            ("then", json!({"required": ["cassettes", "plays"]})),
            ("else", json!({"required": ["command"]})),
        ];
    }
    if std::ptr::eq(section, &raw const PRICING) {
        let both = json!({
            "input_per_token": ["output_per_token"],
            "output_per_token": ["input_per_token"],
        });
        return vec![("dependentRequired", both)];
    }
    if std::ptr::eq(section, &raw const PROJECT) {
        return vec![exactly_one(["repo_path", "template"])];
    }
    if section.key("argv").is_some() {
        return vec![exactly_one(["argv", "command"])];
    }
    Vec::new()
}

fn exactly_one(names: [&str; 2]) -> (&'static str, Value) {
    let given =
        |name: &str| json!({"required": [name], "properties": {name: {"not": {"type": "null"}}}});
    ("oneOf", names.map(given).as_slice().into())
}

fn property(key: &Key) -> Value {
    let schema = of(&key.shape);
    let mut schema = match key.need {
        Need::Required => schema,
        Need::Optional | Need::Default(_) => nullable(schema),
    };
    schema["description"] = key.doc.into();
    if let Need::Default(default) = key.need {
        schema["default"] = serde_json::from_str(default).unwrap_or_default();
    }
    schema
}

/// The same, or null, which means absent.
fn nullable(mut schema: Value) -> Value {
    if let Some(choices) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        choices.push(Value::Null);
    }
    match schema.get("type") {
        Some(Value::String(name)) => schema["type"] = json!([name, "null"]),
        Some(Value::Array(names)) => {
            let null = Value::from("null");
            schema["type"] = names.iter().cloned().chain([null]).collect();
        }
        _ => return json!({"anyOf": [schema, {"type": "null"}]}),
    }
    schema
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Text => json!({"type": "string"}),
        Shape::Filled => json!({"type": "string", "pattern": "\\S"}),
        Shape::Word => json!({"type": ["string", "number", "boolean"]}),
        Shape::Id => json!({"type": "string", "pattern": ID_PATTERN}),
        Shape::Path | Shape::Inside | Shape::Glob => json!({"type": "string", "minLength": 1}),
        Shape::Variable => json!({"type": "string", "pattern": "^[^=\\s]+$"}),
        Shape::Host => json!({"type": "string", "pattern": "^[^/@\\s]+$"}),
        Shape::Program => json!({"type": "string", "pattern": "^[^/\\\\]+$"}),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Seconds => seconds(SHORTEST_SECONDS, LONGEST_SECONDS),
        Shape::Pause => seconds(0.0, LONGEST_PAUSE),
        Shape::Whole { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Shape::Number => json!({"type": "number", "minimum": 0}),
        Shape::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
        Shape::Mapping => json!({"type": "object"}),
        Shape::OneOf(choices) => one_of(choices),
        Shape::List { of: item, least } => {
            json!({"type": "array", "items": of(item), "minItems": least})
        }
        Shape::Map { keys, of: item } => {
            json!({"type": "object", "propertyNames": names(*keys), "additionalProperties": of(item)})
        }
        Shape::Object(section) => object(section),
        Shape::Either(shapes) => {
            let schemas: Vec<Value> = shapes.iter().map(of).collect();
            json!({"anyOf": schemas})
        }
        Shape::Tagged { tag, variants, .. } => tagged(tag, variants),
    }
}

fn seconds(least: f64, most: f64) -> Value {
    json!({"type": "number", "minimum": least, "maximum": most})
}

fn one_of(choices: &[Choice]) -> Value {
    let (words, docs): (Vec<&str>, Vec<&str>) = choices.iter().copied().unzip();
    json!({"type": "string", "enum": words, "enumDescriptions": docs})
}

fn names(keys: FreeKey) -> Value {
    match keys {
        FreeKey::Variable => of(&Shape::Variable),
        FreeKey::Scenario => of(&Shape::Id),
        FreeKey::Kind => one_of(&KINDS),
        FreeKey::Model => of(&Shape::Filled),
    }
}

fn tagged(tag: &str, variants: &[Variant]) -> Value {
    let bare: Vec<&str> = variants
        .iter()
        .filter(|(_, section)| section.keys.iter().all(|key| key.need != Need::Required))
        .map(|(word, _)| *word)
        .filter(|word| *word != "command")
        .collect();
    let mut schemas = vec![json!({"type": "string", "enum": bare})];
    for (word, section) in variants {
        let mut schema = object(section);
        schema["properties"][tag] = json!({"const": word, "description": section.doc});
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let required: Vec<Value> = [tag.into()].into_iter().chain(required).collect();
        schema["required"] = required.into();
        schemas.push(schema);
    }
    json!({"anyOf": schemas})
}
