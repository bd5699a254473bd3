// Cases of visible functions: tables, what pipelines link, calls that cannot be.
#import "faces.h"

#include <string>

namespace {
id<MTLFunction> function(id<MTLLibrary> library, NSString *name) {
  return [[library newFunctionWithName:name] autorelease];
}

// The pipeline's handles of the functions, in their order, and an empty place behind them.
id<MTLVisibleFunctionTable> table(id<MTLComputePipelineState> state, NSArray *functions) {
  MTLVisibleFunctionTableDescriptor *made = [MTLVisibleFunctionTableDescriptor visibleFunctionTableDescriptor];
  [made setFunctionCount:[functions count] + 1];
  id<MTLVisibleFunctionTable> all = [[state newVisibleFunctionTableWithDescriptor:made] autorelease];
  for (NSUInteger i = 0; i < [functions count]; i++) {
    id<MTLFunctionHandle> handle = [state functionHandleWithFunction:[functions objectAtIndex:i]];
    CHECK(handle != nil);
    [all setFunction:handle atIndex:i];
  }
  return all;
}

// 64 threads in threadgroups of 32: buffer 0 is written to, buffer 1 may be given, table at 2.
id<MTLCommandBuffer> run(id<MTLComputePipelineState> state, id<MTLBuffer> out, id<MTLVisibleFunctionTable> table,
                         id<MTLBuffer> other = nil, BOOL retained = YES) {
  id<MTLCommandQueue> queue = [[device() newCommandQueue] autorelease];
  id<MTLCommandBuffer> commandBuffer = retained ? [queue commandBuffer] : [queue commandBufferWithUnretainedReferences];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:out offset:0 atIndex:0];
  [encoder setBuffer:other offset:0 atIndex:1];
  if (table) [encoder setVisibleFunctionTable:table atBufferIndex:2];
  [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  return commandBuffer;
}

id<MTLBuffer> buffer(NSUInteger length) {
  return [[device() newBufferWithLength:length options:0] autorelease];
}

void check_values(id<MTLComputePipelineState> state, id<MTLVisibleFunctionTable> table, const char *file, int line, int (*value)(int)) {
  if (!state) return faces_note(file, line, "no pipeline");
  id<MTLBuffer> out = buffer(64 * sizeof(int));
  id<MTLCommandBuffer> commandBuffer = run(state, out, table);
  if ([commandBuffer error]) faces_note(file, line, [[[commandBuffer error] localizedDescription] UTF8String]);
  const int *found = (const int *)[out contents];
  for (int i = 0; i < 64; i++)
    if (found[i] != value(i))
      return faces_note(file, line, "thread " + std::to_string(i) + " wrote " + std::to_string(found[i]) + ", expected " +
                                        std::to_string(value(i)));
}
#define CHECK_VALUES(state, table, expression) \
  check_values(state, table, __FILE__, __LINE__, [](int i) -> int { (void)i; return expression; })

NSString *const functions = @"[[visible]] int add(int x) { return x + 100; }\n"
                             "namespace n { [[visible]] int times(int x) { return x * 3; } }\n"
                             "[[stitchable]] int minus(int x) { return -x; }\n";
NSString *const calls = @"kernel void k(device int *out [[buffer(0)]], visible_function_table<int(int)> table [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
                         "  out[i] = table[i % (table.size() - 1)](int(i)); }\n";

// ------------------------------------------------------------------ calls

void kernels_call_functions_of_tables() {
  id<MTLLibrary> own = library_of([functions stringByAppendingString:calls]);
  NSArray *names = [NSArray arrayWithObjects:@"add", @"k", @"minus", @"times", nil];
  CHECK([[own functionNames] isEqual:names]);
  CHECK_EQUAL([function(own, @"k") functionType], MTLFunctionTypeKernel);
  CHECK_EQUAL([function(own, @"minus") functionType], MTLFunctionTypeVisible);
  CHECK([device() supportsFunctionPointers] && ![device() supportsFunctionPointersFromRender]);
  NSArray *all = [NSArray arrayWithObjects:function(own, @"add"), function(own, @"times"), function(own, @"minus"), nil];
  id<MTLComputePipelineState> state = pipeline_of(linking(function(own, @"k"), all));
  id<MTLVisibleFunctionTable> made = table(state, all);
  CHECK_VALUES(state, made, i % 3 == 0 ? i + 100 : i % 3 == 1 ? i * 3 : -i);
  id<MTLFunctionHandle> handle = [state functionHandleWithFunction:[all lastObject]];
  CHECK([[handle name] isEqualToString:@"minus"] && [handle device] == device());
  CHECK([state functionHandleWithName:@"minus"] == handle && [state functionHandleWithName:@"k"] == nil);
  CHECK_RAISES([state functionHandleWithName:(NSString *)nil], @"functionHandleWithName:", @"nil");
  CHECK_EQUAL([handle functionType], MTLFunctionTypeVisible);
  // Other functions in the same places.
  const id<MTLFunctionHandle> turned[] = {handle, handle};
  [made setFunctions:turned withRange:NSMakeRange(0, 2)];
  CHECK_VALUES(state, made, -i);
}

void functions_come_from_other_libraries() {
  MTLCompileOptions *safe = [[[MTLCompileOptions alloc] init] autorelease];
  [safe setMathMode:MTLMathModeSafe];
  // With safe mathematics x + y - x is not y.
  NSString *const rounds = @"[[visible]] int rounds(int x) { float big = 16777216.0f + float(x >> 20); return int((big + float(x)) - big); }\n";
  id<MTLLibrary> one = library_of(functions), two = library_of(rounds, safe);
  id<MTLLibrary> kernels = library_of(calls);
  MTLComputePipelineDescriptor *made = linking(function(kernels, @"k"), @[ function(one, @"add") ]);
  id<MTLFunction> binary = function(two, @"rounds");
  [[made linkedFunctions] setBinaryFunctions:@[ binary ]];
  id<MTLComputePipelineState> state = pipeline_of(made);
  id<MTLVisibleFunctionTable> all = table(state, [NSArray arrayWithObjects:[[[made linkedFunctions] functions] objectAtIndex:0], binary, nil]);
  CHECK_VALUES(state, all, i % 2 == 0 ? i + 100 : i % 4 == 1 ? i - 1 : i + 1);
}

void arguments_are_of_every_kind() {
  NSString *const source =
      @"struct Pair { int first; float4 second; };\nstruct Big { int all[40]; };\n"
       "[[visible]] Big f(Pair p, device int *to, thread int &by, constant int *from, packed_float3 q, half h, bool b, Big big) {\n"
       "  *to = p.first + int(p.second.w) + from[1]; by += int(q.y) + int(h); big.all[39] = b ? 7 : 8; return big; }\n"
       "[[visible]] Big g(Pair p, device int *to, thread int &by, constant int *from, packed_float3 q, half h, bool b, Big big) {\n"
       "  by = 1000; *to = 0; big.all[39] = p.first; return big; }\n"
       "constant int numbers[2] = {5, 6};\n"
       "typedef Big Signature(Pair, device int *, thread int &, constant int *, packed_float3, half, bool, Big);\n"
       "int call(Signature *f, device int *to, int i) { int by = i; Big big; big.all[39] = 0;\n"
       "  [[function_groups(\"all\")]] Big made = f(Pair{i, float4(1, 2, 3, 4)}, to, by, numbers, packed_float3(1, 20, 3), 300.0h, i % 2 == 0, big);\n"
       "  return made.all[39] * 1000 + by; }\n"
       "kernel void k(device int *out [[buffer(0)]], visible_function_table<Signature> table [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
       "  Signature *f = table[i / 32]; int made = call(f, out + i, int(i)); out[i] += made; }\n";
  id<MTLLibrary> own = library_of(source);
  NSArray *all = [NSArray arrayWithObjects:function(own, @"f"), function(own, @"g"), nil];
  id<MTLComputePipelineState> state = pipeline_of(linking(function(own, @"k"), all));
  CHECK_VALUES(state, table(state, all), i < 32 ? i + 4 + 6 + (i % 2 == 0 ? 7 : 8) * 1000 + i + 320 : i * 1000 + 1000);
}

void functions_call_functions() {
  // Through the table itself, to a depth; through a dynamic library; with a function constant.
  MTLCompileOptions *dynamic = [[[MTLCompileOptions alloc] init] autorelease];
  [dynamic setLibraryType:MTLLibraryTypeDynamic];
  [dynamic setInstallName:@"/l"];
  id<MTLDynamicLibrary> linked = [[device() newDynamicLibrary:library_of(@"int outside(int x) { return x * 7; }\n", dynamic) error:nullptr] autorelease];
  MTLCompileOptions *uses = [[[MTLCompileOptions alloc] init] autorelease];
  [uses setLibraries:@[ linked ]];
  NSString *const source = @"int outside(int x);\nconstant int extra [[function_constant(0)]];\n"
                            "[[visible]] int sum(int n, ulong t) { typedef visible_function_table<int(int, ulong)> Table; Table table = *(thread Table *)&t;\n"
                            "  return n == 0 ? table[1](n, t) : n + table[0](n - 1, t); }\n"
                            "[[visible]] int last(int n, ulong) { return outside(n + 1) + extra; }\n";
  id<MTLLibrary> own = library_of(source, uses);
  id<MTLLibrary> kernels =
      library_of(@"typedef visible_function_table<int(int, ulong)> Table;\n"
               "kernel void k(device int *out [[buffer(0)]], Table table [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
               "  out[i] = table[0](int(i), *(thread ulong *)&table); }\n");
  MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
  const int extra = 1000;
  [values setConstantValue:&extra type:MTLDataTypeInt atIndex:0];
  id<MTLFunction> last = [[own newFunctionWithName:@"last" constantValues:values error:nullptr] autorelease];
  NSArray *all = [NSArray arrayWithObjects:function(own, @"sum"), last, nil];
  MTLComputePipelineDescriptor *made = linking(function(kernels, @"k"), all);
  [made setMaxCallStackDepth:70];
  id<MTLComputePipelineState> state = pipeline_of(made);
  CHECK_VALUES(state, table(state, all), i * (i + 1) / 2 + 7 + 1000);
  // Without its constant a function cannot be linked.
  NSError *error = nil;
  CHECK(pipeline_of(linking(function(kernels, @"k"), @[ function(own, @"last") ]), &error) == nil);
  CHECK_CONTAINS([error localizedDescription], @"extra");
}

void threads_that_wait_call_functions_too() {
  NSString *const source =
      @"kernel void k(device int *out [[buffer(0)]], visible_function_table<int(int)> table [[buffer(2)]], uint i [[thread_position_in_grid]],\n"
       "              uint l [[thread_index_in_threadgroup]]) {\n"
       "  threadgroup int all[32]; all[l] = table[l % 2](int(i)); threadgroup_barrier(mem_flags::mem_threadgroup);\n"
       "  int other = table[1](all[31 - l]); out[i] = simd_sum(l == 0 ? other : 0) * 0 + other; }\n";
  id<MTLLibrary> own = library_of([functions stringByAppendingString:source]);
  NSArray *all = [NSArray arrayWithObjects:function(own, @"add"), function(own, @"times"), nil];
  id<MTLComputePipelineState> state = pipeline_of(linking(function(own, @"k"), all));
  CHECK_VALUES(state, table(state, all), ({
    const int from = i / 32 * 32 + 31 - i % 32;
    3 * (from % 2 == 0 ? from + 100 : from * 3);
  }));
}

void tables_lie_in_argument_buffers() {
  NSString *const source =
      @"typedef visible_function_table<int(int)> Table;\nstruct Arguments { int scale; Table tables[2]; Table none; };\n"
       "kernel void k(device int *out [[buffer(0)]], constant Arguments &all [[buffer(1)]], uint i [[thread_position_in_grid]]) {\n"
       "  out[i] = all.tables[i % 2][0](int(i)) * all.scale + int(is_null_visible_function_table(all.none)) + int(all.none.size()) +\n"
       "           10 * int(all.none.empty()) + int(all.tables[0].empty()); }\n";
  id<MTLLibrary> own = library_of([functions stringByAppendingString:source]);
  NSArray *all = [NSArray arrayWithObjects:function(own, @"add"), function(own, @"times"), nil];
  id<MTLFunction> kernel = function(own, @"k");
  id<MTLComputePipelineState> state = pipeline_of(linking(kernel, all));
  id<MTLArgumentEncoder> encoder = [[kernel newArgumentEncoderWithBufferIndex:1] autorelease];
  id<MTLBuffer> arguments = buffer([encoder encodedLength]), out = buffer(64 * sizeof(int));
  const id<MTLVisibleFunctionTable> tables[] = {table(state, all), table(state, [NSArray arrayWithObject:[all lastObject]])};
  [encoder setArgumentBuffer:arguments offset:0];
  *(int *)[encoder constantDataAtIndex:0] = 2;
  [encoder setVisibleFunctionTables:tables withRange:NSMakeRange(1, 2)];
  [encoder setVisibleFunctionTable:nil atIndex:3];
  CHECK_RAISES([encoder setVisibleFunctionTable:tables[0] atIndex:0], @"setVisibleFunctionTable:atIndex:", @"a value");
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> compute = [commandBuffer computeCommandEncoder];
  [compute setComputePipelineState:state];
  [compute setBuffer:out offset:0 atIndex:0];
  [compute setBuffer:arguments offset:0 atIndex:1];
  [compute useResources:(const id<MTLResource> *)tables count:2 usage:MTLResourceUsageRead];
  [compute dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
  [compute endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  CHECK([commandBuffer error] == nil);
  for (int i = 0; i < 64; i++) CHECK_EQUAL(((int *)[out contents])[i], (i % 2 == 0 ? i + 100 : i * 3) * 2 + 11);
  // What the memory holds is no handle any more.
  ((uint64_t *)[arguments contents])[1] += 1;
  commandBuffer = run(state, out, nil, arguments);
  CHECK_EQUAL([[commandBuffer error] code], MTLCommandBufferErrorInvalidResource);
  CHECK_CONTAINS([[commandBuffer error] localizedDescription], @"visible function table");
}

// ------------------------------------------------------------------ what cannot be

void calls_of_nothing_end_the_command_buffer() {
  for (NSString *waits in [NSArray arrayWithObjects:@"", @"threadgroup_barrier(mem_flags::mem_none);", nil]) {
    NSString *source = [NSString stringWithFormat:@"kernel void k(device int *out [[buffer(0)]], visible_function_table<int(int)> table [[buffer(2)]],\n"
                                                   "  device int *at [[buffer(1)]], uint i [[thread_position_in_grid]]) { %@ out[i] = table[*at](int(i)); }\n",
                                                  waits];
    id<MTLLibrary> own = library_of([functions stringByAppendingString:source]);
    NSArray *all = [NSArray arrayWithObject:function(own, @"add")];
    id<MTLComputePipelineState> state = pipeline_of(linking(function(own, @"k"), all));
    id<MTLVisibleFunctionTable> made = table(state, all);
    id<MTLBuffer> at = buffer(4), out = buffer(64 * sizeof(int));
    // An empty place, one behind the end, one that was emptied.
    for (int place : {1, 2, 1 << 30, 0}) {
      if (place == 0) [made setFunction:nil atIndex:0];
      *(int *)[at contents] = place;
      id<MTLCommandBuffer> commandBuffer = run(state, out, made, at);
      CHECK_EQUAL([commandBuffer status], MTLCommandBufferStatusError);
      CHECK_EQUAL([[commandBuffer error] code], MTLCommandBufferErrorInvalidResource);
      CHECK_CONTAINS([[commandBuffer error] localizedDescription], @"a call of a function that is not in the visible function table");
    }
    // The process and the table go on.
    [made setFunction:[state functionHandleWithFunction:[all lastObject]] atIndex:1];
    *(int *)[at contents] = 1;
    CHECK([run(state, out, made, at) error] == nil);
    CHECK_EQUAL(((int *)[out contents])[5], 105);
  }
}

void what_cannot_be_linked_is_named() {
  NSError *error = nil;
  id<MTLLibrary> own = library_of([functions stringByAppendingString:calls]);
  id<MTLLibrary> others = library_of(@"int deep(int x) { return simd_sum(x); }\n[[visible]] int waits(int x) { return deep(x) + 1; }\n"
                                   "[[visible]] int waits_too(int x) { threadgroup_barrier(mem_flags::mem_none); return x; }\n");
  for (NSString *name in [NSArray arrayWithObjects:@"waits", @"waits_too", nil]) {
    error = nil;
    CHECK(pipeline_of(linking(function(own, @"k"), @[ function(others, name) ]), &error) == nil);
    CHECK_EQUAL([error code], MTLLibraryErrorCompileFailure);
    CHECK_CONTAINS([error localizedDescription], ([NSString stringWithFormat:@"visible function '%@' may reach a barrier", name]));
  }
  CHECK(pipeline_of(linking(function(own, @"k"), @[ function(own, @"k") ]), &error) == nil);
  CHECK_CONTAINS([error localizedDescription], @"there is no visible function named 'k'");
  CHECK(pipeline_of(linking(function(own, @"add"), nil), &error) == nil);
  CHECK_CONTAINS([error localizedDescription], @"there is no kernel named 'add'");
  // A private function has no handle, nor has one that was not linked.
  MTLComputePipelineDescriptor *made = linking(function(own, @"k"), nil);
  id<MTLFunction> add = function(own, @"add");
  [[made linkedFunctions] setPrivateFunctions:@[ add ]];
  id<MTLComputePipelineState> state = pipeline_of(made);
  CHECK([state functionHandleWithFunction:add] == nil);
  CHECK([state functionHandleWithFunction:function(own, @"times")] == nil);
}

// What a source declares only, functions of the pipeline define.
void kernels_call_linked_functions_by_name() {
  NSString *const declares =
      @"[[visible]] int g(int x);\nnamespace n { [[visible]] int h(int x); }\n"
       "kernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = g(int(i)) + 1; }\n"
       "kernel void both(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
       "  threadgroup int t[32]; t[i % 32] = n::h(int(i)); threadgroup_barrier(mem_flags::mem_threadgroup);\n"
       "  out[i] = g(t[i % 32 ^ 1]); }\n"
       "kernel void none(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = int(i); }\n";
  NSError *error = nil;
  id<MTLLibrary> kernels = library_of(declares);
  id<MTLLibrary> one = library_of(@"constant int many = 100;\nint inner(int x) { return x + many; }\n[[visible]] int g(int x) { return inner(x); }\n"
                                   "namespace n { [[visible]] int h(int x) { return -x; } }\n");
  id<MTLLibrary> two = library_of(@"int inner(int x) { return x * 3; }\n[[visible]] int g(int x) { return inner(x); }\n");
  id<MTLLibrary> calls_on = library_of(@"[[visible]] int g(int x);\nnamespace n { [[visible]] int h(int x) { return g(x) * 2; } }\n");
  // Each pipeline has its own; what a library has besides is its own.
  CHECK_VALUES(pipeline_of(linking(function(kernels, @"k"), @[ function(one, @"g") ])), nil, i + 101);
  CHECK_VALUES(pipeline_of(linking(function(kernels, @"k"), @[ function(two, @"g") ])), nil, i * 3 + 1);
  CHECK_VALUES(pipeline_of(linking(function(kernels, @"none"), nil)), nil, i);
  MTLComputePipelineDescriptor *made = linking(function(kernels, @"both"), @[ function(two, @"g") ]);
  [[made linkedFunctions] setPrivateFunctions:@[ function(one, @"h") ]];
  CHECK_VALUES(pipeline_of(made), nil, -(i ^ 1) * 3);
  // Functions of the pipeline define what its other functions declare.
  [[made linkedFunctions] setPrivateFunctions:@[ function(calls_on, @"h") ]];
  CHECK_VALUES(pipeline_of(made), nil, (i ^ 1) * 18);
  // Those that are not given define nothing, though their library is there.
  for (NSArray *given in [NSArray arrayWithObjects:@[], @[ function(one, @"h") ], nil]) {
    error = nil;
    CHECK(pipeline_of(linking(function(kernels, @"k"), given), &error) == nil);
    CHECK_EQUAL([error code], MTLLibraryErrorCompileFailure);
    CHECK_CONTAINS([error localizedDescription], @"program_source:5:93: error: visible function 'g' is only declared, and the pipeline links none of that name and type");
  }
  // What is not marked is to be defined at once, as ever.
  NSString *const undefined = @"int f(int x);\n[[visible]] int g(int x);\nkernel void k(device int *p) { p[0] = f(1) + g(1); }";
  CHECK([[device() newLibraryWithSource:undefined options:nil error:&error] autorelease] == nil);
  CHECK([[error localizedDescription] hasSuffix:@"Undefined symbols: f(int)"]);
  // With the values of its constants, and apart from what waits in its library.
  id<MTLLibrary> constants = library_of(@"constant int c [[function_constant(0)]];\n[[visible]] int g(int x) { return is_function_constant_defined(c) ? c : x; }\n"
                                         "kernel void waits(device int *p) { p[0] = simd_sum(c); }\n");
  MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
  const int seven = 7;
  [values setConstantValue:&seven type:MTLDataTypeInt atIndex:0];
  id<MTLFunction> always = [[constants newFunctionWithName:@"g" constantValues:values error:nullptr] autorelease];
  CHECK_VALUES(pipeline_of(linking(function(kernels, @"k"), @[ always ])), nil, 8);
  CHECK_VALUES(pipeline_of(linking(function(kernels, @"k"), @[ function(constants, @"g") ])), nil, i + 1);
  // Archives hold such pipelines.
  id<MTLBinaryArchive> archive =
      [[device() newBinaryArchiveWithDescriptor:[[[MTLBinaryArchiveDescriptor alloc] init] autorelease] error:nullptr] autorelease];
  [made setBinaryArchives:@[ archive ]];
  CHECK(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss) == nil);
  CHECK([archive addComputePipelineFunctionsWithDescriptor:made error:&error]);
  CHECK_VALUES(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss), nil, (i ^ 1) * 18);
}

void misuse_is_raised() {
  id<MTLLibrary> own = library_of([functions stringByAppendingString:calls]);
  NSArray *all = [NSArray arrayWithObject:function(own, @"add")];
  id<MTLComputePipelineState> state = pipeline_of(linking(function(own, @"k"), all));
  id<MTLVisibleFunctionTable> made = table(state, all);
  CHECK_RAISES([made setFunction:nil atIndex:2], @"setFunction:atIndex:", @"functionCount");
  CHECK_RAISES([state newVisibleFunctionTableWithDescriptor:[MTLVisibleFunctionTableDescriptor visibleFunctionTableDescriptor]],
               @"newVisibleFunctionTableWithDescriptor:", @"functionCount");
  CHECK_RAISES([state newComputePipelineStateWithAdditionalBinaryFunctions:all error:nullptr],
               @"newComputePipelineStateWithAdditionalBinaryFunctions:error:", @"supportAddingBinaryFunctions");
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  id<MTLBuffer> out = buffer(256);
  [encoder setBuffer:out offset:0 atIndex:0];
  // A buffer is no table.
  [encoder setBuffer:out offset:0 atIndex:2];
  CHECK_RAISES([encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)],
               @"dispatchThreads:threadsPerThreadgroup:", @"missing VisibleFunctionTable binding at index 2.");
  const id<MTLVisibleFunctionTable> both[] = {made, made};
  [encoder setVisibleFunctionTables:both withBufferRange:NSMakeRange(0, 2)];
  [encoder setVisibleFunctionTable:made atBufferIndex:2];
  CHECK_RAISES([encoder dispatchThreads:MTLSizeMake(4, 1, 1) threadsPerThreadgroup:MTLSizeMake(4, 1, 1)],
               @"dispatchThreads:threadsPerThreadgroup:", @"missing Buffer binding at index 0.");
  CHECK_RAISES([encoder setVisibleFunctionTable:made atBufferIndex:31], @"setVisibleFunctionTable:atBufferIndex:", @"31");
  [encoder endEncoding];
}

