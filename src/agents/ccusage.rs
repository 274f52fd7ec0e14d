//! What a Codex trial cost by `@ccusage/codex`, from the session files of the trial's own `CODEX_HOME`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::agents::wire::Few;
use crate::supervise::{Cancel, ChildSpec, capture, find_program};

/// The version is pinned: the next one only prints that it moved, and its successor counts tokens in another way.
const COMMAND: [&str; 5] = ["npx", "-y", "@ccusage/codex@18.0.11", "session", "--json"];

/// How long it may take, a first download included.
const LIMIT: Duration = Duration::from_secs(60);

/// Its answer is a summary; more than this is none.
const OUTPUT_CAP: usize = 8 * 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Report {
    #[serde(default)]
    sessions: Few<Session>,
    totals: Option<Totals>,
}

#[derive(Debug, Deserialize)]
struct Session {}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Totals {
    #[serde(rename = "costUSD")]
    cost_usd: Option<f64>,
    total_tokens: Option<u64>,
}

/// The cost in USD of all sessions below `codex_home`; `None` where it is unknown: no sessions, no `npx` on `path`, no
/// answer within a minute. Total: whatever goes wrong, the cost is unknown.
pub async fn ccusage_cost(codex_home: &Path, path: &OsStr, cancel: &Cancel) -> Option<f64> {
    let has_sessions = fs::read_dir(codex_home.join("sessions"))
        .ok()?
        .next()
        .is_some();
    let npx = find_program(OsStr::new(COMMAND[0]), path, codex_home)?;
    if !has_sessions {
        return None;
    }
    let mut argv = vec![npx.into_os_string()];
    argv.extend(COMMAND[1..].iter().map(OsString::from));
    let mut env = vec![
        (OsString::from("PATH"), path.to_owned()),
        (
            OsString::from("CODEX_HOME"),
            codex_home.as_os_str().to_owned(),
        ),
        (OsString::from("NO_COLOR"), OsString::from("1")),
    ];
    // npm keeps its cache below HOME; a private one would make every trial download again.
    for name in [
        "HOME",
        "npm_config_registry",
        "HTTPS_PROXY",
        "https_proxy",
        "NO_PROXY",
    ] {
        env.extend(std::env::var_os(name).map(|value| (OsString::from(name), value)));
    }
    let spec = ChildSpec::helper(argv, codex_home, env, LIMIT);
    let (ending, output) = capture(&spec, OUTPUT_CAP, cancel).await;
    ending
        .succeeded()
        .then(|| total_cost(&output.stdout))
        .flatten()
}

/// `totals.costUSD` of a report; `None` for a report without sessions, and for a cost of 0 beside tokens, which only
/// says that the model has no price.
#[must_use]
pub fn total_cost(report: &[u8]) -> Option<f64> {
    let report: Report = serde_json::from_slice(report).ok()?;
    let totals = report.totals.filter(|_| !report.sessions.0.is_empty())?;
    let cost = totals
        .cost_usd
        .filter(|cost| cost.is_finite() && *cost >= 0.0)?;
    let unpriced = cost == 0.0 && totals.total_tokens != Some(0);
    (!unpriced).then_some(cost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_what_the_totals_say_or_unknown() {
        let session = r#"{"sessionId":"a","sessionFile":"rollout-a","inputTokens":17920,"cachedInputTokens":8000,
            "outputTokens":81,"reasoningOutputTokens":14,"totalTokens":18001,"costUSD":0.0142,"models":{}}"#;
        let cases = [
            (
                format!(
                    r#"{{"sessions":[{session}],"totals":{{"totalTokens":18001,"costUSD":0.0142}}}}"#
                ),
                Some(0.0142),
            ),
            (r#"{"sessions":[],"totals":null}"#.to_owned(), None),
            (
                r#"{"sessions":[],"totals":{"costUSD":0,"totalTokens":0}}"#.to_owned(),
                None,
            ),
            (
                format!(
                    r#"{{"sessions":[{session}],"totals":{{"totalTokens":18001,"costUSD":0}}}}"#
                ),
                None,
            ),
            (
                format!(r#"{{"sessions":[{session}],"totals":{{"costUSD":-1}}}}"#),
                None,
            ),
            (
                format!(r#"{{"sessions":[{session}],"totals":{{"costUSD":1e400}}}}"#),
                None,
            ),
            ("use npx ccusage instead".to_owned(), None),
            (String::new(), None),
        ];
        for (report, expected) in cases {
            assert_eq!(total_cost(report.as_bytes()), expected, "{report}");
        }
    }
}
