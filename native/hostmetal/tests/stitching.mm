// Cases of stitched libraries: what graphs make, how it is used, graphs that make nothing.
#import "faces.h"

#include <string>

namespace {
typedef MTLFunctionStitchingFunctionNode Node;

id<MTLFunction> function(id<MTLLibrary> library, NSString *name) {
  return [[library newFunctionWithName:name] autorelease];
}

NSArray *functions(id<MTLLibrary> library) {
  NSMutableArray *all = [NSMutableArray array];
  for (NSString *name in [library functionNames])
    if ([function(library, name) functionType] == MTLFunctionTypeVisible) [all addObject:function(library, name)];
  return all;
}

MTLFunctionStitchingInputNode *input(NSUInteger index) {
  return [[[MTLFunctionStitchingInputNode alloc] initWithArgumentIndex:index] autorelease];
}

Node *node(NSString *name, NSArray *arguments, NSArray *controls = @[]) {
  return [[[Node alloc] initWithName:name arguments:arguments controlDependencies:controls] autorelease];
}

MTLFunctionStitchingGraph *graph(NSString *name, NSArray *nodes, Node *output, NSArray *attributes = @[]) {
  return [[[MTLFunctionStitchingGraph alloc] initWithFunctionName:name nodes:nodes outputNode:output attributes:attributes] autorelease];
}

MTLStitchedLibraryDescriptor *descriptor(NSArray *graphs, NSArray *functions) {
  MTLStitchedLibraryDescriptor *made = [[[MTLStitchedLibraryDescriptor alloc] init] autorelease];
  [made setFunctionGraphs:graphs];
  [made setFunctions:functions];
  return made;
}

// Without error, what is told is noted.
id<MTLLibrary> stitched(NSArray *graphs, NSArray *functions, NSError **error = nullptr) {
  NSError *told = nil;
  id<MTLLibrary> made = [[device() newLibraryWithStitchedDescriptor:descriptor(graphs, functions) error:&told] autorelease];
  if (error) *error = told;
  if (!made && !error) faces_note(__FILE__, __LINE__, [[told localizedDescription] UTF8String]);
  return made;
}

// 64 threads in threadgroups of 32; buffer 0 is written to, the table of the functions is at 1.
void check_values(MTLComputePipelineDescriptor *descriptor, const char *file, int line, int (*value)(int)) {
  id<MTLComputePipelineState> state = pipeline_of(descriptor);
  if (!state) return faces_note(file, line, "no pipeline");
  NSArray *functions = [[descriptor linkedFunctions] functions];
  MTLVisibleFunctionTableDescriptor *places = [MTLVisibleFunctionTableDescriptor visibleFunctionTableDescriptor];
  [places setFunctionCount:[functions count] + 1];
  id<MTLVisibleFunctionTable> table = [[state newVisibleFunctionTableWithDescriptor:places] autorelease];
  for (NSUInteger i = 0; i < [functions count]; i++)
    [table setFunction:[state functionHandleWithFunction:[functions objectAtIndex:i]] atIndex:i];
  id<MTLBuffer> out = [[device() newBufferWithLength:64 * sizeof(int) options:0] autorelease];
  id<MTLCommandBuffer> commandBuffer = [[[device() newCommandQueue] autorelease] commandBuffer];
  id<MTLComputeCommandEncoder> encoder = [commandBuffer computeCommandEncoder];
  [encoder setComputePipelineState:state];
  [encoder setBuffer:out offset:0 atIndex:0];
  [encoder setVisibleFunctionTable:table atBufferIndex:1];
  [encoder dispatchThreads:MTLSizeMake(64, 1, 1) threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
  [encoder endEncoding];
  [commandBuffer commit];
  [commandBuffer waitUntilCompleted];
  if ([commandBuffer error]) faces_note(file, line, [[[commandBuffer error] localizedDescription] UTF8String]);
  const int *found = (const int *)[out contents];
  for (int i = 0; i < 64; i++)
    if (found[i] != value(i))
      return faces_note(file, line, "thread " + std::to_string(i) + " wrote " + std::to_string(found[i]) + ", expected " +
                                        std::to_string(value(i)));
}
#define CHECK_VALUES(descriptor, expression) \
  check_values(descriptor, __FILE__, __LINE__, [](int i) -> int { (void)i; return expression; })

NSString *const arithmetic = @"[[stitchable]] int add(int a, int b) { return a + b; }\n"
                              "namespace n { [[stitchable]] int times(int a, int b) { return a * b; } }\n"
                              "[[stitchable]] int square(int a) { return n::times(a, a); }\n"
                              "[[stitchable]] float half_of(int a) { return 0.5f * a; }\n"
                              "[[stitchable]] int round_up(float a) { return int(ceil(a)); }\n"
                              "[[visible]] int visible(int a) { return a; }\n";
// Calls a function of two ints by its name, and through a table.
NSString *const calls = @"[[visible]] int made(int, int);\n"
                         "kernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) { out[i] = made(int(i), 3); }\n"
                         "kernel void t(device int *out [[buffer(0)]], visible_function_table<int(int, int)> table [[buffer(1)]],\n"
                         "              uint i [[thread_position_in_grid]]) { out[i] = table[0](int(i), 3); }\n";

// ------------------------------------------------------------------ what graphs make

// Words that two sources mean different things by are no common declaration; what one source packs is not packed in the next.
void sources_that_mean_something_else_are_refused() {
  NSString *const plain = @"struct P { char c; int i; };\n[[stitchable]] int second(P p) { return p.i; }\n";
  NSArray *packed = functions(library_of(
      @"#pragma pack(push, 1)\nstruct P { char c; int i; };\n#pragma pack(pop)\n[[stitchable]] P first(int a, int b) { P p; p.c = a; p.i = b; return p; }\n"));
  MTLFunctionStitchingGraph *both = graph(@"made", @[], node(@"second", @[ node(@"first", @[ input(0), input(1) ]) ]));
  NSError *error = nil;
  CHECK(!stitched(@[ both ], [packed arrayByAddingObjectsFromArray:functions(library_of(plain))], &error));
  CHECK([[error localizedDescription] rangeOfString:@"redefinition"].length > 0);
  NSArray *open = functions(library_of(@"#pragma pack(1)\nstruct Q { char c; int i; };\n[[stitchable]] int one(Q q) { return q.i; }\n"
                                        "[[stitchable]] Q of(int a, int b) { Q q; q.c = a; q.i = b; return q; }\n"));
  NSArray *wide = functions(library_of(@"struct R { char c; int i; };\n[[stitchable]] int size(R r) { return r.i; }\n"
                                        "[[stitchable]] R wide(int i) { R r; r.c = 1; r.i = i * 5; return r; }\n"));
  Node *q = node(@"one", @[ node(@"of", @[ input(0), input(1) ]) ]);
  id<MTLLibrary> made = stitched(@[ graph(@"made", @[], node(@"size", @[ node(@"wide", @[ q ]) ])) ], [open arrayByAddingObjectsFromArray:wide]);
  CHECK_VALUES(linking(function(library_of(calls), @"k"), @[ function(made, @"made") ]), 15);
}

// A helper of one source, whose name another's function has, and begins with the name of its own.
void helpers_are_no_functions_of_others() {
  NSArray *one = functions(library_of(@"int tone_map_curve(int x) { return x + 1000; }\n[[stitchable]] int tone(int x) { return tone_map_curve(x); }\n"));
  NSArray *other = functions(library_of(@"[[stitchable]] int tone_map_curve(int x, int y) { return 2 * x + y; }\n"
                                         "[[stitchable]] int tone_map_curve_of(int x) { return x; }\n"));
  NSArray *third = functions(library_of(@"[[stitchable]] int tone_map_curve(int x) { return 7 * x; }\n"));
  Node *inner = node(@"tone", @[ input(0) ]);
  id<MTLLibrary> made = stitched(@[ graph(@"made", @[ inner ], node(@"tone_map_curve", @[ inner, input(1) ])) ],
                                 [one arrayByAddingObjectsFromArray:other]);
  CHECK_VALUES(linking(function(library_of(calls), @"k"), @[ function(made, @"made") ]), 2 * (i + 1000) + 3);
  made = stitched(@[ graph(@"single", @[ inner ], node(@"tone_map_curve", @[ inner ])) ], [one arrayByAddingObjectsFromArray:third]);
  id<MTLLibrary> kernels = library_of(@"[[visible]] int single(int);\nkernel void k(device int *out [[buffer(0)]], "
                                       "uint i [[thread_position_in_grid]]) { out[i] = single(int(i)); }\n");
  CHECK_VALUES(linking(function(kernels, @"k"), @[ function(made, @"single") ]), 7 * (i + 1000));
}

// (a + b)^2 * b: a node's value is taken by several.
void graphs_make_functions() {
  id<MTLLibrary> library = library_of(arithmetic);
  Node *sum = node(@"add", @[ input(0), input(1) ]);
  Node *squared = node(@"square", @[ sum ]);
  Node *output = node(@"times", @[ squared, input(1) ]);
  NSArray *attributes = @[ [[[MTLFunctionStitchingAttributeAlwaysInline alloc] init] autorelease] ];
  // The output is among the nodes or not, in any order.
  for (NSArray *nodes in [NSArray arrayWithObjects:@[ sum, squared ], @[ output, squared, sum ], @[], nil]) {
    id<MTLLibrary> made = stitched(@[ graph(@"made", nodes, output, attributes) ], functions(library));
    CHECK([[made functionNames] isEqual:@[ @"made" ]]);
    CHECK_EQUAL([made type], MTLLibraryTypeExecutable);
    id<MTLFunction> one = function(made, @"made");
    CHECK_EQUAL([one functionType], MTLFunctionTypeVisible);
    CHECK([[one name] isEqualToString:@"made"] && [one device] == device());
    id<MTLLibrary> kernels = library_of(calls);
    CHECK_VALUES(linking(function(kernels, @"k"), @[ one ]), (i + 3) * (i + 3) * 3);
    CHECK_VALUES(linking(function(kernels, @"t"), @[ one ]), (i + 3) * (i + 3) * 3);
  }
}

// The values are those of the types, not converted ones.
void values_pass_through_several_types() {
  id<MTLLibrary> library = library_of(arithmetic);
  Node *up = node(@"round_up", @[ node(@"half_of", @[ node(@"add", @[ input(1), input(0) ]) ]) ]);
  id<MTLLibrary> made = stitched(@[ graph(@"made", @[], up) ], functions(library));
  CHECK_VALUES(linking(function(library_of(calls), @"k"), @[ function(made, @"made") ]), (i + 3 + 1) / 2);
}

// Each library's functions are its own, though they are named alike; what both declare is there once.
void functions_come_from_several_libraries() {
  NSString *const shared = @"struct Pair { int first, second; };\nconstant int many = %d;\nstatic_assert(many > 1, \"\");\n%@";
  id<MTLLibrary> one = library_of([NSString stringWithFormat:shared, 10, @"int inner(int x) { return x + many; }\n"
      "[[stitchable]] Pair pair(int a, int b) { return Pair{inner(a), inner(b)}; }\n"]);
  id<MTLLibrary> two = library_of([NSString stringWithFormat:shared, 1000, @"int inner(int x) { return x * many; }\n"
      "[[stitchable]] int both(Pair p) { return inner(p.first) + p.second; }\n"
      "kernel void waits(device int *p) { threadgroup_barrier(mem_flags::mem_none); p[0] = simd_sum(p[1]); }\n"]);
  Node *output = node(@"both", @[ node(@"pair", @[ input(0), input(1) ]) ]);
  id<MTLLibrary> made = stitched(@[ graph(@"made", @[], output) ], @[ function(one, @"pair"), function(two, @"both") ]);
  id<MTLLibrary> kernels = library_of(calls);
  CHECK_VALUES(linking(function(kernels, @"k"), @[ function(made, @"made") ]), (i + 10) * 1000 + 13);
  CHECK_VALUES(linking(function(kernels, @"t"), @[ function(made, @"made") ]), (i + 10) * 1000 + 13);
  // Types that differ are two.
  id<MTLLibrary> other = library_of(@"struct Pair { float first, second; };\n[[stitchable]] int both(Pair p) { return int(p.first); }\n");
  NSError *error = nil;
  CHECK(stitched(@[ graph(@"made", @[], output) ], @[ function(one, @"pair"), function(other, @"both") ], &error) == nil);
  check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, @"redefinition of 'Pair'");
}

// Those of a stitched library are what its graphs were made of, whatever else the pipeline links.
void a_stitched_function_keeps_its_functions() {
  id<MTLLibrary> own = library_of(@"[[stitchable]] int part(int a, int b) { return a + b; }\n");
  id<MTLLibrary> others = library_of(@"[[visible]] int part(int a, int b) { return 1000 * a + b; }\n");
  id<MTLLibrary> made = stitched(@[ graph(@"made", @[], node(@"part", @[ input(0), input(1) ])) ], functions(own));
  id<MTLLibrary> kernels = library_of(
      @"[[visible]] int made(int, int);\n[[visible]] int part(int, int);\n"
       "kernel void k(device int *out [[buffer(0)]], visible_function_table<int(int, int)> table [[buffer(1)]],\n"
       "              uint i [[thread_position_in_grid]]) { out[i] = i % 2 ? made(int(i), 3) - part(int(i), 3) : table[0](int(i), 3); }\n");
  NSArray *all = @[ function(made, @"made"), function(others, @"part") ];
  CHECK_VALUES(linking(function(kernels, @"k"), all), i % 2 ? -999 * i : i + 3);
}

void stitched_functions_are_stitched_again() {
  id<MTLLibrary> library = library_of(arithmetic);
  id<MTLLibrary> first = stitched(@[ graph(@"inner", @[], node(@"square", @[ node(@"add", @[ input(0), input(1) ]) ])),
                                     graph(@"twice", @[], node(@"add", @[ input(0), input(0) ])) ],
                                  functions(library));
  CHECK([[first functionNames] isEqual:([NSArray arrayWithObjects:@"inner", @"twice", nil])]);
  NSArray *all = [functions(first) arrayByAddingObjectsFromArray:functions(library)];
  Node *output = node(@"add", @[ node(@"twice", @[ node(@"inner", @[ input(0), input(1) ]) ]), input(0) ]);
  id<MTLLibrary> made = stitched(@[ graph(@"made", @[], output) ], all);
  id<MTLLibrary> kernels = library_of(calls);
  CHECK_VALUES(linking(function(kernels, @"k"), @[ function(made, @"made") ]), 2 * (i + 3) * (i + 3) + i);
  CHECK_VALUES(linking(function(kernels, @"t"), @[ function(made, @"made") ]), 2 * (i + 3) * (i + 3) + i);
}

// Functions with effects are called once each, behind those that they depend on.
void nodes_are_called_in_their_order() {
  id<MTLLibrary> library = library_of(@"[[stitchable]] void append(device int *to, int digit) { *to = *to * 10 + digit; }\n"
                                       "[[stitchable]] int one() { return 1; }\n[[stitchable]] int next(int digit) { return digit + 1; }\n"
                                       "[[stitchable]] int current(device int *from) { return *from; }\n");
  Node *one = node(@"one", @[]), *two = node(@"next", @[ one ]), *three = node(@"next", @[ two ]);
  Node *last = node(@"append", @[ input(0), one ]);
  Node *middle = node(@"append", @[ input(0), three ]);
  Node *first = node(@"append", @[ input(0), two ]);
  [middle setControlDependencies:@[ first ]];
  [last setControlDependencies:@[ middle ]];
  NSArray *all = functions(library), *nodes = @[ last, middle, first ];
  id<MTLLibrary> kernels = library_of(@"[[visible]] void store(device int *);\n[[visible]] int load(device int *);\n"
                                       "kernel void k(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n"
                                       "  out[i] = int(i); if (i % 2) store(out + i); else out[i] = load(out + i); }\n");
  // Without an output nothing is given, and an output may give nothing too.
  for (Node *output in [NSArray arrayWithObjects:last, nil]) {
    id<MTLLibrary> made =
        stitched(@[ graph(@"store", nodes, output), graph(@"load", nodes, node(@"current", @[ input(0) ], @[ last ])) ], all);
    CHECK_VALUES(linking(function(kernels, @"k"), functions(made)), i * 1000 + 231);
  }
  id<MTLLibrary> made = stitched(@[ graph(@"store", nodes, nil), graph(@"load", nodes, node(@"current", @[ input(0) ], nodes)) ], all);
  CHECK_VALUES(linking(function(kernels, @"k"), functions(made)), i * 1000 + 231);
}

// A function is found by its own name: host_name, specializedName, and with the values of its constants.
void functions_are_called_as_the_program_calls_them() {
  id<MTLLibrary> library = library_of(@"constant int factor [[function_constant(0)]];\n"
                                       "[[stitchable]] int scale(int a) { return a * factor; }\n"
                                       "[[stitchable]] [[host_name(\"plus\")]] int sum_of(int a, int b) { return a + b; }\n"
                                       "kernel void unused(device int *p) { p[0] = factor; }\n");
  MTLFunctionConstantValues *values = [[[MTLFunctionConstantValues alloc] init] autorelease];
  const int five = 5;
  [values setConstantValue:&five type:MTLDataTypeInt atIndex:0];
  MTLFunctionDescriptor *wanted = [MTLFunctionDescriptor functionDescriptor];
  [wanted setName:@"scale"];
  [wanted setSpecializedName:@"scale5"];
  [wanted setConstantValues:values];
  id<MTLFunction> five_times = [[library newFunctionWithDescriptor:wanted error:nullptr] autorelease];
  NSArray *all = @[ five_times, function(library, @"plus") ];
  Node *output = node(@"plus", @[ node(@"scale5", @[ input(0) ]), input(1) ]);
  id<MTLLibrary> made = stitched(@[ graph(@"made", @[], output) ], all);
  CHECK_VALUES(linking(function(library_of(calls), @"t"), @[ function(made, @"made") ]), 5 * i + 3);
  NSError *error = nil;
  CHECK(stitched(@[ graph(@"made", @[], node(@"scale", @[ input(0) ])) ], all, &error) == nil);
  CHECK_CONTAINS([error localizedDescription], @"node 0 ('scale') of the graph 'made': there is no such function in the descriptor's functions");
  // Without its values it cannot be called.
  CHECK(stitched(@[ graph(@"made", @[], output) ], @[ function(library, @"scale") ], &error) == nil);
  CHECK_CONTAINS([error localizedDescription], @"factor");
}

void libraries_are_stitched_beside() {
  NSConditionLock *lock = [[[NSConditionLock alloc] initWithCondition:0] autorelease];
  __block id<MTLLibrary> made = nil;
  __block NSString *told = nil;
  MTLStitchedLibraryDescriptor *wanted =
      descriptor(@[ graph(@"made", @[], node(@"add", @[ input(0), input(1) ])) ], functions(library_of(arithmetic)));
  [device() newLibraryWithStitchedDescriptor:wanted
                           completionHandler:^(id<MTLLibrary> library, NSError *error) {
                             [lock lock];
                             made = [library retain];
                             told = [[error localizedDescription] copy];
                             [lock unlockWithCondition:1];
                           }];
  [wanted setFunctionGraphs:@[]];
  [lock lockWhenCondition:1];
  [lock unlock];
  CHECK(told == nil && [[made functionNames] isEqual:@[ @"made" ]]);
  [made release];
}

void archives_hold_stitched_libraries() {
  id<MTLBinaryArchive> archive =
      [[device() newBinaryArchiveWithDescriptor:[[[MTLBinaryArchiveDescriptor alloc] init] autorelease] error:nullptr] autorelease];
  MTLStitchedLibraryDescriptor *wanted =
      descriptor(@[ graph(@"archived", @[], node(@"add", @[ input(0), input(1) ])) ], functions(library_of(arithmetic)));
  [wanted setOptions:MTLStitchedLibraryOptionFailOnBinaryArchiveMiss];
  NSError *error = nil;
  CHECK([[device() newLibraryWithStitchedDescriptor:wanted error:&error] autorelease] != nil);
  [wanted setBinaryArchives:@[ archive ]];
  CHECK([[device() newLibraryWithStitchedDescriptor:wanted error:&error] autorelease] == nil);
  CHECK_EQUAL([error code], MTLLibraryErrorFunctionNotFound);
  CHECK([archive addLibraryWithDescriptor:wanted error:&error]);
  CHECK([[device() newLibraryWithStitchedDescriptor:wanted error:&error] autorelease] != nil);
  CHECK(error == nil);
}

// ------------------------------------------------------------------ what cannot be

void graphs_that_make_nothing_are_named() {
  id<MTLLibrary> library = library_of(arithmetic);
  NSArray *all = functions(library);
  Node *endless = node(@"square", @[]), *other = node(@"square", @[ endless ]);
  [endless setArguments:@[ other ]];
  Node *waits = node(@"square", @[ input(0) ]);
  [waits setControlDependencies:@[ waits ]];
  id<MTLLibrary> doubled = library_of(@"[[stitchable]] int add(int a, int b) { return a - b; }\n");
  struct {
    MTLFunctionStitchingGraph *graph;
    NSString *text;
    NSArray *functions;
  } const wrong[] = {
      {graph(@"g", @[], node(@"absent", @[])), @"node 0 ('absent') of the graph 'g': there is no such function", all},
      {graph(@"g", @[ node(@"add", @[ input(0) ]) ], nil), @"node 0 ('add') of the graph 'g' has 1 arguments, but the function takes 2", all},
      {graph(@"g", @[], node(@"visible", @[ input(0) ])), @"node 0 ('visible') of the graph 'g': the function is not [[stitchable]]", all},
      {graph(@"g", @[ node(@"half_of", @[ input(0) ]) ], node(@"square", @[ node(@"half_of", @[ input(0) ]) ])),
       @"argument 0 of node 1 ('square') of the graph 'g': node 2 ('half_of') of the graph 'g' has another type", all},
      {graph(@"g", @[ node(@"half_of", @[ input(0) ]), node(@"round_up", @[ input(0) ]) ], nil),
       @"argument 0 of node 1 ('round_up') of the graph 'g': input 0, as node 0 ('half_of') of the graph 'g' takes it, has another type", all},
      {graph(@"g", @[], node(@"square", @[ input(2) ])), @"the graph 'g': no node takes input 0", all},
      {graph(@"g", @[], node(@"square", @[ input(NSUIntegerMax) ])), @"there cannot be an input", all},
      {graph(@"g", @[], other), @"node 1 ('square') of the graph 'g' needs itself", all},
      {graph(@"g", @[], waits), @"node 0 ('square') of the graph 'g' needs itself", all},
      {graph(@"g h", @[], node(@"square", @[ input(0) ])), @"'g h' cannot be the name of a function", all},
      {graph(@"square", @[], node(@"square", @[ input(0) ])), @"'square' has the name of a function that it", all},
      {graph(@"g", @[], node(@"add", @[ input(0), input(0) ])), @"there are several functions of this name",
       [all arrayByAddingObjectsFromArray:functions(doubled)]},
  };
  for (const auto &one : wrong) {
    NSError *error = nil;
    CHECK(stitched(@[ one.graph ], one.functions, &error) == nil);
    check_error(error, MTLLibraryErrorDomain, MTLLibraryErrorCompileFailure, one.text);
  }
  NSError *error = nil;
  MTLFunctionStitchingGraph *fine = graph(@"g", @[], node(@"square", @[ input(0) ]));
  CHECK(stitched(@[ fine, [[fine copy] autorelease] ], all, &error) == nil);
  CHECK_CONTAINS([error localizedDescription], @"there are several graphs of the name 'g'");
  CHECK([stitched(@[ fine ], [all arrayByAddingObjectsFromArray:all]) functionNames].count == 1);
  // They keep themselves.
  [endless setArguments:@[]];
  [waits setControlDependencies:@[]];
}

void misuse_is_raised() {
  NSError *error = nil;
  NSArray *all = functions(library_of(arithmetic));
  CHECK_RAISES([device() newLibraryWithStitchedDescriptor:nil error:&error], @"newLibraryWithStitchedDescriptor:error:", @"must not be nil");
  CHECK_RAISES(stitched(@[ graph(@"g", @[ input(0) ], nil) ], all), @"newLibraryWithStitchedDescriptor:error:",
               @"a graph's nodes hold what is no MTLFunctionStitchingFunctionNode");
  CHECK_RAISES(stitched(@[ graph(@"", @[], nil) ], all), @"newLibraryWithStitchedDescriptor:error:", @"functionName");
  CHECK_RAISES(stitched(@[ graph(@"g", @[], node(@"square", @[ @"x" ])) ], all), @"newLibraryWithStitchedDescriptor:error:",
               @"a node's arguments hold what is no node");
  CHECK_RAISES(stitched(@[ graph(@"g", @[], node(@"square", @[ input(0) ], @[ @"x" ])) ], all), @"newLibraryWithStitchedDescriptor:error:",
               @"controlDependencies");
  CHECK_RAISES([device() newLibraryWithStitchedDescriptor:descriptor(@[], all) completionHandler:nil],
               @"newLibraryWithStitchedDescriptor:completionHandler:", @"completion handler");
}

void descriptors_are_copied() {
  Node *one = [[node(@"add", @[ input(0), input(7) ], @[ node(@"x", @[]) ]) copy] autorelease];
  CHECK([[one name] isEqualToString:@"add"] && [[one arguments] count] == 2 && [[one controlDependencies] count] == 1);
  MTLFunctionStitchingInputNode *seventh = [[(NSObject *)[[one arguments] lastObject] copy] autorelease];
  CHECK_EQUAL([seventh argumentIndex], 7);
  MTLFunctionStitchingGraph *made = [[graph(@"g", @[ one ], one, @[ @"a" ]) copy] autorelease];
  CHECK([[made functionName] isEqualToString:@"g"] && [[made nodes] lastObject] == one && [made outputNode] == one);
  CHECK_EQUAL([[made attributes] count], 1);
  MTLStitchedLibraryDescriptor *all = descriptor(@[ made ], functions(library_of(arithmetic)));
  [all setOptions:MTLStitchedLibraryOptionFailOnBinaryArchiveMiss];
  MTLStitchedLibraryDescriptor *copy = [[all copy] autorelease];
  CHECK([[copy functionGraphs] lastObject] == made && [copy options] == [all options] && [[copy functions] isEqual:[all functions]]);
  CHECK([[[[MTLStitchedLibraryDescriptor new] autorelease] functions] count] == 0 && [copy binaryArchives] != nil);
}
}  // namespace

#define CASE(name) {#name, name}
const FaceCase stitching_cases[] = {
    CASE(graphs_make_functions),
    CASE(sources_that_mean_something_else_are_refused),
    CASE(helpers_are_no_functions_of_others),
    CASE(values_pass_through_several_types),
    CASE(functions_come_from_several_libraries),
    CASE(a_stitched_function_keeps_its_functions),
    CASE(stitched_functions_are_stitched_again),
    CASE(nodes_are_called_in_their_order),
    CASE(functions_are_called_as_the_program_calls_them),
    CASE(libraries_are_stitched_beside),
    CASE(archives_hold_stitched_libraries),
    CASE(graphs_that_make_nothing_are_named),
    CASE(misuse_is_raised),
    CASE(descriptors_are_copied),
    {nullptr, nullptr},
};
