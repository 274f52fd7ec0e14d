//! The words of a command: its options and its operands, and whether it begins as a rule does.

/// Options that take a value as a word of its own, by program: without these a value would be an operand.
const VALUED: &[(&[&str], &[&str])] = &[
    (
        &["git"],
        &[
            "-C",
            "-c",
            "-m",
            "-o",
            "--config-env",
            "--git-dir",
            "--grep",
            "--message",
            "--namespace",
            "--work-tree",
        ],
    ),
    (
        &["docker", "podman"],
        &[
            "-H",
            "-c",
            "-e",
            "-f",
            "-l",
            "-p",
            "-v",
            "-w",
            "--config",
            "--context",
            "--env",
            "--env-file",
            "--file",
            "--host",
            "--log-level",
            "--name",
            "--network",
            "--profile",
            "--project-directory",
            "--project-name",
            "--publish",
            "--volume",
            "--workdir",
        ],
    ),
    (
        &["kubectl", "helm"],
        &[
            "-c",
            "-f",
            "-l",
            "-n",
            "-o",
            "-s",
            "--as",
            "--cluster",
            "--context",
            "--kube-context",
            "--kubeconfig",
            "--namespace",
            "--server",
            "--user",
        ],
    ),
    (
        &["npm", "pnpm", "yarn", "bun"],
        &[
            "-C",
            "-F",
            "-w",
            "--cwd",
            "--dir",
            "--filter",
            "--prefix",
            "--registry",
            "--workspace",
        ],
    ),
    (
        &["cargo"],
        &[
            "-C",
            "-F",
            "-Z",
            "-j",
            "-p",
            "--color",
            "--config",
            "--features",
            "--manifest-path",
            "--package",
            "--target",
            "--target-dir",
        ],
    ),
    (&["go", "make", "ninja"], &["-C", "-I", "-f", "-j", "-o"]),
    (&["gh", "glab"], &["-R", "--repo", "--hostname"]),
    (
        &["aws", "az", "gcloud"],
        &[
            "--account",
            "--output",
            "--profile",
            "--project",
            "--region",
            "--subscription",
        ],
    ),
    (
        &["apt", "apt-get", "systemctl"],
        &["-H", "-M", "-c", "-o", "-t"],
    ),
    (&["hg", "svn"], &["-R", "-m", "--cwd", "--message"]),
    (
        &["find"],
        &[
            "-ilname",
            "-iname",
            "-ipath",
            "-iregex",
            "-maxdepth",
            "-mindepth",
            "-mtime",
            "-name",
            "-newer",
            "-path",
            "-perm",
            "-regex",
            "-size",
            "-type",
            "-user",
        ],
    ),
    (
        &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"],
        &[
            "-A",
            "-B",
            "-C",
            "-T",
            "-e",
            "-f",
            "-g",
            "-m",
            "-t",
            "--file",
            "--glob",
            "--max-count",
            "--regexp",
            "--type",
        ],
    ),
    (
        &["sed", "awk", "gawk"],
        &["-F", "-e", "-f", "-v", "--expression", "--file"],
    ),
];
/// An option of so many letters may be several in one.
const CLUSTER: usize = 3;

/// The words of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandWords<'a> {
    /// The program, without its folder.
    pub program: &'a str,
    /// Options as they are written, each with the value that is a word of its own, if it is known to take one.
    pub options: Vec<(&'a str, Option<&'a str>)>,
    /// The words that are neither.
    pub operands: Vec<&'a str>,
}

impl<'a> CommandWords<'a> {
    /// Tells the words of a command apart; absent without any.
    #[must_use]
    pub fn of<T: AsRef<str>>(words: &'a [T]) -> Option<Self> {
        let (program, rest) = words.split_first()?;
        let program = program.as_ref();
        let program = program.rsplit('/').next().unwrap_or(program);
        let mut told = Self {
            program,
            ..Self::default()
        };
        let mut rest = rest.iter().map(AsRef::as_ref);
        while let Some(word) = rest.next() {
            if word == "--" {
                told.operands.extend(rest.by_ref());
            } else if word.len() > 1 && word.starts_with(['-', '+']) {
                let value = takes_value(program, word).then(|| rest.next());
                told.options.push((word, value.flatten()));
            } else {
                told.operands.push(word);
            }
        }
        Some(told)
    }

    /// Whether an option is there, alone or among the letters of another.
    fn has(&self, (option, value): (&str, Option<&str>)) -> bool {
        let mut all = self.options.iter();
        all.any(|it| *it == (option, value)) || value.is_none() && self.has_letters(option)
    }

    fn has_letters(&self, option: &str) -> bool {
        let names = || self.options.iter().map(|(name, _)| *name);
        let letter = |letter| names().filter_map(cluster).any(|it| it.contains(letter));
        match cluster(option) {
            Some(letters) => letters.chars().all(letter),
            None => names().any(|name| name == option),
        }
    }
}

/// The letters of `-rf`.
fn cluster(option: &str) -> Option<&str> {
    let letters = option.strip_prefix('-')?;
    let fits = (1..=CLUSTER).contains(&letters.len());
    (fits && letters.bytes().all(|byte| byte.is_ascii_alphabetic())).then_some(letters)
}

fn takes_value(program: &str, option: &str) -> bool {
    let mut rows = VALUED.iter();
    let row = rows.find(|(programs, _)| programs.contains(&program));
    row.is_some_and(|(_, options)| options.contains(&option))
}

/// Whether a command begins with the words of a rule, wherever its options stand: the operands begin with those of the rule,
/// and every option of the rule is there. Programs are known without their folder.
#[must_use]
pub fn begins_with<T: AsRef<str>, U: AsRef<str>>(command: &[T], rule: &[U]) -> bool {
    let (Some(made), Some(asked)) = (CommandWords::of(command), CommandWords::of(rule)) else {
        return false;
    };
    let same = made.program == asked.program
        && (rule[0].as_ref() == asked.program || command[0].as_ref() == rule[0].as_ref());
    same && made.operands.starts_with(&asked.operands)
        && asked.options.iter().all(|option| made.has(*option))
}
