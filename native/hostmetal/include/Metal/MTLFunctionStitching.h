// New functions made of calls of others. https://developer.apple.com/documentation/metal/mtlfunctionstitchinggraph
#pragma once
#import <Metal/MTLDefines.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLFunction, MTLBinaryArchive;

typedef NS_OPTIONS(NSUInteger, MTLStitchedLibraryOptions) {
  MTLStitchedLibraryOptionNone = 0,
  MTLStitchedLibraryOptionFailOnBinaryArchiveMiss = 1 << 0,
  MTLStitchedLibraryOptionStoreLibraryInMetalPipelinesScript = 1 << 1,  // changes nothing: there is no such tool
} API_AVAILABLE(macos(15.0));

API_AVAILABLE(macos(12.0))
@protocol MTLFunctionStitchingAttribute <NSObject>
@end

// Changes nothing: all calls of a graph are inlined where that can be.
MTL_EXPORT API_AVAILABLE(macos(12.0))
@interface MTLFunctionStitchingAttributeAlwaysInline : NSObject <MTLFunctionStitchingAttribute>
@end

API_AVAILABLE(macos(12.0))
@protocol MTLFunctionStitchingNode <NSObject, NSCopying>
@end

MTL_EXPORT API_AVAILABLE(macos(12.0))
@interface MTLFunctionStitchingInputNode : NSObject <MTLFunctionStitchingNode> {
  NSUInteger _argumentIndex;
}
@property(readwrite, nonatomic) NSUInteger argumentIndex;
- (instancetype)initWithArgumentIndex:(NSUInteger)argument;
@end

MTL_EXPORT API_AVAILABLE(macos(12.0))
@interface MTLFunctionStitchingFunctionNode : NSObject <MTLFunctionStitchingNode> {
  NSString *_name;
  NSArray<id<MTLFunctionStitchingNode>> *_arguments;
  NSArray<MTLFunctionStitchingFunctionNode *> *_controlDependencies;
}
@property(readwrite, copy, nonatomic) NSString *name;
@property(readwrite, copy, nonatomic) NSArray<id<MTLFunctionStitchingNode>> *arguments;
@property(readwrite, copy, nonatomic) NSArray<MTLFunctionStitchingFunctionNode *> *controlDependencies;
- (instancetype)initWithName:(NSString *)name
                   arguments:(NSArray<id<MTLFunctionStitchingNode>> *)arguments
         controlDependencies:(NSArray<MTLFunctionStitchingFunctionNode *> *)controlDependencies;
@end

MTL_EXPORT API_AVAILABLE(macos(12.0))
@interface MTLFunctionStitchingGraph : NSObject <NSCopying> {
  NSString *_functionName;
  NSArray<MTLFunctionStitchingFunctionNode *> *_nodes;
  MTLFunctionStitchingFunctionNode *_outputNode;
  NSArray<id<MTLFunctionStitchingAttribute>> *_attributes;
}
@property(readwrite, copy, nonatomic) NSString *functionName;
@property(readwrite, copy, nonatomic) NSArray<MTLFunctionStitchingFunctionNode *> *nodes;
@property(readwrite, retain, nonatomic, nullable) MTLFunctionStitchingFunctionNode *outputNode;
@property(readwrite, copy, nonatomic) NSArray<id<MTLFunctionStitchingAttribute>> *attributes;
- (instancetype)initWithFunctionName:(NSString *)functionName
                               nodes:(NSArray<MTLFunctionStitchingFunctionNode *> *)nodes
                          outputNode:(nullable MTLFunctionStitchingFunctionNode *)outputNode
                          attributes:(NSArray<id<MTLFunctionStitchingAttribute>> *)attributes;
@end

MTL_EXPORT API_AVAILABLE(macos(12.0))
@interface MTLStitchedLibraryDescriptor : NSObject <NSCopying> {
  NSArray<MTLFunctionStitchingGraph *> *_functionGraphs;
  NSArray<id<MTLFunction>> *_functions;
  NSArray<id<MTLBinaryArchive>> *_binaryArchives;
  MTLStitchedLibraryOptions _options;
}
@property(readwrite, copy, nonatomic) NSArray<MTLFunctionStitchingGraph *> *functionGraphs;
@property(readwrite, copy, nonatomic) NSArray<id<MTLFunction>> *functions;
@property(readwrite, copy, nonatomic) NSArray<id<MTLBinaryArchive>> *binaryArchives API_AVAILABLE(macos(15.0));
@property(readwrite, nonatomic) MTLStitchedLibraryOptions options API_AVAILABLE(macos(15.0));
@end

NS_ASSUME_NONNULL_END
