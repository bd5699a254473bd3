// DCMetalArchive.mm: the C ABI over MTLBinaryArchive.

#include "DCMetalShim.h"

using namespace dcmetal;

static DCMetalStatus file_url(const char *path, NSURL **url, DCMetalError *error) {
  if (!path) return null_argument(error, "path");
  NSString *string = text(path);
  if ([string length] == 0) return fail(error, DC_METAL_INVALID_ARGUMENT, "the path is empty or not UTF-8");
  *url = [NSURL fileURLWithPath:string];
  return DC_METAL_OK;
}

static DCMetalStatus create(DCMetalDevice device, NSURL *url, DCMetalArchive *archive, DCMetalError *error) {
  MTLBinaryArchiveDescriptor *descriptor = owned([[MTLBinaryArchiveDescriptor alloc] init]);
  [descriptor setUrl:url];
  NSError *cause = nil;
  id<MTLBinaryArchive> object = owned([in(device) newBinaryArchiveWithDescriptor:descriptor error:&cause]);
  if (!object) return fail(error, cause);
  give(archive, object);
  return DC_METAL_OK;
}

DCMetalStatus DCMetalArchive_Create(DCMetalDevice device, DCMetalArchive *archive, DCMetalError *error) {
  if (archive) *archive = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!archive) return null_argument(error, "archive");
    return create(device, nil, archive, error);
  });
}

DCMetalStatus DCMetalArchive_CreateFromFile(DCMetalDevice device, const char *path, DCMetalArchive *archive,
                                            DCMetalError *error) {
  if (archive) *archive = nullptr;
  return entry(error, [=] {
    if (!device) return null_argument(error, "device");
    if (!archive) return null_argument(error, "archive");
    NSURL *url = nil;
    DCMetalStatus status = file_url(path, &url, error);
    return status == DC_METAL_OK ? create(device, url, archive, error) : status;
  });
}

DCMetalStatus DCMetalArchive_AddPipeline(DCMetalArchive archive, DCMetalFunction function,
                                         const DCMetalPipelineOptions *options, DCMetalError *error) {
  return entry(error, [=] {
    if (!archive) return null_argument(error, "archive");
    MTLComputePipelineDescriptor *descriptor = nil;
    DCMetalStatus status = describe_pipeline([in(archive) device], function, options, &descriptor, error);
    if (status != DC_METAL_OK) return status;
    NSError *cause = nil;
    if ([in(archive) addComputePipelineFunctionsWithDescriptor:descriptor error:&cause]) return DC_METAL_OK;
    return fail(error, cause);
  });
}

DCMetalStatus DCMetalArchive_Serialize(DCMetalArchive archive, const char *path, DCMetalError *error) {
  return entry(error, [=] {
    if (!archive) return null_argument(error, "archive");
    NSURL *url = nil;
    DCMetalStatus status = file_url(path, &url, error);
    if (status != DC_METAL_OK) return status;
    NSError *cause = nil;
    if ([in(archive) serializeToURL:url error:&cause]) return DC_METAL_OK;
    return fail(error, cause);
  });
}

void DCMetalArchive_Release(DCMetalArchive archive) {
  drop([=] { take(archive); });
}
