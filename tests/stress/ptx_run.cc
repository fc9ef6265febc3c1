// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs kernels of PTX that ptx_programs.py makes, by CUDA's driver: a GPU's, or the host device's. A line a kernel: its
// file and name, and a number for what each of its registers holds in the end; with RAW=1 in the environment what all
// threads' registers hold, a line a register.
//
//   ptx_run KERNELS OUTPUTS FILE.ptx …
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kThreads = 64, kInputs = 1024;

void* driver() {
  static void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) std::fprintf(stderr, "%s\n", ::dlerror()), std::exit(2);
  return library;
}

template <typename... Arguments>
void call(const char* name, Arguments... arguments) {
  auto* function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(driver(), name));
  int status = function ? function(arguments...) : -1;
  if (status != 0) std::fprintf(stderr, "%s: %d\n", name, status), std::exit(2);
}

std::vector<uint32_t> inputs() {
  std::vector<uint32_t> words(kInputs);
  uint64_t state = 88172645463325252u;
  for (uint32_t& word : words) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    word = static_cast<uint32_t>(state >> 20) >> (state & 31);  // of all sizes
  }
  return words;
}

uint32_t digest(const uint32_t* words) {
  uint32_t sum = 2166136261u;
  for (uint32_t i = 0; i < kThreads; ++i) sum = (sum ^ words[i]) * 16777619u;
  return sum;
}

void run(const char* file, unsigned kernels, unsigned outputs, uint64_t in, uint64_t out) {
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), {});
  void* module = nullptr;
  call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str()));
  std::vector<uint32_t> words(size_t{outputs} * kThreads);
  for (unsigned k = 0; k < kernels; ++k) {
    std::string name = "k" + std::to_string(k);
    void* function = nullptr;
    call("cuModuleGetFunction", &function, module, name.c_str());
    call("cuMemsetD8_v2", out, static_cast<unsigned char>(0), words.size() * 4);
    uint32_t count = kInputs;
    void* arguments[] = {&out, &in, &count};
    call("cuLaunchKernel", function, 1u, 1u, 1u, kThreads, 1u, 1u, 0u, static_cast<void*>(nullptr),
         static_cast<void**>(arguments), static_cast<void**>(nullptr));
    call("cuCtxSynchronize");
    call("cuMemcpyDtoH_v2", static_cast<void*>(words.data()), out, words.size() * 4);
    std::printf("%s %s", file, name.c_str());
    if (std::getenv("RAW")) {
      for (size_t i = 0; i < words.size(); ++i) std::printf("%s%08x", i % kThreads ? " " : "\n", words[i]);
    }
    for (unsigned i = 0; i < outputs; ++i) std::printf(" %08x", digest(words.data() + size_t{i} * kThreads));
    std::printf("\n");
    std::fflush(stdout);
  }
  call("cuModuleUnload", module);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return std::fprintf(stderr, "usage: ptx_run KERNELS OUTPUTS FILE.ptx ...\n"), 2;
  unsigned kernels = static_cast<unsigned>(std::atoi(argv[1])), outputs = static_cast<unsigned>(std::atoi(argv[2]));
  int device = 0;
  void* context = nullptr;
  call("cuInit", 0u);
  call("cuDeviceGet", &device, 0);
  call("cuDevicePrimaryCtxRetain", &context, device);
  call("cuCtxSetCurrent", context);
  uint64_t in = 0, out = 0;
  std::vector<uint32_t> words = inputs();
  call("cuMemAlloc_v2", &in, words.size() * 4);
  call("cuMemAlloc_v2", &out, size_t{outputs} * kThreads * 4);
  call("cuMemcpyHtoD_v2", in, static_cast<const void*>(words.data()), words.size() * 4);
  for (int i = 3; i < argc; ++i) run(argv[i], kernels, outputs, in, out);
  return 0;
}
