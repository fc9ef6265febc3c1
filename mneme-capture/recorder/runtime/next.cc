// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/runtime/next.h"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>

namespace mneme::record {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The path of what is loaded and has this name, but for its version; empty: nothing.
std::string loaded_path(std::string_view name) {
  constexpr std::string_view kEnding = ".so";
  struct Search {
    std::string_view stem;
    std::string path;
  } search{name.substr(0, name.find(kEnding) + kEnding.size()), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& search = *static_cast<Search*>(data);
        std::string_view file = file_name(info->dlpi_name);
        bool found =
            file.starts_with(search.stem) && (file.size() == search.stem.size() || file[search.stem.size()] == '.');
        if (found) search.path = info->dlpi_name;
        return static_cast<int>(found);
      },
      &search);
  return search.path;
}

// A shared library by the name that programs are linked with ("libcudart.so.13"): what the process has loaded already,
// of whatever version, or else what the loader finds. A second version would be another library, with nothing in it
// that the application made.
void* find_library(const char* name) {
  if (void* library = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return library;
  std::string path = loaded_path(name);
  if (!path.empty()) return ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (void* library = ::dlopen(name, RTLD_LAZY)) return library;
  // The vendor gives each release's library a number, and its functions keep their names.
  const std::string stem = std::string(name, std::string_view(name).find(".so")) + ".so";
  for (const char* number : {".7", ".6", ".5"}) {
    void* library = stem == "libamdhip64.so" ? ::dlopen((stem + number).c_str(), RTLD_LAZY) : nullptr;
    if (library) return library;
  }
  return nullptr;
}

}  // namespace

void* find_next(const char* library, const char* prefix, const char* name) {
  const std::string whole = std::string(prefix) + name;
  if (void* found = ::dlsym(RTLD_NEXT, whole.c_str())) return found;
  // A program that loaded the runtime with dlopen keeps it out of the order in which symbols are looked up.
  void* loaded = find_library(library);
  void* found = loaded ? ::dlsym(loaded, whole.c_str()) : nullptr;
  return loaded && !found ? &absent : found;  // from an older version, which need not be asked again
}

}  // namespace mneme::record
