// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libgcc's unwinder finds the tables of the code that it comes by with _dl_find_object(), which glibc has since 2.35.
// Programs that are to run with older ones take this in its place.
#include <dlfcn.h>
#include <link.h>

#ifdef DLFO_STRUCT_HAS_EH_DBASE  // else libgcc was built for a C library without it, and does not ask
namespace {

struct Search {
  ElfW(Addr) address;
  dl_find_object* result;
};

int look(dl_phdr_info* object, size_t, void* argument) {
  auto* search = static_cast<Search*>(argument);
  bool holds = false;
  void* tables = nullptr;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    ElfW(Addr) start = object->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && search->address >= start && search->address - start < header.p_memsz) {
      holds = true;
      search->result->dlfo_map_start = reinterpret_cast<void*>(start);  // NOLINT(performance-no-int-to-ptr)
      search->result->dlfo_map_end =
          reinterpret_cast<void*>(start + header.p_memsz);  // NOLINT(performance-no-int-to-ptr)
    }
    if (header.p_type == PT_GNU_EH_FRAME) {
      tables = reinterpret_cast<void*>(start);  // NOLINT(performance-no-int-to-ptr)
    }
  }
  if (!holds) return 0;
  if (!tables) return -1;
  search->result->dlfo_eh_frame = tables;
  return 1;
}

}  // namespace

// Of no use to libraries that are loaded into such a program: they find the C library's.
extern "C" [[gnu::visibility("hidden")]] int _dl_find_object(void* address, dl_find_object* result) noexcept {
  *result = {};
  Search search{reinterpret_cast<ElfW(Addr)>(address), result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif
