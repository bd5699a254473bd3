#!/usr/bin/env bash
# Fetches what the checks against Apple need into target/apple, once: nothing of it is Apple's code to keep or to ship.
#   metal.fwinfo, performance.fwinfo, graph.fwinfo, foundation.fwinfo
#                                     PyObjC's metadata of Apple's macOS SDK (from the sources of four PyPI packages)
#   include, libSystem.tbd            Apple's C, Objective-C and Blocks headers and the symbols of libSystem (PyPI package ziglang)
#   venv                              Python with libclang's bindings
# Every download is pinned by version and hash; pip takes them from the configured index.
set -euo pipefail
cd "$(dirname "$0")/../.."
apple=$PWD/target/apple
metadata_version=12.2.2

fail() { echo "apple: $*" >&2; exit 1; }
command -v python3 >/dev/null || fail "python3 is missing; install it with: sudo apt-get install python3 python3-venv"
mkdir -p "$apple"

if [ ! -x "$apple/venv/bin/python" ] || ! "$apple/venv/bin/python" -c 'import clang.cindex' 2>/dev/null; then
  rm -rf "$apple/venv"
  python3 -m venv "$apple/venv" || fail "python3 -m venv does not work; install it with: sudo apt-get install python3-venv"
  echo "clang==19.1.7 --hash=sha256:a5d0931222e0c96a9933d942065d970859820482ee16854b7dfa1e7e2033fab3" >"$apple/requirements"
  "$apple/venv/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$apple/requirements" ||
    fail "pip could not install the bindings of libclang"
fi

# The packages' setup scripts ask for macOS and stop; pip has verified and unpacked the sources by then and --no-clean leaves
# them. $1: package, $2: hash, $3: file inside, $4: where it goes.
metadata() {
  [ -s "$apple/$4" ] && return
  local work=$apple/unpack
  rm -rf "$work" && mkdir -p "$work"
  echo "$1==$metadata_version --hash=sha256:$2" >"$work/requirements"
  TMPDIR=$work "$apple/venv/bin/pip" download --disable-pip-version-check --no-clean --no-build-isolation --no-deps \
    --no-binary :all: --require-hashes -r "$work/requirements" -d "$work" >"$work/log" 2>&1 || true
  local found
  found=$(find "$work" -path "*/$3" | head -n 1)
  [ -n "$found" ] || { tail -n 5 "$work/log" >&2; fail "pip could not fetch $1 $metadata_version"; }
  cp "$found" "$apple/$4.part" && mv "$apple/$4.part" "$apple/$4"
  rm -rf "$work"
}
metadata pyobjc-framework-Metal 0e7289281cb44ac9f4379ad9c6a6602a7a15fd491acc35949cdc05c5b9790b94 \
  metadata/raw/arm64-26.5.fwinfo metal.fwinfo
metadata pyobjc-framework-MetalPerformanceShaders 0113925764bc02071389e20066fb687b13edabc9fba2a55235542554251fe5e4 \
  metadata/raw/arm64-26.5.fwinfo performance.fwinfo
metadata pyobjc-framework-MetalPerformanceShadersGraph 77d9afbed19220a3207393d72c44c4e891d005543816d87dcf49d0c5f1d1bc6d \
  metadata/raw/arm64-26.5.fwinfo graph.fwinfo
metadata pyobjc-framework-Cocoa c96c0ef69a71afbbb0e6a7d594b455c5fe47d62e0db376ee7a2b4b828c16ace9 \
  metadata/raw.Foundation/arm64-26.5.fwinfo foundation.fwinfo

if [ ! -d "$apple/include" ] || [ ! -s "$apple/libSystem.tbd" ]; then
  work=$apple/unpack
  rm -rf "$work" && mkdir -p "$work"
  echo "ziglang==0.17.0 --hash=sha256:97079827064a7492cce5541ceb438ae8003ce1e54e399676da2d62fb7a5dc08b" >"$work/requirements"
  # The headers are the same in the package of every platform; one is named so that there is one hash.
  "$apple/venv/bin/pip" download -q --disable-pip-version-check --no-deps --only-binary :all: \
    --platform manylinux_2_12_x86_64 --require-hashes -r "$work/requirements" -d "$work" ||
    fail "pip could not fetch ziglang 0.17.0"
  rm -rf "$apple/include"
  "$apple/venv/bin/python" - "$work" "$apple" <<'PYTHON'
import glob, pathlib, re, sys, zipfile
work, apple = sys.argv[1:]
libc = "ziglang/lib/libc/"
headers = libc + "include/any-darwin-any/"
with zipfile.ZipFile(glob.glob(work + "/*.whl")[0]) as wheel:
    for name in wheel.namelist():
        if name.startswith(headers) and not name.endswith("/"):
            to = pathlib.Path(apple, "include.part", name.removeprefix(headers))
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes(wheel.read(name))
    symbols = wheel.read(libc + "darwin/libSystem.tbd").decode()
# Targets that lld does not know.
pathlib.Path(apple, "libSystem.tbd").write_text(re.sub(r"arm64e\.x1-[a-z-]+,? *", "", symbols))
pathlib.Path(apple, "include.part").rename(pathlib.Path(apple, "include"))
PYTHON
  rm -rf "$work"
fi