// ------------------------------------------------------------------ pipelines

void pipelines_are_given_more_functions() {
  id<MTLLibrary> own = library_of([functions stringByAppendingString:calls]);
  id<MTLFunction> add = function(own, @"add"), times = function(own, @"times");
  MTLComputePipelineDescriptor *made = linking(function(own, @"k"), @[ add ]);
  [made setSupportAddingBinaryFunctions:YES];
  [made setLabel:@"mine"];
  id<MTLComputePipelineState> state = pipeline_of(made);
  NSError *error = nil;
  id<MTLComputePipelineState> more = [[state newComputePipelineStateWithAdditionalBinaryFunctions:@[ times ] error:&error] autorelease];
  CHECK([[more label] isEqualToString:@"mine"]);
  CHECK([state functionHandleWithFunction:times] == nil && [more functionHandleWithFunction:times] != nil);
  // Handles of the first one serve as before.
  CHECK([more functionHandleWithFunction:add] == [state functionHandleWithFunction:add]);
  CHECK_VALUES(more, table(more, [NSArray arrayWithObjects:add, times, nil]), i % 2 == 0 ? i + 100 : i * 3);
  id<MTLLibrary> others = library_of(@"[[visible]] int waits(int x) { return simd_sum(x); }\n");
  CHECK([more newComputePipelineStateWithAdditionalBinaryFunctions:@[ function(others, @"waits") ] error:&error] == nil);
  CHECK_CONTAINS([error localizedDescription], @"waits");
  // One outlives the one that it was made of, with its code.
  id<MTLComputePipelineState> last = nil;
  @autoreleasepool {
    last = [pipeline_of(made) newComputePipelineStateWithAdditionalBinaryFunctions:@[ times ] error:nullptr];
  }
  id<MTLBuffer> out = buffer(64 * sizeof(int));
  CHECK([run(last, out, table(last, [NSArray arrayWithObjects:add, times, nil]), nil, NO) error] == nil);
  CHECK_EQUAL(((int *)[out contents])[3], 9);
  [last release];
}

