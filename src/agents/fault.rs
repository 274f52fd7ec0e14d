//! What kind of provider failure a message tells; asked only of fields that the provider's client writes.

use crate::agents::fault_words::{Topic, Topics};
use crate::agents::reset::reset_in;
use crate::agents::wire::border;
use crate::model::{ProviderFault, ProviderFaultKind, Reset};

/// A message is looked through up to this place.
const LOOKED_AT: usize = 4096;

/// What a client told about a failure.
#[derive(Debug, Clone, Default)]
pub(super) struct Told<'a> {
    /// HTTP status from a field of its own.
    pub(super) status: Option<u16>,
    /// The client's word for it (`rate_limit`, `authentication_failed`).
    pub(super) code: Option<&'a str>,
    /// The message.
    pub(super) message: &'a str,
    /// Whether the run ended with it.
    pub(super) fatal: bool,
    /// When a limit ends, from a field of its own; the message is asked otherwise.
    pub(super) reset: Option<Reset>,
}

/// The fault that `told` amounts to: by the client's word, else by status, else by the words of the message.
pub(super) fn fault(told: &Told<'_>) -> ProviderFault {
    let looked_at = &told.message[..border(told.message, LOOKED_AT)];
    let topics = Topics::of(looked_at);
    let tells_status = topics.has(Topic::Status);
    let status = told
        .status
        .or_else(|| tells_status.then(|| status_in(looked_at))?);
    let kind = told
        .code
        .and_then(kind_of_code)
        .or_else(|| topics.certain_kind())
        .or_else(|| status.and_then(|status| kind_of_status(status, topics)))
        .or_else(|| topics.likely_kind())
        .unwrap_or(ProviderFaultKind::Other);
    let limited = matches!(
        kind,
        ProviderFaultKind::RateLimited | ProviderFaultKind::Overloaded
    );
    let reset = limited.then(|| told.reset.clone().or_else(|| reset_in(told.message)));
    ProviderFault {
        kind,
        status,
        message: told.message[..border(told.message, 2000)].to_owned(),
        fatal: told.fatal,
        reset: reset.flatten(),
    }
}

/// Whether a line that is no event is the client's own last word: some failures are printed as bare text.
pub(super) fn is_last_word(line: &str) -> bool {
    const OPENINGS: [&str; 8] = [
        "API Error",
        "Claude AI usage limit reached",
        "You've hit your",
        "Credit balance is too low",
        "Invalid API key",
        "Not logged in",
        "5-hour limit reached",
        "Prompt is too long",
    ];
    OPENINGS.iter().any(|opening| line.starts_with(opening))
}

/// Whether a text that the client wrote speaks of a failure at all.
pub(super) fn speaks_of_failure(message: &str) -> bool {
    const OPENING: &str = "api error";
    let topics = Topics::of(&message[..border(message, LOOKED_AT)]);
    let opening = message.get(..OPENING.len());
    opening.is_some_and(|opening| opening.eq_ignore_ascii_case(OPENING))
        || topics.certain_kind().is_some()
        || topics.likely_kind().is_some()
}

fn kind_of_code(code: &str) -> Option<ProviderFaultKind> {
    match code {
        "rate_limit"
        | "rate_limit_error"
        | "rate_limit_exceeded"
        | "usage_limit_reached"
        | "resource_exhausted"
        | "RESOURCE_EXHAUSTED" => Some(ProviderFaultKind::RateLimited),
        "overloaded_error"
        | "overloaded"
        | "server_is_overloaded"
        | "slow_down"
        | "engine_overloaded" => Some(ProviderFaultKind::Overloaded),
        "context_length_exceeded" | "model_context_window_exceeded" | "request_too_large" => {
            Some(ProviderFaultKind::ContextOverflow)
        }
        "refusal" | "content_policy_violation" | "content_filter" | "cyber_policy" | "SAFETY" => {
            Some(ProviderFaultKind::Refusal)
        }
        "authentication_failed"
        | "authentication_error"
        | "permission_error"
        | "billing_error"
        | "insufficient_quota"
        | "invalid_api_key"
        | "oauth_org_not_allowed"
        | "usage_not_included"
        | "model_not_found" => Some(ProviderFaultKind::Auth),
        "server_error" | "api_error" | "timeout_error" => Some(ProviderFaultKind::Unreachable),
        _ => None,
    }
}

