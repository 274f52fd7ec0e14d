//! What clients say, and what kind of failure it is.

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
fn what_clients_say_of_a_limit_is_told_by_how_it_begins() {
    for (message, kind) in [
        ("You've hit your session limit · resets 3:45pm", RateLimited),
        (
            "You’ve hit your weekly limit · resets Mon 12:00am",
            RateLimited,
        ),
        ("You've hit your Opus limit · resets 3:45pm", RateLimited),
        (
            "API Error: Request rejected (429) · this may be a temporary capacity issue",
            RateLimited,
        ),
        (
            "Request rejected (429) · this may be a temporary capacity issue",
            RateLimited,
        ),
        ("Weekly limit reached ∙ resets 7pm", RateLimited),
        ("Claude AI usage limit reached|1764000000", RateLimited),
        ("This organization has been disabled", Auth),
        ("OAuth token revoked · Please run /login", Auth),
        ("Request timed out", Unreachable),
    ] {
        assert!(begins_as_failure(message), "{message}");
        let told = Told {
            message,
            ..Told::default()
        };
        assert_eq!(fault(&told).kind, kind, "{message}");
    }
    for words in [
        "I give up. The tests for the rate limit (429) never pass",
        "The client now says: API Error: 429 rate_limit_error",
        "The limit reached its end, as the tests ask",
        "Rate limit reached in the third test, as wanted",
        "You've hit your stride",
        "",
    ] {
        assert!(!begins_as_failure(words), "{words}");
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
