//! A scalar against its shape: type, limits, words, ids, paths and patterns.

use crate::check::{bad_id, is_variable, wrong_type};
use crate::node::{Node, Scalar, Typed, Value, quoted};
use crate::paths::inside_problem;
use crate::problem::{Report, did_you_mean};
use crate::scalar::is_unambiguous;
use crate::shape::{Choice, Shape};
use proctor_model::host::HostRule;

/// Thirty days: no trial takes longer.
pub(super) const LONGEST_SECONDS: f64 = 2_592_000.0;
pub(super) const SHORTEST_SECONDS: f64 = 0.001;
pub(super) const LONGEST_PAUSE: f64 = 3_600.0;

/// Checks a value that must be a scalar.
pub(super) fn check(node: &Node, shape: &Shape, path: &str, report: &mut Report) {
    let Value::Scalar(scalar) = &node.value else {
        return not_a_scalar(node, shape, path, report);
    };
    if scalar.text.contains('\0') {
        report.error(node.place, path, "holds a NUL character");
        return;
    }
    match shape {
        Shape::Bool => {
            if node.boolean().is_none() {
                wrong_type(node, shape, path, report);
            }
        }
        Shape::Seconds => seconds(node, (SHORTEST_SECONDS, LONGEST_SECONDS), path, report),
        Shape::Pause => seconds(node, (0.0, LONGEST_PAUSE), path, report),
        Shape::Whole { least, most } => whole(node, (*least, *most), path, report),
        Shape::Number => number(node, (shape, f64::MAX), path, report),
        Shape::Share => number(node, (shape, 1.0), path, report),
        Shape::Word => word(node, scalar, path, report),
        Shape::Id if is_switch(scalar) => {
            let message = format!(
                "must be {}, not {}, which readers of YAML 1.1 take for a boolean",
                shape.wanted(),
                scalar.text
            );
            report
                .error(node.place, path, message)
                .hint(format!("quote it: {}", quoted(&scalar.text)));
        }
        _ if scalar.typed == Typed::Text => text(node, &scalar.text, (shape, path), report),
        _ => {
            let message = format!("must be {}, not {}", shape.wanted(), node.shown());
            let problem = report.error(node.place, path, message);
            if !matches!(shape, Shape::OneOf(_)) {
                problem.hint(format!("quote it: {}", quoted(&scalar.text)));
            }
        }
    }
}

/// Whether YAML 1.1 reads a word as a boolean that is text since.
fn is_switch(scalar: &Scalar) -> bool {
    const WORDS: [&str; 6] = ["y", "yes", "n", "no", "on", "off"];
    let mut words = WORDS.iter();
    scalar.plain && words.any(|word| scalar.text.eq_ignore_ascii_case(word))
}

fn not_a_scalar(node: &Node, shape: &Shape, path: &str, report: &mut Report) {
    if node.is_null() && matches!(shape, Shape::Word | Shape::Text) {
        report
            .error(node.place, path, "must be text, not null")
            .hint("write \"\" for no text, or leave it out");
    } else {
        wrong_type(node, shape, path, report);
    }
}

/// Text whose type is right.
fn text(node: &Node, text: &str, (shape, path): (&Shape, &str), report: &mut Report) {
    match shape {
        Shape::OneOf(choices) => one_of(node, choices, path, report),
        Shape::Id => bad_id(text, node.place, path, report),
        Shape::Text => {}
        _ if text.trim().is_empty() => {
            report.error(node.place, path, "must not be blank");
        }
        Shape::Inside => {
            if let Some(problem) = inside_problem(text) {
                report
                    .error(node.place, path, format!("{} {problem}", quoted(text)))
                    .hint("write a relative path without `..`");
            }
        }
        Shape::Glob => {
            if let Err(error) = globset::Glob::new(text) {
                let message = format!("{} is no pattern: {}", quoted(text), error.kind());
                report.error(node.place, path, message);
            }
        }
        Shape::Variable if !is_variable(text.strip_suffix('*').unwrap_or(text)) => {
            let message = format!("{} cannot name an environment variable", quoted(text));
            report.error(node.place, path, message);
        }
        Shape::Host => {
            if let Err(problem) = HostRule::parse(text) {
                report
                    .error(node.place, path, format!("{} {problem}", quoted(text)))
                    .hint("write api.example.com, *.example.com or 10.0.0.7:8080");
            }
        }
        Shape::Program if text.contains(['/', '\\']) || matches!(text, "." | "..") => {
            report
                .error(
                    node.place,
                    path,
                    format!("{} is no program's name", quoted(text)),
                )
                .hint("give the name alone, without a folder");
        }
        _ => {}
    }
}

