//! Pieces for reading hostile JSON into small types: counts, capped lists, fields that may be odd.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use proctor_model::Usage;

/// Outputs of tools, and whatever is not judged, are kept up to this many bytes.
pub(super) const TEXT_CAP: usize = 64 * 1024;

/// Words of the agent and arguments of its calls, which are judged, are kept up to this many bytes; what may have been cut
/// is told, so that nobody takes a part for the whole.
pub(super) const WORDS_CAP: usize = 1024 * 1024;

/// Elements of a list that are read; the rest is skipped.
pub(super) const LIST_CAP: usize = 16 * 1024;

/// The parts of an object that tell what it is.
#[derive(Debug, Deserialize)]
pub(super) struct Head<'a> {
    /// `type`
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Cow<'a, str>>,
    /// `subtype`
    #[serde(borrow, default)]
    pub(super) subtype: Option<Cow<'a, str>>,
}

impl<'a> Head<'a> {
    /// The head of an object that is read whole afterwards, and so need not be looked through to its end now: of one that
    /// begins with its `type`, as agents print it.
    pub(super) fn at_once(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("{\"type\":\"")?;
        let (kind, after) = rest.split_at(rest.find(['"', '\\'])?);
        after.starts_with('"').then_some(Self {
            kind: Some(Cow::Borrowed(kind)),
            subtype: None,
        })
    }
}

/// One MCP server, as a session begins.
#[derive(Debug, Deserialize)]
pub(super) struct ServerState {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) status: String,
}

/// A text, kept up to [`WORDS_CAP`] bytes: what is beyond is never copied.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Capped(pub(super) String);

impl<'de> Deserialize<'de> for Capped {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(CappedVisitor)
    }
}

struct CappedVisitor;

impl Visitor<'_> for CappedVisitor {
    type Value = Capped;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_str<E>(self, text: &str) -> Result<Capped, E> {
        Ok(Capped(words(text)))
    }
}

/// A token count as told: absent, a whole number, or something that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Count {
    /// Not there, or `null`.
    #[default]
    Absent,
    /// A whole number that fits.
    Known(u64),
    /// Negative, a fraction, too large, or no number at all.
    Unreadable,
}

impl Count {
    /// This count, or another name for it where this one is absent.
    pub(super) const fn or(self, other: Self) -> Self {
        match self {
            Self::Absent => other,
            told => told,
        }
    }

    /// The number, 0 where absent, `None` where unreadable.
    pub(super) const fn value(self) -> Option<u64> {
        match self {
            Self::Absent => Some(0),
            Self::Known(count) => Some(count),
            Self::Unreadable => None,
        }
    }
}

impl From<Option<u64>> for Count {
    fn from(told: Option<u64>) -> Self {
        told.map_or(Self::Absent, Self::Known)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a token count")
    }

    fn visit_u64<E>(self, count: u64) -> Result<Count, E> {
        Ok(Count::Known(count))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Count, E> {
        Ok(Count::Unreadable)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Count, E> {
        Ok(Count::Unreadable)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Count, E> {
        Ok(Count::Unreadable)
    }

    fn visit_str<E>(self, _: &str) -> Result<Count, E> {
        Ok(Count::Unreadable)
    }

    fn visit_unit<E>(self) -> Result<Count, E> {
        Ok(Count::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Count, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Count::Unreadable)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Count, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Count::Unreadable)
    }
}

/// The first elements of a list, at most [`LIST_CAP`], so that a hostile one costs no memory; `null` is empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Few<T>(pub(super) Vec<T>);

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FewVisitor(PhantomData))
    }
}

struct FewVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for FewVisitor<T> {
    type Value = Few<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<Few<T>, E> {
        Ok(Few::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Few<T>, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < LIST_CAP {
            match list.next_element()? {
                Some(element) => kept.push(element),
                None => return Ok(Few(kept)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Few(kept))
    }
}

/// The name of a model as rows may hold it.
pub(super) fn model_name(name: &str) -> String {
    name.chars().take(200).collect()
}

/// A field that nothing is decided on: `None` where it is absent or of another shape than expected.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Loose<T>(pub(super) Option<T>);

impl<T> Default for Loose<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Loose<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(raw.get()).ok()))
    }
}

