"""Writes a system root of .tbd files that stand in for Apple's libraries when linking.

    stubs.py METAL-METADATA PERFORMANCE-METADATA GRAPH-METADATA FOUNDATION-METADATA LIBSYSTEM-TBD FOLDER

Metal.tbd, MetalPerformanceShaders.tbd, MetalPerformanceShadersGraph.tbd and Foundation.tbd hold every function, constant and class of Apple's SDK as its
metadata lists them, so a name that Apple does not export stays undefined. What libobjc.tbd and libc++.tbd hold is written
down here, since no metadata lists it: what the compiler calls, and of Apple's <objc/runtime.h> what the tests call.
"""

import pathlib
import shutil
import sys

from check_headers import read

OBJC = """objc_msgSend objc_msgSendSuper2 objc_retain objc_release objc_autorelease objc_autoreleasePoolPush objc_autoreleasePoolPop
objc_begin_catch objc_end_catch __objc_personality_v0 objc_exception_throw objc_exception_rethrow objc_terminate objc_storeStrong
objc_retainAutoreleasedReturnValue objc_unsafeClaimAutoreleasedReturnValue objc_claimAutoreleasedReturnValue
objc_retainAutorelease objc_retainAutoreleaseReturnValue objc_autoreleaseReturnValue objc_opt_self objc_opt_class
objc_alloc objc_alloc_init objc_opt_new objc_retainBlock objc_enumerationMutation objc_ehtype_vtable OBJC_EHTYPE_id
objc_opt_isKindOfClass sel_registerName objc_sync_enter objc_sync_exit _objc_empty_cache objc_retain_x0 objc_release_x0"""
OBJC_REGISTERS = [f"objc_{verb}_x{register}" for verb in ("retain", "release") for register in range(30)]
CXX = """__gxx_personality_v0 _ZSt9terminatev __cxa_begin_catch __cxa_end_catch _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t
_ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t _ZSt7nothrow __cxa_guard_acquire __cxa_guard_release"""

TEXT = """--- !tapi-tbd
tbd-version:     4
targets:         [ arm64-macos ]
install-name:    '{path}'
exports:
  - targets:         [ arm64-macos ]
    symbols:         [ {symbols} ]
    objc-classes:    [ {classes} ]
...
"""


def write(folder, path, symbols, classes=()):
    quoted = ", ".join(f"'_{symbol}'" for symbol in sorted(set(symbols)))
    file = pathlib.Path(folder, path.removesuffix(".dylib").removeprefix("/") + ".tbd")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(TEXT.format(path=path, symbols=quoted, classes=", ".join(sorted(classes))))


def framework(folder, name, metadata, more=()):
    functions = [function for function, facts in metadata["functions"].items() if not facts.get("inline")]
    thrown = [f"OBJC_EHTYPE_$_{c}" for c in metadata["classes"]]
    write(folder, f"/System/Library/Frameworks/{name}.framework/{name}", [*functions, *metadata["externs"], *thrown, *more],
          metadata["classes"])


def main():
    metal, performance, graph, foundation, system, folder = sys.argv[1:]
    framework(folder, "Metal", read(metal))
    framework(folder, "MetalPerformanceShaders", read(performance))
    framework(folder, "MetalPerformanceShadersGraph", read(graph))
    framework(folder, "Foundation", read(foundation), ["__CFConstantStringClassReference"])
    write(folder, "/usr/lib/libobjc.dylib", [*OBJC.split(), *OBJC_REGISTERS], ["NSObject"])
    # Of the compiler's own run-time library: what @available calls.
    write(folder, "/usr/lib/libclang_rt.osx.dylib", ["__isPlatformVersionAtLeast"])
    write(folder, "/usr/lib/libc++.dylib", CXX.split())
    for name in ("System", "c", "m", "iconv"):  # one library under several names
        shutil.copy(system, pathlib.Path(folder, f"usr/lib/lib{name}.tbd"))


if __name__ == "__main__":
    main()
