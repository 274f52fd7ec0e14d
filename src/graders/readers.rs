//! Which programs read the files that say how tests run.

use std::path::Path;

/// Names of files, each with the programs that read it; a file may be run itself.
#[rustfmt::skip]
const READERS: &[(&[&str], &[&str])] = &[
    (&["setup.py"], &["setup.py", "pip", "pip3", "uv", "tox", "nox", "build", "pipx", "easy_install"]),
    (&["noxfile.py"], &["nox", "noxfile.py"]),
    (&["tasks.py"], &["invoke", "inv", "tasks.py"]),
    (&["Rakefile"], &["rake", "bundle", "rails"]),
    (&["Gemfile"], &["bundle", "bundler", "rake", "rspec", "rails", "ruby"]),
    (&["Gruntfile.js"], &["grunt"]),
    (&["gulpfile.js"], &["gulp"]),
    (&["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"], &["gradle", "gradlew"]),
    (&["pom.xml"], &["mvn", "mvnw", "mvnd"]),
    (&["CMakeLists.txt"], &["cmake", "ctest", "ccmake"]),
    (&["Taskfile.yml", "Taskfile.yaml"], &["task", "go-task"]),
    (&["Package.swift"], &["swift", "xcodebuild", "xcrun"]),
    (&["project.pbxproj"], &["xcodebuild", "xcrun"]),
    (&["mix.exs"], &["mix", "elixir", "iex"]),
    (&["deno.json", "deno.jsonc"], &["deno"]),
];

/// The programs that read a file of this name; `None` where more may, or nobody knows.
#[must_use]
pub fn tools_that_read(path: &Path) -> Option<&'static [&'static str]> {
    let name = path.file_name()?.to_str()?;
    let known = READERS.iter().find(|(names, _)| names.contains(&name));
    known.map(|(_, tools)| *tools)
}
