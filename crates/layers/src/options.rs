//! What is known of the options of programs: which take a value, which values are texts or folders, and which mean the same.

/// Options of some programs. Names stand between spaces; a value is a word of its own, or attached to its option.
#[derive(Debug)]
struct Known {
    programs: &'static str,
    /// The subcommands that it is true of; all where none is named.
    of: &'static str,
    /// Options that take a value; with a `#` behind it, only a number is one.
    valued: &'static str,
    /// Those of them whose value is a text and no path.
    texts: &'static str,
    /// Those of them whose value is a folder that is worked in.
    folders: &'static str,
    /// Names of one option, between commas.
    same: &'static str,
    /// Whether however many letters behind a hyphen are as many options.
    clusters: bool,
}

const NONE: Known = Known {
    programs: "",
    of: "",
    valued: "",
    texts: "",
    folders: "",
    same: "",
    clusters: false,
};

const KNOWN: &[Known] = &[
    Known {
        programs: "git",
        valued: "-C -c -m -o --attr-source --author --config-env --date --exec --git-dir --namespace --super-prefix --trailer \
                 --work-tree",
        texts: "-m --author --date --trailer",
        folders: "-C --git-dir --work-tree",
        clusters: true,
        ..NONE
    },
    Known {
        programs: "git",
        of: "log diff show shortlog whatchanged",
        valued: "-S -G --since --until",
        texts: "-S -G --since --until",
        ..NONE
    },
    Known {
        programs: "git",
        of: "push",
        same: "-f --force, -d --delete, -n --dry-run, -u --set-upstream",
        ..NONE
    },
    Known {
        programs: "git",
        of: "rebase",
        valued: "-x",
        texts: "-x --exec",
        ..NONE
    },
    Known {
        programs: "git",
        of: "commit merge",
        valued: "-F --file",
        same: "-n --no-verify, -a --all",
        ..NONE
    },
    Known {
        programs: "git",
        of: "branch tag",
        same: "-f --force, -d --delete",
        ..NONE
    },
    Known {
        programs: "git",
        of: "add checkout clean fetch mv pull rm switch",
        same: "-f --force, -A --all",
        ..NONE
    },
    Known {
        programs: "jj hg svn",
        valued: "-R -m --cwd --repository",
        texts: "-m",
        folders: "-R --cwd --repository",
        ..NONE
    },
    Known {
        programs: "gh glab",
        valued: "-R -b -t --hostname --repo",
        texts: "-b -t",
        ..NONE
    },
    Known {
        programs: "docker podman",
        valued: "-H -c -e -f -l -p -v -w --config --context --env --env-file --file --host --log-level --name --network --profile \
                 --project-directory --project-name --publish --tlscacert --tlscert --tlskey --volume --workdir",
        folders: "--project-directory",
        ..NONE
    },
    Known {
        programs: "docker podman",
        of: "rm rmi prune",
        same: "-f --force, -a --all",
        ..NONE
    },
    Known {
        programs: "kubectl helm",
        valued: "-c -f -l -n -o -s -v# --as --as-group --cache-dir --certificate-authority --client-certificate --client-key --cluster \
                 --container --context --filename --kube-context --kubeconfig --namespace --output --password --profile \
                 --request-timeout --selector --server --tls-server-name --token --user --username --v#",
        folders: "-f --filename",
        ..NONE
    },
    Known {
        programs: "npm pnpm yarn bun",
        valued: "-C -F -w --access --cache --cwd --dir --filter --globalconfig --loglevel --omit --otp --prefix --registry \
                 --script-shell --tag --userconfig --workspace",
        folders: "-C --cwd --dir --prefix",
        same: "-g --global, -f --force",
        ..NONE
    },
    Known {
        programs: "cargo",
        valued: "-C -F -Z -j -p --color --config --features --index --manifest-path --package --profile --registry --target \
                 --target-dir --token",
        folders: "-C",
        ..NONE
    },
    Known {
        programs: "make ninja",
        valued: "-C -I -f -j# -l# -o --directory --file",
        folders: "-C --directory",
        ..NONE
    },
    Known {
        programs: "go",
        valued: "-C -o",
        folders: "-C",
        ..NONE
    },
    Known {
        programs: "aws az gcloud",
        valued: "--account --ca-bundle --cli-connect-timeout --cli-read-timeout --configuration --endpoint-url \
                 --impersonate-service-account --output --profile --project --query --region --subscription --verbosity",
        ..NONE
    },
    Known {
        programs: "apt apt-get systemctl",
        valued: "-H -M -c -o -t",
        ..NONE
    },
    Known {
        programs: "find",
        valued: "-ilname -iname -ipath -iregex -maxdepth -mindepth -mtime -name -newer -path -perm -regex -size -type -user",
        ..NONE
    },
    Known {
        programs: "grep egrep fgrep zgrep rg ag ack",
        valued: "-A -B -C -T -e -f -g -m -t --file --glob --max-count --type",
        texts: "-e",
        same: "-r --recursive, -i --ignore-case",
        clusters: true,
        ..NONE
    },
    Known {
        programs: "sed awk gawk",
        valued: "-F -e -f -v --expression --file",
        texts: "-e --expression",
        same: "-i --in-place",
        clusters: true,
        ..NONE
    },
    Known {
        programs: "rm cp mv ln install",
        valued: "-S -t --suffix --target-directory",
        folders: "-t --target-directory",
        same: "-r -R --recursive, -f --force, -i --interactive",
        clusters: true,
        ..NONE
    },
    Known {
        programs: "chmod chown chgrp",
        same: "-R --recursive, -f --quiet --silent",
        clusters: true,
        ..NONE
    },
    Known {
        programs: "tar",
        valued: "-C -T -X -f --directory --exclude --file",
        folders: "-C --directory",
        clusters: true,
        ..NONE
    },
    Known {
        programs: "unzip patch",
        valued: "-P -d --directory",
        folders: "-d --directory",
        ..NONE
    },
    Known {
        programs: "nix-shell",
        valued: "--command --run",
        texts: "--command --run",
        ..NONE
    },
    Known {
        programs: "curl wget",
        same: "-k --insecure",
        ..NONE
    },
];
/// Options whose value is a text whatever the program is.
const TEXTS: &str = "--body --description --grep --message --regexp --title";
/// An option of so many letters may be several in one, of programs that are not known better.
const CLUSTER: usize = 3;

