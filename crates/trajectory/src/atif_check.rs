//! The rules of ATIF beyond the shapes of its objects.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::AtifProblem;
use crate::atif_wire::{Answer, Content, Part, PartKind, Source, Step, Trajectory};

/// No trajectory has more steps.
const MOST_STEPS: usize = 200_000;
/// Sub-agents of sub-agents are looked at so deep.
const DEEPEST: usize = 8;
/// Versions of the format that can be read.
const VERSIONS: std::ops::RangeInclusive<u32> = 0..=8;
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

fn rule<T>(path: String, message: impl Into<String>) -> Result<T, AtifProblem> {
    Err(AtifProblem::Rule {
        path,
        message: message.into(),
    })
}

/// Checks what the format rules beyond shapes; `at` is where the trajectory stands, with a dot at its end.
///
/// # Errors
/// The first rule that is broken.
pub(super) fn check(trajectory: &Trajectory, at: &str, depth: usize) -> Result<(), AtifProblem> {
    let version = trajectory.schema_version.strip_prefix("ATIF-v1.");
    let known = version.and_then(|minor| minor.parse().ok());
    if !known.is_some_and(|minor: u32| VERSIONS.contains(&minor)) {
        let message = format!(
            "`{}` is no version that is known here; ATIF-v1.0 to ATIF-v1.8 are",
            trajectory.schema_version
        );
        return rule(format!("{at}schema_version"), message);
    }
    if trajectory.steps.is_empty() || trajectory.steps.len() > MOST_STEPS {
        return rule(
            format!("{at}steps"),
            format!("must hold 1 to {MOST_STEPS} steps"),
        );
    }
    for (place, step) in trajectory.steps.iter().enumerate() {
        check_step(step, place, &format!("{at}steps[{place}]."))?;
    }
    let mut ids = HashSet::new();
    let inside = trajectory.subagent_trajectories.iter().flatten();
    for (place, inner) in inside.enumerate() {
        let at = format!("{at}subagent_trajectories[{place}].");
        let Some(id) = &inner.trajectory_id else {
            return rule(
                format!("{at}trajectory_id"),
                "an embedded trajectory needs one",
            );
        };
        if !ids.insert(id) {
            return rule(
                format!("{at}trajectory_id"),
                "another embedded trajectory has it",
            );
        }
        if depth == DEEPEST {
            return rule(
                at,
                format!("trajectories are embedded more than {DEEPEST} deep"),
            );
        }
        check(inner, &at, depth + 1)?;
    }
    check_refs(trajectory, &ids, at)
}

/// References to sub-agents can be followed.
fn check_refs(
    trajectory: &Trajectory,
    ids: &HashSet<&String>,
    at: &str,
) -> Result<(), AtifProblem> {
    for (place, step) in trajectory.steps.iter().enumerate() {
        for (number, answer) in answers(step).enumerate() {
            for one in answer.subagent_trajectory_ref.iter().flatten() {
                let path = format!(
                    "{at}steps[{place}].observation.results[{number}].subagent_trajectory_ref"
                );
                match (&one.trajectory_id, &one.trajectory_path) {
                    (None, None) => {
                        return rule(path, "needs `trajectory_id` or `trajectory_path`");
                    }
                    (Some(id), None) if !ids.contains(id) => {
                        return rule(path, format!("no embedded trajectory is called {id}"));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

fn check_step(step: &Step, place: usize, at: &str) -> Result<(), AtifProblem> {
    if step.step_id != place as u64 + 1 {
        let message = format!("must be {}: steps count from 1", place + 1);
        return rule(format!("{at}step_id"), message);
    }
    if let Some(time) = &step.timestamp
        && parsed(time).is_none()
    {
        return rule(
            format!("{at}timestamp"),
            format!("`{time}` is no ISO 8601 time"),
        );
    }
    if let Some(effort) = &step.reasoning_effort
        && !effort.is_string()
        && !effort.is_number()
    {
        return rule(
            format!("{at}reasoning_effort"),
            "must be a text or a number",
        );
    }
    let of_agents = [
        ("model_name", step.model_name.is_some()),
        ("reasoning_effort", step.reasoning_effort.is_some()),
        ("reasoning_content", step.reasoning_content.is_some()),
        ("tool_calls", step.tool_calls.is_some()),
        ("metrics", step.metrics.is_some()),
    ];
    let not_here = of_agents
        .iter()
        .find(|(_, there)| *there && step.source != Source::Agent);
    if let Some((name, _)) = not_here {
        return rule(format!("{at}{name}"), "only steps of the agent have it");
    }
    let no_model = step.llm_call_count == Some(0) && step.source == Source::Agent;
    if no_model && (step.metrics.is_some() || step.reasoning_content.is_some()) {
        let message = "a step without a model has neither metrics nor reasoning_content";
        return rule(format!("{at}llm_call_count"), message);
    }
    check_content(&step.message, &format!("{at}message"))?;
    let mut ids = HashSet::new();
    for (number, call) in step.tool_calls.iter().flatten().enumerate() {
        if !call.arguments.get().starts_with('{') {
            return rule(
                format!("{at}tool_calls[{number}].arguments"),
                "must be an object",
            );
        }
        ids.insert(call.tool_call_id.as_str());
    }
    for (number, answer) in answers(step).enumerate() {
        let at = format!("{at}observation.results[{number}].");
        if let Some(id) = &answer.source_call_id
            && !ids.contains(id.as_str())
        {
            return rule(
                format!("{at}source_call_id"),
                format!("no call of this step is {id}"),
            );
        }
        if let Some(content) = &answer.content {
            check_content(content, &format!("{at}content"))?;
        }
    }
    Ok(())
}

fn check_content(content: &Content, at: &str) -> Result<(), AtifProblem> {
    let Content::Parts(parts) = content else {
        return Ok(());
    };
    for (number, part) in parts.iter().enumerate() {
        let Part {
            r#type,
            text,
            source,
        } = part;
        let path = format!("{at}[{number}]");
        match (r#type, text, source) {
            (PartKind::Text, Some(_), None) => {}
            (PartKind::Image, None, Some(image)) if IMAGES.contains(&image.media_type.as_str()) => {
            }
            (PartKind::Image, None, Some(image)) => {
                return rule(
                    path,
                    format!("`{}` is no known type of image", image.media_type),
                );
            }
            (PartKind::Text, ..) => return rule(path, "a text has `text` and no `source`"),
            (PartKind::Image, ..) => return rule(path, "an image has `source` and no `text`"),
        }
    }
    Ok(())
}

/// What tools answered in a step.
pub(super) fn answers(step: &Step) -> impl Iterator<Item = &Answer> {
    step.observation
        .iter()
        .flat_map(|observation| &observation.results)
}

/// A time with an offset, or one without, which is taken as UTC.
pub(super) fn parsed(time: &str) -> Option<Timestamp> {
    let civil = || time.parse::<jiff::civil::DateTime>().ok();
    time.parse().ok().or_else(|| {
        let zoned = civil()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(zoned.timestamp())
    })
}
