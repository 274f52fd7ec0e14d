//! What a judge that is a program holds: digests of the files that its command names.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use proctor_config::{JudgeProvider, JudgeSettings};
use proctor_record::digest_of;
use proctor_supervise::find_program;

/// For each judge the digests of its files; none of a model.
pub(super) fn of_judges(
    settings: &JudgeSettings,
    operator: &[(OsString, OsString)],
) -> Vec<Vec<String>> {
    let path = operator.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(""), |(_, path)| path);
    let each = settings.judges.iter().map(|judge| match &judge.provider {
        JudgeProvider::Command { argv, .. } => of_command(argv, path),
        JudgeProvider::Anthropic(_) | JudgeProvider::OpenAi(_) => Vec::new(),
    });
    each.collect()
}

/// Its program, and every further word that is the absolute path of a file: it runs in a folder of its own.
fn of_command(argv: &[String], path: &OsStr) -> Vec<String> {
    let Some((program, words)) = argv.split_first() else {
        return Vec::new();
    };
    let program = find_program(program.as_ref(), path, Path::new("/"));
    let named = words.iter().map(PathBuf::from);
    let named = named.filter(|path| path.is_absolute() && path.is_file());
    let files = program.into_iter().chain(named);
    files.filter_map(|file| digest_of(&file).ok()).collect()
}
