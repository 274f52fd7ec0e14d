//! Prepares what is built into the program: the default suite, as a table of files, and the relay, which shims are copies of.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script runs the compiler"
)]

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The relay, a program of its own.
const SOURCES: &str = "src/shims/relay";

/// Options of a program without any run-time library, on Linux.
const BARE: [&str; 9] = [
    "--cfg=relay_bare",
    "-Crelocation-model=static",
    "-Ctarget-feature=+crt-static",
    "-Clink-arg=-nostartfiles",
    "-Clink-arg=-nostdlib",
    "-Clink-arg=-static",
    "-Clink-arg=-Wl,--build-id=none",
    "-Clink-arg=-Wl,--no-eh-frame-hdr",
    "-Clink-arg=-Wl,-z,norelro",
];

fn main() -> io::Result<()> {
    embed_default_suite()?;
    build_relay()
}

/// Writes `embedded_suite.rs`: a constant table of `config.yaml`, `tasks.yaml` and all files below `schemas` and `task_assets`. A package
/// without them gets an empty table.
fn embed_default_suite() -> io::Result<()> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for name in ["config.yaml", "tasks.yaml", "schemas", "task_assets"] {
        println!("cargo::rerun-if-changed={name}");
        collect(&root.join(name), &mut files)?;
    }
    if files
        .iter()
        .filter(|file| file.parent() == Some(&root))
        .count()
        < 2
    {
        files.clear();
    }
    let mut table = "&[\n".to_owned();
    for file in &files {
        let relative = file.strip_prefix(&root).map_err(io::Error::other)?;
        let row = format!(
            "    EmbeddedFile {{ path: {}, executable: {}, bytes: include_bytes!({}) }},",
            literal(relative)?,
            is_executable(file)?,
            literal(file)?
        );
        writeln!(table, "{row}").map_err(io::Error::other)?;
    }
    table.push_str("]\n");
    fs::write(
        PathBuf::from(variable("OUT_DIR")).join("embedded_suite.rs"),
        table,
    )
}

/// A path as a string literal of Rust.
fn literal(path: &Path) -> io::Result<String> {
    let text = path
        .to_str()
        .ok_or_else(|| io::Error::other("a path is not UTF-8"))?;
    Ok(format!("{text:?}"))
}

/// Adds `path`, or the files below it in order; links, build output and what a file manager leaves are no part of a suite.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let Ok(kind) = path.symlink_metadata().map(|metadata| metadata.file_type()) else {
        return Ok(());
    };
    let name = path.file_name().unwrap_or_default();
    if name == "target" || name == ".git" || name == ".DS_Store" {
        return Ok(());
    }
    if kind.is_file() {
        files.push(path.to_owned());
    } else if kind.is_dir() {
        let mut entries: Vec<PathBuf> = fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        entries.sort();
        for entry in entries {
            collect(&entry, files)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_executable(file: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::metadata(file)?.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Builds the relay, the small program that every shim is a copy of.
fn build_relay() -> io::Result<()> {
    println!("cargo::rerun-if-changed={SOURCES}");
    println!("cargo::rerun-if-changed=build.rs");
    let relay = PathBuf::from(variable("OUT_DIR")).join("relay");
    let os = variable("CARGO_CFG_TARGET_OS");
    let arch = variable("CARGO_CFG_TARGET_ARCH");
    if os == "linux" && (arch == "x86_64" || arch == "aarch64") {
        match compile(&relay, &BARE) {
            Ok(()) => return Ok(()),
            Err(message) => {
                println!(
                    "cargo::warning=the bare shim does not build here, falling back to one with a C library: {message}"
                );
            }
        }
    }
    compile(&relay, &[]).map_err(|message| io::Error::other(format!("build the shim: {message}")))
}

fn compile(relay: &Path, options: &[&str]) -> Result<(), String> {
    let mut compiler = Command::new(variable("RUSTC"));
    compiler
        .arg("--edition=2024")
        .args(["--crate-name=relay", "--crate-type=bin"])
        .arg(format!("--target={}", variable("TARGET")))
        .args([
            "-Cpanic=abort",
            "-Copt-level=s",
            "-Ccodegen-units=1",
            "-Clto=fat",
            "-Cstrip=symbols",
        ])
        .args(["--check-cfg=cfg(relay_bare)", "-Dwarnings"])
        .args(options);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        compiler.arg("-C").arg(joined("linker=", &linker));
    }
    compiler
        .arg("-o")
        .arg(relay)
        .arg(Path::new(SOURCES).join("main.rs"));
    let output = compiler
        .output()
        .map_err(|error| format!("start rustc: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

fn joined(name: &str, value: &OsString) -> OsString {
    let mut text = OsString::from(name);
    text.push(value);
    text
}

fn variable(name: &str) -> String {
    env::var(name)
        .unwrap_or_else(|error| panic!("{name}: {error}: build scripts are started by cargo"))
}