fn one_of(node: &Node, choices: &[Choice], path: &str, report: &mut Report) {
    let text = node.text().unwrap_or_default();
    let words = choices.iter().map(|(word, _)| *word);
    if words.clone().any(|word| word == text) {
        return;
    }
    let noun = path.rsplit('.').next().unwrap_or(path);
    let meant = did_you_mean(text, words.clone());
    let known: Vec<&str> = words.collect();
    report
        .error(
            node.place,
            path,
            format!("unknown {noun} {}{meant}", quoted(text)),
        )
        .hint(format!("known: {}", known.join(", ")));
}

fn word(node: &Node, scalar: &Scalar, path: &str, report: &mut Report) {
    if !is_unambiguous(scalar) {
        let message = format!("{} may be read in more than one way", node.shown());
        let hint = format!("quote it: {}", quoted(&scalar.text));
        report.error(node.place, path, message).hint(hint);
    }
}

fn seconds(node: &Node, (least, most): (f64, f64), path: &str, report: &mut Report) {
    let Some(value) = node.number() else {
        return not_a_number(node, &Shape::Seconds, path, report);
    };
    if !(least..=most).contains(&value) {
        let shown = node.shown();
        let message = format!("must be between {least} and {most} seconds, not {shown}");
        let problem = report.error(node.place, path, message);
        if value == 0.0 {
            problem.hint("leave the key out to have the default");
        }
    }
}

fn whole(node: &Node, (least, most): (u64, u64), path: &str, report: &mut Report) {
    let shape = Shape::Whole { least, most };
    let Some(number) = node.number() else {
        return not_a_number(node, &shape, path, report);
    };
    let message = match node.whole() {
        Some(value) if (least..=most).contains(&value) => return,
        None if number.fract() != 0.0 => {
            format!("must be a whole number, not {}", node.shown())
        }
        None if (0.0..=9e15).contains(&number) => {
            format!(
                "must be a whole number written without a point, not {}",
                node.shown()
            )
        }
        _ => format!("must be between {least} and {most}, not {}", node.shown()),
    };
    report.error(node.place, path, message);
}

fn number(node: &Node, (shape, most): (&Shape, f64), path: &str, report: &mut Report) {
    let Some(value) = node.number() else {
        return not_a_number(node, shape, path, report);
    };
    if (0.0..=most).contains(&value) {
        return;
    }
    let wanted = match shape {
        Shape::Share => shape.wanted(),
        _ => "a finite number of at least 0".to_owned(),
    };
    let message = format!("must be {wanted}, not {}", node.shown());
    report.error(node.place, path, message);
}

fn not_a_number(node: &Node, shape: &Shape, path: &str, report: &mut Report) {
    let message = format!("must be {}, not {}", shape.wanted(), node.shown());
    let problem = report.error(node.place, path, message);
    let text = node
        .text()
        .map(|text| text.replace('_', ""))
        .unwrap_or_default();
    let digits = text.trim_start_matches('0');
    let has_zero =
        digits.len() < text.len() && digits.starts_with(|next: char| next.is_ascii_digit());
    if has_zero && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        // Readers of YAML 1.1 take such digits as octal, those of 1.2 as text.
        let octal = u64::from_str_radix(digits, 8).ok();
        let octal =
            octal.map(|value| format!(", or {value} where the octal number of YAML 1.1 was meant"));
        problem.hint(format!("write {digits}{}", octal.unwrap_or_default()));
    } else if text.parse::<f64>().is_ok() {
        problem.hint(format!("write {text}, without quotes or underscores"));
    }
}
