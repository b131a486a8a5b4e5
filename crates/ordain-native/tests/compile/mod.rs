//! Compiles small programs for the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a C source with the given options to `directory/name`.
pub(crate) fn c(directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    compile("cc", directory, name, "c", source, options)
}

/// Compiles a C++ source with the given options to `directory/name`.
#[allow(dead_code)] // each test file is a crate of its own, and not all need it
pub(crate) fn cpp(directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    compile("c++", directory, name, "cpp", source, options)
}

/// Compiles a Rust source with the given options to `directory/name`.
#[allow(dead_code)] // each test file is a crate of its own, and not all need it
pub(crate) fn rust(directory: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    compile("rustc", directory, name, "rs", source, options)
}

fn compile(compiler: &str, directory: &Path, name: &str, suffix: &str, source: &str, options: &[&str]) -> PathBuf {
    let file = directory.join(name).with_extension(suffix);
    fs::write(&file, source).expect("the source can be written");
    let program = directory.join(name);
    let output = Command::new(compiler).arg(&file).arg("-o").arg(&program).args(options).output();
    let output = output.unwrap_or_else(|error| panic!("{compiler} cannot be run: {error}"));
    assert!(output.status.success(), "{compiler} fails: {}", String::from_utf8_lossy(&output.stderr));
    program
}
