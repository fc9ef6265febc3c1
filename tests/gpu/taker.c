// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// To be preloaded: the addresses that recordings have of device memory are taken.
#include <sys/mman.h>

__attribute__((constructor)) static void take(void) {
  mmap((void*)0x400000000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}
