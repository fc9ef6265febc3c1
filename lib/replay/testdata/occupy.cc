// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Preloaded into a program: something is at the recording's addresses already.
#include <sys/mman.h>

__attribute__((constructor)) static void occupy() {
  ::mmap(reinterpret_cast<void*>(0x400000000000), 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
         -1, 0);
}
