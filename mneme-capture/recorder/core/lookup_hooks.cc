// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dlsym, as the application finds it first: of the functions that are hooked, a program that looks them up in a
// vendor's library finds the hooks. And dlopen: no library is loaded so that it finds its own vendor's library before
// the recorder (RTLD_DEEPBIND). All else goes to the C library's as if nothing were between, which looks at who calls it.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/file.h"
#include "objects/embedded.h"

#include "memory/own_region.h"

namespace mneme::record {
namespace {

using Lookup = void* (*)(void*, const char*);
using Open = void* (*)(const char*, int);

// The C library's.
template <class Function>
Function real(const char* name, std::atomic<Function>& known) noexcept {
  Function found = known.load(std::memory_order_relaxed);
  if (found) return found;
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.17"}) {  // the first x86-64 has, old and new
    if (!found) found = reinterpret_cast<Function>(::dlvsym(RTLD_NEXT, name, version));
  }
  known.store(found, std::memory_order_relaxed);
  return found;
}

Lookup real_lookup() noexcept {
  static constinit std::atomic<Lookup> known{nullptr};
  return real("dlsym", known);
}

Open real_open() noexcept {
  static constinit std::atomic<Open> known{nullptr};
  return real("dlopen", known);
}

bool may_be_hooked(std::string_view name) {
  return name.starts_with("cu") || name.starts_with("hip") || name.starts_with("__cuda") || name.starts_with("__hip");
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The shared object, or the program, that has the address.
Dl_info object_of(const void* address) {
  Dl_info info{};
  ::dladdr(address, &info);
  return info;
}

const Dl_info& own_object() {
  static const Dl_info own = object_of(reinterpret_cast<void*>(&real_lookup));
  return own;
}

// nullptr: it is not hooked.
void* hook(const char* name) {
  static void* const own = ::dlopen(own_object().dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void* found = own ? real_lookup()(own, name) : nullptr;
  return found && object_of(found).dli_fbase == own_object().dli_fbase ? found : nullptr;
}

bool has_hooked_functions(std::string_view file) {
  return file.starts_with("libcuda.so") || file.starts_with("libcudart") || file.starts_with("libamdhip64");
}

bool is_drivers(std::string_view name) { return name.starts_with("cu") && name.size() > 2 && name[2] < 'a'; }

// Only CUDA's runtime has this sentence, and what holds a runtime of its own: programs and libraries that were linked
// with the static one. Such a runtime is to find the driver's own functions, as the shared one does: what it does with
// them is no work of the application's.
bool holds_runtime(const char* path) try {
  constexpr std::string_view kOnlyItHas = "CUDA driver version is insufficient for CUDA runtime version";
  Fd file = open_file(path, O_RDONLY);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0 || status.st_size <= 0) return true;
  auto size = static_cast<size_t>(status.st_size);
  void* memory = memory::map_own(size, PROT_READ, MAP_PRIVATE, file.get());
  if (memory == MAP_FAILED) return true;
  bool holds = true;
  try {
    Bytes constants = objects::elf_section({static_cast<const std::byte*>(memory), size}, ".rodata", path);
    holds = text_of(constants).find(kOnlyItHas) != std::string_view::npos;
  } catch (const std::exception&) {  // it cannot be told
  }
  ::munmap(memory, size);
  return holds;
} catch (const std::exception&) {
  return true;
}

bool holds_runtime(const Dl_info& object) {
  static auto* known = new std::map<const void*, std::pair<std::string, bool>>;  // by where it is loaded
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  auto found = known->find(object.dli_fbase);
  if (found != known->end() && found->second.first == object.dli_fname) return found->second.second;
  // The program's own name is as it was started, perhaps from another folder.
  static const void* const program = object_of(reinterpret_cast<void*>(::getauxval(AT_PHDR))).dli_fbase;
  bool holds = holds_runtime(object.dli_fbase == program ? "/proc/self/exe" : object.dli_fname);
  known->insert_or_assign(object.dli_fbase, std::pair(std::string(object.dli_fname), holds));
  return holds;
}

bool is_vendors(std::string_view file) {
  return file.starts_with("libcu") || file.starts_with("libnv") || has_hooked_functions(file);
}

bool is_own(const void* address) { return object_of(address).dli_fbase == own_object().dli_fbase; }

// Whether what the caller looks up may be a hook's. The recorder itself wants the vendors' functions.
bool concerns_us(const void* library, const char* name, const void* caller) noexcept {
  return library != RTLD_NEXT && library != RTLD_DEFAULT && may_be_hooked(name) && !is_own(caller);
}

// What the caller finds, in place of what the library has.
void* find(void* library, const char* name, const void* caller) noexcept try {
  void* found = real_lookup()(library, name);
  if (!found) return nullptr;
  if (!has_hooked_functions(file_name(object_of(found).dli_fname))) return found;
  void* own = hook(name);
  Dl_info by = object_of(caller);
  if (!own || !by.dli_fname || is_vendors(file_name(by.dli_fname))) return found;
  return is_drivers(name) && holds_runtime(by) ? found : own;
} catch (...) {
  return real_lookup()(library, name);
}

}  // namespace
}  // namespace mneme::record

using namespace mneme::record;

#pragma GCC visibility push(default)
// The C library's is jumped to: RTLD_NEXT means what comes after whoever called it.
extern "C" void* hooked_dlsym(void* library, const char* name) asm("dlsym");
extern "C" void* hooked_dlsym(void* library, const char* name) {
  if (concerns_us(library, name, __builtin_return_address(0))) return find(library, name, __builtin_return_address(0));
  [[clang::musttail]] return real_lookup()(library, name);
}

extern "C" void* hooked_dlopen(const char* file, int mode) asm("dlopen");
extern "C" void* hooked_dlopen(const char* file, int mode) {
  [[clang::musttail]] return real_open()(file, mode & ~RTLD_DEEPBIND);
}
#pragma GCC visibility pop
