// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registration, compilation, variables and launches, with a compiler of our own that "compiles" every kernel into
// the code object of lib/device/host/testdata/plain.cc (or fails), and this program in the recorder's place.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "hostgpu/extensions.h"
#include "hostgpu/hip.h"
#include "objects/elf_builder.h"
#include "objects/embedded.h"

extern "C" {
void** __hipRegisterFatBinary(const void* wrapper);
int __hipRegisterFunction(void** handle, const void* host, char*, const char* name, unsigned, void*, void*, dim3*,
                          dim3*, int*);
void __hipRegisterVar(void** handle, void* host, char*, char* name, int, size_t size, int, int);
void __hipRegisterManagedVar(void** handle, void** pointer, void* initial, const char* name, size_t size, unsigned);
void __hipUnregisterFatBinary(void** handle);
}

namespace {
int mallocs = 0;
}

// As a preloaded recorder has it.
extern "C" hipError_t hipMalloc(void** pointer, size_t size) {
  static auto* next = reinterpret_cast<hipError_t (*)(void**, size_t)>(::dlsym(RTLD_NEXT, "hipMalloc"));
  ++mallocs;
  return next(pointer, size);
}

namespace mneme::hostgpu {
namespace {

using testing::HasSubstr;

// As testdata/plain.cc has it.
struct Seen {
  unsigned group[3];
  unsigned grid[3];
  unsigned short block[3];
  unsigned work_items;
  unsigned dirty;
  unsigned misaligned;
  long sum;
};

bundle::KernelInfo plain_kernel(const std::string& name) {
  bundle::KernelInfo kernel;
  kernel.name = name;
  kernel.demangled = name + "(Seen*)";
  kernel.target = "amdgcn-amd-amdhsa--gfx90a";
  kernel.argument_bytes = 8;
  kernel.arguments.push_back({0, 8, "pointer", "i8", {}});
  for (auto [global, size] : {std::pair("table", 16), {"first", 8}, {"second", 8}, {"calls", 8}}) {
    kernel.globals.push_back({global, static_cast<uint64_t>(size), 8, false});
  }
  return kernel;
}

std::string word(uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), 8); }

std::string fat_binary(const std::vector<bundle::KernelInfo>& kernels) {
  std::string section;
  for (bundle::KernelInfo kernel : kernels) {
    std::string bitcode = "bitcode of " + kernel.name;
    kernel.bitcode = digest_of(bitcode);
    kernel.id = digest_of(kernel.name);
    section += objects::write_embedded(bundle::write(kernel), bytes_of(bitcode));
  }
  std::string elf = objects::build_elf({{std::string(objects::kEmbeddedSection), section}});
  std::string triple = "hipv4-amdgcn-amd-amdhsa--gfx90a";
  std::string out = "__CLANG_OFFLOAD_BUNDLE__" + word(1) + word(4096) + word(elf.size()) + word(triple.size()) + triple;
  out.resize(4096);
  return out + elf;
}

// An application's fat binary, and the host pointers that stand for what is in it.
struct Application {
  explicit Application(std::vector<bundle::KernelInfo> kernels) : fat(fat_binary(kernels)) {
    wrapper = {0x48495046, 1, fat.data(), nullptr};
    handle = __hipRegisterFatBinary(&wrapper);
  }
  ~Application() { __hipUnregisterFatBinary(handle); }

  void function(const void* host, const char* name) {
    __hipRegisterFunction(handle, host, nullptr, name, ~0u, nullptr, nullptr, nullptr, nullptr, nullptr);
  }
  void variable(void* host, const char* name, size_t size) {
    __hipRegisterVar(handle, host, nullptr, const_cast<char*>(name), 0, size, 0, 0);
  }

  std::string fat;
  struct {
    uint32_t magic, version;
    const void* data;
    void* unused;
  } wrapper;
  void** handle;
};

// Past the overloads that take the variable itself.
const void* symbol(const char& shadow) { return &shadow; }

class Launch : public testing::Test {
 protected:
  void SetUp() override {
    compiler("cat '" FIXTURES "/host_code_plain.so'");
    ::setenv("MNEME_LIBDIR", folder_.path().c_str(), 1);
    ::setenv("MNEME_KERNEL_CACHE", "off", 1);
    (void)hipGetLastError();
    mallocs = 0;
  }
  void TearDown() override { (void)hipDeviceReset(); }

