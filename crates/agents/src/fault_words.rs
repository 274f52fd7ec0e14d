//! Words by which a client's message shows what failed.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use proctor_model::ProviderFaultKind;

/// What words speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// An account or a model that is not to be had.
    Account,
    /// A quota that is used up: of the account, or of this minute.
    Quota,
    /// What a person allowed an account to spend until some day.
    Spending,
    /// An answer that was as long as it may be.
    Length,
    /// More than a model's context holds.
    Overflow,
    /// What the provider will not do.
    Refusal,
    /// A limit of use.
    Limit,
    /// A provider with too much to do.
    Overload,
    /// The same in words that stand beside no status.
    Capacity,
    /// Who asks.
    Auth,
    /// The way to the provider.
    Network,
    /// A model.
    Model,
    /// An HTTP status, which may follow.
    Status,
}

/// Words in lower case, with what they speak of.
const WORDS: [(Topic, &[&str]); 13] = [
    (
        Topic::Account,
        &[
            "please run /login",
            "not logged in",
            "invalid api key",
            "invalid x-api-key",
            "incorrect api key",
            "invalid_api_key",
            "missing environment variable",
            "credit balance",
            "organization has been disabled",
            "does not have access",
            "insufficient_quota",
            "model_not_found",
            "issue with the selected model",
            "api key not valid",
            "api_key_invalid",
            "access token could not be refreshed",
            "refresh token has expired",
            "refresh token was ",
            "out of credits",
            "spend cap",
            "to use codex with your chatgpt plan",
            "billing hard limit",
            "insufficient balance",
            "account is in good standing",
            // Whose login nobody made.
            "no auth type is selected",
            "no authentication information found",
            "set an auth method",
            "invalid auth method",
            "enforced authentication type",
            "is enforced, but no authentication",
            "missing api key",
            "when using gemini api, you must specify",
            "when using vertex ai, you must specify",
            "api key expired",
            "manual authorization is required",
            "fatalauthenticationerror",
            // Who may not have the model, or from where.
            "model is not supported when using codex",
            "organization must be verified",
            "user location is not supported",
            "country, region, or territory not supported",
            // A model that is none.
            "is not a valid model id",
            "model not found",
            "requested model is not supported",
            "does not exist or you do not have access",
            "model identifier is invalid",
            "requested entity was not found",
        ],
    ),
    (Topic::Quota, &["quota exceeded"]),
    (
        Topic::Spending,
        &["specified api usage limits", "you will regain access"],
    ),
    (
        Topic::Length,
        &["reason: max_output_tokens", "output token maximum"],
    ),
    (
        Topic::Overflow,
        &[
            "prompt is too long",
            "input is too long",
            "context_length_exceeded",
            "maximum context length",
            "context window",
            "exceeds the maximum number of tokens",
            "input token count",
            "context limit",
            "prompt as too long",
            "prompt token count",
            "model_max_prompt_tokens_exceeded",
            "range of input length should be",
            "request too large (max",
        ],
    ),
    (
        Topic::Refusal,
        &[
            "usage policy",
            "content policy",
            "content_policy_violation",
            "usage policies",
            "flagged as potentially",
            "flagged for possible cybersecurity",
            "content_filter",
            "cyber_policy",
            "for safety reasons",
            "due to safety settings",
            "safeguards flagged",
            "safety system",
            "moderation_blocked",
            "content filter",
            "content management policy",
            "datainspectionfailed",
            "data_inspection_failed",
        ],
    ),
    (
        Topic::Limit,
        &[
            "rate limit",
            "rate_limit",
            "usage limit",
            "usage_limit",
            "hit your ",
            "out of extra usage",
            "limit reached",
            "too many requests",
            "quota",
        ],
    ),
    (Topic::Overload, &["overloaded"]),
    (Topic::Capacity, &["at capacity", "no capacity available"]),
    (
        Topic::Auth,
        &[
            "unauthorized",
            "forbidden",
            "authentication",
            "api key",
            "model does not exist",
            "no access to the model",
        ],
    ),
    (
        Topic::Network,
        &[
            "high demand",
            "stream disconnected",
            "error sending request",
            "lookup address",
            "connection",
            "network",
            "timed out",
            "timeout",
            "fetch failed",
            "connect to api",
            "unable to connect",
            "typo in the url or port",
            "econnrefused",
            "econnreset",
            "enotfound",
            "eai_again",
            "etimedout",
            "ehostunreach",
            "enetunreach",
            "socket hang up",
            "internal server error",
            "bad gateway",
            "service unavailable",
            // The whole of what Claude Code 2.1.25 says of an answer that was cut.
            "api error: terminated",
        ],
    ),
    (Topic::Model, &["model"]),
    (Topic::Status, &["api error", "request rejected", "status"]),
];

