//! Compiles the few frames through which exceptions and cancellation must pass, and says what the library is linked with.

fn main() {
    println!("cargo:rerun-if-changed=src/frames.c");
    cc::Build::new()
        .file("src/frames.c")
        .flag("-fexceptions")
        .flag("-fno-stack-protector")
        .flag("-fno-omit-frame-pointer")
        .flag("-fvisibility=hidden")
        .opt_level(2)
        .compile("ordain_frames");
    // Unwinding needs it, and programs that end threads would load it in every execution.
    println!("cargo:rustc-cdylib-link-arg=-lgcc_s");
    println!("cargo:rustc-cdylib-link-arg=-lc");
    // Constructors of others come later, and everything is bound at once.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst,-z,now");
}
