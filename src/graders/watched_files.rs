//! The files that honest work changes and that also say how tests run, by their names.

use std::path::Path;

use super::locks::Lock;
use super::requirements::may_be_requirements;

/// How a file of this kind is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Toml,
    /// Any text: its lines that speak of tests, or hold a word of `keys`, and do not only declare a dependency.
    Lines,
    /// Any text: all of it but blank lines.
    Text,
    /// Tests of Go: the function that runs those of a package.
    GoTests,
    /// The same, with the words of `go.mod`.
    GoLines,
    /// The sections of YAML that begin at the left.
    Sections,
    Requirements,
    Lock(Lock),
}

/// A kind of file, by its name.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) names: &'static [&'static str],
    pub(super) form: Form,
    /// Keys that decide how tests run, with all below them; words of such lines.
    pub(super) keys: &'static [&'static str],
    /// Keys that do so where the file was there before: a new package may name its own.
    pub(super) known_only: &'static [&'static str],
    /// Keys whose entries are dependencies by name; `*` is any key.
    pub(super) dependencies: &'static [&'static str],
    /// Who reads it; nobody else can be led by it. Empty where that may be anybody.
    pub(super) read_by: &'static [&'static str],
}

const NPM: &[&str] = &[
    "npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "node", "bun", "bunx", "corepack", "lerna",
    "nx", "turbo",
];
const PIP: &[&str] = &[
    "pip",
    "pipx",
    "uv",
    "uvx",
    "poetry",
    "pdm",
    "pipenv",
    "hatch",
    "tox",
    "nox",
    "conda",
    "mamba",
    "easy_install",
];

/// A file of this form without keys.
const fn plain(
    names: &'static [&'static str],
    form: Form,
    read_by: &'static [&'static str],
) -> Watched {
    Watched {
        names,
        form,
        keys: &[],
        known_only: &[],
        dependencies: &[],
        read_by,
    }
}

#[rustfmt::skip]
pub(super) const WATCHED: &[Watched] = &[
    Watched {
        names: &["package.json", "composer.json", "deno.json"],
        form: Form::Json,
        keys: &["jest", "vitest", "mocha", "ava", "tap", "nyc", "c8", "karma", "overrides", "resolutions", "pnpm", "test"],
        known_only: &["scripts", "tasks", "workspaces"],
        dependencies: &["dependencies", "devDependencies", "optionalDependencies", "require-dev"],
        read_by: &[],
    },
    Watched {
        names: &["pyproject.toml"],
        form: Form::Toml,
        keys: &[
            "tool.pytest", "tool.coverage", "tool.tox", "tool.nox", "tool.hatch.envs", "tool.pdm.scripts", "tool.poe", "tool.taskipy",
            "tool.uv.sources", "project.entry-points.pytest11", "tool.poetry.plugins.pytest11", "tool.setuptools.dynamic.entry-points", "tool.poetry.source", "tool.pdm.source", "tool.uv.index",
            "tool.uv.index-url", "tool.uv.extra-index-url", "tool.uv.find-links", "tool.uv.pip",
        ],
        known_only: &["build-system"],
        dependencies: &[
            "project.dependencies", "project.optional-dependencies", "dependency-groups", "tool.poetry.dependencies",
            "tool.poetry.dev-dependencies", "tool.poetry.group.*.dependencies", "tool.pdm.dev-dependencies", "tool.uv.dev-dependencies",
            "tool.uv.override-dependencies", "tool.uv.constraint-dependencies", "build-system.requires",
        ],
        read_by: &[],
    },
    Watched {
        names: &["Cargo.toml"],
        form: Form::Toml,
        keys: &[
            "profile", "patch", "replace", "workspace.exclude", "workspace.default-members", "package.build", "package.links",
            "project.build", "project.links", "lib.proc-macro", "lib.proc_macro",
        ],
        known_only: &[
            "package.autotests", "package.autobins", "package.workspace", "lib.test", "lib.harness", "lib.doctest",
            "lib.path", "test",
        ],
        dependencies: &[
            "dependencies", "dev-dependencies", "dev_dependencies", "build-dependencies", "build_dependencies",
            "workspace.dependencies", "target.*.dependencies", "target.*.dev-dependencies", "target.*.dev_dependencies",
            "target.*.build-dependencies", "target.*.build_dependencies",
        ],
        read_by: &[],
    },
    Watched {
        names: &["Pipfile"],
        form: Form::Toml,
        keys: &["source", "scripts"],
        known_only: &[],
        dependencies: &["packages", "dev-packages"],
        read_by: PIP,
    },
    Watched {
        names: &["Pipfile.lock"],
        form: Form::Json,
        keys: &["_meta.sources"],
        known_only: &[],
        dependencies: &["default", "develop"],
        read_by: PIP,
    },
    Watched {
        names: &["pnpm-workspace.yaml"],
        form: Form::Sections,
        keys: &["packages", "overrides", "packageExtensions", "patchedDependencies", "configDependencies", "pnpmfile"],
        known_only: &[],
        dependencies: &[],
        read_by: NPM,
    },
    plain(&["package-lock.json", "npm-shrinkwrap.json"], Form::Lock(Lock::Npm), NPM),
    plain(&["yarn.lock", "pnpm-lock.yaml", "bun.lock"], Form::Lock(Lock::Lines), NPM),
    plain(&["uv.lock", "poetry.lock", "pdm.lock"], Form::Lock(Lock::Packages), PIP),
    plain(
        &["vite.config.js", "vite.config.mjs", "vite.config.cjs", "vite.config.ts", "vite.config.mts", "vite.config.cts"],
        Form::Text,
        &["vitest"],
    ),
    plain(&["go.mod"], Form::GoLines, &[]),
    plain(&["tasks.py"], Form::Lines, &["invoke", "inv"]),
    plain(&["noxfile.py"], Form::Lines, &["nox"]),
    plain(&["Rakefile"], Form::Lines, &["rake"]),
    plain(&["Gruntfile.js"], Form::Lines, &["grunt"]),
    plain(&["gulpfile.js"], Form::Lines, &["gulp"]),
    plain(&["Taskfile.yml", "Taskfile.yaml"], Form::Lines, &["task", "go-task"]),
    Watched {
        keys: &["skip", "exclude"],
        ..plain(&["pom.xml"], Form::Lines, &[])
    },
    plain(
        &[
            "setup.py", "Gemfile", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts",
            "CMakeLists.txt", "Package.swift", "mix.exs", "project.pbxproj", "deno.jsonc",
        ],
        Form::Lines,
        &[],
    ),
];

/// Lists of what pip installs, which have many names.
const REQUIREMENTS: Watched = plain(&[], Form::Requirements, PIP);

/// Tests of Go, of which nothing but `TestMain` is looked at.
const GO_TESTS: Watched = plain(&[], Form::GoTests, &["go", "gotestsum"]);

/// What is known of the file at `path`, where its changes are looked at.
pub(super) fn watched(path: &Path) -> Option<&'static Watched> {
    let name = path.file_name()?.to_str()?;
    let known = WATCHED.iter().find(|watched| watched.names.contains(&name));
    let known = known.or_else(|| may_be_requirements(path).then_some(&REQUIREMENTS));
    known.or_else(|| name.ends_with("_test.go").then_some(&GO_TESTS))
}
