//! Texts without what tells who ran something, and where: homes, users, hosts, and folders above what is named.

use std::path::Path;

/// Who ran something, and where; what is not known is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// Folders by what stands for them: `("<run>", "/home/a/runs/1")`.
    pub places: Vec<(&'static str, String)>,
    /// Names of users.
    pub users: Vec<String>,
    /// Names of hosts.
    pub hosts: Vec<String>,
}

/// Takes whereabouts out of texts.
#[derive(Debug, Clone)]
pub(super) struct Nameless {
    /// What is replaced by what, longer texts first.
    places: Vec<(String, &'static str)>,
    words: Vec<(String, &'static str)>,
}

/// Where homes of people lie.
const HOMES: [&str; 3] = ["/home/", "/Users/", "\\Users\\"];

/// Folders whose names are the same on every machine.
const SYSTEM: [&str; 11] = [
    "bin", "dev", "etc", "lib", "lib64", "nix", "opt", "proc", "sbin", "sys", "usr",
];

/// Names that tell nobody, and that stand in ordinary texts.
const NOBODY: [&str; 5] = ["root", "user", "admin", "nobody", "localhost"];

impl Nameless {
    pub(super) fn new(whereabouts: &Whereabouts) -> Self {
        let places = whereabouts.places.iter();
        let mut places: Vec<_> = places
            .filter(|(_, place)| place.len() > 1)
            .map(|(name, place)| (place.trim_end_matches('/').to_owned(), *name))
            .collect();
        places.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        let mut users = whereabouts.users.clone();
        users.extend(places.iter().filter_map(|(place, _)| owner(place)));
        let named = |names: Vec<String>, stands: &'static str| {
            let telling = |name: &String| name.len() > 2 && !NOBODY.contains(&name.as_str());
            names
                .into_iter()
                .filter(telling)
                .map(move |name| (name, stands))
                .collect::<Vec<_>>()
        };
        let mut words = named(users, "<user>");
        words.extend(named(whereabouts.hosts.clone(), "<host>"));
        words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        Self { places, words }
    }

    /// The text without them.
    pub(super) fn told(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (place, name) in &self.places {
            text = replaced(&text, place, name);
        }
        text = without_paths(&text);
        for (word, name) in &self.words {
            text = replaced(&text, word, name);
        }
        text
    }
}

/// Whose home a folder lies in.
fn owner(place: &str) -> Option<String> {
    let rest = HOMES.iter().find_map(|home| place.strip_prefix(home))?;
    let name = rest.split(['/', '\\']).next()?;
    (!name.is_empty()).then(|| name.to_owned())
}

/// `text` with `part` replaced where it is no piece of a longer name.
fn replaced(text: &str, part: &str, by: &str) -> String {
    let of_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(part) {
        let end = place + part.len();
        let before = made.chars().chain(rest[..place].chars()).next_back();
        let after = rest[end..].chars().next();
        let whole = !before.is_some_and(of_name) && !after.is_some_and(of_name);
        made.push_str(&rest[..place]);
        made.push_str(if whole { by } else { part });
        rest = &rest[end..];
    }
    made + rest
}

/// Every absolute path is told by its last name alone, unless it leads into the system.
fn without_paths(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(['/', '\\']) {
        let before = made.chars().chain(rest[..place].chars()).next_back();
        made.push_str(&rest[..place]);
        rest = &rest[place..];
        let begins = made.ends_with("file://")
            || !before.is_some_and(|character| {
                character.is_alphanumeric() || "/\\:.~>_-".contains(character)
            });
        let drive = before == Some(':') && rest.starts_with("\\Users\\");
        let end = rest
            .find(|character: char| {
                character.is_whitespace() || "\"'`;,()[]{}<>|:=".contains(character)
            })
            .unwrap_or(rest.len());
        let path = &rest[..end];
        if (begins || drive) && is_telling(path) {
            let last = path.rsplit(['/', '\\']).find(|name| !name.is_empty());
            made.push_str("<path>/");
            made.push_str(last.unwrap_or_default());
            rest = &rest[end..];
        } else {
            let first = rest.chars().next().map_or(0, char::len_utf8);
            made.push_str(&rest[..first]);
            rest = &rest[first..];
        }
    }
    made + rest
}

/// Whether an absolute path says where something lies on this machine.
fn is_telling(path: &str) -> bool {
    let mut names = path.split(['/', '\\']).filter(|name| !name.is_empty());
    let Some(first) = names.next() else {
        return false;
    };
    // A pattern or a flag of a program of another system is no path.
    let deep = names.next().is_some() || first == "root";
    deep && !SYSTEM.contains(&first)
}

/// The text of a path as it may be searched for.
pub(super) fn of_path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_hosts_users_and_folders_are_gone_and_the_rest_stands() {
        let nameless = Nameless::new(&Whereabouts {
            places: vec![
                ("<run>", "/home/ada/evals/runs/1".to_owned()),
                ("<suite>", "/home/ada/evals".to_owned()),
                ("~", "/home/ada".to_owned()),
            ],
            users: vec!["ada".to_owned(), "root".to_owned()],
            hosts: vec!["lovelace".to_owned()],
        });
        for (text, told) in [
            (
                "in /home/ada/evals/runs/1/trials/a.log",
                "in <run>/trials/a.log",
            ),
            (
                "/home/ada/evals/tasks.yaml: /home/ada/.npmrc",
                "<suite>/tasks.yaml: ~/.npmrc",
            ),
            ("ada@lovelace: adamant", "<user>@<host>: adamant"),
            (
                "remove /tmp/proctor-x1/w/ab: busy",
                "remove <path>/ab: busy",
            ),
            (
                "/Users/grace/x and C:\\Users\\grace\\x",
                "<path>/x and C:<path>/x",
            ),
            ("file:///srv/secret/repo", "file://<path>/repo"),
            (
                "ran /usr/bin/git at https://example.com/a/b",
                "ran /usr/bin/git at https://example.com/a/b",
            ),
            ("src/a/b.rs 3/4 and/or", "src/a/b.rs 3/4 and/or"),
            ("cat '/srv/job/notes.txt'", "cat '<path>/notes.txt'"),
            ("/root", "<path>/root"),
        ] {
            assert_eq!(nameless.told(text), told, "{text}");
        }
    }
}
