//! Builds the runtime that is preloaded into programs, so that the launcher can carry it inside.
//!
//! The runtime has no standard library and ends the process when it panics, which is a setting of a whole build; so it is built
//! by a Cargo of its own. In a clone of the repository it is a crate beside this one. The package of this crate has a copy of its files in
//! `runtime/`, without a manifest of that name, since Cargo would leave them out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the runtime is built from, beside its own files.
const DEPENDENCIES: [&str; 3] = ["ordain-wire", "ordain-model", "ordain-explore"];

fn main() {
    let own = PathBuf::from(env("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env("OUT_DIR"));
    let beside = own.join("../ordain-preload");
    let sources = if beside.join("Cargo.toml").exists() { beside } else { unpacked(&own, &out.join("runtime")) };
    for directory in [&sources].into_iter().cloned().chain(DEPENDENCIES.map(|name| sibling(&own, name))) {
        for part in ["src", "Cargo.toml", "build.rs"] {
            let path = directory.join(part);
            if path.exists() && !path.starts_with(&out) {
                println!("cargo:rerun-if-changed={}", path.display());
            }
        }
    }
    let target = out.join("preload");
    let mut cargo = Command::new(env("CARGO"));
    cargo.current_dir(sources);
    cargo.args(["build", "--release", "--locked", "--target-dir"]).arg(&target);
    // What was set for the build of the launcher must not reach this one.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") && !matches!(&*text, "CARGO_HOME" | "CARGO_NET_OFFLINE")
            || text == "RUSTC_WORKSPACE_WRAPPER"
        {
            cargo.env_remove(&name);
        }
    }
    cargo.env("RUSTFLAGS", "-C force-frame-pointers=yes");
    let status = cargo.status();
    assert!(status.is_ok_and(|s| s.success()), "the runtime for programs cannot be built: see above");
    let library = target.join("release").join("libordain_preload.so");
    println!("cargo:rustc-env=ORDAIN_PRELOAD={}", library.display());
}

/// Where another crate of Ordain is: in a clone, or where Cargo has unpacked packages.
fn sibling(own: &Path, name: &str) -> PathBuf {
    let plain = own.join("..").join(name);
    if plain.exists() { plain } else { own.join("..").join(format!("{name}-{}", env("CARGO_PKG_VERSION"))) }
}

/// The runtime of a package of this crate, as a crate that can be built.
fn unpacked(own: &Path, to: &Path) -> PathBuf {
    let from = own.join("runtime");
    println!("cargo:rerun-if-changed={}", from.display());
    copy(&from, to).unwrap_or_else(|error| panic!("cannot copy {}: {error}", from.display()));
    let manifest = fs::read_to_string(to.join("manifest.toml")).unwrap_or_else(|error| panic!("no manifest: {error}"));
    let path = |name: &str| format!("path = {:?}", sibling(own, name).display().to_string());
    let mut manifest =
        DEPENDENCIES.iter().fold(manifest, |text, name| text.replace(&format!("path = \"../{name}\""), &path(name)));
    // Packages know each other by their versions; these are the same ones.
    manifest += "\n[patch.crates-io]\n";
    for name in DEPENDENCIES {
        manifest += &format!("{name} = {{ {} }}\n", path(name));
    }
    fs::write(to.join("Cargo.toml"), manifest).unwrap_or_else(|error| panic!("cannot write a manifest: {error}"));
    to.to_owned()
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(drop);
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("Cargo sets {name}"))
}
