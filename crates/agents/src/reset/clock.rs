//! A time of day or a date, as people write it.

use proctor_model::Reset;

/// `4pm`, `16:05`, `3:30 am (Europe/Berlin)`, `oct 12th, 2025 6:24 pm`, `mon 12:00am`, `2026-11-23 15:11:08`.
pub(super) fn clock(text: &str, original: &str) -> Option<Reset> {
    if let Some((weekday, after)) = weekday(text) {
        let (hour, minute, rest) = time_of_day(after).unwrap_or((0, 0, after));
        return Some(Reset::Weekday {
            weekday,
            hour,
            minute,
            zone: zone(&original[original.len() - rest.len()..]),
        });
    }
    let (day, after) = match day(text) {
        Some((day, after)) => (Some(day), after),
        None => (None, text),
    };
    let (hour, minute, rest) = match time_of_day(after) {
        Some(time) => time,
        None if day.is_some() => (0, 0, after),
        None => return None,
    };
    Some(Reset::Clock {
        day,
        hour,
        minute,
        zone: zone(&original[original.len() - rest.len()..]),
    })
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// Short names of zones that clients write; each means that zone all the year round.
const ZONES: [(&str, &str); 12] = [
    ("utc", "UTC"),
    ("gmt", "UTC"),
    ("pst", "America/Los_Angeles"),
    ("pdt", "America/Los_Angeles"),
    ("mst", "America/Denver"),
    ("mdt", "America/Denver"),
    ("cst", "America/Chicago"),
    ("cdt", "America/Chicago"),
    ("est", "America/New_York"),
    ("edt", "America/New_York"),
    ("cet", "Europe/Berlin"),
    ("cest", "Europe/Berlin"),
];

type FoundDay<'a> = ((i8, i8, Option<i16>), &'a str);

fn weekday(text: &str) -> Option<(i8, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let word = &text[..end];
    let mut days = WEEKDAYS.iter();
    let place = days.position(|name| word.len() >= 3 && name.starts_with(word))?;
    Some((i8::try_from(place + 1).ok()?, gap(&text[end..])))
}

fn day(text: &str) -> Option<FoundDay<'_>> {
    written_with_figures(text).or_else(|| written_with_a_month(text))
}

/// `2026-11-23`, which may be glued to its time by a `t`.
fn written_with_figures(text: &str) -> Option<FoundDay<'_>> {
    let (year, rest) = leading_whole(text).filter(|(year, _)| *year >= 2000)?;
    let (month, rest) = leading_whole(rest.strip_prefix('-')?)?;
    let (day, rest) = leading_whole(rest.strip_prefix('-')?)?;
    let day = (
        i8::try_from(month).ok()?,
        i8::try_from(day).ok()?,
        i16::try_from(year).ok(),
    );
    Some((day, gap(rest.strip_prefix('t').unwrap_or(rest))))
}

fn written_with_a_month(text: &str) -> Option<FoundDay<'_>> {
    let month = MONTHS.iter().position(|month| text.starts_with(month))?;
    let end = text.find(|c: char| !c.is_ascii_alphabetic())?;
    let (day, rest) = leading_whole(text[end..].trim_start_matches(['.', ' ']))?;
    let ordinal = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|ending| rest.strip_prefix(ending));
    let rest = gap(ordinal.unwrap_or(rest));
    let year = leading_whole(rest).filter(|(year, after)| *year >= 2000 && !after.starts_with(':'));
    let (year, rest) = match year {
        Some((year, after)) => (i16::try_from(year).ok(), gap(after)),
        None => (None, rest),
    };
    let month = i8::try_from(month + 1).ok()?;
    Some(((month, i8::try_from(day).ok()?, year), rest))
}

/// What may stand between a day and its time.
fn gap(text: &str) -> &str {
    let text = text.trim_start_matches([',', ' ']);
    text.strip_prefix("at ").unwrap_or(text).trim_start()
}

fn leading_whole(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    Some((text.get(..end.min(5))?.parse().ok()?, &text[end..]))
}

fn time_of_day(text: &str) -> Option<(i8, i8, &str)> {
    let (hour, rest) = leading_whole(text)?;
    let minutes = rest
        .strip_prefix(':')
        .and_then(leading_whole)
        .filter(|(minute, _)| *minute < 60);
    let (minute, rest) = minutes.unwrap_or((0, rest));
    // Seconds, where they are told, decide nothing.
    let rest = match rest.strip_prefix(':').and_then(leading_whole) {
        Some((_, after)) if minutes.is_some() => after,
        _ => rest,
    };
    let half = rest.trim_start();
    let halves = [("am", 0), ("a.m.", 0), ("pm", 12), ("p.m.", 12)];
    let half = halves
        .iter()
        .find_map(|(word, hours)| Some((*hours, half.strip_prefix(word)?)));
    let (hour, rest) = match half {
        Some((hours, after)) if (1..=12).contains(&hour) => (hour % 12 + hours, after),
        None if minutes.is_some() && hour < 24 => (hour, rest),
        _ => return None,
    };
    Some((i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, rest))
}

/// A zone in parentheses, or one of the short names.
fn zone(text: &str) -> Option<String> {
    let text = text.trim_start();
    let known = |name: &str| {
        let mut zones = ZONES.iter();
        zones.find(|(short, _)| name.eq_ignore_ascii_case(short))
    };
    if let Some(inside) = text.strip_prefix('(') {
        let name = inside.split(')').next()?.trim();
        let name = known(name).map_or(name, |(_, zone)| zone);
        return Some(name.to_owned()).filter(|name| name.len() <= 64);
    }
    let end = text
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    known(&text[..end]).map(|(_, zone)| (*zone).to_owned())
}
