// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Allocation, copies, fills and pointer queries, through the interface.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "hostgpu/hip.h"
#include "memory/arena.h"

namespace {

using mneme::memory::kDeviceBase;
using mneme::memory::kHostBase;

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

struct DeviceMemory {
  explicit DeviceMemory(size_t size) { EXPECT_EQ(hipMalloc(&pointer, size), hipSuccess); }
  ~DeviceMemory() { EXPECT_EQ(hipFree(pointer), hipSuccess); }
  char* bytes() const { return static_cast<char*>(pointer); }
  void* pointer = nullptr;
};

TEST(Allocation, IsDeterministic) {
  void *a = nullptr, *b = nullptr, *c = nullptr;
  ASSERT_EQ(hipMalloc(&a, 1000), hipSuccess);
  ASSERT_EQ(hipMalloc(&b, 1), hipSuccess);
  EXPECT_EQ(number(a), kDeviceBase);
  EXPECT_EQ(number(b), kDeviceBase + 1024);
  EXPECT_EQ(hipFree(a), hipSuccess);
  ASSERT_EQ(hipMalloc(&c, 512), hipSuccess);
  EXPECT_EQ(c, a);
  EXPECT_EQ(hipFree(b), hipSuccess);
  EXPECT_EQ(hipFree(c), hipSuccess);
}

TEST(Allocation, SpansChunks) {
  constexpr size_t kSize = (size_t{64} << 20) * 3 + 1;
  DeviceMemory memory(kSize);
  memory.bytes()[0] = memory.bytes()[kSize - 1] = 7;
}

TEST(Allocation, CountsAndRefuses) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  {
    DeviceMemory memory(1 << 20);
    ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
    EXPECT_EQ(before - after, size_t{1} << 20);
  }
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before, after);
  void* pointer = nullptr;
  ASSERT_EQ(hipHostMalloc(&pointer, 1 << 20, 0), hipSuccess);
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before, after) << "the host's memory is not the device's";
  EXPECT_EQ(hipHostFree(pointer), hipSuccess);
  EXPECT_EQ(hipHostMalloc(&pointer, size_t{1} << 45, 0), hipErrorOutOfMemory);
  EXPECT_EQ(hipMalloc(&pointer, total + 1), hipErrorOutOfMemory);
  EXPECT_EQ(hipMalloc(&pointer, SIZE_MAX), hipErrorOutOfMemory);
  EXPECT_EQ(hipMalloc(nullptr, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipMalloc(&pointer, 0), hipSuccess);
  EXPECT_EQ(pointer, nullptr);
  EXPECT_EQ(hipFree(nullptr), hipSuccess);
  EXPECT_EQ(hipFree(&pointer), hipErrorInvalidValue);
  DeviceMemory memory(16);
  EXPECT_EQ(hipFree(memory.bytes() + 1), hipErrorInvalidValue);
  EXPECT_EQ(hipHostFree(memory.pointer), hipErrorInvalidValue);
}

TEST(Allocation, RowsBeginAtThePitch) {
  void* pointer = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(hipMallocPitch(&pointer, &pitch, 300, 10), hipSuccess);
  EXPECT_EQ(pitch, 512u);
  EXPECT_EQ(hipFree(pointer), hipSuccess);
  EXPECT_EQ(hipMallocPitch(&pointer, &pitch, SIZE_MAX / 2, 10), hipErrorOutOfMemory);
  hipPitchedPtr box{};
  ASSERT_EQ(hipMalloc3D(&box, {300, 4, 5}), hipSuccess);
  EXPECT_EQ(box.pitch, 512u);
  EXPECT_EQ(box.xsize, 300u);
  EXPECT_EQ(box.ysize, 4u);
  size_t size = 0;
  EXPECT_EQ(hipMemPtrGetInfo(box.ptr, &size), hipSuccess);
  EXPECT_EQ(size, 512u * 4 * 5);
  EXPECT_EQ(hipFree(box.ptr), hipSuccess);
}

