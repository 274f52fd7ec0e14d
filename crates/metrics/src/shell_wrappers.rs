//! Programs that run another one, or a script, that their words name.

use proctor_layers::CommandWords;

/// Programs that run another: their options that take a value, and how many words come before that program.
const WRAPPERS: &[(&str, &str, usize)] = &[
    ("arch", "-e -d", 0),
    ("builtin", "", 0),
    ("busybox", "", 0),
    ("caffeinate", "-t -w", 0),
    ("chroot", "", 1),
    ("chrt", "-T -P -D", 1),
    ("command", "", 0),
    ("dbus-run-session", "--config-file --dbus-daemon", 0),
    ("doas", "-C -u", 0),
    ("eatmydata", "", 0),
    ("env", "-u -C -P --unset --chdir", 0),
    ("exec", "-a", 0),
    ("faketime", "", 1),
    ("firejail", "", 0),
    ("flock", "-E -w --conflict-exit-code --timeout", 1),
    ("gtimeout", "-s -k --signal --kill-after", 1),
    ("ionice", "-c -n -p --class --classdata", 0),
    ("nice", "-n --adjustment", 0),
    ("nohup", "", 0),
    ("nsenter", "-S -G -t --setgid --setuid --target", 0),
    ("parallel", "-I -N -j -n --jobs", 0),
    ("pkexec", "--user", 0),
    ("proxychains", "-f", 0),
    ("proxychains4", "-f", 0),
    ("runuser", "-G -g -u --group --supp-group --user", 0),
    ("screen", "-S -T -c -h -p -s -t", 0),
    ("script", "-B -E -I -O -T -m -o", 1),
    ("setarch", "", 1),
    ("setsid", "", 0),
    ("sg", "", 1),
    ("ssh-agent", "-E -O -P -a -t", 0),
    ("stdbuf", "-i -o -e --error --input --output", 0),
    ("strace", "-E -I -O -P -S -X -a -b -e -o -p -s -u", 0),
    (
        "sudo",
        "-u -g -h -p -C -D -R -T -U --chdir --chroot --group --host --prompt --user",
        0,
    ),
    (
        "systemd-run",
        "-E -H -M -p -u --description --gid --property --setenv --slice --uid --unit --working-directory",
        0,
    ),
    ("taskset", "", 1),
    ("time", "-o -f --format --output", 0),
    ("timeout", "-s -k --signal --kill-after", 1),
    ("torsocks", "", 0),
    ("unbuffer", "", 0),
    ("unshare", "-G -R -S -w --root --setgid --setuid --wd", 0),
    ("watch", "-n -q --equexit --interval", 0),
    (
        "xargs",
        "-I -n -P -L -d -s -E -a --arg-file --delimiter --max-args --max-chars --max-procs --process-slot-var",
        0,
    ),
    (
        "xvfb-run",
        "-e -f -n -p -s -w --error-file --server-args --server-num",
        0,
    ),
];
/// Programs that run another for what they find, and the options before it.
const FINDERS: &[(&str, &str)] = &[
    ("find", "-exec -execdir -ok -okdir"),
    ("fd", "-X -x --exec --exec-batch"),
];
/// Subcommands that run another program, and how many words come before that.
const RUNNERS: &[(&[&str], usize)] = &[
    (&["aws-vault", "exec"], 1),
    (&["bundle", "exec"], 0),
    (&["direnv", "exec"], 1),
    (&["git", "bisect", "run"], 0),
    (&["git", "submodule", "foreach"], 0),
    (&["mise", "exec"], 0),
    (&["op", "run"], 0),
    (&["pipenv", "run"], 0),
    (&["poetry", "run"], 0),
    (&["uv", "run"], 0),
];
/// Commands with options whose value is a script.
const SCRIPTED: &[(&[&str], &str)] = &[
    (&["git", "rebase"], "-x --exec"),
    (&["nix-shell"], "--command --run"),
];
/// Programs that take a script by such an option, and only there.
const ASKED: &[&str] = &["runuser", "script", "su"];
/// Programs whose words make up one script; after words of their own, `-c` may stand before it.
const JOINERS: &[&str] = &["flock", "sg", "watch"];

/// The words that run `script` as a shell does.
fn shell(script: String) -> Vec<String> {
    ["sh".to_owned(), "-c".to_owned(), script].into()
}

fn holds(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|it| it == word)
}

/// What the wrapper `words` would run; absent if it is none.
pub(super) fn wrapped(name: &str, words: &[String]) -> Option<Vec<String>> {
    if name == "eval" {
        let options = words[1..].iter().take_while(|word| word.starts_with('-'));
        return Some(shell(words[1 + options.count()..].join(" ")));
    }
    if ASKED.contains(&name)
        && let Some(script) = script_of(&words[1..])
    {
        return Some(shell(script));
    }
    let (_, valued, positional) = WRAPPERS.iter().find(|(wrapper, _, _)| *wrapper == name)?;
    let mut rest = &words[1..];
    while let Some(option) = rest
        .first()
        .filter(|word| word.len() > 1 && word.starts_with('-'))
    {
        if name == "command" && option.contains(['v', 'V']) {
            return None;
        }
        if name == "env"
            && let Some((split, taken)) = split_string(rest)
        {
            let words = split.split_whitespace().map(str::to_owned);
            return Some(words.chain(rest[taken..].iter().cloned()).collect());
        }
        let taken = if takes_value(option, valued) { 2 } else { 1 };
        rest = rest.get(taken..).unwrap_or_default();
        if option == "--" {
            break;
        }
    }
    rest = rest.get(*positional..).unwrap_or_default();
    if matches!(name, "env" | "sudo" | "doas" | "time") {
        let assigns = |word: &&String| word.contains('=') && !word.starts_with('-');
        rest = &rest[rest.iter().take_while(assigns).count()..];
    }
    match rest.first().map(String::as_str) {
        Some("-c" | "--command") if JOINERS.contains(&name) => Some(shell(rest[1..].join(" "))),
        Some(_) if matches!(name, "sg" | "watch") => Some(shell(rest.join(" "))),
        Some(":::") if name == "parallel" => Some(shell(rest[1..].join("\n"))),
        _ => Some(rest.to_vec()),
    }
}

