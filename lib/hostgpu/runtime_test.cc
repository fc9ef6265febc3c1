// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams, events, errors, the device, and that every name the vendor's library exports is here.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "hostgpu/hip.h"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Exports, EveryNameWithItsVersion) {
  std::ifstream list(EXPORTS_LIST);
  int count = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name, node;
    words >> name >> node;
    EXPECT_NE(::dlvsym(RTLD_DEFAULT, name.c_str(), node.c_str()), nullptr) << line;
    ++count;
  }
  EXPECT_GT(count, 400);
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, "mneme_unsupported"), nullptr) << "nothing of ours is exported";
}

TEST(Exports, WhatIsNotAvailableNamesItselfOnce) {
  testing::internal::CaptureStderr();
  hipIpcMemHandle_t handle;
  EXPECT_EQ(hipIpcGetMemHandle(&handle, nullptr), hipErrorNotSupported);
  EXPECT_EQ(hipIpcGetMemHandle(&handle, nullptr), hipErrorNotSupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "mneme: hipIpcGetMemHandle is not supported on the host device: memory and events are not shared between "
            "processes: use one process, or copy through memory of the host\n");
  EXPECT_EQ(hipGetLastError(), hipErrorNotSupported);
}

TEST(Errors, LastOneIsKeptUntilItIsRead) {
  EXPECT_EQ(hipGetLastError(), hipSuccess);
  EXPECT_EQ(hipSetDevice(5), hipErrorInvalidDevice);
  EXPECT_EQ(hipSetDevice(0), hipSuccess);
  EXPECT_EQ(hipPeekAtLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST(Errors, HaveNamesAndTexts) {
  EXPECT_STREQ(hipGetErrorName(hipErrorOutOfMemory), "hipErrorOutOfMemory");
  EXPECT_STREQ(hipGetErrorString(hipErrorOutOfMemory), "out of memory");
  EXPECT_STREQ(hipGetErrorName(static_cast<hipError_t>(2000)), "hipErrorUnknown");
}

TEST(Device, SaysWhatItIs) {
  int count = 0;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  EXPECT_EQ(count, 1);
  hipDeviceProp_t p{};
  ASSERT_EQ(hipGetDeviceProperties(&p, 0), hipSuccess);
  EXPECT_STREQ(p.name, "Mneme host device (gfx90a)");
  EXPECT_STREQ(p.gcnArchName, "gfx90a");
  EXPECT_EQ(p.warpSize, 64);
  EXPECT_GT(p.totalGlobalMem, size_t{1} << 28);
  EXPECT_EQ(hipGetDeviceProperties(&p, 1), hipErrorInvalidDevice);
  int value = 0;
  ASSERT_EQ(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxThreadsPerBlock, 0), hipSuccess);
  EXPECT_EQ(value, p.maxThreadsPerBlock);
  EXPECT_EQ(hipDeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(9998), 0), hipErrorInvalidValue);
  char text[32];
  ASSERT_EQ(hipDeviceGetPCIBusId(text, sizeof text, 0), hipSuccess);
  ASSERT_EQ(hipDeviceGetByPCIBusId(&value, text), hipSuccess);
  EXPECT_EQ(value, 0);
}

TEST(Streams, HaveFlagsAndPriorities) {
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, -100), hipSuccess);
  unsigned flags = 0;
  int priority = 0, least = 0, greatest = 0;
  EXPECT_EQ(hipStreamGetFlags(stream, &flags), hipSuccess);
  EXPECT_EQ(flags, unsigned{hipStreamNonBlocking});
  ASSERT_EQ(hipDeviceGetStreamPriorityRange(&least, &greatest), hipSuccess);
  EXPECT_EQ(hipStreamGetPriority(stream, &priority), hipSuccess);
  EXPECT_EQ(priority, greatest);

  EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(nullptr), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(hipStreamPerThread), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(stream), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamDestroy(stream), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamDestroy(nullptr), hipErrorInvalidHandle);
  (void)hipGetLastError();
}

TEST(Events, MeasureTime) {
  hipEvent_t first = nullptr, last = nullptr, untimed = nullptr;
  ASSERT_EQ(hipEventCreate(&first), hipSuccess);
  ASSERT_EQ(hipEventCreate(&last), hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&untimed, hipEventDisableTiming), hipSuccess);
  float milliseconds = -1;
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, first, last), hipErrorInvalidHandle) << "not recorded yet";
  ASSERT_EQ(hipEventRecord(first, nullptr), hipSuccess);
  ASSERT_EQ(hipEventRecord(untimed, nullptr), hipSuccess);
  ASSERT_EQ(hipEventRecord(last, nullptr), hipSuccess);
  EXPECT_EQ(hipEventQuery(last), hipSuccess);
  EXPECT_EQ(hipEventSynchronize(last), hipSuccess);
  ASSERT_EQ(hipEventElapsedTime(&milliseconds, first, last), hipSuccess);
  EXPECT_GE(milliseconds, 0);
  EXPECT_EQ(hipEventElapsedTime(&milliseconds, first, untimed), hipErrorInvalidHandle);
  EXPECT_EQ(hipStreamWaitEvent(nullptr, last, 0), hipSuccess);
  for (hipEvent_t event : {first, last, untimed}) EXPECT_EQ(hipEventDestroy(event), hipSuccess);
  EXPECT_EQ(hipEventRecord(first, nullptr), hipErrorInvalidHandle);
  EXPECT_EQ(hipEventCreateWithFlags(&first, 0x100), hipErrorInvalidValue);
  (void)hipGetLastError();
}

TEST(Functions, UnknownOnesAreRefused) {
  int no_kernel = 0;
  EXPECT_EQ(hipLaunchKernel(&no_kernel, 1, 1, nullptr, 0, nullptr), hipErrorInvalidDeviceFunction);
  void* address = nullptr;
  EXPECT_EQ(hipGetSymbolAddress(&address, &no_kernel), hipErrorInvalidSymbol);
  dim3 grid, block;
  size_t shared = 0;
  hipStream_t stream = nullptr;
  EXPECT_EQ(__hipPopCallConfiguration(&grid, &block, &shared, &stream), hipErrorMissingConfiguration);
  ASSERT_EQ(__hipPushCallConfiguration({1, 2, 3}, {4, 5, 6}, 7, hipStreamPerThread), hipSuccess);
  ASSERT_EQ(__hipPopCallConfiguration(&grid, &block, &shared, &stream), hipSuccess);
  EXPECT_EQ(grid.z, 3u);
  EXPECT_EQ(block.x, 4u);
  EXPECT_EQ(shared, 7u);
  EXPECT_EQ(stream, hipStreamPerThread);
  (void)hipGetLastError();
}

}  // namespace
