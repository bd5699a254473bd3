// Cases of dynamic libraries: what kernels call of them, which definition a name gets, their files.
#import "faces.h"

#include <cstdlib>
#include <initializer_list>
#include <string>

namespace {
NSString *text(const char *source) {
  return [NSString stringWithFormat:@"#include <metal_stdlib>\nusing namespace metal;\n%s", source];
}

MTLCompileOptions *options(NSString *name, NSArray *libraries = nil) {
  MTLCompileOptions *made = [[[MTLCompileOptions alloc] init] autorelease];
  [made setLibraryType:name ? MTLLibraryTypeDynamic : MTLLibraryTypeExecutable];
  [made setInstallName:name];
  [made setLibraries:libraries];
  return made;
}

id<MTLLibrary> compiled(const char *source, MTLCompileOptions *options) {
  return library_of([NSString stringWithUTF8String:source], options);
}

id<MTLDynamicLibrary> dynamic(const char *source, MTLCompileOptions *options) {
  id<MTLLibrary> library = compiled(source, options);
  return library ? [[device() newDynamicLibrary:library error:nullptr] autorelease] : nil;
}

id<MTLDynamicLibrary> dynamic(NSString *name, const char *source, NSArray *libraries = nil) {
  return dynamic(source, options(name, libraries));
}

MTLComputePipelineDescriptor *descriptor(id<MTLLibrary> library, NSArray *preloaded = @[]) {
  MTLComputePipelineDescriptor *made = [[[MTLComputePipelineDescriptor alloc] init] autorelease];
  [made setComputeFunction:[[library newFunctionWithName:@"k"] autorelease]];
  [made setPreloadedLibraries:preloaded];
  return made;
}

// What 64 threads of one threadgroup write, thread i to element i, must be value(i).
void check_values(id<MTLComputePipelineState> state, const char *file, int line, int (*value)(int)) {
  if (!state) return faces_note(file, line, "no pipeline");
  id<MTLBuffer> buffer = [[device() newBufferWithLength:64 * sizeof(int) options:0] autorelease];
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:buffer offset:0 atIndex:0];
  [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(64, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  if ([commandBuffer error]) faces_note(file, line, [[[commandBuffer error] localizedDescription] UTF8String]);
  const int *found = (const int *)[buffer contents];
  for (int i = 0; i < 64; i++)
    if (found[i] != value(i))
      return faces_note(file, line, "thread " + std::to_string(i) + " wrote " + std::to_string(found[i]) + ", expected " +
                                        std::to_string(value(i)));
}
#define CHECK_VALUES(state, expression) \
  check_values(state, __FILE__, __LINE__, [](int i) -> int { (void)i; return expression; })

const char *const calls_g = "int g(int x);\n"
                            "kernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = g(int(i)); }\n";

// ------------------------------------------------------------------ calls

void a_kernel_calls_what_a_library_defines() {
  CHECK([device() supportsDynamicLibraries] && ![device() supportsRenderDynamicLibraries]);
  id<MTLLibrary> source = compiled("static int own(int x) { return 3 * x; }\nint g(int x) { return own(x) + 1; }\n", options(@"/l"));
  CHECK_EQUAL([source type], MTLLibraryTypeDynamic);
  CHECK([[source installName] isEqualToString:@"/l"]);
  CHECK_EQUAL([[source functionNames] count], 0);
  id<MTLDynamicLibrary> made = [[device() newDynamicLibrary:source error:nullptr] autorelease];
  CHECK([[made installName] isEqualToString:@"/l"]);
  CHECK([made device] == device() && [made label] == nil);
  [made setLabel:@"mine"];
  CHECK([[made label] isEqualToString:@"mine"]);
  CHECK_VALUES(pipeline_of(descriptor(compiled(calls_g, options(nil, @[ made ])))), 3 * i + 1);
}

void what_has_a_name_is_found_by_it() {
  // Overloads, namespaces, types of the language and of the program, address spaces, templates that call, constants.
  id<MTLDynamicLibrary> made = dynamic(@"/l",
                                       "struct Pair { int first; float second; };\n"
                                       "namespace n { int f(int x) { return x + 1; } int f(float x) { return int(x) + 2; } }\n"
                                       "int f(int x) { return 1000; }\n"
                                       "float4 mixed(float4 a, Pair p) { return a * p.second + float(p.first); }\n"
                                       "void add(device int *to, thread int &by, constant int *more) { *to += by + *more; by = 7; }\n"
                                       "extern constant int table[3] = {5, 6, 7};\n");
  id<MTLLibrary> kernel =
      compiled("struct Pair { int first; float second; };\n"
               "namespace n { int f(int x); int f(float x); }\n"
               "float4 mixed(float4 a, Pair p);\n"
               "void add(device int *to, thread int &by, constant int *more);\n"
               "extern constant int table[3];\n"
               "template <typename T> int twice(T x) { return n::f(x) * 2; }\n"
               "kernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
               "  Pair p = {int(i), 2.0f};\n"
               "  int by = twice(int(i)) + twice(float(i)) + int(mixed(float4(1, 2, 3, 4), p).w);\n"
               "  out[i] = 0;\n  add(out + i, by, table + 1);\n  out[i] += by * table[2];\n}\n",
               options(nil, @[ made ]));
  CHECK_VALUES(pipeline_of(descriptor(kernel)), 2 * (i + 1) + 2 * (i + 2) + (8 + i) + 6 + 49);
}

void each_module_has_its_own_definitions() {
  // Three define `helper`, of which the first library exports its own; the inline function differs as well.
  id<MTLDynamicLibrary> one =
      dynamic(@"/1", "int helper(int x) { return x + 10; }\ninline int small() { return 1; }\nint f(int x) { return helper(x) + small(); }\n");
  id<MTLDynamicLibrary> two =
      dynamic(@"/2", "int helper(int x) { return x + 20; }\ninline int small() { return 2; }\nint g(int x) { return helper(x) + small(); }\n");
  id<MTLLibrary> kernel =
      compiled("int f(int x);\nint g(int x);\nint helper(int x) { return x + 30; }\ninline int small() { return 3; }\n"
               "kernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
               "  out[i] = f(0) + 100 * g(0) + 10000 * (helper(0) + small());\n}\n",
               options(nil, @[ one, two ]));
  CHECK_VALUES(pipeline_of(descriptor(kernel)), 11 + 2200 + 330000);
  // Of two that export it, the one that comes first.
  const char *const uses = "int helper(int x);\nkernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                           "  out[i] = helper(int(i));\n}\n";
  CHECK_VALUES(pipeline_of(descriptor(compiled(uses, options(nil, @[ one, two ])))), i + 10);
  CHECK_VALUES(pipeline_of(descriptor(compiled(uses, options(nil, @[ two, one ])))), i + 20);
}

void libraries_call_libraries() {
  id<MTLDynamicLibrary> base = dynamic(@"/base", "int h(int x) { return x * x; }\n");
  id<MTLDynamicLibrary> middle = dynamic(@"/middle", "int h(int x);\nint g(int x) { return h(x) + 1; }\n", @[ base ]);
  CHECK_VALUES(pipeline_of(descriptor(compiled(calls_g, options(nil, @[ middle ])))), i * i + 1);
  // The kernel's own libraries are not those of the library.
  id<MTLDynamicLibrary> other = dynamic(@"/other", "int h(int x) { return -x; }\n");
  CHECK_VALUES(pipeline_of(descriptor(compiled(calls_g, options(nil, @[ other, middle ])))), i * i + 1);
}

void a_pipeline_s_libraries_come_first() {
  id<MTLDynamicLibrary> base = dynamic(@"/base", "int h(int x) { return x * x; }\n");
  id<MTLDynamicLibrary> middle = dynamic(@"/middle", "int h(int x);\nint g(int x) { return h(x) + 1; }\n", @[ base ]);
  id<MTLDynamicLibrary> other = dynamic(@"/other", "int h(int x) { return -x; }\n");
  id<MTLDynamicLibrary> another = dynamic(@"/another", "int g(int x) { return 5; }\nint h(int x) { return 6; }\n");
  id<MTLLibrary> kernel = compiled(calls_g, options(nil, @[ middle ]));
  CHECK_VALUES(pipeline_of(descriptor(kernel)), i * i + 1);
  CHECK_VALUES(pipeline_of(descriptor(kernel, @[ other ])), 1 - i);
  CHECK_VALUES(pipeline_of(descriptor(kernel, @[ another ])), 5);
  CHECK_VALUES(pipeline_of(descriptor(kernel, @[ other, another ])), 5);
  MTLComputePipelineDescriptor *made = descriptor(kernel, @[ other ]);
  CHECK([[made insertLibraries] isEqual:@[ other ]]);
  MTLComputePipelineDescriptor *copy = [[made copy] autorelease];
  [made reset];
  CHECK_EQUAL([[made preloadedLibraries] count], 0);
  CHECK_VALUES(pipeline_of(copy), 1 - i);
  [copy setInsertLibraries:nil];
  CHECK_VALUES(pipeline_of(copy), i * i + 1);
}

void threads_wait_in_a_library() {
  // The pass takes the first two; in the others threads part before they come to the functions, and have stacks.
  id<MTLDynamicLibrary> made = dynamic(@"/l",
                                       "int total(int x) { return simd_sum(x); }\n"
                                       "int next(threadgroup int *kept, int x, uint i) {\n"
                                       "  kept[i] = x;\n  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                                       "  int found = kept[(i + 1) % 64];\n"
                                       "  threadgroup_barrier(mem_flags::mem_threadgroup);\n  return found;\n}\n"
                                       "int odd(int x) { int s = 0; for (int n = 0; n < 3; n++) if (x & 1) s += simd_sum(x); return s; }\n");
  const char *const head = "int total(int x);\nint next(threadgroup int *kept, int x, uint i);\nint odd(int x);\n"
                           "kernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {\n";
  const auto with = [&](const char *body) {
    return pipeline_of(descriptor(compiled((std::string(head) + body + "}\n").c_str(), options(nil, @[ made ]))));
  };
  CHECK_VALUES(with("  threadgroup int kept[64];\n  out[i] = next(kept, int(i) * 3, i);\n"), (i + 1) % 64 * 3);
  CHECK_VALUES(with("  out[i] = total(int(i));\n"), i < 32 ? 496 : 1520);
  CHECK_VALUES(with("  out[i] = odd(int(i));\n"), i % 2 ? 3 * (i < 32 ? 256 : 768) : 0);
  CHECK_VALUES(with("  out[i] = 0;\n  for (int n = 0; n < 3; n++) {\n    if (i & 1) { int s = total(int(i)); out[i] += s; }\n  }\n"),
               i % 2 ? 3 * (i < 32 ? 256 : 768) : 0);
}

void a_library_s_own_threadgroup_memory_is_its_own() {
  id<MTLDynamicLibrary> made = dynamic(@"/l",
                                       "int first(int x, uint i) {\n  threadgroup int kept[64];\n  kept[i] = x;\n"
                                       "  threadgroup_barrier(mem_flags::mem_threadgroup);\n  return kept[63 - i];\n}\n");
  id<MTLLibrary> kernel = compiled("int first(int x, uint i);\n"
                                   "kernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_threadgroup]]) {\n"
                                   "  threadgroup int kept[64];\n  kept[i] = 1000 + int(i);\n"
                                   "  int other = first(int(i), i);\n  out[i] = other + kept[i];\n}\n",
                                   options(nil, @[ made ]));
  id<MTLComputePipelineState> state = pipeline_of(descriptor(kernel));
  CHECK_EQUAL([state staticThreadgroupMemoryLength], 512);
  CHECK_VALUES(state, 63 - i + 1000 + i);
}

void each_library_computes_as_it_was_compiled() {
  // With safe mathematics x + y - x is not y.
  const char *const source = "float g(float x, float y) { return (x + y) - x; }\n";
  const char *const uses = "float g(float x, float y);\nkernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                           "  out[i] = int(g(16777216.0f + float(out[i]), float(i)));\n}\n";
  MTLCompileOptions *safe = options(@"/safe");
  [safe setMathMode:MTLMathModeSafe];
  CHECK_VALUES(pipeline_of(descriptor(compiled(uses, options(nil, @[ dynamic(source, safe) ])))), i % 2 == 0 ? i : i % 4 == 1 ? i - 1 : i + 1);
  CHECK_VALUES(pipeline_of(descriptor(compiled(uses, options(nil, @[ dynamic(@"/fast", source) ])))), i);
}

