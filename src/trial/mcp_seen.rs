//! What became of the MCP servers of a trial: by the agent's word, and by what the servers themselves told it.

use std::collections::BTreeMap;

use crate::agents::{Met, ServerNoted, ToolList, servers_noted};
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
    let kind = frame.context.agent(frame.planned).speaks();
    for (name, status) in &mut seen.mcp_servers {
        let server = noted.get(name).filter(|_| is_program(frame, name));
        let lacking = server.filter(|server| is_sure(server, went_well));
        if let Some(lacking) = lacking.and_then(|server| lacking_tools(status, server, kind)) {
            lacking.clone_into(status);
        } else if status == "connected"
            && kind == AgentKind::ClaudeCode
            && lists_none_of(&heard.seen.tools, name)
        {
            WITHOUT_TOOLS.clone_into(status);
        } else if heard.report.mcp_trouble && matches!(status.as_str(), "connected" | "given") {
            IN_TROUBLE.clone_into(status);
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

/// The status of a server that came up and whose tools the agent has not: one that did its work without them calls it connected.
const WITHOUT_TOOLS: &str = "connected_without_tools";

/// The status of a server whose list of tools broke off: some agents take those that came, others none.
const LIST_CUT: &str = "connected_with_cut_list";

/// The status of all servers of which nothing worse is known, where the agent said that one of them gave trouble.
const IN_TROUBLE: &str = "trouble_told";

/// Whether Claude Code, which lists all tools that it has, lists none of this server.
fn lists_none_of(tools: &[String], server: &str) -> bool {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let name: String = server
        .chars()
        .map(|letter| if is_kept(letter) { letter } else { '_' })
        .collect();
    let begin = format!("mcp__{name}__");
    !tools.is_empty() && !tools.iter().any(|tool| tool.starts_with(&begin))
}

/// Whether what was told of a server's tools was all of it: its agent did its work, or there is a list, which is empty.
fn is_sure(server: &ServerNoted, went_well: bool) -> bool {
    went_well || (server.tools.is_empty() && !server.tools_sha256.is_empty())
}

/// What is to be said of a server that the agent calls connected and whose tools it has not, or not all.
fn lacking_tools(status: &str, server: &ServerNoted, kind: AgentKind) -> Option<&'static str> {
    let is_up = status == "connected" && server.met == Met::Answered;
    let lacking = match server.list {
        ToolList::Sound => server.tools.is_empty().then_some(WITHOUT_TOOLS),
        ToolList::Cut => Some(LIST_CUT),
        ToolList::Flawed => takes_sound_lists_alone(kind).then_some(WITHOUT_TOOLS),
    };
    lacking.filter(|_| is_up)
}

/// Whether an agent takes none of a server's tools where one of them is not what MCP asks for. Codex and Copilot CLI take the others.
fn takes_sound_lists_alone(kind: AgentKind) -> bool {
    match kind {
        AgentKind::ClaudeCode | AgentKind::Gemini | AgentKind::Opencode | AgentKind::Qwen => true,
        AgentKind::Codex | AgentKind::Copilot | AgentKind::Command | AgentKind::Replay => false,
    }
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
    fn a_server_whose_tools_the_agent_has_not_is_not_plainly_connected() {
        let server = |met, tools: &[&str], list| ServerNoted {
            met,
            tools: tools.iter().map(|&name| name.to_owned()).collect(),
            list,
            ..ServerNoted::default()
        };
        let (codex, claude) = (AgentKind::Codex, AgentKind::ClaudeCode);
        let (up, none) = ("connected", &[][..]);
        let sound = ToolList::Sound;
        for (status, met, tools, list, kind, expected) in [
            (up, Met::Answered, none, sound, codex, Some(WITHOUT_TOOLS)),
            (up, Met::Answered, &["echo"], sound, codex, None),
            (
                up,
                Met::Answered,
                &["echo"],
                ToolList::Cut,
                codex,
                Some(LIST_CUT),
            ),
            (
                up,
                Met::Answered,
                &["echo"],
                ToolList::Flawed,
                claude,
                Some(WITHOUT_TOOLS),
            ),
            (up, Met::Answered, &["echo"], ToolList::Flawed, codex, None),
            // What never answered, and what the agent gave up, has a word of its own.
            (up, Met::Ended, none, sound, claude, None),
            ("failed", Met::Answered, none, sound, claude, None),
        ] {
            let server = server(met, tools, list);
            assert_eq!(lacking_tools(status, &server, kind), expected, "{server:?}");
        }
    }

    #[test]
    fn claude_code_has_none_of_a_servers_tools_where_it_lists_none() {
        let tools = ["Bash", "mcp__my_lab__echo"].map(str::to_owned);
        assert!(!lists_none_of(&tools, "my lab"));
        assert!(lists_none_of(&tools, "lab"));
        assert!(!lists_none_of(&[], "lab"), "nothing was told");
    }

    #[test]
    fn an_empty_list_of_tools_says_so_also_where_the_agent_was_stopped() {
        let server = |tools: &[&str], digest: &str| ServerNoted {
            met: Met::Answered,
            tools: tools.iter().map(|&name| name.to_owned()).collect(),
            tools_sha256: digest.to_owned(),
            ..ServerNoted::default()
        };
        for (server, went_well, expected) in [
            (server(&[], "sha256:x"), false, true),
            (server(&[], ""), false, false),
            (server(&[], ""), true, true),
            (server(&["echo"], "sha256:x"), false, false),
        ] {
            assert_eq!(is_sure(&server, went_well), expected, "{server:?}");
        }
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
