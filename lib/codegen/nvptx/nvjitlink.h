// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libnvJitLink, loaded at run time. What is used of it is declared by us.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace mneme::codegen::nvptx {

class NvJitLink {
 public:
  // Nothing: the file is no such library. It stays loaded.
  static std::optional<NvJitLink> load(const std::string& path);

  std::string version() const;  // "13.0"

  struct Linked {
    std::string cubin;  // empty: it failed, and the log says why
    std::string log;
  };
  // Options as nvJitLink.h lists them.
  Linked assemble(const std::string& ptx, const std::vector<std::string>& options) const;

 private:
  using Handle = void*;  // nvJitLinkHandle
  using Read = int (*)(Handle, char*);
  using ReadSize = int (*)(Handle, size_t*);
  static std::string text(Handle handle, ReadSize size, Read read);

  int (*version_)(unsigned* major, unsigned* minor);  // null in the oldest
  int (*create_)(Handle*, unsigned count, const char* const* options);
  int (*destroy_)(Handle*);
  int (*add_data_)(Handle, int kind, const void* data, size_t size, const char* name);
  int (*complete_)(Handle);
  ReadSize cubin_size_, error_size_, info_size_;
  Read cubin_, error_, info_;
};

}  // namespace mneme::codegen::nvptx
