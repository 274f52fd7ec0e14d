//! When a limit ends: the many ways in which clients and providers write it.

mod clock;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp, ToSpan, Zoned};

use crate::wire::border;
use proctor_model::Reset;

use clock::clock;

/// A message is looked through up to this place.
const LOOKED_AT: usize = 4096;

/// No limit lasts longer; what tells more is misread.
const LONGEST: Duration = Duration::from_secs(62 * 24 * 3600);

/// How much longer than its minute tells a limit may last.
const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// A time of day that was just past when it was told is no one of tomorrow.
const JUST_PAST: SignedDuration = SignedDuration::from_mins(10);

/// Words behind which such a time stands. Longer ones come first where one begins with another.
const MARKS: [&str; 13] = [
    "limit reached|",
    "resets_in_seconds",
    "regain access",
    "resets",
    "reset",
    "retry_after",
    "retry-after",
    "retrydelay",
    "retry",
    "try again",
    "available again",
    "available",
    "wait",
];

/// Words between a mark and its time.
const BETWEEN: [&str; 11] = [
    "after_ms", "_at", "at", "in", "on", "after", "about", "until", "for", "please", "the",
];

/// The end of a limit that a message names, if it does. The message must be the client's own.
pub(super) fn reset_in(message: &str) -> Option<Reset> {
    let text = message[..border(message, LOOKED_AT)].to_ascii_lowercase();
    MARKS.iter().find_map(|mark| {
        text.match_indices(mark).find_map(|(place, _)| {
            let rest = &text[place + mark.len()..];
            let original = &message[place + mark.len()..border(message, LOOKED_AT)];
            time_after(mark, rest, original)
        })
    })
}

/// The end of a limit that a field of its own tells: seconds or milliseconds since 1970.
pub(super) fn reset_at(number: u64) -> Reset {
    let seconds = if number > 100_000_000_000 {
        number / 1000
    } else {
        number
    };
    Reset::At(i64::try_from(seconds).unwrap_or(i64::MAX))
}

/// The moment that `reset` names for somebody who hears it `now`; a moment that is past already is `now`. Nothing for
/// zones and days that do not exist, and for limits that last longer than two months.
///
/// What a clock shows has no seconds, and the limit may last until the last of its minute: so that minute's end counts.
#[must_use]
pub fn reset_moment(reset: &Reset, now: &Zoned) -> Option<Timestamp> {
    let told = match reset {
        Reset::After(time) => {
            let time = SignedDuration::try_from(*time).ok()?;
            now.timestamp().checked_add(time).ok()?
        }
        Reset::At(second) => Timestamp::from_second(*second).ok()?,
        Reset::Clock {
            day,
            hour,
            minute,
            zone,
        } => {
            let clock = Clock {
                here: in_zone(now, zone.as_deref())?,
                hour: *hour,
                minute: *minute,
            };
            match day {
                None => clock.next((-1..=1).map(ToSpan::days))?,
                Some(day) => clock.on(*day)?,
            }
        }
        Reset::Weekday {
            weekday,
            hour,
            minute,
            zone,
        } => {
            let clock = Clock {
                here: in_zone(now, zone.as_deref())?,
                hour: *hour,
                minute: *minute,
            };
            let ahead = *weekday - clock.here.weekday().to_monday_one_offset();
            clock.next([-7, 0, 7].map(|week| (week + i32::from(ahead)).days()))?
        }
    };
    let longest = SignedDuration::try_from(LONGEST).ok()?;
    let far = told.duration_since(now.timestamp()) > longest;
    (!far).then(|| told.max(now.timestamp()))
}

/// The zone that environments give an agent by `TZ`, the first of them that has one.
pub fn zone_of<'a>(
    mut environments: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> Option<TimeZone> {
    let name = environments.find_map(|environment| environment.get("TZ"))?;
    TimeZone::get(name).ok()
}

/// A time of day in its zone.
struct Clock {
    here: Zoned,
    hour: i8,
    minute: i8,
}

fn in_zone(now: &Zoned, zone: Option<&str>) -> Option<Zoned> {
    let zone = match zone {
        Some(name) => TimeZone::get(name).ok()?,
        None => now.time_zone().clone(),
    };
    Some(now.with_time_zone(zone))
}

impl Clock {
    /// The end of that minute on a day.
    fn at(&self, date: Date) -> Option<Timestamp> {
        let begin = date.at(self.hour, self.minute, 0, 0);
        let begin = begin.to_zoned(self.here.time_zone().clone()).ok()?;
        begin.timestamp().checked_add(MINUTE).ok()
    }

    /// The first of days, told by how far they are from today, on which that minute is not past for longer than a client
    /// may take to give up.
    fn next(&self, days: impl IntoIterator<Item = Span>) -> Option<Timestamp> {
        let past = self.here.timestamp().checked_sub(JUST_PAST).ok()?;
        let moments = days
            .into_iter()
            .filter_map(|days| self.at(self.here.date().checked_add(days).ok()?));
        moments.into_iter().find(|moment| *moment >= past)
    }

