#!/usr/bin/env bash
# Checks the Metal headers of hostmetal and the C ABI (native/DCMetal*.mm) against Apple, on Linux.
#
# What it proves:
#   headers  every protocol, class, method, property, enumeration, constant, block type, structure and function that our
#            headers declare is Apple's: name, types, values, attributes, inheritance, first macOS version. (Apple's side:
#            PyObjC's metadata of the macOS 26.5 SDK; so is what the Foundation stub in sdk/ declares.) The same holds of names,
#            types and values in dispatch/dispatch.h and Block.h, in C, C++ and Objective-C. (Apple's side: its headers.)
#            What Apple's Metal declares and our headers do not is what absent.txt lists, for reasons that docs/HOSTMETAL.md gives.
#   compile  native/DCMetal*.mm compiles for arm64 macOS 13 with and without ARC without a warning, so it uses no selector
#            that our headers, and so Apple's, lack, and nothing newer than macOS 13 without asking for it.
#   link     the result links to a dylib against stubs that hold what Apple's SDK exports, so it needs no symbol that is not there.
#   plants   each of these reports what it is there to report: a list of mistakes is planted in copies, one at a time.
# What it does not prove: how Apple's implementation behaves, which pointers may be nil, the values of string constants, that
# the metadata is free of mistakes. Nothing runs on Apple's systems here.
#
#   scripts/apple/check.sh [headers|compile|link|plants]...    all by default
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
apple=$root/target/apple
metal=$root/native/hostmetal/include
sdk=$root/scripts/apple/sdk
export PYTHONDONTWRITEBYTECODE=1

fail() { echo "apple: $*" >&2; exit 1; }
need() { command -v "$1" >/dev/null || fail "$1 is missing; install it with: sudo apt-get install $2"; }
need clang++-19 clang-19
need ld64.lld-19 lld-19
LIBCLANG_FILE=$(find /usr/lib/llvm-19/lib -maxdepth 1 -name 'libclang*.so*' ! -name '*cpp*' 2>/dev/null | sort | head -n 1)
[ -n "$LIBCLANG_FILE" ] || fail "libclang 19 is missing; install it with: sudo apt-get install libclang-19-dev"
export LIBCLANG_FILE
[ -d /usr/lib/llvm-19/include/c++/v1 ] || fail "libc++'s headers are missing; install them with: sudo apt-get install libc++-19-dev"
scripts/apple/fetch.sh

target=(--target=arm64-apple-macos13 -fblocks)
system=(-isystem "$apple/include")