/// The words that `env` splits out of one, and how many it takes for that.
fn split_string(words: &[String]) -> Option<(&str, usize)> {
    let option = words.first()?;
    if matches!(option.as_str(), "-S" | "-vS" | "--split-string") {
        return Some((words.get(1)?, 2));
    }
    let attached = option.strip_prefix("--split-string=");
    Some((attached.or_else(|| option.strip_prefix("-S"))?, 1))
}

/// Whether an option takes the next word: it, or the last of several letters in one.
fn takes_value(option: &str, valued: &str) -> bool {
    let mut letters = option.chars().rev();
    let last = letters.next().filter(|_| !option.starts_with("--"));
    holds(valued, option) || last.is_some_and(|last| holds(valued, &format!("-{last}")))
}

/// The script that `-c`, alone or behind other letters, or `--command` names.
fn script_of(arguments: &[String]) -> Option<String> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        if let Some(script) = word.strip_prefix("--command=") {
            return Some(script.to_owned());
        }
        let is_letters = word.starts_with('-') && !word.starts_with("--");
        if word == "--command" || is_letters && word.ends_with('c') {
            return rest.next().cloned();
        }
        if word == "--" {
            return None;
        }
    }
    None
}

/// What a command runs beside itself, each as its words: for what it finds, or as a part of what it does.
pub(super) fn beside(name: &str, words: &[String]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    if let Some((_, options)) = FINDERS.iter().find(|(finder, _)| *finder == name) {
        let parts = words.split(|word| holds(options, word)).skip(1);
        let ends = |word: &&String| !matches!(word.as_str(), ";" | "+");
        all.extend(parts.map(|part| part.iter().take_while(ends).cloned().collect()));
    }
    let is_first = |rule: &[&str]| rule[0] == name;
    let runner = RUNNERS.iter().filter(|(rule, _)| is_first(rule));
    let scripted = SCRIPTED.iter().filter(|(rule, _)| is_first(rule));
    if (runner.clone().next(), scripted.clone().next()) == (None, None) {
        return all;
    }
    let Some(told) = CommandWords::of(words) else {
        return all;
    };
    for (rule, before) in runner.filter(|(rule, _)| told.begins(rule)) {
        all.push(run_behind(words, rule[rule.len() - 1], *before));
    }
    for (_, options) in scripted.filter(|(rule, _)| told.begins(rule)) {
        let given = told.options.iter().filter(|it| holds(options, it.name));
        all.extend(
            given
                .filter_map(|it| it.value)
                .map(|it| shell(it.to_owned())),
        );
    }
    all
}

/// What stands behind a subcommand, its options and so many words.
fn run_behind(words: &[String], subcommand: &str, before: usize) -> Vec<String> {
    let words = words.iter().skip_while(|word| *word != subcommand).skip(1);
    let is_option = |word: &&String| word.starts_with('-');
    let mut rest: Vec<String> = words
        .skip_while(is_option)
        .skip(before)
        .skip_while(is_option)
        .cloned()
        .collect();
    // A single word is a script.
    if rest.len() == 1 {
        rest = shell(rest.remove(0));
    }
    rest
}

/// The scripts that a shell would run; absent if it is none, or is given a file.
pub(super) fn scripts(name: &str, arguments: &[String], input: &[String]) -> Option<Vec<String>> {
    if name == "trap" {
        return Some(arguments.first().cloned().into_iter().collect());
    }
    if matches!(name, "." | "source") {
        let reads = arguments.first().is_some_and(|file| is_input(file));
        return (reads && !input.is_empty()).then(|| input.to_vec());
    }
    if !matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish") {
        return None;
    }
    let (is_script, reads, operand) = shell_options(arguments);
    if is_script && let Some(script) = operand {
        return Some(vec![script.to_owned()]);
    }
    let reads = reads || operand.is_none_or(is_input);
    (reads && !input.is_empty()).then(|| input.to_vec())
}

pub(super) fn is_input(file: &str) -> bool {
    matches!(file, "-" | "/dev/stdin" | "/dev/fd/0")
}

/// Whether a shell is given `-c`, and `-s`, alone or among other letters, and its first operand.
fn shell_options(arguments: &[String]) -> (bool, bool, Option<&str>) {
    let (mut is_script, mut reads) = (false, false);
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let Some(letters) = word.strip_prefix(['-', '+']).filter(|it| !it.is_empty()) else {
            return (is_script, reads, Some(word));
        };
        if letters.starts_with('-') {
            if matches!(word.as_str(), "--rcfile" | "--init-file") {
                rest.next();
            }
            continue;
        }
        is_script |= word.starts_with('-') && letters.contains('c');
        reads |= word.starts_with('-') && letters.contains('s');
        // Each of these names an option with the next word.
        for _ in letters.matches(['o', 'O']) {
            rest.next();
        }
    }
    (is_script, reads, None)
}

/// The file name of a program that may be given by a path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
