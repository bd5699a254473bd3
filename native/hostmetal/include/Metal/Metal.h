// Metal's compute interface as hostmetal implements it. Every declaration is Apple's (scripts/apple/check.sh compares it
// with the metadata of Apple's SDK); what is not implemented is not declared.
#pragma once
#import <Metal/MTLAllocation.h>
#import <Metal/MTLArgument.h>
#import <Metal/MTLBinaryArchive.h>
#import <Metal/MTLBlitCommandEncoder.h>
#import <Metal/MTLBuffer.h>
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLCommandQueue.h>
#import <Metal/MTLComputeCommandEncoder.h>
#import <Metal/MTLComputePipeline.h>
#import <Metal/MTLDataType.h>
#import <Metal/MTLDefines.h>
#import <Metal/MTLDevice.h>
#import <Metal/MTLFunctionConstantValues.h>
#import <Metal/MTLFunctionDescriptor.h>
#import <Metal/MTLHeap.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLLinkedFunctions.h>
#import <Metal/MTLPipeline.h>
#import <Metal/MTLPixelFormat.h>
#import <Metal/MTLResidencySet.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLSampler.h>
#import <Metal/MTLTexture.h>
#import <Metal/MTLTypes.h>
