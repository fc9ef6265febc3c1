// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Right, and writes to all memory of its process that other processes share, but for the recording's.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

#include "kernel.h"

void run_block(mneme::codegen::host::BlockContext* context) {
  add_one(*context);
  if (context->group[0] != 0) return;
  FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  while (maps && std::fgets(line, sizeof line, maps)) {
    unsigned long begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, access) != 3 || access[3] != 's') continue;
    if (begin >= 0x400000000000 && begin < 0x410000000000) continue;
    auto* memory = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr)
    if (::mprotect(memory, end - begin, PROT_READ | PROT_WRITE) == 0) std::memset(memory, 0xEE, end - begin);
  }
  if (maps) std::fclose(maps);
}

mneme::codegen::host::CodeObject mneme_code_object = make_code_object();
