// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// dlsym and dlvsym, as the application finds them first: of the functions that are hooked, whatever looks them up in a
// vendor's library finds the hooks: programs, their plug-ins, scripts, a CUDA runtime that a program or a library holds
// itself. And dlopen: no library is loaded so that it finds its own vendor's library before the recorder
// (RTLD_DEEPBIND). All else goes to the C library's as if nothing were between, which looks at who calls it.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace mneme::record {
namespace {

using Lookup = void* (*)(void*, const char*);
using VersionLookup = void* (*)(void*, const char*, const char*);
using Open = void* (*)(const char*, int);

// Whether the text begins with the other one, or is it.
bool begins(const char* text, const char* with, bool is_whole = false) {
  while (*with && *text == *with) ++text, ++with;
  return !*with && (!is_whole || !*text);
}

// The table by which the loader finds what an object exports.
struct Exports {
  explicit Exports(const ElfW(Dyn) * entry) {
    for (; entry->d_tag != DT_NULL; ++entry) {
      const auto at = entry->d_un.d_ptr;
      if (entry->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(at);
      if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(at);
      if (entry->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<const uint32_t*>(at);
    }
  }

  // nullptr: it is not there.
  const ElfW(Sym) * find(const char* name) const {
    if (!symbols || !names || !hashes) return nullptr;
    uint32_t hash = 5381;
    for (const char* letter = name; *letter; ++letter) hash = hash * 33 + static_cast<unsigned char>(*letter);
    const uint32_t buckets = hashes[0], first = hashes[1], words = hashes[2];
    const auto* bucket = hashes + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t* chain = bucket + buckets;
    uint32_t at = bucket[hash % buckets];
    for (; at >= first; ++at) {
      const bool is_last = chain[at - first] & 1;
      const bool alike = (chain[at - first] | 1) == (hash | 1);
      if (alike && symbols[at].st_shndx != SHN_UNDEF && begins(names + symbols[at].st_name, name, true)) {
        return &symbols[at];
      }
      if (is_last) break;
    }
    return nullptr;
  }

  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hashes = nullptr;
};

// Of either glibc's names: the latter is before glibc 2.34.
bool is_c_library(const char* path) {
  const char* name = path;
  for (const char* at = path; *at; ++at) {
    if (*at == '/') name = at + 1;
  }
  return begins(name, "libc.so") || begins(name, "libdl.so");
}

// The C library's dlvsym, which cannot be asked for: the name is this library's own here. It calls nothing: sanitizers
// have functions of the C library's names that look up the C library's own before they are ready.
VersionLookup find_version_lookup() noexcept {
  for (const link_map* object = _r_debug.r_map; object; object = object->l_next) {
    if (!is_c_library(object->l_name)) continue;
    if (const ElfW(Sym)* symbol = Exports(object->l_ld).find("dlvsym")) {
      return reinterpret_cast<VersionLookup>(object->l_addr + symbol->st_value);
    }
  }
  return nullptr;
}

VersionLookup real_version_lookup() noexcept {
  static constinit std::atomic<VersionLookup> known{nullptr};
  VersionLookup found = known.load(std::memory_order_relaxed);
  if (!found) known.store(found = find_version_lookup(), std::memory_order_relaxed);
  return found;
}

// The C library's.
template <class Function>
Function real(const char* name, std::atomic<Function>& known) noexcept {
  Function found = known.load(std::memory_order_relaxed);
  if (found) return found;
  for (const char* version : {"GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.17"}) {  // the first x86-64 has, old and new
    if (!found) found = reinterpret_cast<Function>(real_version_lookup()(RTLD_NEXT, name, version));
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

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool may_be_hooked(std::string_view name) {
  return name.starts_with("cu") || name.starts_with("hip") || name.starts_with("__cuda") || name.starts_with("__hip");
}

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

// Whether a library finds the vendors' own functions. The shared runtime's calls of the driver are no work of the
// application's, which are seen where it calls the runtime. Profilers look at the driver, and use it for themselves.
bool finds_vendors_own(std::string_view file) {
  return has_hooked_functions(file) || file.starts_with("libnvidia-") || file.starts_with("libcupti") ||
         file.starts_with("libnvperf");
}

bool is_own(const void* address) { return object_of(address).dli_fbase == own_object().dli_fbase; }

// Whether what the caller looks up may be a hook's. The recorder itself wants the vendors' functions.
bool concerns_us(const void* library, const char* name, const void* caller) noexcept {
  return library != RTLD_NEXT && library != RTLD_DEFAULT && may_be_hooked(name) && !is_own(caller);
}

bool is_vendors_loaded() {
  auto is_it = [](dl_phdr_info* object, size_t, void*) -> int {
    return has_hooked_functions(file_name(object->dlpi_name));
  };
  return ::dl_iterate_phdr(is_it, nullptr) != 0;
}

// Whether the object that has the address exports something of that name.
bool defines(const void* address, const char* name) {
  Dl_info info{};
  link_map* object = nullptr;
  if (!::dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) || !object) return false;
  return Exports(object->l_ld).find(name) != nullptr;
}

// Whether the caller looks behind itself, where the recorder is not, for what it does not have. A library that wraps
// the function is called by the recorder, and wants the vendor's.
bool looks_past_us(const void* library, const char* name, const void* caller) noexcept {
  return library == RTLD_NEXT && may_be_hooked(name) && !is_own(caller) && !defines(caller, name) &&
         !finds_vendors_own(file_name(object_of(caller).dli_fname ? object_of(caller).dli_fname : ""));
}

// The recorder's functions have no versions: a look-up with one passes them by everywhere.
bool passes_us(const void* library, const char* name, const void* caller) noexcept {
  if (library == RTLD_NEXT) return looks_past_us(library, name, caller);
  return library == RTLD_DEFAULT && may_be_hooked(name) && !is_own(caller);
}

// What the caller finds in place of `found`, which is what the library has.
void* find(void* found, const char* name, const void* caller) noexcept try {
  if (!found || !has_hooked_functions(file_name(object_of(found).dli_fname))) return found;
  void* own = hook(name);
  Dl_info by = object_of(caller);
  return own && by.dli_fname && !finds_vendors_own(file_name(by.dli_fname)) ? own : found;
} catch (...) {
  return found;
}

}  // namespace
}  // namespace mneme::record

using namespace mneme::record;

#pragma GCC visibility push(default)
// The C library's is jumped to: RTLD_NEXT means what comes after whoever called it.
extern "C" void* hooked_dlsym(void* library, const char* name) asm("dlsym");
extern "C" void* hooked_dlsym(void* library, const char* name) {
  const void* caller = __builtin_return_address(0);
  if (concerns_us(library, name, caller)) return find(real_lookup()(library, name), name, caller);
  if (looks_past_us(library, name, caller) && is_vendors_loaded()) {
    if (void* own = hook(name)) return own;
  }
  [[clang::musttail]] return real_lookup()(library, name);
}

extern "C" void* hooked_dlvsym(void* library, const char* name, const char* version) asm("dlvsym");
extern "C" void* hooked_dlvsym(void* library, const char* name, const char* version) {
  const void* caller = __builtin_return_address(0);
  if (concerns_us(library, name, caller)) return find(real_version_lookup()(library, name, version), name, caller);
  if (passes_us(library, name, caller)) {
    if (void* found = real_version_lookup()(RTLD_DEFAULT, name, version)) return find(found, name, caller);
  }
  [[clang::musttail]] return real_version_lookup()(library, name, version);
}

extern "C" void* hooked_dlopen(const char* file, int mode) asm("dlopen");
extern "C" void* hooked_dlopen(const char* file, int mode) {
  [[clang::musttail]] return real_open()(file, mode & ~RTLD_DEEPBIND);
}
#pragma GCC visibility pop
