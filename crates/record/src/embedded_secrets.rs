//! Secrets inside of texts that are none as a whole: in addresses and in lines of headers.

use percent_encoding::percent_decode_str;

use crate::looks_secret;

/// A user of an address without a password is a token where its name is at least as long as this.
const LONG_USER: usize = 20;

/// Words that are shorter than this stand in other texts, too: to replace them would change what an agent said and wrote.
const LONG_WORD: usize = 16;

/// What of a variable's value is a secret, each with the name that stands for it: the password of an address
/// (`http://user:password@host`), a parameter of one whose name says so (`?api_key=x`), and the last word of a header whose
/// name says so (`X-Api-Key: x`, and in a variable of headers also `authorization=Basic x,..`).
#[must_use]
pub fn secrets_inside(name: &str, value: &str) -> Vec<(String, String)> {
    let mut found = in_addresses(name, value);
    let lists = name.to_ascii_uppercase().contains("HEADER");
    let value = value.trim().trim_matches(['"', '\'']);
    let parts = value.split(|one: char| one == '\n' || (lists && one == ','));
    for part in parts {
        let pair = part.split_once(|one: char| one == ':' || (lists && one == '='));
        let header = pair.filter(|(name, _)| is_name(name.trim()) && looks_secret(name.trim()));
        let word = header.and_then(|(name, value)| Some((name, value.split_whitespace().last()?)));
        let word = word.filter(|(_, word)| !is_word(word));
        found.extend(word.map(|(name, word)| (name.trim().to_owned(), word.to_owned())));
    }
    found
}

/// What of the words of a command is a secret: inside of each, and inside of what an option is set to (`--header=X-Api-Key: x`).
/// What stands behind an option whose name says so (`--auth x`) may be the name of a way or of a variable, and is none.
#[must_use]
pub fn secrets_in_words(words: &[String]) -> Vec<(String, String)> {
    let set = |word: &String| {
        let (option, value) = word.split_once('=')?;
        option.starts_with('-').then(|| value.to_owned())
    };
    let values = words.iter().filter_map(set);
    let all = words.iter().cloned().chain(values);
    all.flat_map(|text| secrets_inside("", &text)).collect()
}

fn is_name(text: &str) -> bool {
    let plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_');
    !text.is_empty() && text.chars().all(plain)
}

fn in_addresses(name: &str, text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let rest = &text[at + 3..];
        let ends = |one: char| one.is_whitespace() || matches!(one, '"' | '\'' | '<' | '>');
        let address = rest.split(ends).next().unwrap_or_default();
        let host = address.split(['/', '?', '#']).next().unwrap_or_default();
        if let Some((login, _)) = host.rsplit_once('@') {
            let secret = match login.split_once(':') {
                // Of a service for everybody who may reach it.
                Some((user, password)) if user == password => None,
                Some((_, password)) => Some(password),
                None => Some(login).filter(|user| user.len() >= LONG_USER),
            };
            found.extend(secret.map(|secret| (name.to_owned(), decoded(secret))));
        }
        let parameters = address.split_once('?').map_or("", |(_, all)| all);
        let parameters = parameters.split('#').next().unwrap_or_default();
        let pairs = parameters
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let secret = pairs.filter(|(name, _)| looks_secret(name));
        found.extend(secret.map(|(name, value)| (name.to_owned(), decoded(value))));
    }
    found.retain(|(_, secret)| !is_word(secret));
    found
}

/// Whether a text is a word or a name, and no key: `development`, `customer_id`.
fn is_word(text: &str) -> bool {
    let plain = |one: char| one.is_alphabetic() || matches!(one, '-' | '_');
    text.len() < LONG_WORD && text.chars().all(plain)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(found: Vec<(String, String)>) -> Vec<String> {
        found.into_iter().map(|(_, value)| value).collect()
    }

    #[test]
    fn passwords_and_keys_of_addresses_are_secrets() {
        for (value, expected) in [
            ("http://bob:s3cret%40word@proxy:3128", vec!["s3cret@word"]),
            ("http://bob:a:1@[::1]:80/x", vec!["a:1"]),
            ("amqp://guest-user-1:guest-user-1@localhost", vec![]),
            (
                "postgres://me:development@localhost/db?sort_key=customer_id",
                vec![],
            ),
            (
                "https://ghp_0123456789abcdef@github.com/a",
                vec!["ghp_0123456789abcdef"],
            ),
            ("ssh://git@github.com/a", vec![]),
            ("https://h/mcp?api_key=k1%2B2&v=1#f", vec!["k1+2"]),
            ("https://h/a@b:c?x=1", vec![]),
            (
                "one=http://a:first1@x, two=\"https://a:second2@y\"",
                vec!["first1", "second2"],
            ),
            ("no address: at all", vec![]),
        ] {
            assert_eq!(values(secrets_inside("X", value)), expected, "{value}");
        }
        let named = secrets_inside("HTTPS_PROXY", "http://u:p1@h");
        assert_eq!(named, [("HTTPS_PROXY".to_owned(), "p1".to_owned())]);
    }

    #[test]
    fn words_of_headers_whose_names_say_so_are_secrets() {
        for (name, value, expected) in [
            (
                "ANTHROPIC_CUSTOM_HEADERS",
                "X-Api-Key: abc1\nX-Team: me",
                vec!["abc1"],
            ),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Basic dXNlcg1,x-team=me",
                vec!["dXNlcg1"],
            ),
            ("ANY", "Authorization: Bearer abc1", vec!["abc1"]),
            ("ANY", "the key: none", vec![]),
        ] {
            assert_eq!(values(secrets_inside(name, value)), expected, "{value}");
        }
    }

    #[test]
    fn headers_and_addresses_among_the_words_of_a_command_hold_secrets_and_plain_options_none() {
        let words = [
            "npx",
            "mcp-remote",
            "https://h/?token=t1",
            "--header",
            "Authorization: Bearer b1",
            "--header=X-Api-Key: k1",
            "--auth-type",
            "anthropic",
            "--api-key-env=OPENAI_API_KEY",
        ];
        let words = words.map(str::to_owned);
        assert_eq!(values(secrets_in_words(&words)), ["t1", "b1", "k1"]);
    }
}
