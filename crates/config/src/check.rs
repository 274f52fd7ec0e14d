//! A tree against the key tables: unknown keys, wrong types, missing values, limits.

use crate::check_scalar;
use crate::node::{Entry, Node, Value, quoted};
use crate::problem::{Place, Report, did_you_mean};
use crate::shape::{FreeKey, Need, Section, Shape};
use crate::tables::KINDS;
use proctor_model::check_id;

/// Checks `node` against `shape`; `path` is its key so far.
pub(super) fn check(node: &Node, shape: &Shape, path: &str, report: &mut Report) {
    match (shape, &node.value) {
        (Shape::Object(section), Value::Map(_)) => object(node, section, path, report),
        (Shape::List { of, least }, Value::List(items)) => {
            if items.len() < *least {
                report.error(node.place, path, "must not be empty");
            }
            for (index, item) in items.iter().enumerate() {
                check(item, of, &format!("{path}[{index}]"), report);
            }
        }
        (Shape::Map { keys, of }, Value::Map(entries)) => {
            for entry in entries {
                let path = join(path, &entry.key);
                free_key(*keys, entry, &path, report);
                check(&entry.value, of, &path, report);
            }
        }
        (Shape::Mapping, Value::Map(_)) => {}
        (Shape::Tagged { .. }, _) => tagged(node, shape, path, report),
        (Shape::Either(shapes), _) => match shapes.iter().find(|shape| takes(shape, node)) {
            Some(shape) => check(node, shape, path, report),
            None => wrong_type(node, shape, path, report),
        },
        (Shape::Object(_) | Shape::Mapping | Shape::List { .. } | Shape::Map { .. }, _) => {
            wrong_type(node, shape, path, report);
        }
        _ => check_scalar::check(node, shape, path, report),
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

/// Whether `node` is of the sort that `shape` is about.
fn takes(shape: &Shape, node: &Node) -> bool {
    match node.value {
        Value::List(_) => matches!(shape, Shape::List { .. }),
        Value::Map(_) => matches!(shape, Shape::Map { .. } | Shape::Mapping | Shape::Object(_)),
        Value::Scalar(_) => !matches!(
            shape,
            Shape::List { .. } | Shape::Map { .. } | Shape::Mapping | Shape::Object(_)
        ),
        Value::Null => false,
    }
}

/// Says that `node` is not what `shape` wants.
pub(super) fn wrong_type(node: &Node, shape: &Shape, path: &str, report: &mut Report) {
    let message = format!("must be {}, not {}", shape.wanted(), node.shown());
    let problem = report.error(node.place, path, message);
    let wants_list = matches!(
        shape,
        Shape::List {
            of: Shape::Word,
            ..
        }
    );
    match node.text().filter(|_| wants_list).map(shell_words::split) {
        Some(Ok(words)) => {
            let list = serde_json::Value::from(words).to_string();
            problem.hint(format!("write {list}"));
        }
        _ if node.is_null() => problem.hint("give it a value, or leave the key out"),
        _ => {}
    }
}

/// Known keys are checked; at the top level, keys that start with `x-` are yours, as a place for anchors.
fn object(node: &Node, section: &'static Section, path: &str, report: &mut Report) {
    for entry in node.map().unwrap_or_default() {
        let at = join(path, &entry.key);
        match (section.key(&entry.key), section.open) {
            (Some(key), _) if entry.value.is_null() && key.need != Need::Required => {}
            (Some(key), _) => check(&entry.value, &key.shape, &at, report),
            (None, Some(_)) if entry.value.is_null() => {}
            (None, Some(shape)) => {
                check(&entry.value, shape, &at, report);
                maybe_misspelt(entry, section, &at, report);
            }
            (None, None) if path.is_empty() && entry.key.starts_with("x-") => {}
            (None, None) => unknown_key(entry, &section.names(), &at, report),
        }
    }
    missing_keys(node, section, path, report);
}

fn missing_keys(node: &Node, section: &Section, path: &str, report: &mut Report) {
    for key in section.keys {
        if key.need == Need::Required && node.get(key.name).is_none() {
            report
                .error(node.place, &join(path, key.name), "is missing")
                .hint(format!("it must be {}", key.shape.wanted()));
        }
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

fn unknown_key(entry: &Entry, known: &[&str], path: &str, report: &mut Report) {
    if report.is_full() {
        report.error(entry.key_place, path, "unknown key");
        return;
    }
    if let Some((_, hint)) = REMOVED.iter().find(|(key, _)| *key == entry.key) {
        let problem = report.error(entry.key_place, path, "is no longer a key");
        return problem.hint(*hint);
    }
    let meant = did_you_mean(&entry.key, known.iter().copied());
    let is_near = !meant.is_empty();
    let problem = report.error(entry.key_place, path, format!("unknown key{meant}"));
    match known {
        _ if is_near => {}
        [] => problem.hint("no keys are known here"),
        known => problem.hint(format!("known keys: {}", known.join(", "))),
    }
}

/// Where free keys are allowed beside known ones, a key next to a known one is worth a word.
fn maybe_misspelt(entry: &Entry, section: &Section, path: &str, report: &mut Report) {
    let near = section
        .names()
        .into_iter()
        .find(|name| strsim::osa_distance(name, &entry.key.to_lowercase()) <= 2);
    if let Some(name) = near.filter(|_| !report.is_full()) {
        report.warning(
            entry.key_place,
            path,
            format!("is kept as a key of its own (did you mean \"{name}\"?)"),
        );
    }
}

fn free_key(rule: FreeKey, entry: &Entry, path: &str, report: &mut Report) {
    let name = entry.key.as_str();
    match rule {
        FreeKey::Variable if !is_variable(name) => {
            let message = format!("{} cannot name an environment variable", quoted(name));
            report
                .error(entry.key_place, path, message)
                .hint("a name holds no '=', no spaces, and is not empty");
        }
        FreeKey::Kind if !KINDS.iter().any(|(word, _)| *word == name) => {
            unknown_key(entry, &KINDS.map(|(word, _)| word), path, report);
        }
        FreeKey::Scenario => bad_id(name, entry.key_place, path, report),
        FreeKey::Model if name.trim().is_empty() => {
            report.error(entry.key_place, path, "a model has a name");
        }
        FreeKey::Variable | FreeKey::Kind | FreeKey::Model => {}
    }
}

/// Says what makes `text` unfit for an id, if anything.
pub(super) fn bad_id(text: &str, place: Place, path: &str, report: &mut Report) {
    if let Err(problem) = check_id(text) {
        report
            .error(place, path, format!("the id {} {problem}", quoted(text)))
            .hint("ids become folder names: letters, digits, '.', '_' and '-', at most 64");
    }
}

/// Whether the system takes `name` as a variable's: some programs use more than letters and digits.
pub(super) fn is_variable(name: &str) -> bool {
    let refused = |c: char| c == '=' || c.is_whitespace() || c.is_control();
    !name.is_empty() && !name.contains(refused)
}

/// A mapping whose keys depend on the word under the tag, or that word alone.
fn tagged(node: &Node, shape: &Shape, path: &str, report: &mut Report) {
    let Shape::Tagged {
        noun,
        tag,
        variants,
    } = *shape
    else {
        return;
    };
    let named = if node.map().is_some() {
        node.get(tag)
    } else {
        Some(node)
    };
    let Some(named) = named else {
        let words: Vec<&str> = variants.iter().map(|(word, _)| *word).collect();
        report
            .error(node.place, &join(path, tag), "is missing")
            .hint(format!("one of {}", words.join(", ")));
        return;
    };
    let Some(word) = named.text() else {
        return wrong_type(named, shape, path, report);
    };
    let Some((_, section)) = variants.iter().find(|(name, _)| *name == word) else {
        let words = variants.iter().map(|(word, _)| *word);
        let meant = did_you_mean(word, words.clone());
        let known: Vec<&str> = words.collect();
        report
            .error(
                named.place,
                path,
                format!("unknown {noun} {}{meant}", quoted(word)),
            )
            .hint(format!("known: {}", known.join(", ")));
        return;
    };
    for entry in node.map().unwrap_or_default() {
        let at = join(path, &entry.key);
        match section.key(&entry.key) {
            _ if entry.key == tag => {}
            Some(key) if entry.value.is_null() && key.need != Need::Required => {}
            Some(key) => check(&entry.value, &key.shape, &at, report),
            None => {
                let known = [&[tag][..], &section.names()].concat();
                unknown_key(entry, &known, &at, report);
            }
        }
    }
    missing_keys(node, section, path, report);
}
