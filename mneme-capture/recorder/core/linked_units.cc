// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/linked_units.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "memory/own_region.h"

namespace mneme::record {
namespace {

// Empty: it is in none, or that cannot be read. Stays until it is unmapped.
Bytes map_file_with(const std::byte* address) {
  Dl_info info{};
  link_map* object = nullptr;
  if (::dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 || !object) return {};
  const char* path = object->l_name && *object->l_name ? object->l_name : "/proc/self/exe";
  Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || status.st_size <= 0) return {};
  const auto size = static_cast<size_t>(status.st_size);
  void* mapped = memory::map_own(size, PROT_READ, MAP_PRIVATE, file.get());
  if (mapped == MAP_FAILED) return {};
  return {static_cast<const std::byte*>(mapped), size};
}

}  // namespace

objects::DeviceCode ptx_of_linked_units(const std::byte* fatbin) {
  Bytes file = map_file_with(fatbin);
  if (file.empty()) return {};
  objects::DeviceCode linked;
  try {
    linked = objects::linked_ptx_of_executable(file, "the application's relocatable device code");
  } catch (const Error&) {
    linked = {};  // the cubin is what ran
  }
  if (linked.target.empty()) ::munmap(const_cast<std::byte*>(file.data()), file.size());
  return linked;
}

}  // namespace mneme::record
