// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's libraries of CUDA 12 and 13 as programs find them, where the same name means something else in each.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "hostgpu/cuda/cuda.h"

namespace mneme::hostgpu::cuda {
namespace {

class Library {
 public:
  explicit Library(const std::string& name)
      : library_(::dlopen((std::string(STAND_INS) + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {}

  template <class... Arguments>
  Error call(const char* name, Arguments... arguments) const {
    void* function = library_ ? ::dlsym(library_, name) : nullptr;
    if (!function) ADD_FAILURE() << name << " is not there";
    return function ? reinterpret_cast<Error (*)(Arguments...)>(function)(arguments...) : -1;
  }
  void* find(const char* name) const { return ::dlsym(library_, name); }

 private:
  void* library_;
};

struct Batch {
  char one[8] = "abcdefg", two[8] = "1234567", to_one[8] = "", to_two[8] = "";
  void* to[2] = {to_one, to_two};
  void* from[2] = {one, two};
  size_t sizes[2] = {sizeof one, sizeof two};
  size_t start = 0;
  CopyAttributes attributes{1, {}, {}, 0};
  hipStream_t stream = nullptr;

  void expect_copied() const {
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    EXPECT_STREQ(to_one, one);
    EXPECT_STREQ(to_two, two);
  }
};

TEST(CudaVersions, CopyBatches) {
  Batch first, second;
  ASSERT_EQ(hipStreamCreate(&first.stream), hipSuccess);
  second.stream = first.stream;
  EXPECT_EQ(Library("libcudart.so.13")
                .call("cudaMemcpyBatchAsync", first.to, first.from, first.sizes, size_t{2}, &first.attributes,
                      &first.start, size_t{1}, first.stream),
            0);
  first.expect_copied();
  // Here, one that fails may be named.
  Library old("libcudart.so.12");
  size_t failed = 77;
  EXPECT_EQ(old.call("cudaMemcpyBatchAsync", second.to, second.from, second.sizes, size_t{2}, &second.attributes,
                     &second.start, size_t{1}, &failed, second.stream),
            0);
  second.expect_copied();
  second.to[1] = nullptr;
  EXPECT_NE(old.call("cudaMemcpyBatchAsync", second.to, second.from, second.sizes, size_t{2}, &second.attributes,
                     &second.start, size_t{1}, &failed, second.stream),
            0);
  EXPECT_EQ(failed, 1U);
  static_cast<void>(hipGetLastError());
  EXPECT_EQ(hipStreamDestroy(first.stream), hipSuccess);
}

TEST(CudaVersions, FindTheDriversFunctionsOfTheirTime) {
  Library driver("libcuda.so.1");
  for (auto [name, expected] :
       {std::pair("libcudart.so.12", "cuCtxGetDevice"), {"libcudart.so.13", "cuCtxGetDevice_v2"}}) {
    void* found = nullptr;
    int status = -1;
    EXPECT_EQ(Library(name).call("cudaGetDriverEntryPoint", "cuCtxGetDevice", &found, 0ULL, &status), 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(found && found == driver.find(expected)) << name;
    EXPECT_EQ(Library(name).call("cudaGetDriverEntryPoint_ptsz", "cuLaunchKernel", &found, 0ULL, &status), 0);
    EXPECT_TRUE(found && found == driver.find("cuLaunchKernel_ptsz")) << name;
  }
}

}  // namespace
}  // namespace mneme::hostgpu::cuda