    /// On a date; without a year, this year's or the next one's.
    fn on(&self, (month, day, year): (i8, i8, Option<i16>)) -> Option<Timestamp> {
        let this_year = self.here.year();
        let this = self.at(Date::new(year.unwrap_or(this_year), month, day).ok()?)?;
        let a_day_ago = self.here.timestamp().checked_sub(24.hours()).ok()?;
        if year.is_some() || this >= a_day_ago {
            return Some(this);
        }
        self.at(Date::new(this_year.checked_add(1)?, month, day).ok()?)
    }
}

/// Reads what stands behind a mark; `original` is the same with its capitals.
fn time_after(mark: &str, rest: &str, original: &str) -> Option<Reset> {
    let (skipped, words) = between(rest);
    let rest = &rest[skipped..];
    let original = &original[skipped..];
    if let Some(moment) = moment(original) {
        return Some(Reset::At(moment.as_second()));
    }
    if let Some(number) = number_alone(rest) {
        return bare(mark, number, words);
    }
    if rest.starts_with("less than a minute") {
        return Some(Reset::After(Duration::from_secs(60)));
    }
    span(rest)
        .map(Reset::After)
        .or_else(|| clock(rest, original))
}

/// Leaves out punctuation and small words; tells how long they are, and whether milliseconds are meant.
fn between(rest: &str) -> (usize, bool) {
    let mut millis = false;
    let mut left = rest;
    loop {
        let trimmed =
            left.trim_start_matches([' ', ':', '=', '"', '\'', '|', ',', '(', '\\', '\u{b7}']);
        let word = BETWEEN.iter().find(|word| {
            trimmed
                .strip_prefix(**word)
                .is_some_and(|after| !after.starts_with(|c: char| c.is_ascii_alphanumeric()))
        });
        let ms = trimmed.starts_with("_ms");
        millis |= ms || word.is_some_and(|word| *word == "after_ms");
        left = match word {
            Some(word) => &trimmed[word.len()..],
            None if ms => &trimmed[3..],
            None => return (rest.len() - trimmed.len(), millis),
        };
    }
}

/// An ISO 8601 time with its offset, or an HTTP date.
fn moment(text: &str) -> Option<Timestamp> {
    let end = text
        .find(['"', '\'', ' ', ',', ')', '|'])
        .unwrap_or(text.len());
    let word = text[..end].trim_end_matches('.');
    word.parse().ok().or_else(|| {
        let date = text.get(..29)?;
        jiff::fmt::rfc2822::parse(date)
            .ok()
            .map(|zoned| zoned.timestamp())
    })
}

/// A number that nothing qualifies.
fn number_alone(text: &str) -> Option<f64> {
    let (number, rest) = leading_number(text)?;
    let rest = rest.trim_start();
    let ends = rest.is_empty() || rest.starts_with(['"', '\'', ',', '}', ')', ';', '|', '\n', '.']);
    ends.then_some(number)
}

/// A number without a unit: a time since 1970 where it is one, else seconds where a field of a known unit tells them.
fn bare(mark: &str, number: f64, millis: bool) -> Option<Reset> {
    const A_RECENT_TIME: f64 = 1e9;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked"
    )]
    if (A_RECENT_TIME..1e14).contains(&number) {
        return Some(reset_at(number as u64));
    }
    let seconds = if millis { number / 1e3 } else { number };
    let tells_seconds = matches!(
        mark,
        "retry_after" | "retry-after" | "retrydelay" | "resets_in_seconds"
    );
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    (tells_seconds && time <= LONGEST).then_some(Reset::After(time))
}

fn leading_number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    // A full stop after a number ends the sentence.
    let end = end - usize::from(text[..end].ends_with('.'));
    let number = text[..end]
        .parse::<f64>()
        .ok()
        .filter(|n| n.is_finite() && end <= 20)?;
    Some((number, &text[end..]))
}

/// `20s`, `6m0s`, `4 days 3 hours and 12 minutes`.
fn span(text: &str) -> Option<Duration> {
    let mut total = None;
    let mut rest = text;
    while let Some((number, after)) = leading_number(rest) {
        let after = after.trim_start();
        let end = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let Some(unit) = seconds_of(&after[..end]) else {
            break;
        };
        let time = Duration::try_from_secs_f64(number * unit).ok()?;
        total = Some(
            total
                .unwrap_or(Duration::ZERO)
                .checked_add(time)
                .filter(|all| *all <= LONGEST)?,
        );
        rest = after[end..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest).trim_start();
    }
    total
}

fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "ms" | "millisecond" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600.0),
        "d" | "day" | "days" => Some(86_400.0),
        "w" | "week" | "weeks" => Some(604_800.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
