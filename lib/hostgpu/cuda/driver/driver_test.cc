// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The driver's library as programs find it: its functions by name, refusals and errors. Programs test the functions
// themselves (tests/programs/cuda).
#include "hostgpu/cuda/driver/driver.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace mneme::hostgpu::cuda::driver {
namespace {

using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

constexpr int kSymbolNotFound = 1, kVersionNotSufficient = 2;
constexpr unsigned long long kLegacy = 1, kPerThread = 2;

void* exported(const std::string& name) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  return library ? ::dlsym(library, name.c_str()) : nullptr;
}

template <class... Arguments>
Result call(const std::string& name, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(exported(name))(arguments...);
}

struct Answer {
  Result result;
  void* function;
  int status;
};
Answer look_up(const char* symbol, int version, unsigned long long flags = 0) {
  Answer answer{0, &answer, -1};
  answer.result = call<const char*, void**, int, unsigned long long, int*>(
      "cuGetProcAddress_v2", symbol, &answer.function, version, flags, &answer.status);
  return answer;
}

void expect_found(const char* symbol, int version, unsigned long long flags, const char* name) {
  Answer answer = look_up(symbol, version, flags);
  EXPECT_EQ(answer.result, 0) << name;
  EXPECT_EQ(answer.status, 0) << name;
  EXPECT_TRUE(answer.function && answer.function == exported(name)) << symbol << " of " << version << ": no " << name;
}

TEST(DriverExports, AreAllThere) {
  std::ifstream list(EXPORTS_LIST);
  int count = 0;
  for (std::string line; std::getline(list, line);) {
    if (!line.starts_with("cu")) continue;
    ++count;
    std::string name = line.substr(0, line.find(' '));
    EXPECT_TRUE(exported(name)) << name;
  }
  EXPECT_GT(count, 600);
}

TEST(DriverLookup, GivesTheNewestThatTheVersionHas) {
  expect_found("cuMemAlloc", 3010, 0, "cuMemAlloc");
  expect_found("cuMemAlloc", 13000, 0, "cuMemAlloc_v2");
  expect_found("cuCtxCreate", 11000, 0, "cuCtxCreate_v2");
  expect_found("cuCtxCreate", 12040, 0, "cuCtxCreate_v3");
  expect_found("cuCtxCreate", 13000, 0, "cuCtxCreate_v4");
  expect_found("cuInit", 2000, 0, "cuInit");
  // A function that another's name begins with is no version of it.
  expect_found("cuMemcpyHtoD", 13000, 0, "cuMemcpyHtoD_v2");
  expect_found("cuLaunch", 13000, 0, "cuLaunch");
}

TEST(DriverLookup, GivesThoseForStreamsOfAThreadIfAsked) {
  expect_found("cuLaunchKernel", 13000, 0, "cuLaunchKernel");
  expect_found("cuLaunchKernel", 13000, kLegacy, "cuLaunchKernel");
  expect_found("cuLaunchKernel", 13000, kPerThread, "cuLaunchKernel_ptsz");
  expect_found("cuMemcpyHtoD", 13000, kPerThread, "cuMemcpyHtoD_v2_ptds");
  expect_found("cuMemcpyHtoD", 6000, kPerThread, "cuMemcpyHtoD_v2");  // older than those
  expect_found("cuMemAlloc", 13000, kPerThread, "cuMemAlloc_v2");     // without a stream
}

TEST(DriverLookup, SaysWhatItLacks) {
  Answer none = look_up("cuNoSuchFunction", 13000);
  EXPECT_EQ(none.result, 0);
  EXPECT_EQ(none.function, nullptr);
  EXPECT_EQ(none.status, kSymbolNotFound);
  Answer later = look_up("cuLaunchKernelEx", 11000);
  EXPECT_EQ(later.result, 0);
  EXPECT_EQ(later.function, nullptr);
  EXPECT_EQ(later.status, kVersionNotSufficient);
  EXPECT_EQ(look_up("cuMem", 13000).status, kSymbolNotFound);  // others begin so
  EXPECT_EQ(look_up("", 13000).result, kInvalidValue);
  EXPECT_EQ(look_up("cuInit", 13000, kLegacy | kPerThread).result, kInvalidValue);
  void* function = nullptr;
  EXPECT_EQ(
      (call<const char*, void**, int, unsigned long long>("cuGetProcAddress", "cuNoSuchFunction", &function, 12000, 0)),
      kNotFound);
}