/// Finds all words at once; their topics stand in the same order.
static SEARCH: LazyLock<(AhoCorasick, Vec<Topic>)> = LazyLock::new(|| {
    let pairs = WORDS
        .iter()
        .flat_map(|(topic, words)| words.iter().map(|word| (*word, *topic)));
    let (words, topics): (Vec<&str>, Vec<Topic>) = pairs.unzip();
    let search = AhoCorasick::new(words).expect("a few kilobytes of words");
    (search, topics)
});

/// What a message speaks of.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Topics(u16);

impl Topics {
    /// Looks through a message, whatever its capitals.
    pub(super) fn of(message: &str) -> Self {
        let (search, topics) = &*SEARCH;
        let message = message.to_lowercase();
        let found = search.find_overlapping_iter(&message);
        Self(found.fold(0, |all, word| all | topics[word.pattern()].bit()))
    }

    pub(super) const fn has(self, topic: Topic) -> bool {
        self.0 & topic.bit() != 0
    }

    /// By words that say more than the status beside them: an empty account answers 429 or 400, a bad model id or a limit of
    /// spending 400.
    pub(super) fn certain_kind(self) -> Option<ProviderFaultKind> {
        self.first(&[
            (Topic::Account, ProviderFaultKind::Auth),
            (Topic::Overflow, ProviderFaultKind::ContextOverflow),
            (Topic::Refusal, ProviderFaultKind::Refusal),
            (Topic::Spending, ProviderFaultKind::RateLimited),
            (Topic::Length, ProviderFaultKind::Other),
        ])
    }

    /// By any other words.
    pub(super) fn likely_kind(self) -> Option<ProviderFaultKind> {
        self.first(&[
            (Topic::Limit, ProviderFaultKind::RateLimited),
            (Topic::Overload, ProviderFaultKind::Overloaded),
            (Topic::Capacity, ProviderFaultKind::Overloaded),
            (Topic::Auth, ProviderFaultKind::Auth),
            (Topic::Network, ProviderFaultKind::Unreachable),
        ])
    }

    fn first(self, kinds: &[(Topic, ProviderFaultKind)]) -> Option<ProviderFaultKind> {
        let mut spoken_of = kinds.iter().filter(|(topic, _)| self.has(*topic));
        spoken_of.next().map(|(_, kind)| *kind)
    }
}

impl Topic {
    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_whatever_stands_around_it() {
        for (topic, words) in WORDS {
            for word in words {
                assert_eq!(*word, word.to_lowercase(), "it would never be found");
                for message in [(*word).to_owned(), format!("é {} .", word.to_uppercase())] {
                    assert!(Topics::of(&message).has(topic), "{message}");
                }
            }
        }
        assert_eq!(Topics::of("all is well").0, 0);
        assert!(Topics::of("Ap\u{130} \u{212a}ey, api \u{212a}ey").has(Topic::Auth));
    }
    #[test]
    fn words_within_words_are_found() {
        // Both speak of something: the longer one, and what stands in it.
        let topics = Topics::of("Request rejected (429), status 429: model_not_found");
        assert!(
            topics.has(Topic::Status) && topics.has(Topic::Account) && topics.has(Topic::Model)
        );
    }
}
