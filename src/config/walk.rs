//! A tree against a schema: every problem at once, and the value that serde reads, defaults filled in.
//!
//! What is wrong is told and left out. Where it must be there, the mapping that should hold it cannot be read either; an
//! item of a list becomes null, so that the others keep their places.

use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_yaml::{Mapping, Value as Yaml};

use crate::config::at::At;
use crate::config::node::{Entry, Node, Value, quoted};
use crate::config::problem::{Report, did_you_mean};
use crate::config::scalars;
use crate::config::schemas::{self, resolved};
use crate::config::tree;

/// Reads what stands at `at`; nothing where that cannot be read.
pub(super) fn read<T: JsonSchema + DeserializeOwned>(at: &At<'_>) -> Option<T> {
    read_into(at, &mut at.reading.report.borrow_mut())
}

/// The same where what is wrong was told before.
pub(super) fn read_again<T: JsonSchema + DeserializeOwned>(at: &At<'_>) -> Option<T> {
    read_into(at, &mut Report::new(Path::new("")))
}

fn read_into<T: JsonSchema + DeserializeOwned>(at: &At<'_>, report: &mut Report) -> Option<T> {
    let schema = schemas::of::<T>();
    let value = Walker { report }.value(at.node()?, schema, &at.path)?;
    match serde_yaml::from_value(value) {
        Ok(read) => Some(read),
        // A file of which a part is missing has been told of.
        Err(_) if report.failed() => None,
        Err(error) => {
            report.error(at.place, &at.path, format!("cannot be read: {error}"));
            None
        }
    }
}

/// `outer.key`, the key in quotes where it would read like something else.
pub(super) fn join(outer: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    let shown = if plain { key.to_owned() } else { quoted(key) };
    if outer.is_empty() {
        shown
    } else {
        format!("{outer}.{shown}")
    }
}

pub(super) struct Walker<'r> {
    pub(super) report: &'r mut Report,
}