/// What the value of an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// Perhaps a path.
    Any,
    /// A text, which is no path.
    Text,
    /// A folder that is worked in.
    Folder,
}

/// An option of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Given<'a> {
    /// As it is written, without a value.
    pub name: &'a str,
    /// Its value, if it is known to have one.
    pub value: Option<&'a str>,
    /// What that is.
    pub means: Means,
}

/// What is known of the options of one command.
#[derive(Debug, Clone, Default)]
pub(super) struct Options(Vec<&'static Known>);

impl Options {
    /// What is known of a program, given these words.
    pub(super) fn of<T: AsRef<str>>(program: &str, words: &[T]) -> Self {
        let fits = |known: &&Known| {
            holds(known.programs, program)
                && (known.of.is_empty() || words.iter().any(|word| holds(known.of, word.as_ref())))
        };
        Self(KNOWN.iter().filter(fits).collect())
    }

    /// An option with its value, which `next` may be; says whether it is.
    pub(super) fn read<'a>(&self, word: &'a str, next: Option<&'a str>) -> (Given<'a>, bool) {
        let (name, attached) = self.split(word);
        let is_next = attached.is_none() && next.is_some_and(|next| self.takes(name, next));
        let value = attached.or(next.filter(|_| is_next));
        let has =
            |pick: fn(&Known) -> &'static str| self.0.iter().any(|it| holds_end(pick(it), name));
        let means = if holds(TEXTS, name) || has(|it| it.texts) {
            Means::Text
        } else if has(|it| it.folders) {
            Means::Folder
        } else {
            Means::Any
        };
        (Given { name, value, means }, is_next)
    }

    /// An option and the value that is attached to it: `--file=x`, and `-mx` of those that are known to take one.
    fn split<'a>(&self, word: &'a str) -> (&'a str, Option<&'a str>) {
        if !word.starts_with("--") {
            let letters = word.char_indices().skip(1);
            for (at, letter) in letters.take_while(|(_, letter)| letter.is_ascii_alphabetic()) {
                if self.0.iter().any(|it| has_letter(it.valued, letter)) {
                    let (name, value) = word.split_at(at + 1);
                    return (name, Some(value).filter(|value| !value.is_empty()));
                }
            }
        }
        match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        }
    }

    fn takes(&self, name: &str, next: &str) -> bool {
        let is_number = next.starts_with(|first: char| first.is_ascii_digit());
        let valued = |it: &&Known| {
            let mut all = it.valued.split_whitespace();
            all.any(|option| match option.strip_suffix('#') {
                Some(option) => is_number && ends(name, option),
                None => ends(name, option),
            })
        };
        holds(TEXTS, name) || self.0.iter().any(valued)
    }

    /// Whether `given` is, or has among its letters, an option that a rule asks for.
    pub(super) fn is_among(&self, asked: &str, given: &[Given<'_>]) -> bool {
        let has = |name: &str| {
            let letter = name.strip_prefix('-').filter(|it| it.len() == 1);
            given.iter().any(|it| {
                let letters = || self.letters(it.name).unwrap_or_default();
                it.name == name || letter.is_some_and(|letter| letters().contains(letter))
            })
        };
        let any = |name: &str| has(name) || self.same(name).any(has);
        match self.letters(asked) {
            Some(letters) => letters.chars().all(|letter| any(&format!("-{letter}"))),
            None => any(asked),
        }
    }

    /// The other names of an option.
    fn same(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let groups = self.0.iter().flat_map(|it| it.same.split(','));
        let group = groups.into_iter().find(|group| holds(group, name));
        group.unwrap_or_default().split_whitespace()
    }

    /// The letters of `-rf`.
    fn letters<'a>(&self, option: &'a str) -> Option<&'a str> {
        let letters = option.strip_prefix('-')?;
        let plain = letters.bytes().take_while(u8::is_ascii_alphabetic).count();
        let fits = if self.0.iter().any(|it| it.clusters) {
            plain > 0
        } else {
            (1..=CLUSTER).contains(&letters.len()) && plain == letters.len()
        };
        fits.then(|| &letters[..plain])
    }
}

fn holds(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|it| it == word)
}

/// Whether a list holds an option, or the last letter of several in one.
fn holds_end(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|option| ends(name, option))
}

fn ends(name: &str, option: &str) -> bool {
    let is_letter = option.len() == 2 && name.len() > 2 && !name.starts_with("--");
    name == option || is_letter && name.starts_with('-') && name.ends_with(&option[1..])
}

/// Whether a list holds `-x`.
fn has_letter(list: &str, letter: char) -> bool {
    let mut options = list.split_whitespace();
    options.any(|option| {
        let mut letters = option.chars().skip(1);
        option.len() == 2 && letters.next() == Some(letter)
    })
}
