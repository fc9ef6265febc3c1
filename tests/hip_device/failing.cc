// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A HIP runtime that hands every call of lib/device/hip, and those that the recorder makes itself, on to another
// library, $MNEME_TEST_RUNTIME, but for those that are to fail: $MNEME_TEST_FAIL is the function, the error's number,
// and which call of it, counted from 1 (0: all), with blanks between them. The error -1 is a success with an address
// that was not asked for. The function * is any: that call of all, and all that come after it, as when a device is
// lost. The names of all functions that are called are appended to the file $MNEME_TEST_CALLS. mneme_test_left() says
// what was asked for and not given back (held.h), and in the end that is appended to the file $MNEME_TEST_LEFT. As
// AMD's runtime it tells a profiler (profiler.cc) of the kernels that it dispatches, and as in some releases of that,
// no copy goes on from one piece of virtual memory into the next, if $MNEME_TEST_PIECES is set.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "held.h"

namespace {

void* other(const char* name) {
  static void* const library = dlopen(std::getenv("MNEME_TEST_RUNTIME"), RTLD_NOW | RTLD_LOCAL);
  void* found = library ? dlsym(library, name) : nullptr;
  if (!found) std::abort();
  return found;
}

thread_local int last_error = 0;

void log(const char* name) {
  static const char* const path = std::getenv("MNEME_TEST_CALLS");
  FILE* file = path ? std::fopen(path, "a") : nullptr;
  if (!file) return;
  std::fprintf(file, "%s\n", name);
  std::fclose(file);
}

// 0: this call is to be handed on.
int failure(const char* name, int call) {
  static std::atomic<int> of_all = 0;
  const int so_far = ++of_all;
  log(name);
  const char* text = std::getenv("MNEME_TEST_FAIL");
  char function[64] = {};
  int error = 0, which = 0, read = 0;
  while (text && std::sscanf(text, "%63s %d %d%n", function, &error, &which, &read) == 3) {
    if (std::strcmp(function, "*") == 0 && so_far >= which) return error;
    if (std::strcmp(function, name) == 0 && (which == 0 || which == call)) return error;
    text += read;
  }
  return 0;
}

// What a call that failed here leaves for hipGetLastError, as the runtime's own does.
int fail(int error) {
  last_error = error;
  return error;
}

// Of virtual memory: address → size.
class Pieces {
 public:
  int map(void* address, size_t size, int result) {
    std::lock_guard lock(mutex_);
    if (result == 0) pieces_[static_cast<char*>(address)] = size;
    return result;
  }
  int unmap(void* address, int result) {
    std::lock_guard lock(mutex_);
    if (result == 0) pieces_.erase(static_cast<char*>(address));
    return result;
  }
  bool has_whole(const void* address, size_t size) {
    static const bool matters = std::getenv("MNEME_TEST_PIECES") != nullptr;
    std::lock_guard lock(mutex_);
    const auto* at = static_cast<const char*>(address);
    auto next = pieces_.upper_bound(const_cast<char*>(at));
    if (!matters || next == pieces_.begin()) return true;
    auto [begin, left] = *--next;
    const auto within = static_cast<size_t>(at - begin);
    return within >= left || size <= left - within;
  }

 private:
  std::mutex mutex_;
  std::map<char*, size_t> pieces_;
};
Pieces pieces;
constexpr int kInvalid = 1;

test::Held& held = *new test::Held;  // for as long as anybody may call

}  // namespace

extern "C" const char* mneme_test_left() {
  static std::string left;
  left = held.left();
  return left.c_str();
}

[[gnu::destructor]] static void write_left() {
  const char* path = std::getenv("MNEME_TEST_LEFT");
  FILE* file = path ? std::fopen(path, "a") : nullptr;  // processes that the library is loaded into for nothing, too
  if (!file) return;
  std::fputs(mneme_test_left(), file);
  std::fclose(file);
}

// As rocprofiler-register finds it. A profiled kernel has ended when its launch returns.
using Dispatched = void (*)(bool recorded, const unsigned* blocks, const unsigned* block);
Dispatched profiler() {
  const char* path = std::getenv("ROCPROFILER_REGISTER_LIBRARY");
  void* library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
  return library ? reinterpret_cast<Dispatched>(dlsym(library, "mneme_test_dispatched")) : nullptr;
}

// `recorded`: the kernel is a recording's, and not Mneme's or the runtime's own.
int profiled(int result, bool recorded, const unsigned (&blocks)[3], const unsigned (&block)[3]) {
  static Dispatched const tell = profiler();
  if (!tell || result != 0) return result;
  static auto* const synchronize = reinterpret_cast<int (*)()>(other("hipDeviceSynchronize"));
  result = synchronize();
  tell(recorded, blocks, block);
  return result;
}