TEST(DriverRefusals, NameTheFunctionOnceAndAreNoErrorOfTheRuntimes) {
  static_cast<void>(hipGetLastError());
  CaptureStderr();
  EXPECT_EQ(call("cuGreenCtxCreate"), kNotSupported);
  EXPECT_EQ(call("cuGreenCtxCreate"), kNotSupported);
  EXPECT_EQ(GetCapturedStderr(),
            "mneme: cuGreenCtxCreate is not supported on the host device: a host device has no parts that could be "
            "given out\n");
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST(DriverModules, LoadPtx) {
  static_cast<void>(hipGetLastError());
  const char* text = "\n.version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n";
  void *module = nullptr, *function = nullptr;
  ASSERT_EQ((call<void**, const void*>("cuModuleLoadData", &module, text)), 0);
  EXPECT_EQ((call<void**, void*, const char*>("cuModuleGetFunction", &function, module, "k")), 0);
  EXPECT_NE((call<void**, void*, const char*>("cuModuleGetFunction", &function, module, "other")), 0);
  std::string path = testing::TempDir() + "driver_test_" + std::to_string(::getpid()) + ".ptx";
  std::ofstream(path) << text;
  EXPECT_EQ((call<void**, const char*>("cuModuleLoad", &module, path.c_str())), 0);
  std::remove(path.c_str());
  CaptureStderr();
  EXPECT_NE((call<void**, const void*>("cuModuleLoadData", &module, ".version 8.0\n.target sm_90\nnonsense\n")), 0);
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("line 3 of the PTX ('nonsense') is nothing that Mneme knows of PTX"));
  CaptureStderr();
  EXPECT_EQ((call<void**, const void*>("cuModuleLoadData", &module, "neither PTX nor a fat binary, whatever it is")),
            hipErrorInvalidImage);
  GetCapturedStderr();
  EXPECT_EQ((call<void**, const void*>("cuModuleLoadData", &module, nullptr)), kInvalidValue);
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST(DriverErrors, AreNoErrorsOfTheRuntimes) {
  EXPECT_EQ(hipSetDevice(77), hipErrorInvalidDevice);
  int device = 0;
  EXPECT_EQ((call<int*, int>("cuDeviceGet", &device, 0)), 0);
  EXPECT_EQ((call<int*, int>("cuDeviceGet", &device, 78)), hipErrorInvalidDevice);
  EXPECT_EQ(hipGetLastError(), hipErrorInvalidDevice) << "the one from before";
  EXPECT_EQ(hipGetLastError(), hipSuccess);
}

TEST(DriverDevices, AnswerForEveryAttribute) {
  constexpr int kLast = 147;  // of CUDA 13.0
  int value = -1;
  for (int which = 1; which <= kLast; ++which) {
    EXPECT_EQ((call<int*, int, int>("cuDeviceGetAttribute", &value, which, 0)), 0) << which;
  }
  for (int which : {0, kLast + 1}) {
    EXPECT_EQ((call<int*, int, int>("cuDeviceGetAttribute", &value, which, 0)), kInvalidValue) << which;
  }
}

TEST(DriverErrors, HaveTheDriversNumbers) {
  int value = 0;
  void* nothing = nullptr;
  EXPECT_EQ(call("cuCtxPushCurrent_v2", nothing), hipErrorInvalidContext);
  EXPECT_EQ(call("cuModuleUnload", static_cast<void*>(&value)), kInvalidHandle);
  EXPECT_EQ(call("cuLibraryUnload", static_cast<void*>(&value)), kInvalidHandle);
  EXPECT_EQ((call<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**>(
                "cuLaunchKernel", nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr)),
            kInvalidHandle);
  EXPECT_EQ((call<int*, int, void*>("cuFuncGetAttribute", &value, 0, &value)), kInvalidHandle) << "98 of the runtime's";
}

}  // namespace
}  // namespace mneme::hostgpu::cuda::driver
