#!/usr/bin/env bash
# Type-checks the Rust code for aarch64-apple-darwin on Linux, and links the tests of dcmetal-sys for it; and that of hostmetal for
# aarch64-unknown-linux-gnu.
#
# What it proves: every crate that macOS builds (all but hostmetal) has no error of types, borrows or cfg for macOS, its
# build scripts work for that target (Objective-C++ compiled to Mach-O, bindings made), and the test executables of dcmetal-sys
# need no symbol that Rust's std, Apple's SDK or clang's run-time library lacks. hostmetal and its tests have no error of types, borrows
# or cfg for Linux on aarch64. Planted errors that only macOS and only aarch64 see are reported.
# What it does not prove: that anything runs. Mach-O executables are made and not started; Metal's behaviour is not touched. The
# Objective-C++ of hostmetal is not compiled for aarch64, where GCC's runtime and GNUstep would be needed.
#
# The compiler is the installed one when it has the target (rustup target add aarch64-apple-darwin), else Debian's rustc-web with
# its library's sources, unpacked into target/apple without being installed; std is then built for the target as well. The same goes
# for aarch64-unknown-linux-gnu.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
apple=$root/target/apple
target=aarch64-apple-darwin

fail() { echo "apple: $*" >&2; exit 1; }
for tool in clang++-19 ld64.lld-19 llvm-ar-19; do
  command -v $tool >/dev/null || fail "$tool is missing; install it with: sudo apt-get install clang-19 lld-19 llvm-19"
done
scripts/apple/fetch.sh
"$apple/venv/bin/python" -B scripts/apple/stubs.py "$apple/metal.fwinfo" "$apple/performance.fwinfo" "$apple/graph.fwinfo" \
  "$apple/foundation.fwinfo" "$apple/libSystem.tbd" "$apple/stubs"

# shellcheck source=scripts/apple/rustc.sh
. scripts/apple/rustc.sh
share_builds
build_std=(-Zbuild-std=std,panic_unwind,test -Zbuild-std-features=panic-unwind)
std=()
if [ ! -d "$(rustc --print target-libdir --target $target 2>/dev/null)" ]; then
  debian_rustc
  std=("${build_std[@]}")
fi
echo "apple: $("${RUSTC:-rustc}" --version) for $target"

export CARGO_TARGET_AARCH64_APPLE_DARWIN_LINKER=$root/scripts/apple/darwin-clang
export DCMETAL_CLANGXX=$root/scripts/apple/darwin-clang
export CC_aarch64_apple_darwin=$root/scripts/apple/darwin-clang CXX_aarch64_apple_darwin=$root/scripts/apple/darwin-clang
export SDKROOT=$apple/stubs MACOSX_DEPLOYMENT_TARGET=13.0
export AR_aarch64_apple_darwin=llvm-ar-19 RANLIB_aarch64_apple_darwin=llvm-ranlib-19
export BINDGEN_EXTRA_CLANG_ARGS_aarch64_apple_darwin="-nostdlibinc -isystem $apple/include"

# Prints what cargo says, and fails where that holds an error or a warning.
check() {
  local said status=0
  said=$(cargo check --quiet "$@" 2>&1) || status=$?
  [ -z "$said" ] || echo "$said" >&2
  [ $status = 0 ] && ! grep -q '^warning' <<<"$said"
}
check "${std[@]}" --target $target --workspace --exclude hostmetal --exclude hostmetal-faces --exclude hostmetal-capi --exclude conformance --lib --bins --tests ||
  fail "the workspace does not type-check for $target without warnings"
echo "apple: the workspace type-checks for $target"

log=$CARGO_TARGET_DIR/link.json
cargo test --quiet --no-run --message-format=json "${std[@]}" --target $target -p dcmetal-sys >"$log" ||
  fail "the tests of dcmetal-sys do not link for $target"
linked=0
while read -r executable; do
  file=$(head -c 4 "$executable" | od -An -tx1 | tr -d ' ')
  [ "$file" = cffaedfe ] || fail "$executable is no Mach-O file"
  linked=$((linked + 1))
done < <(grep -o '"executable":"[^"]*"' "$log" | cut -d '"' -f 4)
[ $linked -gt 0 ] || fail "dcmetal-sys has no test executable"
echo "apple: $linked test executables of dcmetal-sys link for $target"

# As for docs.rs, so that the build script compiles no Objective-C++.
linux=aarch64-unknown-linux-gnu
linux_std=(${std[@]+"${std[@]}"})
if [ ${#linux_std[@]} = 0 ] && [ ! -d "$(rustc --print target-libdir --target $linux 2>/dev/null)" ]; then
  debian_rustc
  linux_std=("${build_std[@]}")
fi
DOCS_RS=1 check "${linux_std[@]}" --target $linux -p hostmetal --lib --tests || fail "hostmetal does not type-check for $linux without warnings"
echo "apple: hostmetal type-checks for $linux"

plant=$apple/plant-rust
mkdir -p "$plant/src"
cat >"$plant/Cargo.toml" <<'TOML'
[package]
name = "planted"
edition = "2024"
[workspace]
TOML
# The error that is seen where $1 holds must be reported for the target $2; the rest: options of cargo.
must_report() {
  local condition=$1 target=$2 output
  shift 2
  cat >"$plant/src/lib.rs" <<RUST
//! An error that only one target sees.
#[cfg($condition)]
pub const PLANTED: u32 = "not a number";
RUST
  if output=$(cargo check --quiet "$@" --target "$target" --manifest-path "$plant/Cargo.toml" 2>&1); then
    fail "a planted error for $target was not reported"
  fi
  grep -q 'E0308' <<<"$output" || fail "a planted error for $target: got: $output"
}
must_report 'target_os = "macos"' $target "${std[@]}"
must_report 'target_arch = "aarch64"' $linux "${linux_std[@]}"
echo "apple: the planted errors were reported"
