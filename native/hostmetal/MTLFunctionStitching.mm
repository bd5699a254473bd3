// Graphs of functions, their nodes, and the libraries that are made of them.
#import "faces.h"

#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

@implementation MTLFunctionStitchingAttributeAlwaysInline
@end

@implementation MTLFunctionStitchingInputNode
@synthesize argumentIndex = _argumentIndex;

- (instancetype)initWithArgumentIndex:(NSUInteger)argument {
  if ((self = [super init])) _argumentIndex = argument;
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  return [[[self class] allocWithZone:zone] initWithArgumentIndex:_argumentIndex];
}
@end

@implementation MTLFunctionStitchingFunctionNode
@synthesize name = _name, arguments = _arguments, controlDependencies = _controlDependencies;

- (instancetype)init {
  return [self initWithName:@"" arguments:@[] controlDependencies:@[]];
}

- (instancetype)initWithName:(NSString *)name
                   arguments:(NSArray<id<MTLFunctionStitchingNode>> *)arguments
         controlDependencies:(NSArray<MTLFunctionStitchingFunctionNode *> *)controlDependencies {
  if ((self = [super init])) {
    _name = [name copy];
    _arguments = [arguments copy];
    _controlDependencies = [controlDependencies copy];
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  return [[[self class] allocWithZone:zone] initWithName:_name arguments:_arguments controlDependencies:_controlDependencies];
}

- (void)dealloc {
  [_name release];
  [_arguments release];
  [_controlDependencies release];
  [super dealloc];
}
@end

@implementation MTLFunctionStitchingGraph
@synthesize functionName = _functionName, nodes = _nodes, outputNode = _outputNode, attributes = _attributes;

- (instancetype)init {
  return [self initWithFunctionName:@"" nodes:@[] outputNode:nil attributes:@[]];
}

- (instancetype)initWithFunctionName:(NSString *)functionName
                               nodes:(NSArray<MTLFunctionStitchingFunctionNode *> *)nodes
                          outputNode:(MTLFunctionStitchingFunctionNode *)outputNode
                          attributes:(NSArray<id<MTLFunctionStitchingAttribute>> *)attributes {
  if ((self = [super init])) {
    _functionName = [functionName copy];
    _nodes = [nodes copy];
    _outputNode = [outputNode retain];
    _attributes = [attributes copy];
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  return [[[self class] allocWithZone:zone] initWithFunctionName:_functionName
                                                           nodes:_nodes
                                                      outputNode:_outputNode
                                                      attributes:_attributes];
}

- (void)dealloc {
  [_functionName release];
  [_nodes release];
  [_outputNode release];
  [_attributes release];
  [super dealloc];
}
@end

@implementation MTLStitchedLibraryDescriptor
@synthesize functionGraphs = _functionGraphs, functions = _functions, binaryArchives = _binaryArchives, options = _options;

- (instancetype)init {
  if ((self = [super init])) {
    _functionGraphs = [@[] retain];
    _functions = [@[] retain];
    _binaryArchives = [@[] retain];
  }
  return self;
}

- (id)copyWithZone:(NSZone *)zone {
  MTLStitchedLibraryDescriptor *copy = [[[self class] allocWithZone:zone] init];
  [copy setFunctionGraphs:_functionGraphs];
  [copy setFunctions:_functions];
  [copy setBinaryArchives:_binaryArchives];
  [copy setOptions:_options];
  return copy;
}

- (void)dealloc {
  [_functionGraphs release];
  [_functions release];
  [_binaryArchives release];
  [super dealloc];
}
@end

// The graphs in the engine's form, which points into the deques.
struct HostStitchedGraphs {
  std::deque<std::string> names;
  std::deque<std::vector<HMStitchArgument>> arguments;
  std::deque<std::vector<uint64_t>> controls;
  std::deque<std::vector<HMStitchNode>> nodes;
  std::vector<HMStitchGraph> graphs;
  std::vector<HMStitchFunction> functions;

  const char *name(NSString *text) {
    const char *const characters = [text UTF8String];
    return names.emplace_back(characters ? characters : "").c_str();
  }

  // The text of misuse, or NULL.
  const char *add(MTLFunctionStitchingGraph *graph) {
    if (![graph isKindOfClass:[MTLFunctionStitchingGraph class]]) return "functionGraphs holds what is no MTLFunctionStitchingGraph";
    if (![[graph functionName] length]) return "a graph has no functionName";
    std::unordered_map<const void *, uint64_t> numbers;
    std::vector<MTLFunctionStitchingFunctionNode *> found;
    const auto number = [&](MTLFunctionStitchingFunctionNode *node) {
      const auto place = numbers.emplace(node, found.size());
      if (place.second) found.push_back(node);
      return place.first->second;
    };
    const Class calls = [MTLFunctionStitchingFunctionNode class], inputs = [MTLFunctionStitchingInputNode class];
    for (MTLFunctionStitchingFunctionNode *node in [graph nodes]) {
      if (![node isKindOfClass:calls]) return "a graph's nodes hold what is no MTLFunctionStitchingFunctionNode";
      number(node);
    }
    if ([graph outputNode] && ![[graph outputNode] isKindOfClass:calls]) return "a graph's outputNode is no MTLFunctionStitchingFunctionNode";
    const uint64_t output = [graph outputNode] ? number([graph outputNode]) : UINT64_MAX;
    std::vector<HMStitchNode> &made = nodes.emplace_back();
    // Those that others name follow.
    for (size_t i = 0; i < found.size(); i++) {
      MTLFunctionStitchingFunctionNode *const node = found[i];
      if (![[node name] length]) return "a node has no name";
      std::vector<HMStitchArgument> &given = arguments.emplace_back();
      for (id argument in [node arguments]) {
        if ([argument isKindOfClass:inputs])
          given.push_back({false, [(MTLFunctionStitchingInputNode *)argument argumentIndex]});
        else if ([argument isKindOfClass:calls])
          given.push_back({true, number(argument)});
        else
          return "a node's arguments hold what is no node";
      }
      std::vector<uint64_t> &before = controls.emplace_back();
      for (MTLFunctionStitchingFunctionNode *control in [node controlDependencies]) {
        if (![control isKindOfClass:calls]) return "a node's controlDependencies hold what is no MTLFunctionStitchingFunctionNode";
        before.push_back(number(control));
      }
      made.push_back({name([node name]), given.data(), given.size(), before.data(), before.size()});
    }
    graphs.push_back({name([graph functionName]), made.data(), made.size(), output});
    return nullptr;
  }
};

@implementation HostMTLStitching
- (instancetype)initWithDevice:(HostMTLDevice *)device descriptor:(MTLStitchedLibraryDescriptor *)descriptor selector:(SEL)selector {
  if (!(self = [super init])) return nil;
  [self autorelease];  // where this raises
  _device = device;
  _graphs = new HostStitchedGraphs;
  _functions = [[descriptor functions] copy];
  _options = [descriptor options];
  for (MTLFunctionStitchingGraph *graph in [descriptor functionGraphs]) {
    const char *const misuse = _graphs->add(graph);
    if (misuse) hostmetal_raise(device, selector, misuse);
  }
  for (HostMTLFunction *function in _functions) {
    [device requireFunction:function selector:selector];
    _graphs->functions.push_back({_graphs->name([function name]), function->_engine});
  }
  _archives = [[descriptor binaryArchives] copy];
  _engines = [[NSMutableData alloc] init];
  [device appendArchives:_archives to:_engines selector:selector];
  return [self retain];
}

- (HostMTLLibrary *)newWholeLibraryWithError:(NSError **)error {
  for (HostMTLFunction *function in _functions)
    if (!function->_engine) {
      if (error) *error = [[function->_missing retain] autorelease];
      return nil;
    }
  HMError failure = {};
  HMLibrary const engine = hm_library_stitch(_device->_engine, _graphs->graphs.data(), _graphs->graphs.size(), _graphs->functions.data(),
                                             _graphs->functions.size(), &failure);
  if (engine) return [[HostMTLLibrary alloc] initWithDevice:_device engine:engine installName:nil];
  NSError *const told = hostmetal_error(MTLLibraryErrorDomain, &failure, nil);
  if (error) *error = told;
  return nil;
}

- (HostMTLLibrary *)newLibraryWithError:(NSError **)error {
  HostMTLLibrary *const library = [self newWholeLibraryWithError:error];
  if (!(_options & MTLStitchedLibraryOptionFailOnBinaryArchiveMiss) || ![_archives count]) return library;
  // The archives must have the code of every function.
  HMPipelineOptions options = {};
  options.fail_on_archive_miss = true;
  options.archives = (const HMArchive *)[_engines bytes];
  options.archive_count = [_engines length] / sizeof(HMArchive);
  for (NSString *name in [library functionNames]) {
    HostMTLFunction *const function = [(HostMTLFunction *)[library newFunctionWithName:name] autorelease];
    if ([_device compileFunctions:@[ function ] options:&options to:nil error:error selector:_cmd]) continue;
    [library release];
    return nil;
  }
  return library;
}

- (void)dealloc {
  delete _graphs;
  [_functions release];
  [_archives release];
  [_engines release];
  [super dealloc];
}
@end
