// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several devices.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>

#include "hostgpu/hip.h"
#include "memory/arena.h"

namespace {

constexpr int kCount = 3;

class Devices : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(hipSetDevice(0), hipSuccess); }
  static int current() {
    int device = -1;
    EXPECT_EQ(hipGetDevice(&device), hipSuccess);
    return device;
  }
};

TEST_F(Devices, AreToldApart) {
  int count = 0;
  ASSERT_EQ(hipGetDeviceCount(&count), hipSuccess);
  ASSERT_EQ(count, kCount);
  std::set<std::string> ids, uuids;
  for (int device = 0; device < count; ++device) {
    char id[20];
    ASSERT_EQ(hipDeviceGetPCIBusId(id, sizeof id, device), hipSuccess);
    int found = -1;
    EXPECT_EQ(hipDeviceGetByPCIBusId(&found, id), hipSuccess);
    EXPECT_EQ(found, device);
    hipUUID uuid;
    EXPECT_EQ(hipDeviceGetUuid(&uuid, device), hipSuccess);
    uuids.insert(std::string(uuid.bytes, sizeof uuid.bytes));
    ids.insert(id);
    hipDeviceProp_t properties;
    EXPECT_EQ(hipGetDeviceProperties(&properties, device), hipSuccess);
    EXPECT_EQ(properties.pciBusID, device);
  }
  EXPECT_EQ(ids.size(), size_t{kCount});
  EXPECT_EQ(uuids.size(), size_t{kCount});
  int found = -1;
  EXPECT_EQ(hipDeviceGetByPCIBusId(&found, "0000:03:00.0"), hipErrorInvalidDevice);
  EXPECT_EQ(hipSetDevice(kCount), hipErrorInvalidDevice);
  EXPECT_EQ(hipSetDevice(-1), hipErrorInvalidDevice);
}

TEST_F(Devices, AreCurrentByThread) {
  ASSERT_EQ(hipSetDevice(2), hipSuccess);
  int other = -1;
  std::thread([&] { other = current(); }).join();
  EXPECT_EQ(other, 0);
  EXPECT_EQ(current(), 2);
}

TEST_F(Devices, HaveMemoryOfTheirOwn) {
  for (int device : {1, 0, 2}) {
    ASSERT_EQ(hipSetDevice(device), hipSuccess);
    size_t before = 0, after = 0, total = 0;
    ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
    void* memory = nullptr;
    ASSERT_EQ(hipMalloc(&memory, 1 << 20), hipSuccess);
    EXPECT_EQ(reinterpret_cast<uint64_t>(memory), mneme::memory::device_base(device));
    ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
    EXPECT_EQ(before - after, size_t{1} << 20);
    ASSERT_EQ(hipSetDevice((device + 1) % kCount), hipSuccess);
    hipPointerAttribute_t attributes{};
    EXPECT_EQ(hipPointerGetAttributes(&attributes, static_cast<char*>(memory) + 5), hipSuccess);
    EXPECT_EQ(attributes.device, device);
    EXPECT_EQ(hipFree(memory), hipSuccess) << "whichever is current";
    ASSERT_EQ(hipSetDevice(device), hipSuccess);
    ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
    EXPECT_EQ(before, after);
  }
}

TEST_F(Devices, HaveStreamsOfTheirOwn) {
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  EXPECT_EQ(hipGetStreamDeviceId(stream), 1);
  EXPECT_EQ(hipGetStreamDeviceId(nullptr), 1);
  alignas(4) static unsigned word = 0;
  ASSERT_EQ(hipStreamWaitValue32(stream, &word, 1, hipStreamWaitValueEq, ~0u), hipSuccess);
  // What the second device waits for is nothing that the others wait for, nor their null streams.
  ASSERT_EQ(hipSetDevice(0), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipStreamSynchronize(nullptr), hipSuccess);
  EXPECT_EQ(hipStreamQuery(stream), hipErrorNotReady);
  ASSERT_EQ(hipSetDevice(1), hipSuccess);
  EXPECT_EQ(hipStreamQuery(nullptr), hipErrorNotReady) << "its null stream comes after it";
  __atomic_store_n(&word, 1u, __ATOMIC_RELEASE);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipStreamQuery(stream), hipSuccess);
  EXPECT_EQ(hipStreamDestroy(stream), hipSuccess);
}

