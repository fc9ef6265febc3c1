// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "hostgpu/hip.h"
#include "memory/arena.h"

namespace {

constexpr size_t kPiece = size_t{2} << 20;
void* const kBase = reinterpret_cast<void*>(mneme::memory::kDeviceBase);

hipMemAllocationProp properties() {
  hipMemAllocationProp p{};
  p.type = hipMemAllocationTypePinned;
  p.location = {hipMemLocationTypeDevice, 0};
  p.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
  return p;
}

class VirtualMemory : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(hipMemAddressReserve(&base_, 64 * kPiece, 0, kBase, 0), hipSuccess); }
  void TearDown() override { EXPECT_EQ(hipMemAddressFree(base_, 64 * kPiece), hipSuccess); }

  char* at(size_t piece) const { return static_cast<char*>(base_) + piece * kPiece; }
  hipMemGenericAllocationHandle_t create(size_t size) {
    hipMemGenericAllocationHandle_t handle = nullptr;
    EXPECT_EQ(hipMemCreate(&handle, size, &properties_, 0), hipSuccess);
    return handle;
  }
  hipError_t allow(void* at, size_t size) {
    hipMemAccessDesc description{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
    return hipMemSetAccess(at, size, &description, 1);
  }

  hipMemAllocationProp properties_ = properties();
  void* base_ = nullptr;
};

TEST_F(VirtualMemory, ReservesExactlyWhereAsked) {
  EXPECT_EQ(base_, kBase);
  void* again = nullptr;
  EXPECT_EQ(hipMemAddressReserve(&again, kPiece, 0, at(63), 0), hipErrorOutOfMemory)
      << "taken: an error, not elsewhere";
  ASSERT_EQ(hipMemAddressReserve(&again, kPiece, 64 * kPiece, nullptr, 0), hipSuccess);
  EXPECT_EQ(reinterpret_cast<uint64_t>(again) % (64 * kPiece), 0u);
  EXPECT_EQ(hipMemAddressFree(again, kPiece), hipSuccess);
  EXPECT_EQ(hipMemAddressFree(at(1), kPiece), hipErrorInvalidValue);
  size_t granularity = 0;
  EXPECT_EQ(hipMemGetAllocationGranularity(&granularity, &properties_, hipMemAllocationGranularityMinimum), hipSuccess);
  EXPECT_EQ(granularity, kPiece);
}

TEST_F(VirtualMemory, MapsAndUnmaps) {
  auto handle = create(3 * kPiece);
  ASSERT_EQ(hipMemMap(at(1), 2 * kPiece, kPiece, handle, 0), hipSuccess);
  ASSERT_EQ(hipMemMap(at(5), 3 * kPiece, 0, handle, 0), hipSuccess);
  EXPECT_EQ(hipMemMap(at(2), kPiece, 0, handle, 0), hipErrorInvalidValue) << "overlaps";
  EXPECT_EQ(hipMemMap(at(10), 3 * kPiece, kPiece, handle, 0), hipErrorInvalidValue) << "beyond the memory";
  EXPECT_EQ(hipMemMap(at(64), kPiece, 0, handle, 0), hipErrorInvalidValue) << "not reserved";
  ASSERT_EQ(allow(at(1), 2 * kPiece), hipSuccess);
  ASSERT_EQ(allow(at(5), 3 * kPiece), hipSuccess);
  at(1)[5] = 'x';
  EXPECT_EQ(at(6)[5], 'x') << "the same memory twice";
  hipPointerAttribute_t about{};
  ASSERT_EQ(hipPointerGetAttributes(&about, at(1) + 5), hipSuccess);
  EXPECT_EQ(about.memoryType, hipMemoryTypeDevice);

  EXPECT_EQ(hipMemRelease(handle), hipSuccess) << "mappings keep the memory";
  EXPECT_EQ(hipMemRelease(handle), hipErrorInvalidValue);
  EXPECT_EQ(at(6)[5], 'x');
  EXPECT_EQ(hipMemUnmap(at(1), kPiece), hipErrorInvalidValue) << "not the whole mapping";
  EXPECT_EQ(hipMemUnmap(at(1), 2 * kPiece), hipSuccess);
  EXPECT_EQ(hipMemUnmap(at(5), 3 * kPiece), hipSuccess);
}

