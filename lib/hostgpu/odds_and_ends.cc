// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exports that return something other than an error number, and so need an answer of their own.
#include <cstdint>
#include <cstring>

#include "hostgpu/hip.h"

// Declared in no installed header.
extern "C" {
unsigned short __gnu_f2h_ieee(float value);
float __gnu_h2f_ieee(unsigned short value);
const char* hipGetCmdName(unsigned op);
void hipInitActivityCallback(void* id_callback, void* op_callback, void* argument);
bool hipEnableActivityCallback(unsigned op, bool enable);
const char* amd_dbgapi_get_build_name();
const char* amd_dbgapi_get_git_hash();
size_t amd_dbgapi_get_build_id();
}

#pragma GCC visibility push(default)
extern "C" {

hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w, hipChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

const char* hipApiName(uint32_t) { return "unknown"; }
const char* hipGetCmdName(unsigned) { return "unknown"; }
void __hipGetPCH(const char** header, unsigned* size) {
  *header = nullptr;
  *size = 0;
}

// Tracing: nobody is called back.
void hipInitActivityCallback(void*, void*, void*) {}
bool hipEnableActivityCallback(unsigned, bool) { return false; }

const char* amd_dbgapi_get_build_name() { return "mneme"; }
const char* amd_dbgapi_get_git_hash() { return ""; }
size_t amd_dbgapi_get_build_id() { return 0; }

unsigned short __gnu_f2h_ieee(float value) {
  auto half = static_cast<_Float16>(value);
  unsigned short bits;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}

float __gnu_h2f_ieee(unsigned short bits) {
  _Float16 half;
  std::memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
}

}  // extern "C"
#pragma GCC visibility pop