/// The body of an error of an API.
#[derive(Debug, Deserialize)]
struct ApiErrorBody {
    error: ApiError,
}

#[derive(Debug, Deserialize)]
struct ApiError {
    #[serde(rename = "type", default)]
    kind: Loose<String>,
    #[serde(default)]
    code: Loose<String>,
}

/// The provider's word for a failure in the body of its answer: its code, else its type.
pub(super) fn api_word(body: &str) -> Option<String> {
    let body: ApiErrorBody = serde_json::from_str(body).ok()?;
    body.error.code.0.or(body.error.kind.0)
}

/// Reads a small type out of JSON text.
///
/// # Errors
/// Why it cannot be read.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Tokens of both, field by field.
pub(super) const fn add(one: Usage, other: Usage) -> Usage {
    one.plus(other)
}

/// `text`, cut to [`TEXT_CAP`] bytes on a character border.
pub(super) fn capped(text: &str) -> String {
    text[..border(text, TEXT_CAP)].to_owned()
}

/// The same, cut to [`WORDS_CAP`] bytes.
pub(super) fn words(text: &str) -> String {
    text[..border(text, WORDS_CAP)].to_owned()
}

/// Whether a text of so many bytes was cut to `cap` on a character border, or just may have been.
pub(super) const fn may_be_cut(bytes: usize, cap: usize) -> bool {
    bytes + 4 > cap
}

/// [`capped`] of a text that is not needed any more.
pub(super) fn cut(mut text: String) -> String {
    text.truncate(border(&text, TEXT_CAP));
    text
}

/// The largest character border of `text` that is at most `limit`.
pub(super) fn border(text: &str, limit: usize) -> usize {
    let mut end = limit.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_seen_at_once_only_where_it_is_plain() {
        let cases = [
            (r#"{"type":"text","text":"x"}"#, Some("text")),
            (r#"{"type":"","type":"x"}"#, Some("")),
            (r#"{"type":"te\u0078t"}"#, None),
            (r#"{"type":"te"#, None),
            (r#"{"type":5}"#, None),
            (r#"{ "type":"text"}"#, None),
            (r#"{"text":"x","type":"text"}"#, None),
        ];
        for (json, expected) in cases {
            let head = Head::at_once(json);
            let kind = head.as_ref().and_then(|head| head.kind.as_deref());
            assert_eq!(kind, expected, "{json}");
        }
    }

    #[test]
    fn a_count_is_a_whole_number_or_unreadable_and_never_zero_by_mistake() {
        let cases = [
            ("7", Count::Known(7)),
            ("18446744073709551615", Count::Known(u64::MAX)),
            ("18446744073709551616", Count::Unreadable),
            ("-1", Count::Unreadable),
            ("1.5", Count::Unreadable),
            ("null", Count::Absent),
            ("\"7\"", Count::Unreadable),
            ("[1,[2]]", Count::Unreadable),
            ("{\"a\":{}}", Count::Unreadable),
            ("true", Count::Unreadable),
        ];
        for (json, expected) in cases {
            assert_eq!(
                serde_json::from_str::<Count>(json).unwrap(),
                expected,
                "{json}"
            );
        }
        assert!(serde_json::from_str::<Count>("1e400").is_err());
    }

    #[test]
    fn a_list_is_read_up_to_its_cap() {
        let json = format!("[{}1]", "1,".repeat(2 * LIST_CAP));
        assert_eq!(
            serde_json::from_str::<Few<u8>>(&json).unwrap().0.len(),
            LIST_CAP
        );
    }

    #[test]
    fn a_cap_falls_on_a_character_border() {
        assert_eq!(border("aé", 2), 1);
        assert_eq!(border("aé", 3), 3);
        assert_eq!(border("aé", 9), 3);
    }
}