void reflection_tells_tables() {
  id<MTLLibrary> own = library_of([functions stringByAppendingString:calls]);
  MTLComputePipelineReflection *reflection = nil;
  [[device() newComputePipelineStateWithFunction:function(own, @"k")
                                         options:MTLPipelineOptionBindingInfo
                                      reflection:&reflection
                                           error:nullptr] release];
  CHECK_EQUAL([[reflection bindings] count], 2);
  id<MTLBinding> binding = [[reflection bindings] lastObject];
  CHECK([[binding name] isEqualToString:@"table"]);
  CHECK_EQUAL([binding type], MTLBindingTypeVisibleFunctionTable);
  CHECK_EQUAL([binding index], 2);
  CHECK([binding isUsed] && [binding isArgument]);
}

void archives_hold_functions() {
  id<MTLBinaryArchive> archive =
      [[device() newBinaryArchiveWithDescriptor:[[[MTLBinaryArchiveDescriptor alloc] init] autorelease] error:nullptr] autorelease];
  id<MTLLibrary> own = library_of([functions stringByAppendingString:calls]);
  MTLFunctionDescriptor *wanted = [MTLFunctionDescriptor functionDescriptor];
  [wanted setName:@"add"];
  [wanted setOptions:MTLFunctionOptionCompileToBinary];
  NSError *error = nil;
  id<MTLFunction> add = [[own newFunctionWithDescriptor:wanted error:&error] autorelease];
  MTLComputePipelineDescriptor *made = linking(function(own, @"k"), @[ add ]);
  CHECK([archive addComputePipelineFunctionsWithDescriptor:made error:&error]);
  [made setBinaryArchives:@[ archive ]];
  id<MTLComputePipelineState> state = pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss);
  CHECK_VALUES(state, table(state, @[ add ]), i + 100);
  id<MTLFunction> times = function(own, @"times");
  [[made linkedFunctions] setBinaryFunctions:@[ times ]];
  CHECK(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss) == nil);
  CHECK_EQUAL([error code], MTLLibraryErrorFunctionNotFound);
  [wanted setName:@"times"];
  CHECK([archive addFunctionWithDescriptor:wanted library:own error:&error]);
  CHECK(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss) != nil);
  // Those that no table can hold too.
  id<MTLLibrary> others = library_of(@"[[visible]] int hidden(int x) { return x; }\n");
  [[made linkedFunctions] setPrivateFunctions:@[ function(others, @"hidden") ]];
  CHECK(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss) == nil);
  CHECK([archive addComputePipelineFunctionsWithDescriptor:made error:&error]);
  CHECK(pipeline_of(made, &error, MTLPipelineOptionFailOnBinaryArchiveMiss) != nil);
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase function_cases[] = {
    CASE(kernels_call_functions_of_tables),
    CASE(functions_come_from_other_libraries),
    CASE(arguments_are_of_every_kind),
    CASE(functions_call_functions),
    CASE(threads_that_wait_call_functions_too),
    CASE(tables_lie_in_argument_buffers),
    CASE(calls_of_nothing_end_the_command_buffer),
    CASE(what_cannot_be_linked_is_named),
    CASE(kernels_call_linked_functions_by_name),
    CASE(misuse_is_raised),
    CASE(pipelines_are_given_more_functions),
    CASE(reflection_tells_tables),
    CASE(archives_hold_functions),
    {nullptr, nullptr},
};