TEST(Allocation, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 500; ++i) {
        DeviceMemory memory(256);
        std::memset(memory.pointer, t, 256);
        ASSERT_EQ(memory.bytes()[255], t);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Pointers, KnowWhatTheyPointTo) {
  DeviceMemory device(100);
  void *pinned = nullptr, *managed = nullptr;
  ASSERT_EQ(hipHostMalloc(&pinned, 100, hipHostMallocMapped), hipSuccess);
  ASSERT_EQ(hipMallocManaged(&managed, 100, hipMemAttachGlobal), hipSuccess);
  EXPECT_EQ(number(pinned), kHostBase);

  hipPointerAttribute_t about{};
  ASSERT_EQ(hipPointerGetAttributes(&about, device.bytes() + 99), hipSuccess);
  EXPECT_EQ(about.memoryType, hipMemoryTypeDevice);
  EXPECT_EQ(about.hostPointer, nullptr);
  ASSERT_EQ(hipPointerGetAttributes(&about, pinned), hipSuccess);
  EXPECT_EQ(about.memoryType, hipMemoryTypeHost);
  EXPECT_EQ(about.devicePointer, pinned);
  EXPECT_EQ(about.allocationFlags, unsigned{hipHostMallocMapped});
  ASSERT_EQ(hipPointerGetAttributes(&about, managed), hipSuccess);
  EXPECT_EQ(about.isManaged, 1);

  int own = 0;
  EXPECT_EQ(hipPointerGetAttributes(&about, &own), hipErrorInvalidValue);
  EXPECT_EQ(hipPointerGetAttributes(&about, device.bytes() + 100), hipErrorInvalidValue);
  void* base = nullptr;
  size_t size = 0;
  ASSERT_EQ(hipMemGetAddressRange(&base, &size, device.bytes() + 50), hipSuccess);
  EXPECT_EQ(base, device.pointer);
  EXPECT_EQ(size, 100u);
  EXPECT_EQ(hipHostFree(pinned), hipSuccess);
  EXPECT_EQ(hipFree(managed), hipSuccess) << "managed memory is freed with hipFree";
}

TEST(Pointers, RegisteredHostMemory) {
  std::vector<char> own(1000);
  void* device = nullptr;
  EXPECT_EQ(hipHostGetDevicePointer(&device, own.data(), 0), hipErrorInvalidValue);
  ASSERT_EQ(hipHostRegister(own.data(), own.size(), hipHostRegisterMapped), hipSuccess);
  EXPECT_EQ(hipHostRegister(own.data() + 10, 5, 0), hipErrorHostMemoryAlreadyRegistered);
  ASSERT_EQ(hipHostGetDevicePointer(&device, own.data() + 5, 0), hipSuccess);
  EXPECT_EQ(device, own.data() + 5);
  unsigned flags = 0;
  ASSERT_EQ(hipHostGetFlags(&flags, own.data()), hipSuccess);
  EXPECT_EQ(flags, unsigned{hipHostRegisterMapped});
  EXPECT_EQ(hipHostUnregister(own.data() + 1), hipErrorHostMemoryNotRegistered);
  EXPECT_EQ(hipHostUnregister(own.data()), hipSuccess);
}

