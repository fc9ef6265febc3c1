// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the application is told of memory pools: the recorder's memory that stands for theirs counts.
#include "recorder/hip/runtime.h"

namespace mneme::record::hip {
namespace {

constinit Next<Error(MemoryPool*, const PoolProperties*)> next_create(kLibrary, "hipMemPoolCreate");
constinit Next<Error(MemoryPool)> next_destroy(kLibrary, "hipMemPoolDestroy");
constinit Next<Error(MemoryPool*, int)> next_default(kLibrary, "hipDeviceGetDefaultMemPool");
constinit Next<Error(MemoryPool*, int)> next_current(kLibrary, "hipDeviceGetMemPool");
constinit Next<Error(MemoryPool, int, void*)> next_get_attribute(kLibrary, "hipMemPoolGetAttribute");
constinit Next<Error(MemoryPool, int, void*)> next_set_attribute(kLibrary, "hipMemPoolSetAttribute");

void note_device(const MemoryPool* pool, int device) {
  if (Core* recorder = first_recorder()) recorder->pools().set_device(*pool, device);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

Error hipMemPoolCreate(MemoryPool* pool, const PoolProperties* properties) {
  Error status = next_create.call_or(kNotSupported, pool, properties);
  if (status == kSuccess && properties->location.type == kLocationDevice) note_device(pool, properties->location.id);
  return status;
}

Error hipMemPoolDestroy(MemoryPool pool) {
  Error status = next_destroy.call_or(kNotSupported, pool);
  if (Core* recorder = core(); recorder && status == kSuccess) recorder->pools().destroyed(pool);
  return status;
}

Error hipDeviceGetDefaultMemPool(MemoryPool* pool, int device) {
  Error status = next_default.call_or(kNotSupported, pool, device);
  if (status == kSuccess) note_device(pool, device);
  return status;
}

Error hipDeviceGetMemPool(MemoryPool* pool, int device) {
  Error status = next_current.call_or(kNotSupported, pool, device);
  if (status == kSuccess) note_device(pool, device);
  return status;
}

Error hipMemPoolGetAttribute(MemoryPool pool, int which, void* value) {
  Error status = next_get_attribute.call_or(kNotSupported, pool, which, value);
  Core* recorder = core();
  if (!recorder || status != kSuccess || which < kPoolReserved || which > kPoolUsedMost) return status;
  PoolUse::Sums ours = recorder->pools().of(pool);
  *static_cast<uint64_t*>(value) += which == kPoolReserved || which == kPoolUsed ? ours.now : ours.most;
  return status;
}

Error hipMemPoolSetAttribute(MemoryPool pool, int which, void* value) {
  Error status = next_set_attribute.call_or(kNotSupported, pool, which, value);
  Core* recorder = core();
  bool most = which == kPoolReservedMost || which == kPoolUsedMost;
  if (recorder && status == kSuccess && most) recorder->pools().forget_most(pool);
  return status;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace mneme::record::hip
