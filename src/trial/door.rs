//! The door of an agent whose network leads to its provider alone.

use std::ffi::OsString;

use crate::agents::hosts_of;
use crate::gate::Gate;
use crate::model::{DoorUse, Network};
use crate::trial::draft::Draft;
use crate::trial::environment::Environment;
use crate::trial::frame::Frame;

/// A door for the agent of this trial, if its network has one, and in its environment the way to it.
///
/// It leads to the hosts of its kind, to those that environment or command line say its model is at, and to those that
/// suite, scenario and task name.
pub(super) fn gate(
    frame: &Frame<'_>,
    words: &[OsString],
    environment: &mut Environment,
) -> Option<Gate> {
    let context = frame.context;
    if context.network(frame.planned) != Network::Provider {
        return None;
    }
    let kind = context.agent(frame.planned).speaks();
    let variables = environment.iter();
    let variables = variables.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let mut hosts = hosts_of(kind, variables, words);
    hosts.extend(context.hosts(frame.planned).cloned());
    let gate = Gate::new(hosts, context.way_out.clone());
    for (name, value) in gate.variables() {
        environment.insert(name.into(), value.into());
    }
    Some(gate)
}

/// What went through, told to the person where somebody was refused.
pub(super) fn tell(door: Option<DoorUse>, draft: &mut Draft) {
    let Some(door) = door else { return };
    if !door.refused.is_empty() {
        let refused = door.refused.iter();
        let refused: Vec<String> = refused
            .map(|(host, times)| format!("{host} ({times})"))
            .collect();
        draft.note(format!(
            "its network refused what is not among its hosts: {}",
            refused.join(", ")
        ));
    }
    draft.used_door(door);
}