TEST_F(Devices, ArePeers) {
  int can = -1;
  EXPECT_EQ(hipDeviceCanAccessPeer(&can, 0, 1), hipSuccess);
  EXPECT_EQ(can, 1);
  EXPECT_EQ(hipDeviceCanAccessPeer(&can, 1, 1), hipSuccess);
  EXPECT_EQ(can, 0);
  EXPECT_EQ(hipDeviceDisablePeerAccess(1), hipErrorPeerAccessNotEnabled);
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipSuccess);
  EXPECT_EQ(hipDeviceEnablePeerAccess(1, 0), hipErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(hipDeviceEnablePeerAccess(0, 0), hipErrorInvalidDevice) << "itself";
  EXPECT_EQ(hipDeviceDisablePeerAccess(1), hipSuccess);

  char* memory[2] = {};
  for (int device : {0, 1}) {
    ASSERT_EQ(hipSetDevice(device), hipSuccess);
    ASSERT_EQ(hipMalloc(reinterpret_cast<void**>(&memory[device]), 100), hipSuccess);
    ASSERT_EQ(hipMemset(memory[device], device + 1, 100), hipSuccess);
  }
  EXPECT_EQ(hipMemcpyPeer(memory[1], 1, memory[0], 0, 50), hipSuccess);
  EXPECT_EQ(hipMemcpyPeer(memory[1], kCount, memory[0], 0, 50), hipErrorInvalidDevice);
  char seen[100];
  ASSERT_EQ(hipMemcpy(seen, memory[1], 100, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(seen[49], 1);
  EXPECT_EQ(seen[50], 2);
  for (char* each : memory) EXPECT_EQ(hipFree(each), hipSuccess);
}

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"  // contexts are

TEST_F(Devices, FollowContexts) {
  hipCtx_t made = nullptr, seen = nullptr;
  ASSERT_EQ(hipCtxCreate(&made, 0, 2), hipSuccess);
  EXPECT_EQ(current(), 2);
  EXPECT_EQ(hipSetDevice(1), hipSuccess);
  EXPECT_EQ(hipCtxGetCurrent(&seen), hipSuccess);
  EXPECT_NE(seen, made) << "the primary one of the device that was chosen";
  EXPECT_EQ(hipCtxSetCurrent(made), hipSuccess);
  EXPECT_EQ(current(), 2);
  EXPECT_EQ(hipCtxDestroy(made), hipSuccess);
  EXPECT_EQ(hipCtxDestroy(seen), hipErrorInvalidContext) << "primary";
}

#pragma clang diagnostic pop

TEST_F(Devices, HavePoolsOfTheirOwn) {
  hipMemPool_t pools[2] = {};
  for (int device : {0, 1}) ASSERT_EQ(hipDeviceGetDefaultMemPool(&pools[device], device), hipSuccess);
  EXPECT_NE(pools[0], pools[1]);
  void* memory = nullptr;
  ASSERT_EQ(hipMallocFromPoolAsync(&memory, 100, pools[1], nullptr), hipSuccess);
  EXPECT_GE(reinterpret_cast<uint64_t>(memory), mneme::memory::device_base(1)) << "of the pool's device";
  EXPECT_EQ(hipDeviceSetMemPool(0, pools[1]), hipErrorInvalidDevice);
  EXPECT_EQ(hipFreeAsync(memory, nullptr), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
}

}  // namespace

// How many there are is decided while the library is loaded.
int main(int argc, char** argv) {
  if (!std::getenv("MNEME_HOST_DEVICES")) {
    ::setenv("MNEME_HOST_DEVICES", std::to_string(kCount).c_str(), 1);
    ::execv("/proc/self/exe", argv);
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
