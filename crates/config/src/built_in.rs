//! The built-in scenarios.

use std::collections::BTreeMap;

use crate::ScenarioSpec;
use crate::paths::Base;
use proctor_model::ScenarioId;

/// A scenario that needs no `scenarios:` entry.
pub(super) struct BuiltIn {
    pub(super) id: &'static str,
    primed: bool,
    /// The MCP file, below the config's folder.
    mcp_config: Option<&'static str>,
    /// Whether its absence is worth a word where MCP is enabled.
    pub(super) is_expected: bool,
}

/// The built-in scenarios, in the order in which they run.
pub(super) const BUILT_IN: [BuiltIn; 4] = [
    BuiltIn {
        id: "shell_unprimed",
        primed: false,
        mcp_config: None,
        is_expected: true,
    },
    BuiltIn {
        id: "shell_primed",
        primed: true,
        mcp_config: None,
        is_expected: true,
    },
    BuiltIn {
        id: "mcp_unprimed",
        primed: false,
        mcp_config: Some("mcp_configs/xcodebuildmcp_only.json"),
        is_expected: true,
    },
    BuiltIn {
        id: "mcp_unprimed_v2",
        primed: false,
        mcp_config: Some("mcp_configs/xcodebuildmcp_v2.json"),
        is_expected: false,
    },
];

/// Ids of the built-in scenarios.
pub(super) fn built_in_ids() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|built_in| built_in.id)
}

/// Why a built-in scenario cannot run here.
pub(super) fn reason_against(built_in: &BuiltIn, mcp_enabled: bool, base: &Base) -> Option<String> {
    let path = base.folder().join(built_in.mcp_config?);
    if !mcp_enabled {
        return Some("mcp.enabled is false".to_owned());
    }
    (!path.is_file()).then(|| format!("{} does not exist", path.display()))
}

/// The scenario as it is built in.
pub(super) fn plain(built_in: &BuiltIn, base: &Base) -> ScenarioSpec {
    ScenarioSpec {
        id: ScenarioId::recorded(built_in.id),
        description: None,
        prompt_prefix: None,
        prompt_suffix: None,
        primed: built_in.primed,
        prefer_mcp: built_in.mcp_config.is_some(),
        mcp_config: built_in.mcp_config.map(|path| base.folder().join(path)),
        mcp_paths: BTreeMap::new(),
        files: Vec::new(),
        agent_args: Vec::new(),
        env: BTreeMap::new(),
        network: None,
        hosts: Vec::new(),
    }
}
