# A Rust compiler that can build std for other targets and with sanitizers; sourced, with `fail` defined and $root the repository.
#
# Sets RUSTC and its library path to Debian's rustc-web, unpacked with the library's sources into target/apple and not installed.

# Debian's packages of one version of rustc; which libraries belong to it, apt tells.
debian_rustc() {
  local rust=$root/target/apple/rustc
  if [ ! -e "$rust/complete" ]; then
    command -v apt-get >/dev/null || fail "apt-get is missing; without it the toolchain needs rustup target add aarch64-apple-darwin (macOS) or rustup component add rust-src (sanitizers)"
    rm -rf "$rust" && mkdir -p "$rust/packages"
    local packages
    packages=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
      rustc-web | grep -E '^(libstd-rust-web-|libllvm)' | sort -u)
    [ -n "$packages" ] || fail "apt knows no rustc-web (run apt-get update), and the toolchain of rustup lacks what is needed"
    # shellcheck disable=SC2086 # one word each
    (cd "$rust/packages" && apt-get download -q rustc-web rust-web-src $packages) >"$rust/log" 2>&1 ||
      { tail -n 5 "$rust/log" >&2; fail "apt-get could not download Debian's rustc"; }
    local package
    for package in "$rust"/packages/*.deb; do dpkg-deb -x "$package" "$rust/root"; done
    rm -rf "$rust/packages"
    touch "$rust/complete"
  fi
  export RUSTC=$rust/root/usr/bin/rustc RUSTC_BOOTSTRAP=1
  LD_LIBRARY_PATH=$(find "$rust/root" -name 'librustc_driver-*.so' -printf '%h\n' | head -n 1):$(find "$rust/root" -name 'libLLVM*.so*' -printf '%h\n' | head -n 1)
  export LD_LIBRARY_PATH
  "$RUSTC" --version >/dev/null || fail "Debian's rustc does not run here"
}

# Builds by that compiler, for whatever targets, share a folder, and what they run on this machine while they build (macros, build scripts and what these
# need). For that to be the same, profiles must be, too: no backtraces, which are a third of std, and nothing for debuggers, which then need not be stripped
# by a tool of Rust's. $@: packages that have lines in backtraces all the same, which goes to cargo as the options $with_lines.
share_builds() {
  export CARGO_TARGET_DIR=$root/target/apple/rust CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_STRIP=none
  with_lines=()
  local package
  for package in "$@"; do with_lines+=(--config "profile.dev.package.$package.debug=\"line-tables-only\""); done
}