// ------------------------------------------------------------------ refusals

void what_nothing_defines_is_named() {
  NSError *error = nil;
  CHECK([device() newLibraryWithSource:text(calls_g) options:nil error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"Undefined symbols: g(int)");
  CHECK([device() newLibraryWithSource:text("int h(int x);\nint g(int x) { return h(x); }\n") options:options(@"/l") error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"Undefined symbols: h(int)");
  // Neither a static function nor a hidden one is for others.
  for (const char *source : {"static int g(int x) { return x; }\n", "namespace { int g(int x) { return x; } }\n",
                             "__attribute__((visibility(\"hidden\"))) int g(int x) { return x; }\n", "int g(float x) { return 1; }\n"}) {
    error = nil;
    id<MTLDynamicLibrary> made = dynamic(@"/l", source);
    CHECK([device() newLibraryWithSource:text(calls_g) options:options(nil, @[ made ]) error:&error] == nil);
    check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"Undefined symbols: g(int)");
  }
  MTLCompileOptions *hidden = options(@"/l");
  [hidden setCompileSymbolVisibility:MTLCompileSymbolVisibilityHidden];
  CHECK([device() newLibraryWithSource:text(calls_g)
                               options:options(nil, @[ dynamic("int g(int x) { return x; }\n", hidden) ])
                                 error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"Undefined symbols: g(int)");
  id<MTLDynamicLibrary> shown = dynamic("__attribute__((visibility(\"default\"))) int g(int x) { return x; }\n", hidden);
  CHECK_VALUES(pipeline_of(descriptor(compiled(calls_g, options(nil, @[ shown ])))), i);
  // What is declared and not called need not be anywhere.
  CHECK(compiled("int g(int x);\nkernel void k(device int *out [[buffer(0)]]) { out[0] = 1; }\n", options(nil)) != nil);
}

void undefined_symbols_may_be_left_to_the_pipeline() {
  MTLCompileOptions *later = options(nil);
  [later setAllowReferencingUndefinedSymbols:YES];
  id<MTLLibrary> kernel = compiled(calls_g, later);
  NSError *error = nil;
  CHECK(pipeline_of(descriptor(kernel), &error) == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"Undefined symbols: g(int)");
  CHECK_VALUES(pipeline_of(descriptor(kernel, @[ dynamic(@"/l", "int g(int x) { return -x; }\n") ])), -i);
  MTLCompileOptions *library = options(@"/m");
  [library setAllowReferencingUndefinedSymbols:YES];
  id<MTLDynamicLibrary> middle = dynamic("int h(int x);\nint g(int x) { return h(x) + 1; }\n", library);
  id<MTLLibrary> linked = compiled(calls_g, ({ MTLCompileOptions *o = options(nil, @[ middle ]); [o setAllowReferencingUndefinedSymbols:YES]; o; }));
  CHECK(pipeline_of(descriptor(linked), &error) == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"Undefined symbols: h(int)");
  CHECK_VALUES(pipeline_of(descriptor(linked, @[ dynamic(@"/l", "int h(int x) { return 9; }\n") ])), 10);
}

void misuse_and_limits_are_named() {
  NSError *error = nil;
  MTLCompileOptions *nameless = options(nil);
  [nameless setLibraryType:MTLLibraryTypeDynamic];
  CHECK([device() newLibraryWithSource:text("int g(int x) { return x; }\n") options:nameless error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"installName");
  CHECK([device() newLibraryWithSource:text("constant int c [[function_constant(0)]];\nint g(int x) { return c; }\n")
                               options:options(@"/l")
                                 error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"function constant 'c'");
  MTLCompileOptions *logging = options(@"/l");
  [logging setEnableLogging:YES];
  CHECK([device() newLibraryWithSource:text("#include <metal_logging>\nint g(int x) { os_log_default.log(\"x\"); return x; }\n")
                               options:logging
                                 error:&error] == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"os_log");
  id<MTLLibrary> executable = compiled("kernel void k(device int *out [[buffer(0)]]) { out[0] = 1; }\n", options(nil));
  CHECK_RAISES([device() newDynamicLibrary:executable error:nullptr], @"newDynamicLibrary:error:", @"MTLLibraryTypeDynamic");
  CHECK_RAISES([device() newDynamicLibrary:nil error:nullptr], @"newDynamicLibrary:error:", @"nil");
  CHECK_RAISES([device() newDynamicLibraryWithURL:nil error:nullptr], @"newDynamicLibraryWithURL:error:", @"nil");
  // A library was compiled with one in which no thread waits, and is given one in which they do.
  id<MTLDynamicLibrary> base = dynamic(@"/base", "int h(int x) { return x; }\n");
  id<MTLDynamicLibrary> middle = dynamic(@"/middle", "int h(int x);\nint g(int x) { return h(x) + 1; }\n", @[ base ]);
  id<MTLDynamicLibrary> waits = dynamic(@"/waits", "int h(int x) { return simd_sum(x); }\n");
  CHECK(pipeline_of(descriptor(compiled(calls_g, options(nil, @[ middle ])), @[ waits ]), &error) == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"'/waits' makes threads wait");
}

// ------------------------------------------------------------------ files

void files_hold_libraries_and_name_others() {
  Folder folder;
  NSError *error = nil;
  id<MTLDynamicLibrary> base = dynamic(@"@loader_path/base.metallib", "int h(int x) { return x * x; }\n");
  id<MTLDynamicLibrary> middle = dynamic(folder.file(@"middle.metallib"), "int h(int x);\nint g(int x) { return h(x) + 1; }\n", @[ base ]);
  CHECK([middle serializeToURL:folder.url(@"middle.metallib") error:&error]);
  CHECK([device() newDynamicLibraryWithURL:folder.url(@"middle.metallib") error:&error] == nil);
  check_error(error, MTLDynamicLibraryDomain, MTLDynamicLibraryErrorUnresolvedInstallName, @"@loader_path/base.metallib");
  CHECK([base serializeToURL:folder.url(@"base.metallib") error:&error]);
  id<MTLDynamicLibrary> read = [[device() newDynamicLibraryWithURL:folder.url(@"middle.metallib") error:&error] autorelease];
  CHECK([[read installName] isEqualToString:folder.file(@"middle.metallib")]);
  if (!read) return;
  CHECK_VALUES(pipeline_of(descriptor(compiled(calls_g, options(nil, @[ read ])))), i * i + 1);
  // The file of the one that it needs is replaced, then damaged, then needs this one.
  CHECK([dynamic(@"x", "int h(int x) { return 4; }\n") serializeToURL:folder.url(@"base.metallib") error:&error]);
  read = [[device() newDynamicLibraryWithURL:folder.url(@"middle.metallib") error:&error] autorelease];
  CHECK_VALUES(pipeline_of(descriptor(compiled(calls_g, options(nil, @[ read ])))), 5);
  CHECK([[@"nonsense" dataUsingEncoding:NSUTF8StringEncoding] writeToFile:folder.file(@"base.metallib") atomically:NO]);
  CHECK([device() newDynamicLibraryWithURL:folder.url(@"middle.metallib") error:&error] == nil);
  check_error(error, MTLDynamicLibraryDomain, MTLDynamicLibraryErrorDependencyLoadFailure, @"damaged");
  CHECK([device() newDynamicLibraryWithURL:folder.url(@"base.metallib") error:&error] == nil);
  check_error(error, MTLDynamicLibraryDomain, MTLDynamicLibraryErrorInvalidFile, @"damaged");
  id<MTLDynamicLibrary> around = dynamic(@"y", "int g(int x);\nint h(int x) { return x; }\nint unused(int x) { return g(x); }\n", @[ middle ]);
  CHECK([around serializeToURL:folder.url(@"base.metallib") error:&error]);
  CHECK([device() newDynamicLibraryWithURL:folder.url(@"middle.metallib") error:&error] == nil);
  check_error(error, MTLDynamicLibraryDomain, MTLDynamicLibraryErrorDependencyLoadFailure, @"needs this one");
  CHECK([device() newDynamicLibraryWithURL:folder.url(@"absent") error:&error] == nil);
  check_error(error, MTLDynamicLibraryDomain, MTLDynamicLibraryErrorInvalidFile, @"absent");
  CHECK(![middle serializeToURL:folder.url(@"nowhere/file") error:&error]);
  check_error(error, MTLDynamicLibraryDomain, MTLDynamicLibraryErrorInvalidFile, @"nowhere/file");
  CHECK(![middle serializeToURL:[NSURL URLWithString:@"https://example.org/l"] error:&error]);
  check_error(error, MTLDynamicLibraryDomain, MTLDynamicLibraryErrorInvalidFile, @"names no file");
}

void archives_hold_pipelines_with_libraries() {
  id<MTLDynamicLibrary> one = dynamic(@"/1", "int g(int x) { return x + 1; }\n");
  id<MTLDynamicLibrary> two = dynamic(@"/2", "int g(int x) { return x + 2; }\n");
  id<MTLLibrary> kernel = compiled(calls_g, options(nil, @[ one ]));
  id<MTLBinaryArchive> archive =
      [[device() newBinaryArchiveWithDescriptor:[[[MTLBinaryArchiveDescriptor alloc] init] autorelease] error:nullptr] autorelease];
  NSError *error = nil;
  CHECK([archive addComputePipelineFunctionsWithDescriptor:descriptor(kernel) error:&error]);
  MTLComputePipelineDescriptor *made = descriptor(kernel);
  [made setBinaryArchives:@[ archive ]];
  CHECK_VALUES(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss), i + 1);
  // With another library it is other code.
  [made setPreloadedLibraries:@[ two ]];
  CHECK(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss) == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorFunctionNotFound, @"not in the binary archives");
  CHECK([archive addComputePipelineFunctionsWithDescriptor:made error:&error]);
  CHECK_VALUES(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss), i + 2);
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase dynamic_cases[] = {
    CASE(a_kernel_calls_what_a_library_defines),
    CASE(what_has_a_name_is_found_by_it),
    CASE(each_module_has_its_own_definitions),
    CASE(libraries_call_libraries),
    CASE(a_pipeline_s_libraries_come_first),
    CASE(threads_wait_in_a_library),
    CASE(a_library_s_own_threadgroup_memory_is_its_own),
    CASE(each_library_computes_as_it_was_compiled),
    CASE(what_nothing_defines_is_named),
    CASE(undefined_symbols_may_be_left_to_the_pipeline),
    CASE(misuse_and_limits_are_named),
    CASE(files_hold_libraries_and_name_others),
    CASE(archives_hold_pipelines_with_libraries),
    {nullptr, nullptr},
};