#define HAND_ON_TO(name, parameters, result)                                     \
  extern "C" int name parameters {                                               \
    static int calls = 0;                                                        \
    static auto* const next = reinterpret_cast<int(*) parameters>(other(#name)); \
    if (int error = failure(#name, ++calls)) return fail(error);                 \
    return result;                                                               \
  }
#define HAND_ON(name, parameters, arguments) HAND_ON_TO(name, parameters, next arguments)
// What gives something, which the first argument says afterwards, and what takes it back.
#define GIVE(name, what, parameters, arguments) HAND_ON_TO(name, parameters, held.give(#what, a, next arguments))
#define TAKE_BACK(name, what, parameters, arguments)                             \
  extern "C" int name parameters {                                               \
    static int calls = 0;                                                        \
    static auto* const next = reinterpret_cast<int(*) parameters>(other(#name)); \
    const int error = failure(#name, ++calls);                                   \
    return held.take(#what, a, error ? fail(error) : next arguments);            \
  }

using P = void*;
using U = unsigned;
using S = size_t;
using L = unsigned long long;

HAND_ON(hipInit, (U a), (a))
HAND_ON(hipDeviceGetLimit, (S * a, int b), (a, b))
HAND_ON(hipDeviceSetLimit, (int a, S b), (a, b))
HAND_ON(hipGetDeviceCount, (int* a), (a))
HAND_ON(hipSetDevice, (int a), (a))
HAND_ON(hipDeviceGetAttribute, (int* a, int b, int c), (a, b, c))
HAND_ON(hipDeviceSynchronize, (), ())
GIVE(hipModuleLoadData, module, (P * a, P b), (a, b))
TAKE_BACK(hipModuleUnload, module, (P a), (a))
HAND_ON(hipModuleGetFunction, (P a, P b, P c), (a, b, c))
HAND_ON(hipModuleGetGlobal, (P a, P b, P c, P d), (a, b, c, d))
HAND_ON_TO(hipModuleLaunchKernel, (P a, U b, U c, U d, U e, U f, U g, U h, P i, P j, P k),
           profiled(next(a, b, c, d, e, f, g, h, i, j, k), k != nullptr, {b, c, d}, {e, f, g}))
HAND_ON_TO(hipModuleLaunchCooperativeKernel, (P a, U b, U c, U d, U e, U f, U g, U h, P i, P j),
           profiled(next(a, b, c, d, e, f, g, h, i, j), true, {b, c, d}, {e, f, g}))
TAKE_BACK(hipFree, memory, (P a), (a))
HAND_ON(hipMemGetInfo, (P a, P b), (a, b))
HAND_ON_TO(hipMemset, (P a, int b, S c), profiled(next(a, b, c), false, {48, 1, 1}, {512, 1, 1}))
HAND_ON_TO(hipMemcpy, (P a, P b, S c, int d),
           pieces.has_whole(a, c) && pieces.has_whole(b, c) ? next(a, b, c, d) : fail(kInvalid))
HAND_ON(hipMemcpyToSymbol, (P a, P b, S c, S d, int e), (a, b, c, d, e))
HAND_ON_TO(hipHostRegister, (P a, S b, U c), held.give("registration", &a, next(a, b, c)))
TAKE_BACK(hipHostUnregister, registration, (P a), (a))
GIVE(hipEventCreate, event, (P * a), (a))
TAKE_BACK(hipEventDestroy, event, (P a), (a))
HAND_ON(hipEventRecord, (P a, P b), (a, b))
HAND_ON(hipEventElapsedTime, (float* a, P b, P c), (a, b, c))
TAKE_BACK(hipMemAddressFree, addresses, (P a, S b), (a, b))
GIVE(hipMemCreate, allocation, (P * a, S b, P c, L d), (a, b, c, d))
TAKE_BACK(hipMemRelease, allocation, (P a), (a))
HAND_ON_TO(hipMemMap, (P a, S b, S c, P d, L e), held.give("mapping", &a, pieces.map(a, b, next(a, b, c, d, e))))
extern "C" int hipMemUnmap(P a, S b) {
  static int calls = 0;
  static auto* const next = reinterpret_cast<int (*)(P, S)>(other("hipMemUnmap"));
  const int error = failure("hipMemUnmap", ++calls);
  return held.take("mapping", a, error ? fail(error) : pieces.unmap(a, next(a, b)));
}
HAND_ON(hipMemSetAccess, (P a, S b, P c, S d), (a, b, c, d))
// The recorder's besides.
HAND_ON(hipRuntimeGetVersion, (int* a), (a))
HAND_ON(hipGetDevice, (int* a), (a))
HAND_ON_TO(hipMemcpyAsync, (P a, P b, S c, int d, P e),
           pieces.has_whole(a, c) && pieces.has_whole(b, c) ? next(a, b, c, d, e) : fail(kInvalid))
GIVE(hipEventCreateWithFlags, event, (P * a, U b), (a, b))
HAND_ON(hipEventSynchronize, (P a), (a))
HAND_ON(hipStreamSynchronize, (P a), (a))
GIVE(hipStreamCreate, stream, (P * a), (a))
GIVE(hipStreamCreateWithFlags, stream, (P * a, U b), (a, b))
TAKE_BACK(hipStreamDestroy, stream, (P a), (a))
HAND_ON(hipThreadExchangeStreamCaptureMode, (int* a), (a))
HAND_ON(hipMemsetAsync, (P a, int b, S c, P d), (a, b, c, d))
HAND_ON(hipGetSymbolAddress, (P a, P b), (a, b))
HAND_ON(hipGetSymbolSize, (P a, P b), (a, b))
// The application's, too: these are all the ways to a graph that are gone here.
GIVE(hipGraphCreate, graph, (P * a, U b), (a, b))
GIVE(hipGraphClone, graph, (P * a, P b), (a, b))
HAND_ON_TO(hipStreamEndCapture, (P a, P* b), held.give("graph", b, next(a, b)))
TAKE_BACK(hipGraphDestroy, graph, (P a), (a))
GIVE(hipGraphInstantiate, instance, (P * a, P b, P* c, char* d, S e), (a, b, c, d, e))
TAKE_BACK(hipGraphExecDestroy, instance, (P a), (a))
HAND_ON(hipStreamIsCapturing, (P a, int* b), (a, b))
HAND_ON(hipStreamWaitEvent, (P a, P b, U c), (a, b, c))
HAND_ON(hipDeviceCanAccessPeer, (int* a, int b, int c), (a, b, c))
HAND_ON(hipMemGetAllocationPropertiesFromHandle, (P a, P b), (a, b))
HAND_ON(hipGraphGetNodes, (P a, P* b, S* c), (a, b, c))
HAND_ON(hipGraphGetEdges, (P a, P* b, P* c, S* d), (a, b, c, d))
HAND_ON(hipGraphChildGraphNodeGetGraph, (P a, P* b), (a, b))
HAND_ON(hipGraphLaunch, (P a, P b), (a, b))
HAND_ON(hipGraphNodeFindInClone, (P a, P b, P c), (a, b, c))
HAND_ON(hipGraphNodeGetType, (P a, P b), (a, b))
HAND_ON(hipGraphDestroyNode, (P a), (a))
HAND_ON(hipGraphKernelNodeGetParams, (P a, P b), (a, b))
HAND_ON(hipGraphAddEmptyNode, (P a, P b, P c, S d), (a, b, c, d))
HAND_ON(hipGraphAddKernelNode, (P a, P b, P c, S d, P e), (a, b, c, d, e))

extern "C" int hipMemAddressReserve(void** address, S size, S alignment, void* wanted, L flags) {
  using Reserve = int (*)(void**, S, S, void*, L);
  static int calls = 0;
  static auto* const next = reinterpret_cast<Reserve>(other("hipMemAddressReserve"));
  int error = failure("hipMemAddressReserve", ++calls);
  if (error && error != -1) return fail(error);
  return held.give("addresses", address, next(address, size, alignment, error ? nullptr : wanted, flags));
}

namespace {
// As if it lay elsewhere. Nobody is to use it.
P elsewhere(P address) { return static_cast<char*>(address) - (L{1} << 45); }
}  // namespace

extern "C" int hipHostGetDevicePointer(P* there, P address, U flags) {
  static int calls = 0;
  static auto* const next = reinterpret_cast<int (*)(P*, P, U)>(other("hipHostGetDevicePointer"));
  int error = failure("hipHostGetDevicePointer", ++calls);
  if (error && error != -1) return fail(error);
  int result = next(there, address, flags);
  if (error && result == 0) *there = elsewhere(*there);
  return result;
}

extern "C" int hipMalloc(void** address, S size) {
  static int calls = 0;
  static auto* const next = reinterpret_cast<int (*)(void**, S)>(other("hipMalloc"));
  int error = failure("hipMalloc", ++calls);
  if (error && error != -1) return fail(error);
  int result = next(address, size);
  if (error && result == 0) *address = elsewhere(*address);
  return held.give("memory", address, result);
}

extern "C" int hipGetLastError() {
  static int calls = 0;
  static auto* const next = reinterpret_cast<int (*)()>(other("hipGetLastError"));
  if (int error = failure("hipGetLastError", ++calls)) return error;
  const int theirs = next(), ours = std::exchange(last_error, 0);
  return ours ? ours : theirs;
}

extern "C" const char* hipGetErrorString(int error) {
  static auto* const next = reinterpret_cast<const char* (*)(int)>(other("hipGetErrorString"));
  return next(error);
}
