//! Names of modules that others have: Python itself, its test runners, and what the project depends on.

use std::collections::BTreeSet;

use crate::trial::shadowing::Doubt;

/// The modules of Python 3: on each line the first and the last of its versions 8 to 14 that have them, by their second numbers; an
/// open end has them still. From `sys.stdlib_module_names`, and of 3.8 and 3.9 from their folders.
const OF_PYTHON: &str = include_str!("python_modules.txt");

/// The first version in that list; older ones are taken for it.
const OLDEST: u8 = 8;

/// pytest, and what it imports beside that: what 8 names in `requires`, what 6 and 7 named, what these import in turn, and the
/// modules of plugins that are often installed, which it imports at its start.
const OF_PYTEST: [&str; 51] = [
    "pytest",
    "_pytest",
    "py",
    "six",
    "more_itertools",
    "atomicwrites",
    "wcwidth",
    "pathlib2",
    "zipp",
    "xdist",
    "execnet",
    "anyio",
    "sniffio",
    "idna",
    "typeguard",
    "faker",
    "syrupy",
    "respx",
    "hypothesis",
    "_hypothesis_pytestplugin",
    "_hypothesis_ftz_detector",
    "_hypothesis_globals",
    "sortedcontainers",
    "coverage",
    "nose",
    "nose2",
    "pytest_cov",
    "pytest_asyncio",
    "pytest_mock",
    "pytest_timeout",
    "pytest_django",
    "pytest_flask",
    "pytest_randomly",
    "pytest_metadata",
    "pytest_html",
    "pytest_benchmark",
    "pytest_subtests",
    "pytest_rerunfailures",
    "pytest_forked",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "exceptiongroup",
    "tomli",
    "colorama",
    "attr",
    "attrs",
    "toml",
    "typing_extensions",
    "importlib_metadata",
];

/// What Python imports at its start.
const HOOKS: [&str; 2] = ["sitecustomize", "usercustomize"];

/// What `sysconfig` imports is named after the machine: this, and more.
const OF_SYSCONFIG: &str = "_sysconfigdata_";

/// Whose names a task's graders may import.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The second numbers of the versions of Python 3 that graders run; empty where that is not known.
    pub(super) versions: BTreeSet<u8>,
    /// Whether graders may run pytest.
    pub(super) has_pytest: bool,
    /// What the project depends on or has installed, as modules are named.
    pub(super) declared: BTreeSet<String>,
}

impl Names {
    /// Whether `module` is another's name; certain where that is so for whatever graders may run.
    pub(super) fn doubt(&self, module: &str) -> Option<Doubt> {
        let of_pytest = OF_PYTEST.contains(&module);
        if HOOKS.contains(&module)
            || module.starts_with(OF_SYSCONFIG)
            || of_pytest && self.has_pytest
        {
            return Some(Doubt::Certain);
        }
        let other = || of_pytest || self.declared.contains(&as_module(module));
        self.of_python(module)
            .or_else(|| other().then_some(Doubt::Possible))
    }

    fn of_python(&self, module: &str) -> Option<Doubt> {
        let (first, last) = span(module)?;
        let from_the_first = first == OLDEST;
        let has = |version: &u8| {
            (from_the_first || first <= *version) && last.is_none_or(|last| *version <= last)
        };
        let (in_all, in_any) = if self.versions.is_empty() {
            (from_the_first && last.is_none(), true)
        } else {
            let mut versions = self.versions.iter();
            (versions.clone().all(has), versions.any(has))
        };
        match (in_all, in_any) {
            (true, _) => Some(Doubt::Certain),
            (false, true) => Some(Doubt::Possible),
            (false, false) => None,
        }
    }
}

/// Since and until when Python has a module of this name.
fn span(module: &str) -> Option<(u8, Option<u8>)> {
    OF_PYTHON.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (first, last) = words.next()?.split_once('-')?;
        words.find(|word| *word == module)?;
        Some((first.parse().ok()?, last.parse().ok()))
    })
}

/// A name of a package as its module is mostly named.
pub(super) fn as_module(package: &str) -> String {
    package.to_ascii_lowercase().replace(['-', '.'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_some_versions_of_python_lack_is_theirs_alone() {
        let (sure, maybe) = (Some(Doubt::Certain), Some(Doubt::Possible));
        for (module, versions, doubt) in [
            ("argparse", &[][..], sure),
            ("argparse", &[13], sure),
            ("argparse", &[7], sure),
            ("argparse", &[15], sure),
            ("parser", &[], maybe),
            ("parser", &[13], None),
            ("parser", &[9], sure),
            ("parser", &[7], sure),
            ("parser", &[9, 13], maybe),
            ("tomllib", &[11], sure),
            ("tomllib", &[15], sure),
            ("tomllib", &[10], None),
            ("graphlib", &[7], None),
            ("solution", &[], None),
            ("8-", &[], None),
            ("", &[], None),
            ("packaging", &[13], maybe),
            ("my_lib", &[], maybe),
            ("My_Lib", &[], maybe),
            ("sitecustomize", &[13], sure),
            ("_sysconfigdata__linux_x86_64-linux-gnu", &[13], sure),
        ] {
            let names = Names {
                versions: versions.iter().copied().collect(),
                has_pytest: false,
                declared: BTreeSet::from([as_module("My-Lib")]),
            };
            assert_eq!(names.doubt(module), doubt, "{module} in {versions:?}");
        }
        let names = Names {
            has_pytest: true,
            ..Names::default()
        };
        assert_eq!(names.doubt("packaging"), sure);
    }
}