TEST_F(VirtualMemory, ExportsADescriptor) {
  auto handle = create(kPiece);
  ASSERT_EQ(hipMemMap(at(0), kPiece, 0, handle, 0), hipSuccess);
  ASSERT_EQ(allow(at(0), kPiece), hipSuccess);
  std::strcpy(at(0), "shared");
  int fd = -1;
  ASSERT_EQ(hipMemExportToShareableHandle(&fd, handle, hipMemHandleTypePosixFileDescriptor, 0), hipSuccess);
  void* view = ::mmap(nullptr, kPiece, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_STREQ(static_cast<char*>(view), "shared");

  hipMemGenericAllocationHandle_t imported = nullptr;
  ASSERT_EQ(hipMemImportFromShareableHandle(&imported, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                            hipMemHandleTypePosixFileDescriptor),
            hipSuccess);
  ::close(fd);
  ASSERT_EQ(hipMemMap(at(1), kPiece, 0, imported, 0), hipSuccess);
  ASSERT_EQ(allow(at(1), kPiece), hipSuccess);
  EXPECT_STREQ(at(1), "shared");
  ::munmap(view, kPiece);
  EXPECT_EQ(hipMemUnmap(at(0), 2 * kPiece), hipSuccess) << "two mappings side by side";
  EXPECT_EQ(hipMemRelease(handle), hipSuccess);
  EXPECT_EQ(hipMemRelease(imported), hipSuccess);
}

TEST_F(VirtualMemory, CountsAsUsed) {
  size_t before = 0, after = 0, total = 0;
  ASSERT_EQ(hipMemGetInfo(&before, &total), hipSuccess);
  auto handle = create(4 * kPiece);
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before - after, 4 * kPiece);
  hipMemGenericAllocationHandle_t too_much = nullptr;
  EXPECT_EQ(hipMemCreate(&too_much, (total / kPiece + 1) * kPiece, &properties_, 0), hipErrorOutOfMemory);
  EXPECT_EQ(hipMemRelease(handle), hipSuccess);
  ASSERT_EQ(hipMemGetInfo(&after, &total), hipSuccess);
  EXPECT_EQ(before, after);
}

TEST_F(VirtualMemory, InaccessibleUntilAllowed) {
  auto handle = create(kPiece);
  ASSERT_EQ(hipMemMap(at(0), kPiece, 0, handle, 0), hipSuccess);
  EXPECT_DEATH(*at(0) = 1, "");
  unsigned long long flags = 7;
  hipMemLocation here{hipMemLocationTypeDevice, 0};
  ASSERT_EQ(hipMemGetAccess(&flags, &here, at(0)), hipSuccess);
  EXPECT_EQ(flags, 0u);
  ASSERT_EQ(allow(at(0), kPiece), hipSuccess);
  *at(0) = 1;
  EXPECT_EQ(hipMemUnmap(at(0), kPiece), hipSuccess);
  EXPECT_DEATH(*at(0) = 1, "");
  EXPECT_EQ(hipMemRelease(handle), hipSuccess);
}

// As all other memory: what a child writes is its own, also in what it maps itself.
TEST_F(VirtualMemory, IsNotSharedWithChildren) {
  auto handle = create(2 * kPiece);
  ASSERT_EQ(hipMemMap(at(0), kPiece, kPiece, handle, 0), hipSuccess);
  ASSERT_EQ(allow(at(0), kPiece), hipSuccess);
  *at(0) = 1;
  pid_t child = ::fork();
  if (child == 0) {
    bool sees = *at(0) == 1;
    *at(0) = 2;
    bool maps = hipMemMap(at(1), kPiece, 0, handle, 0) == hipSuccess && allow(at(1), kPiece) == hipSuccess;
    if (maps) *at(1) = 3;
    pid_t grandchild = ::fork();
    if (grandchild == 0) {
      bool kept = *at(0) == 2 && *at(1) == 3;
      *at(0) = 4;
      ::_exit(kept ? 0 : 1);
    }
    int status = -1;
    ::waitpid(grandchild, &status, 0);
    ::_exit(sees && maps && status == 0 && *at(0) == 2 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*at(0), 1);
  ASSERT_EQ(hipMemMap(at(1), kPiece, 0, handle, 0), hipSuccess);
  ASSERT_EQ(allow(at(1), kPiece), hipSuccess);
  EXPECT_EQ(*at(1), 0);
  EXPECT_EQ(hipMemUnmap(at(0), 2 * kPiece), hipSuccess);
  EXPECT_EQ(hipMemRelease(handle), hipSuccess);
}

}  // namespace
