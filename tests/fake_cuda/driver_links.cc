// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface: its linker, of code that one input has whole, which is what comes out.
#include <fstream>
#include <iterator>

#include "driver.h"

using namespace mneme::fake_cuda;

namespace {

constexpr int kPtx = 1;  // CU_JIT_INPUT_PTX

struct Link {
  std::string cubin;
};

}  // namespace

extern "C" {

Result cuLinkCreate_v2(unsigned, const int*, void**, Link** link) {
  *link = new Link;
  return 0;
}
Result cuLinkAddData_v2(Link* link, int kind, const void* data, size_t size, const char*, unsigned, const int*,
                        void**) {
  const std::string_view input(static_cast<const char*>(data), size);
  link->cubin = kind == kPtx ? cubin_in_ptx(input) : std::string(input);
  return link->cubin.empty() ? kInvalidValue : 0;
}
Result cuLinkAddFile_v2(Link* link, int kind, const char* path, unsigned, const int*, void**) {
  std::ifstream file(path, std::ios::binary);
  const std::string input(std::istreambuf_iterator<char>(file), {});
  return cuLinkAddData_v2(link, kind, input.data(), input.size(), path, 0, nullptr, nullptr);
}
Result cuLinkComplete(Link* link, void** cubin, size_t* size) {
  *cubin = link->cubin.data();
  *size = link->cubin.size();
  return 0;
}
// What came out goes with it.
Result cuLinkDestroy(Link* link) {
  link->cubin.assign(link->cubin.size(), 'x');
  delete link;
  return 0;
}

}  // extern "C"