TEST(Copies, OfRuns) {
  std::vector<int> from(100), back(100);
  std::iota(from.begin(), from.end(), 1);
  DeviceMemory a(400), b(400);
  ASSERT_EQ(hipMemcpy(a.pointer, from.data(), 400, hipMemcpyHostToDevice), hipSuccess);
  ASSERT_EQ(hipMemcpyAsync(b.pointer, a.pointer, 400, hipMemcpyDeviceToDevice, nullptr), hipSuccess);
  ASSERT_EQ(hipMemcpyDtoH(back.data(), b.pointer, 400), hipSuccess);
  EXPECT_EQ(from, back);
  EXPECT_EQ(hipMemcpy(a.pointer, from.data(), 401, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(a.bytes() + 4, from.data(), 400, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(nullptr, from.data(), 1, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpy(nullptr, nullptr, 0, hipMemcpyHostToDevice), hipSuccess);
  EXPECT_EQ(hipMemcpy(a.pointer, from.data(), 1, static_cast<hipMemcpyKind>(7)), hipErrorInvalidMemcpyDirection);
}

TEST(Copies, OfRows) {
  void* pointer = nullptr;
  size_t pitch = 0;
  ASSERT_EQ(hipMallocPitch(&pointer, &pitch, 3, 2), hipSuccess);
  ASSERT_EQ(hipMemset2D(pointer, pitch, '.', 3, 2), hipSuccess);
  ASSERT_EQ(hipMemcpy2D(static_cast<char*>(pointer) + 1, pitch, "abcdef", 3, 2, 2, hipMemcpyHostToDevice), hipSuccess);
  char back[7] = {};
  ASSERT_EQ(hipMemcpy2DAsync(back, 3, pointer, pitch, 3, 2, hipMemcpyDeviceToHost, nullptr), hipSuccess);
  EXPECT_STREQ(back, ".ab.de");
  EXPECT_EQ(hipMemcpy2D(pointer, pitch, "abcdef", 1, 2, 2, hipMemcpyHostToDevice), hipErrorInvalidPitchValue);
  EXPECT_EQ(hipMemcpy2D(pointer, pitch, "abcdef", 3, 2, 3, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(pointer), hipSuccess);
}

TEST(Copies, OfBoxes) {
  hipPitchedPtr box{};
  ASSERT_EQ(hipMalloc3D(&box, {4, 3, 2}), hipSuccess);
  ASSERT_EQ(hipMemset3D(box, 0, {4, 3, 2}), hipSuccess);
  char from[24], back[24] = {};
  std::iota(from, from + 24, 'a');
  hipMemcpy3DParms in{};
  in.srcPtr = {from, 4, 4, 3};
  in.dstPtr = box;
  in.extent = {4, 3, 2};
  in.kind = hipMemcpyHostToDevice;
  ASSERT_EQ(hipMemcpy3D(&in), hipSuccess);
  hipMemcpy3DParms out{};
  out.srcPtr = box;
  out.srcPos = {1, 2, 1};
  out.dstPtr = {back, 4, 4, 3};
  out.extent = {3, 1, 1};
  out.kind = hipMemcpyDeviceToHost;
  ASSERT_EQ(hipMemcpy3D(&out), hipSuccess);
  EXPECT_STREQ(back, "vwx");
  out.extent = {4, 3, 3};
  EXPECT_EQ(hipMemcpy3D(&out), hipErrorInvalidValue);
  EXPECT_EQ(hipFree(box.ptr), hipSuccess);
}

TEST(Fills, OfEveryWidth) {
  DeviceMemory memory(64);
  auto* words = static_cast<uint32_t*>(memory.pointer);
  ASSERT_EQ(hipMemset(memory.pointer, 0x1ff, 64), hipSuccess);
  EXPECT_EQ(words[15], 0xffffffffu);
  ASSERT_EQ(hipMemsetD32(memory.pointer, 0x12345678, 15), hipSuccess);
  EXPECT_EQ(words[14], 0x12345678u);
  EXPECT_EQ(words[15], 0xffffffffu);
  ASSERT_EQ(hipMemsetD16(memory.pointer, 0xabcd, 2), hipSuccess);
  EXPECT_EQ(words[0], 0xabcdabcdu);
  EXPECT_EQ(hipMemset(memory.pointer, 0, 65), hipErrorInvalidValue);
  EXPECT_EQ(hipMemsetD32(memory.pointer, 0, SIZE_MAX / 2), hipErrorInvalidValue);
}

}  // namespace
