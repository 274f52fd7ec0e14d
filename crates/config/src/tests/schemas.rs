//! The JSON Schemas: shipped as generated, and every key of them has a text, a default that loads and a place in a fixture.

use std::path::Path;

use serde_json::Value;

use super::fixture;
use crate::problem::Report;
use crate::schemas::DEFINITIONS;
use crate::walk::Walker;
use crate::{AgentKind, schema_config, schema_tasks};

/// Every key of config and tasks, with the schema of its value.
fn keys() -> Vec<(&'static str, &'static Value)> {
    let [config, tasks] = [schema_config(), schema_tasks()];
    let mut found = Vec::new();
    for (name, schema) in DEFINITIONS.iter() {
        let is_used = |whole: &Value| whole["$defs"].get(name).is_some();
        if ["ConfigFile", "TasksFile"].contains(&name.as_str())
            || is_used(&config)
            || is_used(&tasks)
        {
            collect(schema, &mut found);
        }
    }
    found
}

fn collect(schema: &'static Value, found: &mut Vec<(&'static str, &'static Value)>) {
    let Value::Object(object) = schema else {
        return;
    };
    let is_object = object.get("type").is_some_and(|it| it == "object");
    if let Some(Value::Object(properties)) = object.get("properties").filter(|_| is_object) {
        let keys = properties
            .iter()
            .filter(|(_, schema)| schema.get("const").is_none());
        found.extend(keys.map(|(key, schema)| (key.as_str(), schema)));
    }
    let variants = object.get("oneOf").and_then(Value::as_array);
    let variants = variants.into_iter().flatten();
    variants.for_each(|variant| collect(variant, found));
}

fn read_schema(name: &str) -> String {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .join("schemas")
        .join(name);
    std::fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn the_shipped_schemas_are_the_generated_ones() {
    for (name, schema) in [("config", schema_config()), ("tasks", schema_tasks())] {
        let shipped = read_schema(&format!("{name}.schema.json"));
        assert!(
            shipped == format!("{schema:#}\n"),
            "schemas/{name}.schema.json is stale: run `proctor schema {name} > schemas/{name}.schema.json`"
        );
    }
}

#[test]
fn the_fixture_with_every_key_has_every_key() {
    let yaml = |name: &str| -> Value {
        let text = std::fs::read_to_string(fixture("every_key").join(name)).expect("a fixture");
        serde_yaml::from_str(&text).expect("YAML")
    };
    let both = [yaml("config.yaml"), yaml("tasks.yaml")].map(|value| value.to_string());
    let holds = |key: &str| {
        both.iter()
            .any(|text| text.contains(&format!("\"{key}\":")))
    };
    let mut absent: Vec<&str> = keys().iter().map(|(key, _)| *key).collect();
    absent.retain(|key| !holds(key));
    assert_eq!(absent, ["repo_path"], "it contradicts `template`");
}

#[test]
fn every_key_says_what_it_is_for_and_has_a_default_that_loads() {
    assert!(keys().len() > 190, "{}", keys().len());
    for (key, schema) in keys() {
        let text = schema["description"].as_str().unwrap_or_default();
        assert!(text.ends_with('.') && text.len() > 4, "{key}: {text}");
        if let Some(default) = schema.get("default") {
            let node = super::yaml::read(default.to_string().as_bytes()).expect("JSON is YAML");
            let mut report = Report::new(Path::new("default"));
            let mut walker = Walker {
                report: &mut report,
            };
            let read = walker.value(&node, schema, key);
            assert!(read.is_some(), "{key}: {:?}", report.into_problems());
        }
    }
}

#[test]
fn kinds_have_the_same_words_in_files_and_rows() {
    for kind in AgentKind::ALL {
        let read: AgentKind = serde_yaml::from_str(kind.as_str()).expect("a kind");
        assert_eq!(read, kind);
    }
}
