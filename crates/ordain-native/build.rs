//! Builds the runtime that is preloaded into programs, so that the launcher can carry it inside.
//!
//! The runtime has no standard library and ends the process when it panics, which is a setting of a whole build; so it is built
//! by a Cargo of its own.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    let crates = PathBuf::from(env("CARGO_MANIFEST_DIR")).join("..");
    let out = PathBuf::from(env("OUT_DIR"));
    for path in ["ordain-preload", "ordain-wire", "ordain-model", "ordain-explore"] {
        for part in ["src", "Cargo.toml", "build.rs"] {
            let path = crates.join(path).join(part);
            if path.exists() {
                println!("cargo:rerun-if-changed={}", path.display());
            }
        }
    }
    let target = out.join("preload");
    let mut cargo = Command::new(env("CARGO"));
    cargo.current_dir(crates.join("ordain-preload"));
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

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("Cargo sets {name}"))
}
