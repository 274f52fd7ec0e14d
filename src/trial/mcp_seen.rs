//! What became of the MCP servers of a trial: by the agent's word, and by what the servers themselves told it.

use std::collections::BTreeMap;

use crate::agents::{Met, ServerNoted, servers_noted};
use crate::config::AgentKind;
use crate::model::Terminal;
use crate::record::{Attestation, ServerTools};
use crate::trial::attest::{MOST_NAMES, short};
use crate::trial::frame::Frame;
use crate::trial::listener::HeardAll;

/// Adds the servers and their tools to what was seen of an agent. The agent's word of a server counts more than a note.
pub(super) fn add(frame: &Frame<'_>, heard: &HeardAll, seen: &mut Attestation) {
    let noted = servers_noted(&frame.private);
    let told = told_by_agent(frame, heard);
    let went_well = heard.report.terminal == Terminal::Done;
    seen.mcp_servers = told.unwrap_or_else(|| {
        let expected = seen.mcp_expected.iter();
        let status = |name: &String| {
            let status = noted.as_ref().map_or("given", |noted| {
                // An address is met directly, and nothing is noted of it.
                let directly = !is_program(frame, name);
                status(
                    noted.get(name).filter(|_| !directly),
                    went_well && !directly,
                )
            });
            (name.clone(), status.to_owned())
        };
        expected.map(status).collect()
    });
    let noted = noted.unwrap_or_default();
    for (name, status) in &mut seen.mcp_servers {
        let server = noted.get(name).filter(|_| is_program(frame, name));
        if went_well && server.is_some_and(|server| told_no_tools(status, server)) {
            WITHOUT_TOOLS.clone_into(status);
        }
    }
    let told = noted
        .into_iter()
        .filter(|(_, server)| !server.tools_sha256.is_empty());
    seen.mcp_tools = told
        .take(MOST_NAMES)
        .map(|(name, server)| (short(&name), tools(&server)))
        .collect();
}

/// The status of a server that came up and told nobody its tools: an agent that did its work without them calls it connected.
const WITHOUT_TOOLS: &str = "connected_without_tools";

fn told_no_tools(status: &str, server: &ServerNoted) -> bool {
    status == "connected" && server.met == Met::Answered && server.tools.is_empty()
}

/// The servers as the agent told them; `None` where it told nothing.
fn told_by_agent(frame: &Frame<'_>, heard: &HeardAll) -> Option<BTreeMap<String, String>> {
    let agent = frame.context.agent(frame.planned);
    let told = &heard.seen.servers;
    // Claude Code tells all of them when it begins, and then also that there are none.
    let began = !heard.seen.tools.is_empty() || !told.is_empty();
    let tells = !told.is_empty() || (began && agent.speaks() == AgentKind::ClaudeCode);
    let pair = || {
        let told = told.iter().take(MOST_NAMES);
        told.map(|server| (short(&server.name), short(&server.status)))
            .collect()
    };
    tells.then(pair)
}

fn is_program(frame: &Frame<'_>, name: &str) -> bool {
    let scenario = frame.context.scenario(frame.planned);
    let programs = scenario
        .mcp_config
        .as_deref()
        .map(crate::agents::server_programs);
    programs
        .unwrap_or_default()
        .iter()
        .any(|(program, _)| program == name)
}

/// The status of a server by its note; that an agent came to its end without it says more than that it was stopped.
fn status(noted: Option<&ServerNoted>, went_well: bool) -> &'static str {
    match noted.map(|server| server.met).unwrap_or_default() {
        Met::Answered => "connected",
        Met::Ended => "failed",
        Met::Started if went_well => "failed",
        Met::Never if went_well => "not_started",
        Met::Started | Met::Never => "given",
    }
}

fn tools(server: &ServerNoted) -> ServerTools {
    ServerTools {
        names: server.tools.iter().map(|name| short(name)).collect(),
        sha256: server.tools_sha256.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_told_no_tools_is_not_plainly_connected() {
        let server = |met, tools: &[&str]| ServerNoted {
            met,
            tools: tools.iter().map(|&name| name.to_owned()).collect(),
            ..ServerNoted::default()
        };
        assert!(told_no_tools("connected", &server(Met::Answered, &[])));
        assert!(!told_no_tools(
            "connected",
            &server(Met::Answered, &["echo"])
        ));
        // What never answered, and what the agent gave up, has a word of its own.
        assert!(!told_no_tools("connected", &server(Met::Ended, &[])));
        assert!(!told_no_tools("failed", &server(Met::Answered, &[])));
    }

    #[test]
    fn a_server_that_an_agent_did_without_is_told() {
        let met = |met| ServerNoted {
            met,
            ..ServerNoted::default()
        };
        for (noted, well, expected) in [
            (Some(met(Met::Answered)), true, "connected"),
            (Some(met(Met::Answered)), false, "connected"),
            (Some(met(Met::Ended)), true, "failed"),
            (Some(met(Met::Ended)), false, "failed"),
            (Some(met(Met::Started)), true, "failed"),
            (Some(met(Met::Started)), false, "given"),
            (None, true, "not_started"),
            (None, false, "given"),
        ] {
            assert_eq!(status(noted.as_ref(), well), expected, "{noted:?} {well}");
        }
    }
}