fn kind_of_status(status: u16, topics: Topics) -> Option<ProviderFaultKind> {
    match status {
        429 => Some(ProviderFaultKind::RateLimited),
        529 => Some(ProviderFaultKind::Overloaded),
        503 if topics.has(Topic::Overload) => Some(ProviderFaultKind::Overloaded),
        413 => Some(ProviderFaultKind::ContextOverflow),
        401..=403 => Some(ProviderFaultKind::Auth),
        404 if topics.has(Topic::Model) => Some(ProviderFaultKind::Auth),
        408 | 500..=599 => Some(ProviderFaultKind::Unreachable),
        400..=499 => Some(ProviderFaultKind::Other),
        _ => None,
    }
}

/// The HTTP status that follows `API Error:`, `status` or `status code` in a client's message.
fn status_in(message: &str) -> Option<u16> {
    let after = |mark: &str| {
        message
            .match_indices(mark)
            .find_map(|(place, _)| leading_status(&message[place + mark.len()..]))
    };
    after("API Error")
        .or_else(|| after("status code"))
        .or_else(|| after("status"))
}

fn leading_status(rest: &str) -> Option<u16> {
    let rest = rest.trim_start_matches([':', ' ', '=', '"', '(']);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    (digits == 3)
        .then(|| rest[..3].parse().ok())
        .flatten()
        .filter(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProviderFaultKind::{
        Auth, ContextOverflow, Other, Overloaded, RateLimited, Refusal, Unreachable,
    };

    #[test]
    fn each_message_of_a_client_is_of_its_kind() {
        let cases: [(&str, ProviderFaultKind, Option<u16>); 25] = [
            ("API Error: 429 rate_limit_error", RateLimited, Some(429)),
            ("API Error (529 overloaded_error)", Overloaded, Some(529)),
            ("API Error: Overloaded", Overloaded, None),
            (
                "[503 UNAVAILABLE] status: 503. The model is overloaded.",
                Overloaded,
                Some(503),
            ),
            (
                "API Error: 400 prompt is too long: 210000 tokens > 200000 maximum",
                ContextOverflow,
                Some(400),
            ),
            (
                "Your input exceeds the context window of this model.",
                ContextOverflow,
                None,
            ),
            ("status 413 Payload Too Large", ContextOverflow, Some(413)),
            (
                "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy",
                Refusal,
                None,
            ),
            ("API Error: 400 fake: prompt refused", Other, Some(400)),
            (
                "API Error: 500 Internal server error",
                Unreachable,
                Some(500),
            ),
            ("API Error: Connection error.", Unreachable, None),
            ("API Error: terminated", Unreachable, None),
            ("Not logged in · Please run /login", Auth, None),
            ("Invalid API key · Fix external API key", Auth, None),
            ("Credit balance is too low", Auth, None),
            ("You've hit your limit · resets 4pm", RateLimited, None),
            (
                "Claude AI usage limit reached|1764000000",
                RateLimited,
                None,
            ),
            (
                "unexpected status 401 Unauthorized: bad key, url: x",
                Auth,
                Some(401),
            ),
            (
                "exceeded retry limit, last status: 429 Too Many Requests",
                RateLimited,
                Some(429),
            ),
            (
                "unexpected status 404 Not Found: no /v1/responses",
                Other,
                Some(404),
            ),
            ("Missing environment variable: `FAKE_KEY`.", Auth, None),
            (
                "We’re currently experiencing high demand, which may cause temporary errors.",
                Unreachable,
                None,
            ),
            (
                "Reconnecting... waiting for network (Connection failed)",
                Unreachable,
                None,
            ),
            (
                "Quota exceeded. Check your plan and billing details.",
                Auth,
                None,
            ),
            (
                "{\"error\": {\"type\": \"invalid_request_error\"}}",
                Other,
                None,
            ),
        ];
        for (message, kind, status) in cases {
            let found = fault(&Told {
                message,
                ..Told::default()
            });
            assert_eq!((found.kind, found.status), (kind, status), "{message}");
        }
    }

    #[test]
    fn a_word_of_the_client_counts_more_than_its_message() {
        let told = Told {
            code: Some("rate_limit"),
            message: "connection",
            ..Told::default()
        };
        assert_eq!(fault(&told).kind, RateLimited);
    }

    #[test]
    fn a_status_is_three_digits_of_a_failure() {
        assert_eq!(
            status_in("status 2000 and status 200 and status: 503"),
            Some(503)
        );
        assert_eq!(status_in("nothing"), None);
    }
}