  void compiler(const std::string& script) {
    std::string path = folder_.path() + "/mneme-host-compile";
    write_file(path, "#!/bin/sh\n" + script + "\n");
    ::chmod(path.c_str(), 0755);
  }
  hipError_t launch(const void* function, dim3 grid = 1, dim3 block = 1, size_t shared = 0) {
    Seen* argument = seen_;
    void* arguments[] = {&argument};
    hipError_t launched = hipLaunchKernel(function, grid, block, arguments, shared, nullptr);
    return launched == hipSuccess ? hipDeviceSynchronize() : launched;
  }

  TemporaryFolder folder_{"mneme-launch"};
  Seen seen_[64] = {};
  char stub_ = 0, other_stub_ = 0, shadow_ = 0;
};

TEST_F(Launch, RunsAKernel) {
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  ASSERT_EQ(launch(&stub_, {4, 2, 1}, {8, 4, 1}, 100), hipSuccess);
  EXPECT_EQ(seen_[7].group[0], 3u);
  EXPECT_EQ(seen_[7].group[1], 1u);
  EXPECT_EQ(seen_[7].block[1], 4);
  EXPECT_EQ(seen_[7].sum, 42);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST_F(Launch, SaysWhatTookLongToCompile) {
  compiler("sleep 2; cat '" FIXTURES "/host_code_plain.so'");
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  testing::internal::CaptureStderr();
  ASSERT_EQ(launch(&stub_), hipSuccess);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("mneme: kernel '.*' took [0-9.]+ s to compile before its first launch\n"));
}

TEST_F(Launch, GivesTheCompilerOneRecordAndTheForm) {
  ::setenv("MNEME_HOST_FORM", "fiber", 1);
  compiler("cat >'" + folder_.path() + "/record'; echo \"$@\" >'" + folder_.path() +
           "/options'; cat '" FIXTURES "/host_code_plain.so'");
  Application application({plain_kernel("k"), plain_kernel("other")});
  application.function(&stub_, "k");
  ASSERT_EQ(launch(&stub_), hipSuccess);
  ::unsetenv("MNEME_HOST_FORM");
  EXPECT_THAT(read_file(folder_.path() + "/options"),
              testing::MatchesRegex("--target host:x86-64-v[234] --form fiber\n"));
  std::string record = read_file(folder_.path() + "/record");
  auto kernels = objects::parse_embedded(bytes_of(record), "record");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].info.name, "k");
}

