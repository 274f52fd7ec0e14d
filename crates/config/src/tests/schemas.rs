//! The JSON Schemas: shipped as generated, and the same keys as loading knows.

use std::path::Path;

use serde_json::Value;

use super::{fixture, load_fixture};
use crate::fields::asked;
use crate::shape::{Key, Section, Shape};
use crate::tables::{CONFIG, KINDS, TASKS};
use crate::{AgentKind, schema_config, schema_tasks};

/// Every section of both files, each with the JSON Schema objects that describe it.
fn sections() -> Vec<&'static Section> {
    let mut found: Vec<&'static Section> = vec![&CONFIG, &TASKS];
    let mut next = 0;
    while let Some(section) = found.get(next).copied() {
        for key in section.keys {
            collect(&key.shape, &mut found);
        }
        next += 1;
    }
    found
}

fn collect(shape: &Shape, found: &mut Vec<&'static Section>) {
    match shape {
        Shape::Object(section) if !found.iter().any(|known| std::ptr::eq(*known, *section)) => {
            found.push(section);
        }
        Shape::List { of, .. } | Shape::Map { of, .. } => collect(of, found),
        Shape::Either(shapes) => shapes.iter().for_each(|shape| collect(shape, found)),
        Shape::Tagged { variants, .. } => {
            found.extend(variants.iter().map(|(_, section)| *section));
        }

        _ => {}
    }
}

/// Objects of a schema that know keys.
fn objects(schema: &Value, found: &mut Vec<Value>) {
    match schema {
        Value::Array(items) => items.iter().for_each(|item| objects(item, found)),
        Value::Object(map) => {
            if map.contains_key("additionalProperties")
                && map.contains_key("description")
                && map.contains_key("properties")
            {
                found.push(schema.clone());
            }
            map.values().for_each(|value| objects(value, found));
        }
        _ => {}
    }
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
fn every_key_of_the_tables_is_read_by_the_loader() {
    load_fixture("every_key", true).unwrap_or_else(|problems| panic!("{problems}"));
    let unread: Vec<String> = sections()
        .into_iter()
        .flat_map(|section| section.keys.iter().map(move |key| (section, key)))
        .filter(|(section, key)| !asked::was(section, key.name))
        .map(|(section, key)| format!("{} of {}", key.name, section.doc))
        .collect();
    assert_eq!(unread, [""; 0]);
}

#[test]
fn the_schemas_know_the_keys_of_the_tables_and_no_others() {
    let mut found = Vec::new();
    objects(&schema_config(), &mut found);
    objects(&schema_tasks(), &mut found);
    let mut in_schemas: Vec<Vec<String>> = found
        .iter()
        .map(|object| {
            let properties = object["properties"].as_object().expect("properties");
            let keys = properties.keys().filter(|key| *key != "type");
            keys.cloned().collect()
        })
        .collect();
    let mut in_tables: Vec<Vec<String>> = sections()
        .into_iter()
        .map(|section| {
            let mut names: Vec<String> =
                section.keys.iter().map(|key| key.name.to_owned()).collect();
            names.sort();
            names
        })
        .collect();
    in_schemas.sort();
    in_tables.sort();
    // A section that both files use is in both schemas.
    in_schemas.dedup();
    in_tables.dedup();
    assert_eq!(in_schemas, in_tables);
}

#[test]
fn the_fixture_with_every_key_has_every_key() {
    let yaml = |name: &str| -> Value {
        let text = std::fs::read_to_string(fixture("every_key").join(name)).expect("a fixture");
        serde_yaml::from_str(&text).expect("YAML")
    };
    let both = [yaml("config.yaml"), yaml("tasks.yaml")];
    let holds = |key: &Key| {
        both.iter()
            .any(|value| value.to_string().contains(&format!("\"{}\":", key.name)))
    };
    let absent: Vec<&str> = sections()
        .into_iter()
        .flat_map(|section| section.keys)
        .filter(|key| !holds(key))
        .map(|key| key.name)
        .collect();
    assert_eq!(absent, ["repo_path"], "it contradicts `template`");
}

#[test]
fn every_key_says_what_it_is_for_and_has_a_default_that_loads() {
    for key in sections().into_iter().flat_map(|section| section.keys) {
        assert!(
            key.doc.ends_with('.') && key.doc.len() > 4,
            "{}: {}",
            key.name,
            key.doc
        );
        if let crate::shape::Need::Default(json) = key.need {
            serde_json::from_str::<Value>(json)
                .unwrap_or_else(|error| panic!("{}: {error}", key.name));
            let node = super::yaml::read(json.as_bytes()).expect("JSON is YAML");
            let mut report = crate::problem::Report::new(Path::new("default"));
            crate::check::check(&node, &key.shape, key.name, &mut report);
            assert!(
                !report.failed(),
                "{}: {:?}",
                key.name,
                report.into_problems()
            );
        }
    }
}

#[test]
fn the_words_of_the_tables_are_those_of_the_types() {
    let words: Vec<&str> = KINDS.iter().map(|(word, _)| *word).collect();
    let kinds: Vec<&str> = AgentKind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(words, kinds);
}