# $1: folder with Metal/Metal.h, $2: another list of what is absent
compare_metal() {
  "$apple/venv/bin/python" scripts/apple/check_headers.py "$apple/metal.fwinfo" "$1/Metal" --absent "${2:-scripts/apple/absent.txt}" docs/HOSTMETAL.md -- \
    -x objective-c "${target[@]}" -nostdlibinc -resource-dir "$(clang-19 -print-resource-dir)" "${system[@]}" "-I$sdk" "-I$1" "$1/Metal/Metal.h"
}
# $1: folder with MetalPerformanceShaders/MetalPerformanceShaders.h
compare_performance() {
  "$apple/venv/bin/python" scripts/apple/check_headers.py "$apple/performance.fwinfo" "$1/MetalPerformanceShaders" -- -x objective-c \
    "${target[@]}" -nostdlibinc -resource-dir "$(clang-19 -print-resource-dir)" "${system[@]}" "-I$sdk" "-I$1" \
    "$1/MetalPerformanceShaders/MetalPerformanceShaders.h"
}
# $1: folder with MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h
compare_graph() {
  "$apple/venv/bin/python" scripts/apple/check_headers.py "$apple/graph.fwinfo" "$1/MetalPerformanceShadersGraph" -- -x objective-c \
    "${target[@]}" -nostdlibinc -resource-dir "$(clang-19 -print-resource-dir)" "${system[@]}" "-I$sdk" "-I$1" \
    "$1/MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h"
}
compare_foundation() {
  "$apple/venv/bin/python" scripts/apple/check_headers.py "$apple/foundation.fwinfo" "$1" --partial -- -x objective-c \
    "${target[@]}" -nostdlibinc -resource-dir "$(clang-19 -print-resource-dir)" "${system[@]}" "-I$1" \
    "$1/Foundation/Foundation.h"
}
# $1: folder with dispatch/dispatch.h and Block.h
compare_dispatch() {
  "$apple/venv/bin/python" scripts/apple/check_dispatch.py "$1" -- "${target[@]}" -nostdlibinc \
    -resource-dir "$(clang-19 -print-resource-dir)" "${system[@]}"
}
# $1: folder with DCMetal*.mm and include/DCMetal*.h, $2: -fobjc-arc or -fno-objc-arc, $3: where objects go
compile_shim() {
  rm -rf "$3" && mkdir -p "$3"
  local source
  for source in "$1"/DCMetal*.mm; do
    clang++-19 "${target[@]}" -x objective-c++ -std=c++17 -fexceptions -fobjc-exceptions -fvisibility=hidden "$2" -O1 \
      -Wall -Wextra -Werror -nostdlibinc -nostdinc++ -isystem /usr/lib/llvm-19/include/c++/v1 "${system[@]}" "-I$sdk" \
      "-I$metal" "-I$1/include" -c "$source" -o "$3/$(basename "${source%.mm}").o" || return 1
  done
}
make_stubs() {
  rm -rf "$1"
  "$apple/venv/bin/python" scripts/apple/stubs.py "$apple/metal.fwinfo" "$apple/performance.fwinfo" "$apple/graph.fwinfo" "$apple/foundation.fwinfo" \
    "$apple/libSystem.tbd" "$1"
}
# $1: objects, $2: stubs
link_shim() {
  ld64.lld-19 -arch arm64 -platform_version macos 13.0 13.0 -dylib -syslibroot "$2" -install_name @rpath/libdcmetal.dylib \
    -o "$1/libdcmetal.dylib" "$1"/*.o -framework Metal -framework MetalPerformanceShaders \
    -framework MetalPerformanceShadersGraph -framework Foundation \
    -lobjc -lc++ -lSystem -lclang_rt.osx
}

step_headers() {
  echo "apple: Metal headers against Apple's SDK"
  compare_metal "$metal" || fail "the Metal headers differ from Apple's"
  echo "apple: headers of Metal Performance Shaders against Apple's SDK"
  compare_performance "$metal" || fail "the headers of Metal Performance Shaders differ from Apple's"
  echo "apple: headers of Metal Performance Shaders Graph against Apple's SDK"
  compare_graph "$metal" || fail "the headers of Metal Performance Shaders Graph differ from Apple's"
  echo "apple: Foundation stub against Apple's SDK"
  compare_foundation "$sdk" || fail "the Foundation stub differs from Apple's"
  echo "apple: headers of libdispatch and blocks against Apple's"
  compare_dispatch "$metal/compat" || fail "the headers of libdispatch and blocks differ from Apple's"
}
compiled=
step_compile() {
  local arc
  for arc in -fno-objc-arc -fobjc-arc; do
    echo "apple: native/DCMetal*.mm for arm64-apple-macos13, $arc"
    compile_shim "$root/native" $arc "$apple/objects$arc" || fail "native/DCMetal*.mm does not compile for macOS with $arc; a Foundation method that exists is added to scripts/apple/sdk"
  done
  compiled=yes
}
step_link() {
  [ -n "$compiled" ] || step_compile
  make_stubs "$apple/stubs"
  local arc
  for arc in -fno-objc-arc -fobjc-arc; do
    echo "apple: dylib from objects with $arc"
    link_shim "$apple/objects$arc" "$apple/stubs" || fail "the dylib does not link"
  done
}

# ------------------------------------------------------------------ plants

planted=0
# Plants $2 -> $3 (sed) in the copy of file $1; fails unless that changes exactly one line.
plant() {
  cp "$1" "$1.whole"
  sed -i $'s\x01'"$2"$'\x01'"$3"$'\x01' "$1"
  [ "$(diff "$1.whole" "$1" | grep -c '^>')" = 1 ] || fail "plant \`$2\` in $(basename "$1") changes not one line"
}
unplant() { mv "$1.whole" "$1"; }
# The comparison of the copy must fail and name $4.
reported_by_comparison() {
  plant "$copy/Metal/$1" "$2" "$3"
  local output status=0
  output=$(compare_metal "$copy" 2>&1) || status=$?
  [ "$status" = 1 ] && grep -qF -- "$4" <<<"$output" || fail "planted \`$3\` in $1: expected a report of \`$4\`, got: $output"
  unplant "$copy/Metal/$1"
  planted=$((planted + 1))
}
# The comparison with the lines of $1 added to the list of what is absent must fail and name $2.
reported_by_list() {
  { cat scripts/apple/absent.txt && echo "$1"; } >"$apple/plants/absent.txt"
  local output status=0
  output=$(compare_metal "$copy" "$apple/plants/absent.txt" 2>&1) || status=$?
  [ "$status" = 1 ] && grep -qF -- "$2" <<<"$output" || fail "planted \`$1\` in the list: expected a report of \`$2\`, got: $output"
  planted=$((planted + 1))
}
# So must that of the copies of the headers of Metal Performance Shaders.
reported_by_performance() {
  plant "$copy/MetalPerformanceShaders/$1" "$2" "$3"
  local output status=0
  output=$(compare_performance "$copy" 2>&1) || status=$?
  [ "$status" = 1 ] && grep -qF -- "$4" <<<"$output" || fail "planted \`$3\` in $1: expected a report of \`$4\`, got: $output"
  unplant "$copy/MetalPerformanceShaders/$1"
  planted=$((planted + 1))
}
# So must that of the copies of the headers of Metal Performance Shaders Graph.
reported_by_graph() {
  plant "$copy/MetalPerformanceShadersGraph/$1" "$2" "$3"
  local output status=0
  output=$(compare_graph "$copy" 2>&1) || status=$?
  [ "$status" = 1 ] && grep -qF -- "$4" <<<"$output" || fail "planted \`$3\` in $1: expected a report of \`$4\`, got: $output"
  unplant "$copy/MetalPerformanceShadersGraph/$1"
  planted=$((planted + 1))
}
# So must that of the copies of libdispatch's and the blocks' headers.
reported_by_dispatch() {
  plant "$copy/compat/$1" "$2" "$3"
  local output status=0
  output=$(compare_dispatch "$copy/compat" 2>&1) || status=$?
  [ "$status" = 1 ] && grep -qF -- "$4" <<<"$output" || fail "planted \`$3\` in $1: expected a report of \`$4\`, got: $output"
  unplant "$copy/compat/$1"
  planted=$((planted + 1))
}
# The compiler must reject the copy of the shim with the line $2 added, compiled with $1, and say $3.
reported_by_compiler() {
  cp "$shim/DCMetalBuffer.mm" "$shim/DCMetalBuffer.mm.whole"
  echo "$2" >>"$shim/DCMetalBuffer.mm"
  local output
  if output=$(compile_shim "$shim" "$1" "$apple/plants/objects" 2>&1); then fail "planted \`$2\` compiles"; fi
  grep -qF -- "$3" <<<"$output" || fail "planted \`$2\`: expected \`$3\`, got: $output"
  unplant "$shim/DCMetalBuffer.mm"
  planted=$((planted + 1))
}

step_plants() {
  echo "apple: planted mistakes"
  rm -rf "$apple/plants" && mkdir -p "$apple/plants/native"
  copy=$apple/plants/include
  shim=$apple/plants/native
  cp -r "$metal" "$copy"
  cp -r native/*.mm native/*.h native/include "$shim/"

  reported_by_comparison MTLResource.h 'MTLStorageModePrivate = 2,' 'MTLStorageModePrivate = 5,' 'MTLStorageModePrivate: value is 5'
  reported_by_comparison MTLResource.h 'NS_ENUM(NSUInteger, MTLStorageMode)' 'NS_ENUM(NSInteger, MTLStorageMode)' 'enum MTLStorageMode: type is q'
  reported_by_comparison MTLLibrary.h 'MTLMathModeRelaxed = 1,' 'MTLMathModeRelaxed = 1, MTLMathModeSloppy = 3,' 'MTLMathModeSloppy: Apple'
  reported_by_comparison MTLBuffer.h '^- (void \*)contents' '- (void)flush; - (void *)contents' "-[MTLBuffer flush]: Apple's SDK has no such method"
  reported_by_comparison MTLCommandQueue.h '^- (nullable id<MTLCommandBuffer>)commandBuffer;' '+ (nullable id<MTLCommandBuffer>)commandBuffer;' '+[MTLCommandQueue commandBuffer]: Apple'
  reported_by_comparison MTLComputeCommandEncoder.h 'setBufferOffset:(NSUInteger)offset atIndex' 'setBufferOffset:(uint32_t)offset atIndex' '-[MTLComputeCommandEncoder setBufferOffset:atIndex:]: argument 1 is uint32_t'
  reported_by_comparison MTLComputeCommandEncoder.h 'setBytes:(const void \*)bytes length' 'setBytes:(void *)bytes length' '-[MTLComputeCommandEncoder setBytes:length:atIndex:]: argument 1 is'
  reported_by_comparison MTLBuffer.h '^- (void \*)contents' '- (const void *)contents' '-[MTLBuffer contents]: result is'
  reported_by_comparison MTLBuffer.h '@protocol MTLBuffer <MTLResource>' '@protocol MTLBuffer <NSObject>' 'MTLBuffer: does not inherit MTLResource'
  reported_by_comparison MTLCommandBuffer.h 'NSObject <NSCopying>' 'NSObject <NSMutableCopying>' 'MTLCommandBufferDescriptor: inherits NSMutableCopying'
  reported_by_comparison MTLComputeCommandEncoder.h '^- (void)setComputePipelineState' '- (void)endEncoding; - (void)setComputePipelineState' '-[MTLComputeCommandEncoder endEncoding]: Apple'
  reported_by_comparison MTLLibrary.h 'MTLMathMode mathMode API_AVAILABLE(macos(15.0))' 'MTLMathMode mathMode API_AVAILABLE(macos(12.0))' 'MTLCompileOptions.mathMode: first version is 12.0'
  reported_by_comparison MTLDevice.h 'getter=isHeadless' 'getter=headless' 'MTLDevice.headless: getter is headless'
  reported_by_comparison MTLBuffer.h '@property(readonly) NSUInteger length' '@property NSUInteger length' 'MTLBuffer.length: readonly is False'
  reported_by_comparison MTLDevice.h '@property(readonly) uint64_t registryID' '@property(readonly) uint32_t registryID' 'MTLDevice.registryID: type is uint32_t'
  reported_by_comparison MTLCommandBuffer.h '(^MTLCommandBufferHandler)(id<MTLCommandBuffer>)' '(^MTLCommandBufferHandler)(id<MTLDevice>)' 'typedef MTLCommandBufferHandler: type is'
  reported_by_comparison MTLLibrary.h 'const MTLLibraryErrorDomain' 'const MTLLibraryErrorsDomain' 'MTLLibraryErrorsDomain: Apple'
  reported_by_comparison MTLTypes.h 'NSUInteger width, height, depth;' 'NSUInteger width, depth, height;' 'struct MTLSize: fields is'
  reported_by_comparison MTLDevice.h 'MTLCopyAllDevices(void) API_AVAILABLE(macos(10.11)) NS_RETURNS_RETAINED' 'MTLCopyAllDevices(void) API_AVAILABLE(macos(10.11))' 'MTLCopyAllDevices(): result is retained is False'

  reported_by_comparison MTLPixelFormat.h 'MTLPixelFormatBGRA8Unorm = 80,' 'MTLPixelFormatBGRA8Unorm = 81,' 'MTLPixelFormatBGRA8Unorm: value is 81'
  reported_by_comparison MTLTypes.h 'NSUInteger x, y, z;' 'NSUInteger x, z, y;' 'struct MTLOrigin: fields is'

  reported_by_comparison MTLDevice.h '^@property.*maxTransferRate.*$' '' 'MTLDevice.maxTransferRate: Apple declares it'
  reported_by_comparison MTLComputeCommandEncoder.h '^- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index.*$' '' \
    'MTLComputeCommandEncoder.setBufferOffset:atIndex:: Apple declares it'
  reported_by_comparison MTLPixelFormat.h 'MTLPixelFormatBGRA8Unorm = 80,' '' 'MTLPixelFormatBGRA8Unorm: Apple declares it'
  reported_by_list MTLTexturePool '`MTLTexturePool` is no name of Apple'
  reported_by_list 'MTLDevice.registryID' '`MTLDevice.registryID` is no name of Apple'
  reported_by_list 'MTLDevice.newRender*' 'is listed twice'
  reported_by_list 'MTLHeap*' 'MTLHeapType is declared, but `MTLHeap*` says that it is not'
  reported_by_list '= mesh shaders' 'no row tells of `mesh shaders`'

  reported_by_performance MPSCoreTypes.h 'MPSDataTypeUInt8 = 8,' 'MPSDataTypeUInt8 = 9,' 'MPSDataTypeUInt8: value is 9'
  reported_by_performance MPSCoreTypes.h 'NS_ENUM(uint32_t, MPSDataType)' 'NS_ENUM(NSUInteger, MPSDataType)' 'enum MPSDataType: type is Q'
  reported_by_performance MPSCoreTypes.h 'BOOL MPSSupportsMTLDevice' 'NSUInteger MPSSupportsMTLDevice' 'MPSSupportsMTLDevice(): result is'
  reported_by_performance MPSMatrixMultiplication.h 'transposeLeft:(BOOL)transposeLeft' 'transposeLeft:(NSUInteger)transposeLeft' \
    '-[MPSMatrixMultiplication initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:]: argument 2 is NSUInteger'
  reported_by_performance MPSMatrixMultiplication.h 'resultMatrix:(MPSMatrix' 'productMatrix:(MPSMatrix' \
    "-[MPSMatrixMultiplication encodeToCommandBuffer:leftMatrix:rightMatrix:productMatrix:]: Apple's SDK has no such method"
  reported_by_performance MPSMatrixMultiplication.h '@interface MPSMatrixMultiplication : MPSKernel' '@interface MPSMatrixMultiplication : NSObject' 'MPSMatrixMultiplication: inherits NSObject'
  reported_by_performance MPSMatrix.h 'descriptor:(MPSVectorDescriptor \*)descriptor API_AVAILABLE(macos(10.15))' 'descriptor:(MPSVectorDescriptor *)descriptor API_AVAILABLE(macos(10.14))' 'first version is 10.14'
  reported_by_performance MPSMatrixTypes.h 'MTLOrigin primarySourceMatrixOrigin' 'MTLSize primarySourceMatrixOrigin' 'MPSMatrixBinaryKernel.primarySourceMatrixOrigin: type is MTLSize'
  reported_by_performance MPSMatrixSoftMax.h '@property(readwrite, nonatomic) NSUInteger sourceRows' '@property(readonly, nonatomic) NSUInteger sourceRows' 'MPSMatrixSoftMax.sourceRows: readonly is True'
  reported_by_performance MPSMatrixNeuron.h 'parameterC:(float)parameterC' 'parameterC:(double)parameterC' 'argument 4 is double'

  reported_by_performance MPSNDArray.h 'BOOL preferPackedRows API_AVAILABLE(macos(15.0))' 'BOOL preferPackedRows API_AVAILABLE(macos(14.0))' 'MPSNDArrayDescriptor.preferPackedRows: first version is 14.0'
  reported_by_performance MPSCommandBuffer.h '^- (void)commitAndContinue' '- (void)commitAndWait' "-[MPSCommandBuffer commitAndWait]: Apple's SDK has no such method"

  reported_by_graph MPSGraphCore.h 'MPSGraphTensorNamedDataLayoutHWIO = 3,' 'MPSGraphTensorNamedDataLayoutHWIO = 4,' 'MPSGraphTensorNamedDataLayoutHWIO: value is 4'
  reported_by_graph MPSGraphOperations.h 'BOOL includeZeroPadToAverage API_AVAILABLE(macos(12.0))' 'BOOL includeZeroPadToAverage API_AVAILABLE(macos(11.0))' \
    'MPSGraphPooling2DOpDescriptor.includeZeroPadToAverage: first version is 11.0'
  reported_by_graph MPSGraphExecutable.h 'resultsArray:(NSArray<MPSGraphTensorData' 'targetsArray:(NSArray<MPSGraphTensorData' \
    '-[MPSGraphExecutable encodeToCommandBuffer:inputsArray:targetsArray:executionDescriptor:]: Apple'
  reported_by_graph MPSGraph.h 'gammaTensor:(MPSGraphTensor \*_Nullable)gamma betaTensor' 'gammaTensor:(MPSGraphDevice *_Nullable)gamma betaTensor' 'argument 4 is MPSGraphDevice'
  reported_by_graph MPSGraph.h '@interface MPSGraph : MPSGraphObject' '@interface MPSGraph : NSObject' 'MPSGraph: inherits NSObject'

  reported_by_dispatch dispatch/dispatch.h 'dispatch_group_enter(dispatch_group_t' 'dispatch_group_enter(dispatch_queue_t' 'dispatch_group_enter (c): is void (struct dispatch_queue_s *)'
  reported_by_dispatch dispatch/dispatch.h 'dispatch_semaphore_create(intptr_t' 'dispatch_semaphore_create(int' 'dispatch_semaphore_create (objective-c): is'
  reported_by_dispatch dispatch/dispatch.h 'DISPATCH_QUEUE_PRIORITY_HIGH 2' 'DISPATCH_QUEUE_PRIORITY_HIGH 1' 'DISPATCH_QUEUE_PRIORITY_HIGH (c++): value is 1'
  reported_by_dispatch dispatch/dispatch.h 'QOS_CLASS_UTILITY = 0x11' 'QOS_CLASS_UTILITY = 0x12' 'QOS_CLASS_UTILITY (c): is 18'
  reported_by_dispatch dispatch/dispatch.h 'dispatch_once_f(' 'dispatch_twice_f(' "dispatch_twice_f (c): Apple's headers have no such declaration"
  reported_by_dispatch Block.h 'void _Block_release(const void' 'void _Block_release(void' '_Block_release (c): is void (void *)'

  local plant
  plant='void planted(id<MTLBuffer> buffer) { [buffer didModifyRanges:NSMakeRange(0, 1)]; }'
  reported_by_compiler -fno-objc-arc "$plant" 'didModifyRanges:'
  plant='void planted(id<MTLCommandQueue> queue) { [queue setLabel:(NSData *)nil]; }'
  reported_by_compiler -fno-objc-arc "$plant" "cannot initialize a parameter of type 'NSString"
  plant='void planted(MTLCompileOptions *options) { [options setMathMode:MTLMathModeFast]; }'
  reported_by_compiler -fno-objc-arc "$plant" 'only available on macOS 15.0 or newer'
  plant='void *planted(id<MTLBuffer> buffer) { return (void *)buffer; }'
  reported_by_compiler -fobjc-arc "$plant" 'requires a bridged cast'

  plant='#import <MetalPerformanceShaders/MetalPerformanceShaders.h>
void planted(MPSMatrix *matrix, id<MTLCommandBuffer> buffer) { [matrix synchronizeOnQueue:buffer]; }'
  reported_by_compiler -fno-objc-arc "$plant" 'synchronizeOnQueue:'

  # A stub without one of Apple's functions stands for the use of one that Apple does not have.
  [ -n "$compiled" ] || step_link
  make_stubs "$apple/plants/stubs"
  sed -i "s@'_MTLCopyAllDevices', @@" "$apple/plants/stubs/System/Library/Frameworks/Metal.framework/Metal.tbd"
  local output
  if output=$(link_shim "$apple/objects-fobjc-arc" "$apple/plants/stubs" 2>&1); then fail "a missing symbol links"; fi
  grep -qF 'undefined symbol: _MTLCopyAllDevices' <<<"$output" || fail "a missing symbol: got: $output"
  planted=$((planted + 1))
  make_stubs "$apple/plants/stubs"
  sed -i 's/MPSMatrixMultiplication,//' \
    "$apple/plants/stubs/System/Library/Frameworks/MetalPerformanceShaders.framework/MetalPerformanceShaders.tbd"
  if output=$(link_shim "$apple/objects-fobjc-arc" "$apple/plants/stubs" 2>&1); then fail "a missing class links"; fi
  grep -qF 'OBJC_CLASS_$_MPSMatrixMultiplication' <<<"$output" || fail "a missing class: got: $output"
  planted=$((planted + 1))
  echo "apple: all $planted planted mistakes were reported"
}

steps=("$@")
[ $# -gt 0 ] || steps=(headers compile link plants)
for step in "${steps[@]}"; do
  declare -F "step_$step" >/dev/null || fail "unknown step \`$step\`; steps are headers, compile, link, plants"
  "step_$step"
done
