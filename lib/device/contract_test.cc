// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What device.h and image.h say of every device, but for running kernels: of the device that $MNEME_TEST_DEVICE names.
// GPUs' runtimes are played where there is none (tests/CMakeLists.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>

#include "device/device.h"
#include "device/image.h"
#include "device/message_of.h"
#include "memory/arena.h"

namespace mneme::device {
namespace {

using bundle::kBlockSize;
using memory::kDeviceBase;
using memory::kHostBase;
using memory::kProgramsEnd;
using testing::HasSubstr;

constexpr size_t kPage = 4096;

std::string named() {
  const char* name = std::getenv("MNEME_TEST_DEVICE");
  return name ? name : "host";
}

struct Contract : testing::Test {
  std::unique_ptr<Device> device = make_device(named());

  std::string read(uint64_t address, size_t size) {
    std::string out(size, '?');
    device->read(address, std::as_writable_bytes(std::span(out)));
    return out;
  }
  static std::string block_of(char c) { return std::string(kBlockSize, c); }
};

TEST_F(Contract, SaysWhatItIs) {
  EXPECT_EQ(device->name(), named());
  EXPECT_NE(device->clock(), "");
  EXPECT_EQ(device->runs_in_this_process(), named() == "host");
  EXPECT_FALSE(device->still_works() && named() == "host");
}

TEST_F(Contract, MapsZeroedMemoryAtTheAddressesAskedFor) {
  for (uint64_t base : {kDeviceBase, kDeviceBase + (uint64_t{3} << 32), kHostBase, kProgramsEnd - 8 * kBlockSize}) {
    device->map(base + 2 * kBlockSize, kBlockSize);
    device->map(base, 2 * kBlockSize);
    const uint64_t seam = base + kBlockSize - 2;
    EXPECT_EQ(read(seam, 4), std::string(4, '\0'));
    device->write(seam, bytes_of("abcd"));
    device->write(base + 2 * kBlockSize, bytes_of("efgh"));
    EXPECT_EQ(read(seam, 4), "abcd");
    EXPECT_EQ(read(base, kBlockSize - 2), std::string(kBlockSize - 2, '\0'));
    EXPECT_EQ(read(base + 2 * kBlockSize, 5), std::string("efgh\0", 5));
  }
}

TEST_F(Contract, MapsMemoryThatIsWrittenFirst) {
  EXPECT_TRUE(device->map_to_write(kDeviceBase, 2 * kBlockSize)) << "nothing was kept";
  EXPECT_EQ(read(kDeviceBase + kBlockSize, 4), std::string(4, '\0'));
  device->write(kDeviceBase, bytes_of("abcd"));
  EXPECT_EQ(read(kDeviceBase, 4), "abcd");
}

TEST_F(Contract, NamesTheRangeThatIsTaken) {
  void* place = reinterpret_cast<void*>(kHostBase + 4 * kBlockSize);
  void* other = ::mmap(place, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(other, place);
  EXPECT_THAT(message_of([&] { device->map(kHostBase + 4 * kBlockSize, kBlockSize); }),
              HasSubstr("0x600000040000-0x600000050000 is taken"));
  ::munmap(other, kPage);
  EXPECT_THAT(message_of([&] { device->map(kDeviceBase + 1, kBlockSize); }), HasSubstr("not made of blocks"));
  EXPECT_THAT(message_of([&] { device->map(kDeviceBase, kBlockSize - 1); }), HasSubstr("not made of blocks"));
}

TEST_F(Contract, LeavesTheAddressesToTheNext) {
  device->map(kDeviceBase, kBlockSize);
  device->map(kHostBase, kBlockSize);
  device->write(kDeviceBase, bytes_of("x"));
  device.reset();
  device = make_device(named());
  device->map(kDeviceBase, kBlockSize);
  device->map(kHostBase, kBlockSize);
  EXPECT_EQ(read(kDeviceBase, 1), std::string(1, '\0'));
}

TEST_F(Contract, RefusesAddressesThatAreNotMapped) {
  device->map(kDeviceBase, kBlockSize);
  EXPECT_THAT(message_of([&] { read(kDeviceBase + kBlockSize - 1, 2); }), HasSubstr("not mapped"));
  EXPECT_THAT(message_of([&] { device->write(kDeviceBase - 1, bytes_of("x")); }), HasSubstr("not mapped"));
  EXPECT_THAT(message_of([&] { device->write(1, bytes_of("x")); }), HasSubstr("not mapped"));
}

TEST_F(Contract, GivesAllBackForAnotherRecording) {
  if (device->runs_in_this_process()) return device->unmap();  // it is for one recording
  for (int recording = 0; recording < 3; ++recording) {
    device->map(kDeviceBase, 2 * kBlockSize);
    device->map(kHostBase, kBlockSize);
    for (uint64_t address : {kDeviceBase + kBlockSize, kHostBase}) {
      EXPECT_EQ(read(address, 4), std::string(4, '\0')) << recording;
      device->write(address, bytes_of("abcd"));
      EXPECT_EQ(read(address, 4), "abcd");
    }
    device->unmap();
    EXPECT_THAT(message_of([&] { read(kDeviceBase, 1); }), HasSubstr("not mapped"));
  }
}

// Whether `body` holds in a child of this process.
bool in_child(const std::function<bool()>& body) {
  pid_t child = ::fork();
  if (child == 0) ::_exit(body() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(Contract, KeepsRangesForChildrenInTurn) {
  if (!device->runs_in_this_process()) return device->keep({});  // it serves all itself
  const BlockRange both[] = {{kDeviceBase, 2 * kBlockSize}, {kHostBase, kBlockSize}};
  const BlockRange other[] = {{kHostBase, kBlockSize}, {kHostBase + 2 * kBlockSize, kBlockSize}};
  auto is_there = [](uint64_t address) { return ::msync(reinterpret_cast<void*>(address), kPage, MS_ASYNC) == 0; };
  device->keep(both);
  for (int child = 0; child < 3; ++child) {
    EXPECT_TRUE(in_child([&] {
      for (const BlockRange& range : both) device->map(range.address, range.size);  // zeroed
      bool zero = read(kDeviceBase + kBlockSize, kBlockSize) == std::string(kBlockSize, '\0');
      zero = zero && read(kHostBase, 4) == std::string(4, '\0');
      device->write(kDeviceBase, bytes_of(block_of('a')));
      device->write(kDeviceBase + kBlockSize, bytes_of(block_of('b')));
      device->write(kHostBase, bytes_of("abcd"));
      return zero && read(kDeviceBase + kBlockSize - 1, 2) == "ab";
    }));
  }
  EXPECT_THAT(message_of([&] { read(kDeviceBase, 1); }), HasSubstr("not mapped"));
  EXPECT_TRUE(in_child([&] {
    bool zeroed = device->map_to_write(kDeviceBase, 2 * kBlockSize);
    device->write(kDeviceBase, bytes_of("cd"));
    return !zeroed && read(kDeviceBase, 2) == "cd";
  }));
  device->keep(other);
  EXPECT_FALSE(is_there(kDeviceBase));
  EXPECT_TRUE(in_child([&] {
    for (const BlockRange& range : other) device->map(range.address, range.size);
    device->map(kDeviceBase, kBlockSize);  // not kept, and there all the same
    return read(kDeviceBase, 4) == std::string(4, '\0') && read(kHostBase, 4) == std::string(4, '\0');
  }));
  device->keep({});
  for (const BlockRange& range : other) EXPECT_FALSE(is_there(range.address));
}

TEST_F(Contract, WritesWhatIsLeftToIt) {
  constexpr size_t kBlocks = 5;
  device->map(kDeviceBase, kBlocks * kBlockSize);
  const size_t size = kBlocks * kBlockSize;
  auto* memory =
      static_cast<std::byte*>(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::span<std::byte> staged(memory, size);
  device->pin(staged);
  device->pin(staged.first(kBlockSize));  // any number of times
  device->wait_for(3);                    // there was no mark
  for (size_t i = 0; i < kBlocks; ++i) {
    std::memset(memory + i * kBlockSize, 'a' + static_cast<int>(i), kBlockSize);
    device->begin_write(kDeviceBase + i * kBlockSize, staged.subspan(i * kBlockSize, kBlockSize));
    device->mark(static_cast<uint32_t>(i));
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    device->wait_for(static_cast<uint32_t>(i));
    std::memset(memory + i * kBlockSize, 'z', kBlockSize);  // the caller's again
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    EXPECT_EQ(read(kDeviceBase + i * kBlockSize, kBlockSize), block_of(static_cast<char>('a' + i)));
  }
  device.reset();
  ::munmap(memory, size);
}

TEST_F(Contract, ImagesKnowWhatChanged) {
  device->map(kDeviceBase, 4 * kBlockSize);
  const BlockRange ranges[] = {{kDeviceBase, kBlockSize}, {kDeviceBase + 2 * kBlockSize, 2 * kBlockSize}};
  std::unique_ptr<Image> image = device->make_image(ranges);
  if (!image) GTEST_SKIP() << "this device has none";
  device->write(kDeviceBase, bytes_of(block_of('a')));
  device->write(kDeviceBase + 2 * kBlockSize, bytes_of(block_of('c')));
  image->take();
  EXPECT_TRUE(image->changes().empty());
  device->write(kDeviceBase + 7, bytes_of("xyz"));
  device->write(kDeviceBase + kBlockSize, bytes_of("not in it"));
  device->write(kDeviceBase + 4 * kBlockSize - 1, bytes_of("d"));
  std::vector<BlockChange> changes = image->changes();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].address, kDeviceBase);
  EXPECT_EQ(changes[0].bytes, 3u);
  EXPECT_EQ(changes[1].address, kDeviceBase + 3 * kBlockSize);
  EXPECT_EQ(changes[1].bytes, 1u);

  image->put_back({kDeviceBase, kBlockSize});
  EXPECT_EQ(read(kDeviceBase, kBlockSize), block_of('a'));
  EXPECT_EQ(image->changes().size(), 1u);
  image->put_back_from_host({kDeviceBase + 3 * kBlockSize, kBlockSize});
  EXPECT_EQ(image->changes().size(), 0u);
  device->write(kDeviceBase + 3 * kBlockSize, bytes_of(std::string("x")));
  image->clear({kDeviceBase, kBlockSize});
  EXPECT_EQ(image->changes().size(), 2u);
  std::string held(kBlockSize, '?');
  image->read(kDeviceBase + 2 * kBlockSize, std::as_writable_bytes(std::span(held)));
  EXPECT_EQ(held, block_of('c'));
  std::string written = block_of('w');
  image->write(kDeviceBase, bytes_of(written));
  image->put_back({kDeviceBase, kBlockSize});
  EXPECT_EQ(read(kDeviceBase, kBlockSize), written);
  image->put_back_from_host({kDeviceBase + 3 * kBlockSize, kBlockSize});
  written = block_of('v');
  image->write(kDeviceBase, bytes_of(written));
  image->put_back_from_host({kDeviceBase, kBlockSize});
  EXPECT_EQ(read(kDeviceBase, kBlockSize), written);
  EXPECT_THAT(message_of([&] { image->put_back({kDeviceBase + kBlockSize, kBlockSize}); }), HasSubstr("no copy"));
}

TEST_F(Contract, RefusesWhatIsNoCode) {
  device->map(kDeviceBase, kBlockSize);
  bundle::KernelInfo kernel;
  kernel.name = "_Z4plainv";
  kernel.demangled = "plain()";
  const std::string message = message_of([&] { device->load(kernel, bytes_of("this is no code")); });
  EXPECT_NE(message, "no error");
  EXPECT_NE(message, "");
}

}  // namespace
}  // namespace mneme::device
