// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each call that the HIP device makes, in what device.h has it do, fails in each of the ways that there are: what
// comes of it is said, and all that the runtime had given is given back. With tests/hip_device for a runtime, each time
// in a process of its own, as a runtime that has lost its device is not used again.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "base/error.h"
#include "device/device.h"
#include "device/gpu/kernels/blocks.h"
#include "memory/arena.h"
#include "objects/code_pack.h"

namespace mneme::device {
namespace {

using bundle::kBlockSize;
using memory::kDeviceBase;
using memory::kHostBase;

constexpr uint64_t kFirst = kDeviceBase, kSecond = kDeviceBase + 2 * kBlockSize;

std::string contents_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

template <class Value>
void append(std::string& bytes, Value value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A kernel of Mneme's own takes the place of a recorded one, which copies a block to where another is.
struct Recorded {
  bundle::KernelInfo kernel;
  std::string pack = objects::unpacked(bytes_of(contents_of(MNEME_BLOCKS_HIP)));
  Launch launch;

  Recorded() {
    kernel.name = "put_back";
    kernel.demangled = "put_back(…)";
    kernel.argument_bytes = 20;
    kernel.arguments = {{0, 8, "pointer", "ptr", {}}, {8, 8, "pointer", "ptr", {}}, {16, 4, "scalar", "i32", {}}};
    kernel.functions = {"of which the code knows nothing"};
    launch.grid = {1, 1, 1};
    launch.block = {gpu::kThreads, 1, 1};
    launch.stack_bytes = 64 << 10;
    append(launch.arguments, kSecond);
    append(launch.arguments, kFirst);
    append(launch.arguments, gpu::kBytes);
    bundle::Segment variable;
    variable.address = kFirst;
    variable.size = 8;
    variable.symbol = "a variable that the code does not have";
    launch.segments = {variable};
  }
  Bytes code() const { return objects::packed_code(bytes_of(pack), "put_back"); }
};

// All that is done with a device, once.
void use(Device& device, std::span<std::byte> staged, bool first) {
  Recorded recorded;
  device.map(kFirst, kBlockSize);
  device.map(kSecond, 2 * kBlockSize);
  device.map(kHostBase, kBlockSize);
  device.pin(staged);
  std::memset(staged.data(), 'a', staged.size());
  device.begin_write(kFirst, staged);
  device.mark(1);
  device.wait_for(1);
  device.write(kHostBase, staged);
  const BlockRange ranges[] = {{kFirst, kBlockSize}, {kSecond, 2 * kBlockSize}};
  std::unique_ptr<Image> image = device.make_image(ranges);
  if (image) image->take();
  std::unique_ptr<Code> code = device.load(recorded.kernel, recorded.code());
  recorded.launch.cold = first;
  device.execute(*code, recorded.launch);
  recorded.launch.timed = false;
  recorded.launch.cooperative = true;
  device.execute(*code, recorded.launch);
  std::vector<std::byte> block(kBlockSize);
  if (image) {
    if (image->changes().size() != 1) throw std::runtime_error("the image does not know what changed");
    image->put_back(ranges[1]);
    image->clear(ranges[0]);
    image->write(kFirst, staged);
    image->read(kFirst, block);
  }
  device.read(image ? kSecond + kBlockSize : kFirst, block);
  if (block[7] != (image ? std::byte{0} : std::byte{'a'})) throw std::runtime_error("memory is not what was written");
  code.reset();
  image.reset();
  device.unmap();
}

void use_all() {
  std::unique_ptr<Device> device = make_device("hip");
  auto* memory =
      static_cast<std::byte*>(::mmap(nullptr, kBlockSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (bool first : {true, false}) use(*device, {memory, kBlockSize}, first);
}

std::string left() {
  void* library = ::dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_NOLOAD);
  auto* tell = library ? reinterpret_cast<const char* (*)()>(::dlsym(library, "mneme_test_left")) : nullptr;
  return tell ? tell() : "nothing keeps count";
}

struct Came {
  bool ended = false;  // by itself, and in time
  int exit = 0;        // of the Error; 0: there was none
  std::string message, left;
};

// What comes of it in a process in which this fails.
Came with_failure(const std::string& failure, const std::string& calls = {}) {
  int ends[2];
  if (::pipe(ends) != 0) throw system_error("pipe");
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::setenv("MNEME_TEST_FAIL", failure.c_str(), 1);
    if (!calls.empty()) ::setenv("MNEME_TEST_CALLS", calls.c_str(), 1);
    int exit = 0;
    std::string message;
    try {
      use_all();
    } catch (const Error& error) {
      exit = static_cast<int>(error.exit());
      message = error.what();
    }
    std::string text = std::to_string(exit) + '\0' + message + '\0' + left() + '\0';
    ssize_t written = ::write(ends[1], text.data(), text.size());
    ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t size; (size = ::read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(size));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  Came came;
  came.ended = WIFEXITED(status) && WEXITSTATUS(status) == 0 && std::ranges::count(text, '\0') == 3;
  if (!came.ended) return came;
  came.exit = std::stoi(text);
  came.message = text.c_str() + text.find('\0') + 1;
  came.left = text.substr(text.find('\0', text.find('\0') + 1) + 1);
  came.left.pop_back();
  return came;
}

// What the device calls: the name of each function and how often.
std::map<std::string, int> calls_made(const std::string& failure) {
  const std::string file = testing::TempDir() + "/hip_calls." + std::to_string(::getpid());
  Came came = with_failure(failure, file);
  EXPECT_TRUE(came.ended);
  EXPECT_EQ(came.message, "");
  EXPECT_EQ(came.left, "");
  std::map<std::string, int> calls;
  std::ifstream names(file);
  for (std::string name; names >> name;) ++calls[name];
  ::unlink(file.c_str());
  return calls;
}

constexpr char kNothing[] = "nothing 1 1";
// One whose functions are there and do not work.
constexpr char kNoVirtualMemory[] = "hipMemCreate 801 0";
constexpr int kOutOfMemory = 2, kInvalidDevice = 101, kFailed = 719;

void expect_a_sentence(const Came& came) {
  ASSERT_TRUE(came.ended) << "it hangs, or died";
  EXPECT_EQ(came.left, "") << came.message;
  if (came.exit == 0) return;
  // What was being done, and what the runtime says of it; or a sentence of our own.
  EXPECT_THAT(came.message, testing::AnyOf(testing::ContainsRegex("^[a-zA-Z0-9' _().…]+ failed: [a-z].* \\([0-9]+\\)$"),
                                           testing::ContainsRegex("^the HIP runtime [a-z ]+: [a-z].* \\([0-9]+\\)$"),
                                           testing::HasSubstr("lacks virtual memory functions that work"),
                                           testing::HasSubstr("cannot be there: the virtual memory functions"),
                                           testing::HasSubstr("has no memory left to empty its cache with"),
                                           testing::HasSubstr("does not say how large its cache is"),
                                           testing::HasSubstr("has no function 'put_back'")));
}

void fail_each(const std::string& always) {
  const std::map<std::string, int> calls = calls_made(always);
  EXPECT_GT(calls.size(), 20u);
  std::map<std::string, std::set<int>> failed;  // functions without which nothing goes on, by error
  for (const auto& [name, count] : calls) {
    for (int which = 1; which <= count; ++which) {
      for (int error : {kOutOfMemory, kInvalidDevice, kFailed}) {
        const std::string failure = name + " " + std::to_string(error) + " " + std::to_string(which);
        SCOPED_TRACE(failure);
        Came came = with_failure(always + " " + failure);
        expect_a_sentence(came);
        if (came.exit != 0) failed[name].insert(error);
      }
    }
  }
  for (const char* name : {"hipInit", "hipGetDeviceCount", "hipSetDevice", "hipDeviceSynchronize", "hipModuleLoadData",
                           "hipModuleLaunchKernel", "hipModuleLaunchCooperativeKernel", "hipMemcpy", "hipMemcpyAsync",
                           "hipMemset", "hipDeviceGetLimit", "hipDeviceSetLimit", "hipEventCreateWithFlags",
                           "hipEventRecord", "hipEventElapsedTime", "hipHostRegister"}) {
    EXPECT_EQ(failed[name].size(), 3u) << name;
  }
}

TEST(HipFailures, EachCall) { fail_each(kNothing); }

TEST(HipFailures, EachCallWithoutVirtualMemory) { fail_each(kNoVirtualMemory); }

// All calls from one of them on.
TEST(HipFailures, ADeviceThatIsLost) {
  for (const std::string always : {kNothing, kNoVirtualMemory}) {
    int all = 0;
    for (const auto& [name, count] : calls_made(always)) all += count;
    for (int which = 1; which <= all; ++which) {
      SCOPED_TRACE(always + ", lost at call " + std::to_string(which));
      Came came = with_failure(always + " * 719 " + std::to_string(which));
      expect_a_sentence(came);
    }
  }
}

TEST(HipFailures, AddressesThatAreNotHonoured) {
  struct Case {
    const char *failure, *message;
  };
  for (const Case& one :
       {Case{"hipMemAddressReserve -1 0", ""},  // one allocation takes its place
        Case{"hipMemAddressReserve -1 0 hipMalloc -1 0", "cannot be there: the virtual memory functions"},
        Case{"hipMemCreate 801 0 hipMalloc -1 1", "cannot be there: the virtual memory functions"},
        Case{"hipHostGetDevicePointer -1 1", "the GPU sees the host memory at 0x600000000000 elsewhere"},
        Case{"hipHostGetDevicePointer -1 2", "the GPU sees the host memory at 0x600000000000 elsewhere"}}) {
    SCOPED_TRACE(one.failure);
    Came came = with_failure(one.failure);
    EXPECT_TRUE(came.ended);
    EXPECT_EQ(came.exit != 0, *one.message != 0);
    EXPECT_THAT(came.message, testing::HasSubstr(one.message));
    EXPECT_EQ(came.left, "");
  }
}

}  // namespace
}  // namespace mneme::device