/// How a schema is built.
enum Form {
    /// A mapping with known keys.
    Object,
    /// A mapping with free keys.
    Map,
    List,
    /// One of several mappings, by the word under a tag, or that word alone.
    Tagged(&'static [Json]),
    /// A mapping, or the value of one of its keys alone.
    Short(&'static str),
    /// What stands there decides.
    Either(&'static [Json]),
    Scalar,
}

fn form(schema: &'static Json) -> Form {
    let list = |key: &str| schema[key].as_array().map(Vec::as_slice);
    if let Some(key) = schema["x-short"].as_str() {
        Form::Short(key)
    } else if schema["properties"].is_object() {
        Form::Object
    } else if let Some(variants) = list("oneOf").filter(|all| all[0]["properties"].is_object()) {
        Form::Tagged(variants)
    } else if let Some(alternatives) = list("anyOf") {
        Form::Either(alternatives)
    } else if of_type(schema, "array") {
        Form::List
    } else if of_type(schema, "object") {
        Form::Map
    } else {
        Form::Scalar
    }
}

/// Whether values of this type are among what a schema is about.
pub(super) fn of_type(schema: &Json, name: &str) -> bool {
    match &schema["type"] {
        Json::Array(names) => names.iter().any(|it| it == name),
        kind => kind == name,
    }
}

/// What the value must be, for a message.
pub(super) fn wanted(schema: &'static Json) -> String {
    let schema = resolved(schema);
    match form(schema) {
        Form::Tagged(_) => "a name, or a mapping with `type`".to_owned(),
        Form::Either(all) => {
            let all = all.iter().filter(|it| !of_type(it, "null")).map(wanted);
            all.collect::<Vec<_>>().join(" or ")
        }
        Form::Short(key) => format!("{} or a mapping", wanted(short_form(schema, key))),
        Form::Object | Form::Map => "a mapping".to_owned(),
        Form::List if is_of_words(schema) => "a list of words".to_owned(),
        Form::List => "a list".to_owned(),
        Form::Scalar => scalars::wanted(schema),
    }
}

fn is_of_words(schema: &Json) -> bool {
    schema["items"]["x-is"] == "text or a number"
}

/// The key that may stand for the mapping.
fn short_form(schema: &'static Json, key: &str) -> &'static Json {
    &schema["properties"][key]
}

impl Walker<'_> {
    /// The value of `node`, which `schema` is about; `path` is its full name.
    pub(super) fn value(&mut self, node: &Node, schema: &'static Json, path: &str) -> Option<Yaml> {
        let schema = resolved(schema);
        match (form(schema), &node.value) {
            (Form::Tagged(variants), _) => self.tagged(node, (schema, variants), path),
            (Form::Short(_) | Form::Object, Value::Map(_)) => self.object(node, schema, path),
            (Form::Short(key), Value::Scalar(_)) => {
                let value = self.value(node, short_form(schema, key), path)?;
                let mut fields = Mapping::from_iter([(key.into(), value)]);
                self.fill(&mut fields, schema);
                Some(fields.into())
            }
            (Form::Map, Value::Map(entries)) => Some(self.map(entries, schema, path)),
            (Form::List, Value::List(items)) => self.list((node, items), schema, path),
            (Form::Either(all), _) => {
                let Some(taken) = all.iter().find(|it| takes(it, node)) else {
                    return self.wrong_type(node, schema, path);
                };
                let value = self.value(node, taken, path)?;
                Some(match value {
                    Yaml::String(line) if schema["x-is"] == "a command" => {
                        Yaml::from_iter(["sh".to_owned(), "-c".to_owned(), line])
                    }
                    value => value,
                })
            }
            (Form::Object | Form::Short(_) | Form::Map | Form::List, _) => {
                self.wrong_type(node, schema, path)
            }
            (Form::Scalar, _) => self.scalar(node, schema, path),
        }
    }

    /// Says that `node` is not what `schema` wants.
    pub(super) fn wrong_type(
        &mut self,
        node: &Node,
        schema: &'static Json,
        path: &str,
    ) -> Option<Yaml> {
        let message = format!("must be {}, not {}", wanted(schema), node.shown());
        let problem = self.report.error(node.place, path, message);
        let line = node.text().filter(|_| is_of_words(schema));
        if let Some(Ok(words)) = line.map(shell_words::split) {
            problem.hint(format!("write {}", Json::from(words)));
        } else if node.is_null() {
            problem.hint("give it a value, or leave the key out");
        }
        None
    }

    fn list(
        &mut self,
        (node, items): (&Node, &[Node]),
        schema: &'static Json,
        path: &str,
    ) -> Option<Yaml> {
        let is_short = schema["minItems"].as_u64().unwrap_or(0) > items.len() as u64;
        if is_short {
            self.report.error(node.place, path, "must not be empty");
        }
        let items = items.iter().enumerate().map(|(index, item)| {
            let value = self.value(item, &schema["items"], &format!("{path}[{index}]"));
            value.unwrap_or_default()
        });
        let items: Vec<Yaml> = items.collect();
        let is_whole = schema["x-holes"] == true || !items.contains(&Yaml::Null);
        (is_whole && !is_short).then_some(items.into())
    }

    fn map(&mut self, entries: &[Entry], schema: &'static Json, path: &str) -> Yaml {
        let mut values = Mapping::new();
        for entry in entries {
            let path = join(path, &entry.key);
            if !schema["propertyNames"].is_object() {
                // Anything may stand here.
                values.insert(entry.key.as_str().into(), entry.value.to_yaml());
                continue;
            }
            let is_fit = self.free_key(entry, &schema["propertyNames"], &path);
            let value = self.value(&entry.value, &schema["additionalProperties"], &path);
            if let Some(value) = value.filter(|_| is_fit) {
                values.insert(entry.key.as_str().into(), value);
            }
        }
        values.into()
    }

    /// Known keys are checked; at the top level, keys that start with `x-` are yours, as a place for anchors.
    fn object(&mut self, node: &Node, schema: &'static Json, path: &str) -> Option<Yaml> {
        let mut fields = Mapping::new();
        for entry in node.map().unwrap_or_default() {
            let at = join(path, &entry.key);
            let property = schema["properties"].get(&entry.key);
            let is_absent = entry.value.is_null() && !is_required(schema, &entry.key);
            let value = match (property, &schema["additionalProperties"]) {
                (Some(_), _) | (None, Json::Object(_)) if is_absent => None,
                (Some(property), _) => self.value(&entry.value, property, &at),
                (None, further @ Json::Object(_)) => {
                    self.maybe_misspelt(entry, schema, &at);
                    self.value(&entry.value, further, &at)
                }
                (None, _) => {
                    if !(path.is_empty() && entry.key.starts_with("x-")) {
                        self.unknown_key(entry, &keys(schema), &at);
                    }
                    None
                }
            };
            if let Some(value) = value {
                fields.insert(entry.key.as_str().into(), value);
            }
        }
        self.missing_keys(node, schema, path);
        self.fill(&mut fields, schema);
        let mut required = required(schema);
        let is_whole = path.is_empty() || required.all(|key| fields.contains_key(key));
        is_whole.then_some(fields.into())
    }

    /// Adds the defaults of keys that are not there.
    fn fill(&mut self, fields: &mut Mapping, schema: &'static Json) {
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let default = property
                .get("default")
                .filter(|_| !fields.contains_key(key));
            let default = default.and_then(|json| tree::read(&json.to_string(), self.report));
            let value = default.and_then(|node| self.value(&node, property, key));
            if let Some(value) = value {
                fields.insert(key.as_str().into(), value);
            }
        }
    }

    fn missing_keys(&mut self, node: &Node, schema: &'static Json, path: &str) {
        for key in required(schema).filter(|key| node.get(key).is_none()) {
            let wanted = wanted(&schema["properties"][key]);
            self.report
                .error(node.place, &join(path, key), "is missing")
                .hint(format!("it must be {wanted}"));
        }
    }

    /// A mapping whose keys depend on the word under the tag, or that word alone.
    fn tagged(
        &mut self,
        node: &Node,
        (schema, variants): (&'static Json, &'static [Json]),
        path: &str,
    ) -> Option<Yaml> {
        const TAG: &str = "type";
        let words = || {
            variants
                .iter()
                .filter_map(|it| it["properties"][TAG]["const"].as_str())
        };
        let named = match node.map() {
            Some(_) => node.get(TAG),
            None => Some(node),
        };
        let Some(named) = named else {
            let words: Vec<&str> = words().collect();
            self.report
                .error(node.place, &join(path, TAG), "is missing")
                .hint(format!("one of {}", words.join(", ")));
            return None;
        };
        let Some(word) = named.text() else {
            return self.wrong_type(named, schema, path);
        };
        let Some(variant) = words().position(|it| it == word) else {
            let noun = schema["x-noun"].as_str().unwrap_or(TAG);
            self.unknown_word(named, (noun, &words().collect::<Vec<_>>()), path);
            return None;
        };
        let alone = Node {
            value: Value::Map(vec![Entry {
                key: TAG.to_owned(),
                key_place: named.place,
                value: named.clone(),
            }]),
            place: node.place,
        };
        let whole = node.map().map_or(&alone, |_| node);
        self.object(whole, &variants[variant], path)
    }

    /// Says that a word is none of those known.
    pub(super) fn unknown_word(&mut self, node: &Node, (noun, known): (&str, &[&str]), path: &str) {
        let word = node.text().unwrap_or_default();
        let meant = did_you_mean(word, known.iter().copied());
        let message = format!("unknown {noun} {}{meant}", quoted(word));
        self.report
            .error(node.place, path, message)
            .hint(format!("known: {}", known.join(", ")));
    }

    fn unknown_key(&mut self, entry: &Entry, known: &[&str], path: &str) {
        if self.report.is_full() {
            self.report.error(entry.key_place, path, "unknown key");
            return;
        }
        if let Some((_, hint)) = REMOVED.iter().find(|(key, _)| *key == entry.key) {
            let problem = self
                .report
                .error(entry.key_place, path, "is no longer a key");
            return problem.hint(*hint);
        }
        let meant = did_you_mean(&entry.key, known.iter().copied());
        let is_near = !meant.is_empty();
        let problem = self
            .report
            .error(entry.key_place, path, format!("unknown key{meant}"));
        match known {
            _ if is_near => {}
            [] => problem.hint("no keys are known here"),
            known => problem.hint(format!("known keys: {}", known.join(", "))),
        }
    }

    /// Where free keys are allowed beside known ones, a key next to a known one is worth a word.
    fn maybe_misspelt(&mut self, entry: &Entry, schema: &'static Json, path: &str) {
        let written = entry.key.to_lowercase();
        let mut known = keys(schema).into_iter();
        let near = known.find(|name| strsim::osa_distance(name, &written) <= 2);
        if let Some(name) = near.filter(|_| !self.report.is_full()) {
            let message = format!("is kept as a key of its own (did you mean \"{name}\"?)");
            self.report.warning(entry.key_place, path, message);
        }
    }

    /// Whether a free key is what the schema of the names wants; says why not.
    fn free_key(&mut self, entry: &Entry, names: &'static Json, path: &str) -> bool {
        let names = resolved(names);
        let name = entry.key.as_str();
        if let Some(words) = scalars::words(names) {
            let is_known = words.contains(&name);
            if !is_known {
                self.unknown_key(entry, &words, path);
            }
            return is_known;
        }
        let Some((message, hint)) = scalars::key_problem(name, names["x-is"].as_str()) else {
            return true;
        };
        self.report.error(entry.key_place, path, message).hint(hint);
        false
    }
}

/// Keys of earlier versions, and what to do in their place.
const REMOVED: [(&str, &str); 2] = [
    (
        "sentinel",
        "give the hidden tests a `twin`: `proctor validate --make-twins` proposes one",
    ),
    (
        "grader_env",
        "graders always work in a tree that proctor builds: `carry` names ignored paths that they need",
    ),
];

fn keys(schema: &'static Json) -> Vec<&'static str> {
    let known = schema["properties"].as_object();
    known
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
        .collect()
}

fn required(schema: &'static Json) -> impl Iterator<Item = &'static str> {
    let all = schema["required"].as_array().into_iter().flatten();
    all.filter_map(Json::as_str)
}

fn is_required(schema: &'static Json, key: &str) -> bool {
    required(schema).any(|it| it == key)
}

/// Whether `node` is of the sort that `schema` is about.
fn takes(schema: &'static Json, node: &Node) -> bool {
    let is_list = matches!(form(resolved(schema)), Form::List);
    let is_map = matches!(form(resolved(schema)), Form::Map | Form::Object);
    match node.value {
        Value::List(_) => is_list,
        Value::Map(_) => is_map,
        Value::Scalar(_) => !is_list && !is_map && !of_type(schema, "null"),
        Value::Null => false,
    }
}
