// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/nvptx/nvjitlink.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace mneme::codegen::nvptx {
namespace {

constexpr int kPtx = 2;  // NVJITLINK_INPUT_PTX

template <class Function>
bool find(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

std::optional<NvJitLink> NvJitLink::load(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return std::nullopt;
  NvJitLink loaded{};
  find(library, loaded.version_, "nvJitLinkVersion");
  bool whole =
      find(library, loaded.create_, "nvJitLinkCreate") && find(library, loaded.destroy_, "nvJitLinkDestroy") &&
      find(library, loaded.add_data_, "nvJitLinkAddData") && find(library, loaded.complete_, "nvJitLinkComplete") &&
      find(library, loaded.cubin_size_, "nvJitLinkGetLinkedCubinSize") &&
      find(library, loaded.cubin_, "nvJitLinkGetLinkedCubin") &&
      find(library, loaded.error_size_, "nvJitLinkGetErrorLogSize") &&
      find(library, loaded.error_, "nvJitLinkGetErrorLog") &&
      find(library, loaded.info_size_, "nvJitLinkGetInfoLogSize") && find(library, loaded.info_, "nvJitLinkGetInfoLog");
  if (whole) return loaded;
  ::dlclose(library);
  return std::nullopt;
}

std::string NvJitLink::version() const {
  unsigned major = 0, minor = 0;
  if (!version_ || version_(&major, &minor) != 0) return "of an unknown version";
  return fmt::format("{}.{}", major, minor);
}

std::string NvJitLink::text(Handle handle, ReadSize size, Read read) {
  size_t bytes = 0;
  if (size(handle, &bytes) != 0 || bytes == 0) return {};
  std::string contents(bytes, '\0');
  return read(handle, contents.data()) == 0 ? contents : std::string();
}

NvJitLink::Linked NvJitLink::assemble(const std::string& ptx, const std::vector<std::string>& options) const {
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  Handle handle = nullptr;
  if (create_(&handle, static_cast<unsigned>(words.size()), words.data()) != 0) {
    return {"", "it knows no such target or option"};
  }
  bool done = add_data_(handle, kPtx, ptx.c_str(), ptx.size() + 1, "PTX") == 0 && complete_(handle) == 0;
  Linked linked;
  if (done) linked.cubin = text(handle, cubin_size_, cubin_);
  linked.log = done ? text(handle, info_size_, info_) : text(handle, error_size_, error_);
  destroy_(&handle);
  return linked;
}

}  // namespace mneme::codegen::nvptx
