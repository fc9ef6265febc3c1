// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arrays, textures, modules, pools, contexts: above all what wrong arguments give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "hostgpu/hip.h"

#pragma GCC visibility push(default)
hipError_t hipCreateSurfaceObject(hipSurfaceObject_t* object, const hipResourceDesc* resource);
hipError_t hipDestroySurfaceObject(hipSurfaceObject_t object);
#pragma GCC visibility pop

namespace {

using testing::HasSubstr;

class Queries : public testing::Test {
 protected:
  void TearDown() override { static_cast<void>(hipGetLastError()); }
};

const hipChannelFormatDesc kFloat = {32, 0, 0, 0, hipChannelFormatKindFloat};

hipArray_t make_array(size_t width, size_t height) {
  hipArray_t array = nullptr;
  EXPECT_EQ(hipMallocArray(&array, &kFloat, width, height, 0), hipSuccess);
  return array;
}

hipResourceDesc resource_of(hipArray_t array) {
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

TEST_F(Queries, ArraysRefuseWhatTheyCannotHold) {
  hipArray_t array = nullptr;
  EXPECT_EQ(hipMallocArray(nullptr, &kFloat, 4, 4, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMallocArray(&array, nullptr, 4, 4, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMallocArray(&array, &kFloat, 0, 4, 0), hipErrorInvalidValue);
  for (hipChannelFormatDesc wrong : {hipChannelFormatDesc{32, 32, 32, 0, hipChannelFormatKindFloat},
                                     hipChannelFormatDesc{8, 16, 0, 0, hipChannelFormatKindSigned},
                                     hipChannelFormatDesc{8, 0, 0, 0, hipChannelFormatKindFloat},
                                     hipChannelFormatDesc{64, 0, 0, 0, hipChannelFormatKindUnsigned},
                                     hipChannelFormatDesc{32, 0, 0, 0, hipChannelFormatKindNone}}) {
    EXPECT_EQ(hipMallocArray(&array, &wrong, 4, 4, 0), hipErrorInvalidValue);
  }
  EXPECT_EQ(hipMalloc3DArray(&array, &kFloat, {4, 0, 4}, 0), hipErrorInvalidValue) << "slices without rows";
  EXPECT_EQ(hipMallocArray(&array, &kFloat, size_t{1} << 30, size_t{1} << 40, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMalloc3DArray(&array, &kFloat, {4, 4, 5}, hipArrayCubemap), hipErrorInvalidValue) << "five faces";
  EXPECT_EQ(hipMalloc3DArray(&array, &kFloat, {4, 5, 6}, hipArrayCubemap), hipErrorInvalidValue) << "no squares";
  testing::internal::CaptureStderr();
  constexpr unsigned kSparse = 0x40;
  EXPECT_EQ(hipMalloc3DArray(&array, &kFloat, {4, 4, 0}, kSparse), hipErrorNotSupported);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("sparse arrays"));
  EXPECT_EQ(hipFreeArray(nullptr), hipErrorInvalidValue);
  array = make_array(4, 4);
  EXPECT_EQ(hipFreeArray(array), hipSuccess);
  EXPECT_EQ(hipFreeArray(array), hipErrorInvalidHandle);
}

TEST_F(Queries, CopiesStayInTheirArray) {
  hipArray_t array = make_array(4, 3);
  float values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, got[12] = {};
  EXPECT_EQ(hipMemcpy2DToArray(array, 0, 0, values, 16, 16, 3, hipMemcpyHostToDevice), hipSuccess);
  EXPECT_EQ(hipMemcpy2DToArray(array, 4, 0, values, 16, 16, 3, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy2DToArray(array, 0, 1, values, 16, 16, 3, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy2DToArray(nullptr, 0, 0, values, 16, 16, 3, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyAtoH(got, array, 40, 12), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyAtoH(got, array, 12, 12), hipSuccess);
  EXPECT_EQ(got[0], 3);
  EXPECT_EQ(got[2], 5);
  EXPECT_EQ(hipFreeArray(array), hipSuccess);
}

TEST_F(Queries, LevelsComeDownToOneTexel) {
  hipMipmappedArray_t array = nullptr;
  EXPECT_EQ(hipMallocMipmappedArray(nullptr, &kFloat, {8, 4, 0}, 3, 0), hipErrorInvalidValue);
  ASSERT_EQ(hipMallocMipmappedArray(&array, &kFloat, {8, 4, 0}, 9, 0), hipSuccess);
  hipArray_t level = nullptr, first = nullptr;
  ASSERT_EQ(hipGetMipmappedArrayLevel(&first, array, 0), hipSuccess);
  ASSERT_EQ(hipGetMipmappedArrayLevel(&level, array, 3), hipSuccess) << "8, 4, 2, 1";
  EXPECT_EQ(hipGetMipmappedArrayLevel(&level, array, 4), hipErrorInvalidValue);
  EXPECT_EQ(hipGetMipmappedArrayLevel(&level, array, 2), hipSuccess);
  EXPECT_EQ(level->width, 2u);
  EXPECT_EQ(level->height, 1u);
  EXPECT_EQ(static_cast<float*>(level->data) - static_cast<float*>(first->data), 8 * 4 + 4 * 2);
  EXPECT_EQ(hipFreeArray(level), hipErrorInvalidValue) << "it is freed with all others";
  EXPECT_EQ(hipFreeMipmappedArray(array), hipSuccess);
  EXPECT_EQ(hipFreeMipmappedArray(array), hipErrorInvalidHandle);
  EXPECT_EQ(hipFreeArray(level), hipErrorInvalidHandle);
}

TEST_F(Queries, TexturesRefuseWhatTheyCannotRead) {
  hipArray_t array = make_array(4, 4);
  hipResourceDesc resource = resource_of(array);
  hipTextureDesc texture = {};
  hipTextureObject_t object = nullptr;
  EXPECT_EQ(hipCreateTextureObject(nullptr, &resource, &texture, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hipCreateTextureObject(&object, nullptr, &texture, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hipCreateTextureObject(&object, &resource, nullptr, nullptr), hipErrorInvalidValue);
  hipResourceViewDesc view = {};
  view.format = hipResViewFormatSignedShort1;
  EXPECT_EQ(hipCreateTextureObject(&object, &resource, &texture, &view), hipErrorInvalidValue) << "another size";
  view.format = hipResViewFormatUnsignedInt1;
  ASSERT_EQ(hipCreateTextureObject(&object, &resource, &texture, &view), hipSuccess);
  hipResourceViewDesc same = {};
  EXPECT_EQ(hipGetTextureObjectResourceViewDesc(&same, object), hipSuccess);
  EXPECT_EQ(same.format, view.format);
  EXPECT_EQ(hipDestroyTextureObject(object), hipSuccess);
  EXPECT_EQ(hipDestroyTextureObject(object), hipErrorInvalidValue);
  EXPECT_EQ(hipDestroyTextureObject(nullptr), hipSuccess);
  hipResourceDesc mipmapped = {};
  mipmapped.resType = hipResourceTypeMipmappedArray;
  EXPECT_EQ(hipCreateTextureObject(&object, &mipmapped, &texture, nullptr), hipErrorInvalidValue);
  view.format = hipResViewFormatUnsignedBlockCompressed1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(hipCreateTextureObject(&object, &resource, &texture, &view), hipErrorNotSupported);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("block-compressed textures"));

  hipResourceDesc linear = {};
  linear.resType = hipResourceTypeLinear;
  EXPECT_EQ(hipCreateTextureObject(&object, &linear, &texture, nullptr), hipErrorInvalidValue);
  hipSurfaceObject_t surface = nullptr;
  EXPECT_EQ(hipCreateSurfaceObject(&surface, &linear), hipErrorInvalidValue);
  ASSERT_EQ(hipCreateSurfaceObject(&surface, &resource), hipSuccess);
  EXPECT_EQ(hipDestroyTextureObject(reinterpret_cast<hipTextureObject_t>(surface)), hipErrorInvalidValue);
  EXPECT_EQ(hipDestroySurfaceObject(surface), hipSuccess);
  EXPECT_EQ(hipFreeArray(array), hipSuccess);
}

TEST_F(Queries, ModulesRefuseWhatIsNone) {
  hipModule_t module = nullptr;
  const std::string text(4096, 'x');
  EXPECT_EQ(hipModuleLoadData(&module, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(hipModuleLoadData(nullptr, text.data()), hipErrorInvalidValue);
  testing::internal::CaptureStderr();
  EXPECT_EQ(hipModuleLoadData(&module, text.data()), hipErrorInvalidImage);
  EXPECT_EQ(hipModuleLoad(&module, "/nothing/here"), hipErrorFileNotFound);
  EXPECT_EQ(hipModuleLoad(&module, "/proc/self/exe"), hipErrorInvalidImage) << "host code";
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("/nothing/here"));
  EXPECT_EQ(hipModuleUnload(nullptr), hipErrorInvalidHandle);
  hipFunction_t function = nullptr;
  EXPECT_EQ(hipModuleGetFunction(&function, nullptr, "kernel"), hipErrorInvalidHandle);
  EXPECT_EQ(hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), hipErrorInvalidHandle);
  int value = 0;
  EXPECT_EQ(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_NUM_REGS, nullptr), hipErrorInvalidDeviceFunction);
}

TEST_F(Queries, PoolsCountWhatIsTaken) {
  hipMemPool_t pool = nullptr, standard = nullptr;
  hipMemPoolProps wanted = {};
  EXPECT_EQ(hipMemPoolCreate(&pool, &wanted), hipErrorInvalidValue);
  wanted.allocType = hipMemAllocationTypePinned;
  wanted.location = {hipMemLocationTypeDevice, 0};
  wanted.handleTypes = hipMemHandleTypeWin32;
  EXPECT_EQ(hipMemPoolCreate(&pool, &wanted), hipErrorInvalidValue);
  wanted.handleTypes = hipMemHandleTypePosixFileDescriptor;  // whether or not it is exported
  ASSERT_EQ(hipMemPoolCreate(&pool, &wanted), hipSuccess);
  void* memory = nullptr;
  EXPECT_EQ(hipMallocFromPoolAsync(&memory, 1000, nullptr, nullptr), hipErrorInvalidValue);
  ASSERT_EQ(hipMallocFromPoolAsync(&memory, 1000, pool, nullptr), hipSuccess);
  auto used = [&](hipMemPoolAttr which) {
    uint64_t value = 77;
    EXPECT_EQ(hipMemPoolGetAttribute(pool, which, &value), hipSuccess);
    return value;
  };
  EXPECT_EQ(used(hipMemPoolAttrUsedMemCurrent), 1000u);
  EXPECT_EQ(hipFreeAsync(memory, nullptr), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(nullptr), hipSuccess);
  EXPECT_EQ(used(hipMemPoolAttrUsedMemCurrent), 0u);
  EXPECT_EQ(used(hipMemPoolAttrUsedMemHigh), 1000u);
  ASSERT_EQ(hipDeviceSetMemPool(0, pool), hipSuccess);
  EXPECT_EQ(hipDeviceSetMemPool(1, pool), hipErrorInvalidDevice);
  EXPECT_EQ(hipMemPoolDestroy(pool), hipSuccess);
  EXPECT_EQ(hipMemPoolDestroy(pool), hipErrorInvalidValue);
  hipMemPool_t current = nullptr;
  ASSERT_EQ(hipDeviceGetMemPool(&current, 0), hipSuccess);
  ASSERT_EQ(hipDeviceGetDefaultMemPool(&standard, 0), hipSuccess);
  EXPECT_EQ(current, standard) << "a pool that is gone is not the device's";
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_F(Queries, ContextsAreAStack) {
  hipCtx_t first = nullptr, second = nullptr, current = nullptr;
  EXPECT_EQ(hipCtxCreate(&first, 0, 7), hipErrorInvalidDevice);
  ASSERT_EQ(hipCtxCreate(&first, 0, 0), hipSuccess);
  ASSERT_EQ(hipCtxCreate(&second, hipDeviceScheduleYield, 0), hipSuccess);
  unsigned flags = 0;
  EXPECT_EQ(hipCtxGetFlags(&flags), hipSuccess);
  EXPECT_EQ(flags, unsigned{hipDeviceScheduleYield});
  EXPECT_EQ(hipCtxDestroy(second), hipSuccess);
  EXPECT_EQ(hipCtxGetCurrent(&current), hipSuccess);
  EXPECT_EQ(current, first);
  EXPECT_EQ(hipCtxPopCurrent(&current), hipSuccess);
  EXPECT_EQ(hipCtxPopCurrent(&current), hipErrorInvalidContext);
  EXPECT_EQ(hipCtxSetCurrent(second), hipErrorInvalidContext);
  EXPECT_EQ(hipCtxDestroy(first), hipSuccess);
  EXPECT_EQ(hipCtxDestroy(nullptr), hipErrorInvalidValue);
}

TEST_F(Queries, AdviceIsToldAgain) {
  void* memory = nullptr;
  ASSERT_EQ(hipMallocManaged(&memory, 4096, hipMemAttachGlobal), hipSuccess);
  auto* middle = static_cast<char*>(memory) + 100;
  ASSERT_EQ(hipMemAdvise(memory, 4096, hipMemAdviseSetPreferredLocation, hipCpuDeviceId), hipSuccess);
  ASSERT_EQ(hipMemAdvise(memory, 4096, hipMemAdviseSetAccessedBy, 0), hipSuccess);
  int where = 5, by[3] = {5, 5, 5};
  EXPECT_EQ(hipMemRangeGetAttribute(&where, 4, hipMemRangeAttributePreferredLocation, middle, 100), hipSuccess);
  EXPECT_EQ(where, hipCpuDeviceId);
  EXPECT_EQ(hipMemRangeGetAttribute(&where, 4, hipMemRangeAttributePreferredLocation, middle, 8192), hipSuccess);
  EXPECT_EQ(where, hipInvalidDeviceId) << "not of all that is asked about";
  EXPECT_EQ(hipMemRangeGetAttribute(by, sizeof by, hipMemRangeAttributeAccessedBy, memory, 4096), hipSuccess);
  EXPECT_EQ(by[0], 0);
  EXPECT_EQ(by[1], hipInvalidDeviceId);
  EXPECT_EQ(hipMemRangeGetAttribute(by, 3, hipMemRangeAttributeAccessedBy, memory, 4096), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(memory), hipSuccess);
}

TEST_F(Queries, KernelsHaveTheHeapThatIsAskedFor) {
  size_t bytes = 0;
  ASSERT_EQ(hipDeviceGetLimit(&bytes, hipLimitMallocHeapSize), hipSuccess);
  const size_t usual = bytes;
  EXPECT_EQ(hipDeviceSetLimit(hipLimitMallocHeapSize, 1000), hipSuccess);
  ASSERT_EQ(hipDeviceGetLimit(&bytes, hipLimitMallocHeapSize), hipSuccess);
  EXPECT_EQ(bytes, usual) << "no less than there is";
  EXPECT_EQ(hipDeviceSetLimit(hipLimitMallocHeapSize, usual + 1), hipSuccess);
  ASSERT_EQ(hipDeviceGetLimit(&bytes, hipLimitMallocHeapSize), hipSuccess);
  EXPECT_EQ(bytes, usual + (1 << 20));
  EXPECT_EQ(hipDeviceSetLimit(hipLimitMallocHeapSize, size_t{1} << 50), hipErrorInvalidValue);
}

TEST_F(Queries, ThereAreNoPeers) {
  int can = 1;
  EXPECT_EQ(hipDeviceCanAccessPeer(&can, 0, 0), hipSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(hipDeviceCanAccessPeer(&can, 0, 1), hipErrorInvalidDevice);
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipErrorInvalidDevice);
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 3), hipErrorInvalidValue);
  EXPECT_EQ(hipDeviceDisablePeerAccess(1), hipErrorInvalidDevice);
}

}  // namespace
