//! Gives the shared library the name that programs look for, with the version of the interface.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let argument = match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("macos") => "-Wl,-install_name,@rpath/libclmsl.1.dylib",
        _ => "-Wl,-soname,libclmsl.so.1",
    };
    println!("cargo:rustc-cdylib-link-arg={argument}");
}
