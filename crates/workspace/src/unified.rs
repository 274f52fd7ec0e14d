//! The lines of a unified diff, in the form of `git diff`.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{DiffOptions, ObjectType, Oid, Patch};

use super::beneath::Held;
use super::tree::FileKind;

/// The lines that name a file and its modes.
pub(super) fn header(
    out: &mut Vec<u8>,
    path: &Path,
    (old, new): (Option<FileKind>, Option<FileKind>),
) {
    let mut line = |parts: &[&[u8]]| {
        for part in parts {
            out.extend_from_slice(part);
        }
        out.push(b'\n');
    };
    let mode = |kind: FileKind| format!("{:06o}", kind.git_mode());
    line(&[
        b"diff --git ",
        &quoted(b"a/", path),
        b" ",
        &quoted(b"b/", path),
    ]);
    match (old, new) {
        (None, Some(new)) => line(&[b"new file mode ", mode(new).as_bytes()]),
        (Some(old), None) => line(&[b"deleted file mode ", mode(old).as_bytes()]),
        (Some(old), Some(new)) if old != new => {
            line(&[b"old mode ", mode(old).as_bytes()]);
            line(&[b"new mode ", mode(new).as_bytes()]);
        }
        _ => {}
    }
}

/// The names that git gives to the two contents, as `git diff --full-index` tells them.
pub(super) fn index_line(out: &mut Vec<u8>, old: Option<&Held>, new: Option<&Held>) {
    let id = |held: Option<&Held>| {
        held.and_then(|held| Oid::hash_object(ObjectType::Blob, &held.bytes).ok())
            .unwrap_or(Oid::ZERO_SHA1)
    };
    let mode = match (old, new) {
        (Some(old), Some(new)) if old.kind == new.kind => {
            format!(" {:06o}", new.kind.git_mode())
        }
        _ => String::new(),
    };
    out.extend_from_slice(format!("index {}..{}{mode}\n", id(old), id(new)).as_bytes());
}

/// What the two sides of a file are called.
pub(super) fn names(path: &Path, (old, new): (bool, bool)) -> (Vec<u8>, Vec<u8>) {
    let name = |exists: bool, prefix: &[u8]| {
        if exists {
            quoted(prefix, path)
        } else {
            b"/dev/null".to_vec()
        }
    };
    (name(old, b"a/"), name(new, b"b/"))
}

/// A path as git writes it: in quotes, with escapes, where it holds anything but plain characters.
fn quoted(prefix: &[u8], path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    let plain = |byte: &u8| (b' '..0x7f).contains(byte) && !b"\"\\".contains(byte);
    if bytes.iter().all(plain) {
        return [prefix, bytes].concat();
    }
    let mut out = [b"\"", prefix].concat();
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            byte if plain(byte) => out.push(*byte),
            byte => out.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
        }
    }
    out.push(b'"');
    out
}

/// The lines that differ, with their surroundings.
pub(super) fn hunks(out: &mut Vec<u8>, before: &[u8], after: &[u8]) -> Result<(), git2::Error> {
    let mut options = DiffOptions::new();
    options.force_text(true);
    let mut patch = Patch::from_buffers(before, None, after, None, Some(&mut options))?;
    patch.print(&mut |_delta, _hunk, line| {
        match line.origin() {
            'F' | 'B' => {}
            origin @ (' ' | '+' | '-') => {
                out.push(origin as u8);
                out.extend_from_slice(line.content());
            }
            _ => out.extend_from_slice(line.content()),
        }
        true
    })
}