TEST_F(Launch, VariablesAreThePrograms) {
  Application application({plain_kernel("k"), plain_kernel("l")});
  application.function(&stub_, "k");
  application.function(&other_stub_, "l");
  application.variable(&shadow_, "calls", 8);
  ASSERT_EQ(launch(&stub_, 3), hipSuccess);
  ASSERT_EQ(launch(&other_stub_, 4), hipSuccess);
  long calls = 0;
  ASSERT_EQ(hipMemcpyFromSymbol(&calls, symbol(shadow_), 8, 0, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(calls, 7) << "kernels of one program share them";
  EXPECT_EQ(mallocs, 4) << "each placed once, by the hipMalloc that everybody calls";

  Application second({plain_kernel("k")});
  char stub = 0, shadow = 0;
  second.function(&stub, "k");
  second.variable(&shadow, "calls", 8);
  ASSERT_EQ(launch(&stub), hipSuccess);
  ASSERT_EQ(hipMemcpyFromSymbol(&calls, symbol(shadow), 8, 0, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(calls, 1) << "another program has variables of its own";
}

TEST_F(Launch, VariablesHaveTheirFirstContentsBeforeAnyLaunch) {
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  application.variable(&shadow_, "table", 16);
  char unused_shadow = 0;
  application.variable(&unused_shadow, "in_no_kernel", 4);
  long table[2] = {};
  ASSERT_EQ(hipMemcpyFromSymbol(table, symbol(shadow_), 16, 0, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(table[0], 40);
  long value = 1000;
  ASSERT_EQ(hipMemcpyToSymbol(symbol(shadow_), &value, 8, 8, hipMemcpyHostToDevice), hipSuccess);
  ASSERT_EQ(launch(&stub_), hipSuccess);
  EXPECT_EQ(seen_[0].sum, 1040) << "what the host stored stays";

  EXPECT_EQ(hipMemcpyToSymbol(symbol(shadow_), &value, 8, 9, hipMemcpyHostToDevice), hipErrorInvalidValue);
  EXPECT_EQ(hipMemcpyToSymbol(symbol(stub_), &value, 8, 0, hipMemcpyHostToDevice), hipErrorInvalidSymbol);
  int zero = 1;
  ASSERT_EQ(hipMemcpyFromSymbol(&zero, symbol(unused_shadow), 4, 0, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(zero, 0);
  size_t size = 0;
  void* address = nullptr;
  ASSERT_EQ(hipGetSymbolSize(&size, symbol(shadow_)), hipSuccess);
  EXPECT_EQ(size, 16u);
  ASSERT_EQ(hipGetSymbolAddress(&address, symbol(shadow_)), hipSuccess);
  EXPECT_EQ(static_cast<long*>(address)[1], 1000);
}

TEST_F(Launch, ManagedVariablesAreThereAtOnce) {
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  long initial[2] = {3, 4};
  void* managed = nullptr;
  // In device code it is a pointer; the kernel reads its first word through "first".
  __hipRegisterManagedVar(application.handle, &managed, initial, "first", 16, 8);
  ASSERT_NE(managed, nullptr);
  EXPECT_EQ(static_cast<long*>(managed)[1], 4);
  static_cast<long*>(managed)[0] = 500;
  ASSERT_EQ(launch(&stub_), hipSuccess);
  EXPECT_EQ(seen_[0].sum, 502);
  size_t size = 0;
  ASSERT_EQ(hipGetSymbolSize(&size, static_cast<const void*>(managed)), hipSuccess);
  EXPECT_EQ(size, 16u);
}

TEST_F(Launch, TheRecorderLearnsWhereVariablesLie) {
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  void* address = nullptr;
  size_t size = 0;
  EXPECT_EQ(mneme_hostgpu_global(application.handle, "calls", &address, &size), int{hipErrorInvalidSymbol});
  ASSERT_EQ(mneme_hostgpu_prepare(&stub_), 0);
  ASSERT_EQ(mneme_hostgpu_global(application.handle, "calls", &address, &size), 0);
  EXPECT_EQ(size, 8u);
  EXPECT_EQ(*static_cast<long*>(address), 0) << "prepared, not launched";
  void* table = nullptr;
  ASSERT_EQ(mneme_hostgpu_global(application.handle, "table", &table, &size), 0);
  EXPECT_GT(table, address) << "placed in the order of their names";
  EXPECT_NE(mneme_hostgpu_prepare(&other_stub_), 0);
}

TEST_F(Launch, SaysWhatIsMissing) {
  Application application({});
  application.function(&stub_, "_Z3addPf");
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(&stub_), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(launch(&stub_), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "mneme: kernel 'add(float*)' carries no IR: build the application with mneme-inject\n");
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess) << "the device is as it was";
}

TEST_F(Launch, SaysOnceWhatIsWrongWithTheIr) {
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  application.fat[application.fat.find("bitcode of k")] ^= 1;
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(&stub_), hipErrorInvalidDeviceFunction);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("digest does not match"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(Launch, PassesOnWhatTheCompilerSays) {
  compiler("echo \"kernel 'k' uses llvm.amdgcn.strange\" >&2; exit 2");
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(&stub_), hipErrorInvalidKernelFile);
  EXPECT_EQ(launch(&stub_), hipErrorInvalidKernelFile);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "mneme: kernel 'k' uses llvm.amdgcn.strange\n");

  compiler("kill -KILL $$");
  Application second({plain_kernel("l")});
  second.function(&other_stub_, "l");
  testing::internal::CaptureStderr();
  EXPECT_EQ(launch(&other_stub_), hipErrorInvalidKernelFile);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the compiler was killed by SIGKILL"));
}

TEST_F(Launch, RefusesLaunchesThatCannotBe) {
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  EXPECT_EQ(launch(&stub_, 0), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(&stub_, 1, 1025), hipErrorInvalidConfiguration);
  EXPECT_EQ(launch(&stub_, 1, 1, 65536), hipErrorInvalidConfiguration);
  EXPECT_EQ(hipLaunchKernel(&stub_, 1, 1, nullptr, 0, nullptr), hipErrorInvalidValue);
  EXPECT_EQ(launch(&stub_), hipSuccess);
}

TEST_F(Launch, AFaultBreaksTheDeviceUntilItIsReset) {
  compiler("cat '" FIXTURES "/host_code_faulty.so'");
  bundle::KernelInfo kernel = plain_kernel("k");
  kernel.globals.clear();
  Application application({kernel});
  application.function(&stub_, "k");
  struct {
    unsigned group, fault;
  } argument{0, 10};
  void* arguments[] = {&argument};
  testing::internal::CaptureStderr();
  hipStream_t stream = nullptr;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  EXPECT_EQ(hipLaunchKernel(&stub_, 1, 1, arguments, 0, stream), hipSuccess) << "the launch itself is good";
  EXPECT_EQ(hipStreamSynchronize(stream), hipErrorIllegalAddress);
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("used address 0x1230"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(hipDeviceSynchronize(), hipErrorIllegalAddress);
  EXPECT_EQ(hipLaunchKernel(&stub_, 1, 1, arguments, 0, stream), hipErrorIllegalAddress);
  void* pointer = nullptr;
  EXPECT_EQ(hipMalloc(&pointer, 1), hipErrorIllegalAddress);
  EXPECT_EQ(hipGetLastError(), hipErrorIllegalAddress);
  EXPECT_EQ(hipGetLastError(), hipErrorIllegalAddress);
  EXPECT_EQ(hipDeviceReset(), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
}

TEST_F(Launch, TheCacheSparesTheCompiler) {
  ::unsetenv("MNEME_KERNEL_CACHE");
  ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  std::string count = folder_.path() + "/count";
  compiler("echo >>'" + count + "'; cat '" FIXTURES "/host_code_plain.so'");
  for (int again = 0; again < 3; ++again) {
    Application application({plain_kernel("cached")});
    char stub = 0;
    application.function(&stub, "cached");
    ASSERT_EQ(launch(&stub), hipSuccess);
    EXPECT_EQ(seen_[0].sum, 42) << "each load has variables of its own";
  }
  EXPECT_EQ(read_file(count), "\n");
}

TEST_F(Launch, AttributesAndOccupancy) {
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  hipFuncAttributes attributes{};
  ASSERT_EQ(hipFuncGetAttributes(&attributes, &stub_), hipSuccess);
  EXPECT_EQ(attributes.sharedSizeBytes, 256u);
  EXPECT_EQ(attributes.maxThreadsPerBlock, 1024);
  int blocks = 0;
  ASSERT_EQ(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stub_, 1024, 0), hipSuccess);
  EXPECT_EQ(blocks, 2);
  ASSERT_EQ(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stub_, 64, 32768), hipSuccess);
  EXPECT_EQ(blocks, 1);
}

TEST_F(Launch, CooperativeGridsFitTheDevice) {
  Application application({plain_kernel("k")});
  application.function(&stub_, "k");
  int blocks = 0, processors = 0;
  ASSERT_EQ(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &stub_, 1024, 0), hipSuccess);
  ASSERT_EQ(hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, 0), hipSuccess);
  auto most = static_cast<unsigned>(blocks * processors);
  std::vector<Seen> seen(most + 1);
  Seen* argument = seen.data();
  void* arguments[] = {&argument};
  EXPECT_EQ(hipLaunchCooperativeKernel(&stub_, most, 1024, arguments, 0, nullptr), hipSuccess);
  EXPECT_EQ(hipLaunchCooperativeKernel(&stub_, most + 1, 1024, arguments, 0, nullptr),
            hipErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(hipLaunchKernel(&stub_, most + 1, 1024, arguments, 0, nullptr), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipGetLastError(), hipErrorCooperativeLaunchTooLarge);
}

}  // namespace
}  // namespace mneme::hostgpu
