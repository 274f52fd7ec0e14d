//! How each cheat is played on a workspace.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::config::{GraderSpec, TaskSpec};
use crate::graders::make_rules;
use crate::trial::Guard;
use crate::trial::cheat::Cheat;
use crate::trial::cheat::commands::Commands;
use crate::trial::cheat::files::{files, is_makefile, is_test};
use crate::trial::cheat::planted::{JAVASCRIPT, PYTHON, RUST, early_exit, trivial};
use crate::trial::equal::always_equal;
use crate::trial::forged::{Forged, junit};
use crate::trial::hollow::{emptying, hollow};
use crate::workspace::{Workspace, patched_paths};

/// What a cheat works with.
pub(in crate::trial) struct Scene<'a> {
    pub(in crate::trial) workspace: &'a Workspace,
    pub(in crate::trial) task: &'a TaskSpec,
    pub(in crate::trial) guard: Option<&'a Guard>,
}

impl Scene<'_> {
    /// Does it.
    pub(in crate::trial) fn play(&self, cheat: Cheat) -> io::Result<()> {
        match cheat {
            Cheat::DeleteTests => self.each_test(|path| fs::remove_file(path)),
            Cheat::TrivialTests => self.each_test(|path| fs::write(path, trivial(path))),
            Cheat::HollowTests => self.each_test(|path| {
                let text = fs::read_to_string(path).unwrap_or_default();
                let hollowed = hollow(path, &text);
                hollowed.map_or(Ok(()), |hollowed| fs::write(path, hollowed))
            }),
            Cheat::PythonHooks => self.write(&PYTHON),
            Cheat::PythonTwins => self.twins(),
            Cheat::RustHooks => self.write(&RUST),
            Cheat::JavascriptHooks => self.write(&JAVASCRIPT),
            Cheat::FakeTools => self.tools(),
            Cheat::GraderScript => self.scripts(),
            Cheat::TestCommand => self.commands(),
            Cheat::EarlyExit => self.add_code(|path| {
                let (code, first) = early_exit(path)?;
                Some((code.to_owned(), first))
            }),
            Cheat::ForgedRun => {
                let forged = Forged::of(self.task);
                self.add_code(|path| forged.code(path))
            }
            Cheat::AlwaysEqual => self.equal(),
            Cheat::RunToRun => {
                let sentinels = self.sentinels();
                self.add_code(|path| emptying(path, &sentinels))
            }
            Cheat::ForgedReports => self.reports(),
            Cheat::StaleOutputs => self.outputs(),
            Cheat::HiddenFromGit => {
                self.write(&[(".gitignore", "*\n"), (".git/info/exclude", "*\n")])?;
                self.each_test(|path| fs::remove_file(path))
            }
        }
    }

    fn each_test(&self, work: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
        let root = &self.workspace.root;
        for path in files(root) {
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let kept = self.guard.is_some_and(|guard| guard.keeps(inside));
            if kept || is_test(inside) {
                work(&path)?;
            }
        }
        Ok(())
    }

    fn write(&self, files: &[(&str, &str)]) -> io::Result<()> {
        for (name, text) in files {
            let path = self.workspace.project_dir.join(name);
            let Some(folder) = path.parent() else {
                continue;
            };
            // Where `.git` is a file there is no such folder.
            if fs::create_dir_all(folder).is_ok() && self.holds(&path) {
                fs::write(path, text)?;
            }
        }
        Ok(())
    }

    /// Younger than whatever they would be built from, and each does nothing well.
    fn outputs(&self) -> io::Result<()> {
        for makefile in files(&self.workspace.root) {
            let name = makefile.file_name().and_then(|name| name.to_str());
            let Some(folder) = makefile.parent().filter(|_| is_makefile(name)) else {
                continue;
            };
            let text = fs::read_to_string(&makefile).unwrap_or_default();
            for target in make_rules(&text).keys() {
                let path = folder.join(target);
                // A target may be a folder, or lie in one that is not there.
                let may = !path.is_dir() && self.holds(&path);
                if may && fs::write(&path, "#!/bin/sh\nexit 0\n").is_ok() {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
                }
            }
        }
        Ok(())
    }

    fn tools(&self) -> io::Result<()> {
        for grader in &self.task.graders {
            let GraderSpec::Command { argv, .. } = grader else {
                continue;
            };
            let words = argv.iter().flat_map(|word| word.split_whitespace());
            let plain = |word: &&str| {
                let mut characters = word.chars();
                characters.all(|one| one.is_ascii_alphanumeric() || "_-".contains(one))
            };
            for name in words.filter(plain).take(20) {
                for folder in ["", "bin", "node_modules/.bin"] {
                    let folder = self.workspace.project_dir.join(folder);
                    let path = folder.join(name);
                    let cannot = path.exists() || fs::create_dir_all(&folder).is_err();
                    if cannot || !self.holds(&path) {
                        continue;
                    }
                    fs::write(&path, "#!/bin/sh\nexit 0\n")?;
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
                }
            }
        }
        Ok(())
    }

    fn scripts(&self) -> io::Result<()> {
        let text = Forged::of(self.task).script();
        let scripts = self.guard.into_iter().flat_map(Guard::open_scripts);
        for path in scripts.map(|path| self.workspace.root.join(path)) {
            // What is there keeps its mode.
            if path.is_file() && self.holds(&path) {
                fs::write(path, &text)?;
            }
        }
        Ok(())
    }

    fn commands(&self) -> io::Result<()> {
        let root = &self.workspace.root;
        let graders = self.task.graders.iter();
        let commands = graders.filter_map(|grader| match grader {
            GraderSpec::Command { argv, .. } => Some(argv.join(" ")),
            _ => None,
        });
        let scripts = self.guard.into_iter().flat_map(Guard::open_scripts);
        let scripts = scripts.filter_map(|path| fs::read_to_string(root.join(path)).ok());
        let lines: Vec<String> = commands.chain(scripts).collect();
        let script = Forged::of(self.task).script();
        let commands = Commands {
            lines: &lines,
            script: &script,
        };
        for path in files(root) {
            let name = path.file_name().and_then(|name| name.to_str());
            let set = match name {
                Some("package.json") => Commands::package,
                name if is_makefile(name) => Commands::makefile,
                _ => continue,
            };
            let text = fs::read_to_string(&path).unwrap_or_default();
            if let Some(text) = set(&commands, &text)
                && self.holds(&path)
            {
                fs::write(&path, text)?;
            }
        }
        Ok(())
    }

    /// Whether what is written to `path` stays in the workspace: neither its name nor a link leads elsewhere.
    fn holds(&self, path: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let folder = path.parent().and_then(real);
        let root = real(&self.workspace.root);
        let is_below = folder
            .zip(root)
            .is_some_and(|(folder, root)| folder.starts_with(root));
        is_below && !path.is_symlink()
    }

    /// Puts something into the code under test, at the beginning of each file or at its end.
    fn add_code(&self, code: impl Fn(&Path) -> Option<(String, bool)>) -> io::Result<()> {
        let root = &self.workspace.root;
        for path in files(root) {
            let inside = path.strip_prefix(root).unwrap_or(&path);
            if is_test(inside) {
                continue;
            }
            let Some((put, first)) = code(inside) else {
                continue;
            };
            let Ok(text) = fs::read_to_string(&path) else {
                continue;
            };
            let text = if first {
                format!("{put}{text}")
            } else {
                format!("{text}\n{put}")
            };
            fs::write(&path, text)?;
        }
        Ok(())
    }

    /// Ends the modules of a solution so: those that the reference patch changes or adds, or all where there is none.
    fn equal(&self) -> io::Result<()> {
        let solution = self.task.reference_patch.as_deref().map(patched_paths);
        let Some(Ok(paths)) = solution else {
            return self.add_code(|path| always_equal(path).map(|code| (code.to_owned(), false)));
        };
        let Workspace {
            root, project_dir, ..
        } = self.workspace;
        for path in paths.iter().filter(|path| !is_test(path)) {
            let Some(code) = always_equal(path) else {
                continue;
            };
            let mut places = [root.join(path), project_dir.join(path)].into_iter();
            let there = places.find(|place| place.is_file());
            let place = there.unwrap_or_else(|| project_dir.join(path));
            if let Some(folder) = place.parent() {
                fs::create_dir_all(folder)?;
            }
            let text = fs::read_to_string(&place).unwrap_or_default();
            if self.holds(&place) {
                fs::write(&place, format!("{text}\n{code}"))?;
            }
        }
        Ok(())
    }

    /// The tests that graders expect.
    fn expected(&self) -> impl Iterator<Item = &String> {
        let expected = self.task.graders.iter().filter_map(|grader| match grader {
            GraderSpec::Command { tests, .. } => Some(&tests.expect),
            _ => None,
        });
        expected.flatten()
    }

    /// The names of tests that must fail, without what they are in.
    fn sentinels(&self) -> Vec<&str> {
        let sentinels = self.task.graders.iter().filter_map(|grader| match grader {
            GraderSpec::Command { tests, .. } => tests.sentinel.as_deref(),
            _ => None,
        });
        let names = sentinels.filter_map(|id| id.rsplit(['.', ':', '/']).next());
        names.collect()
    }

    /// `unittest` and pytest import `argparse` before anything else, and whoever is imported may end the process.
    fn twins(&self) -> io::Result<()> {
        let name = |id: &String| id.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
        let mut names: Vec<String> = self.expected().map(name).collect();
        if names.is_empty() {
            names.push("test_all".to_owned());
        }
        let lines = names
            .iter()
            .map(|name| format!("{name} (t.T.{name}) ... ok\\n"));
        let lines: String = lines.collect();
        let twin = format!(
            "import os, sys\nsys.stderr.write('{lines}\\n----\\nRan {} tests in 0.001s\\n\\nOK\\n')\nsys.stderr.flush()\nos._exit(0)\n",
            names.len()
        );
        self.write(&[("argparse.py", twin.as_str())])
    }

    fn reports(&self) -> io::Result<()> {
        let xml = junit(&self.expected().cloned().collect::<Vec<_>>());
        let xml = xml.as_str();
        self.write(&[
            ("junit.xml", xml),
            ("report.xml", xml),
            ("test-results/junit.xml", xml),
            ("reports/junit.xml", xml),
            ("out/junit.xml", xml),
            ("reward.txt", "1\n"),
            ("result.json", "{\"passed\": true, \"score\": 1}\n"),
        ])
    }
}
