// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What an application may rely on of the calls that the recorder answers itself. Says the same, recorded or not.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

static int failures = 0;

static void expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("FAILED: %s\n", what);
  ++failures;
}

__global__ void fill(int* data, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value;
}

static bool filled(int* data, int value) {
  fill<<<1, 64>>>(data, 64, value);
  int seen[64] = {};
  if (hipMemcpy(seen, data, sizeof seen, hipMemcpyDefault) != hipSuccess) return false;
  for (int x : seen)
    if (x != value) return false;
  return true;
}

static void device_memory() {
  int *a = nullptr, *b = nullptr;
  expect(hipMalloc(&a, 256) == hipSuccess && hipMalloc(&b, 1000) == hipSuccess, "hipMalloc");
  expect(reinterpret_cast<uintptr_t>(a) % 256 == 0 && reinterpret_cast<uintptr_t>(b) % 256 == 0, "alignment");
  expect(filled(a, 1) && filled(b, 2), "kernels reach memory");
  hipDeviceptr_t base = nullptr;
  size_t size = 0;
  expect(hipMemGetAddressRange(&base, &size, b + 5) == hipSuccess && base == b && size == 1000, "address range");
  hipPointerAttribute_t attributes{};
  expect(hipPointerGetAttributes(&attributes, b + 5) == hipSuccess, "attributes of device memory");
  expect(attributes.memoryType == hipMemoryTypeDevice && attributes.devicePointer == b + 5, "they are a device's");
  expect(!attributes.hostPointer && !attributes.isManaged, "and no host's");
  expect(hipFree(a) == hipSuccess && hipFree(b) == hipSuccess && hipFree(nullptr) == hipSuccess, "hipFree");
  void* nothing = &failures;
  expect(hipMalloc(&nothing, 0) == hipSuccess && !nothing, "an empty allocation");
}

static void refusals() {
  void* pointer = nullptr;
  expect(hipGetLastError() == hipSuccess, "no error so far");
  expect(hipMalloc(&pointer, size_t{1} << 60) == hipErrorOutOfMemory, "too much memory");
  expect(hipGetLastError() == hipErrorOutOfMemory && hipGetLastError() == hipSuccess, "is the last error");
  expect(hipMalloc(static_cast<void**>(nullptr), 8) == hipErrorInvalidValue, "no place for the pointer");
  int* kept = nullptr;
  hipStream_t stream = nullptr;
  hipGraph_t graph = nullptr;
  expect(hipMalloc(&kept, 256) == hipSuccess && hipStreamCreate(&stream) == hipSuccess, "memory and a stream");
  expect(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal) == hipSuccess, "the beginning of a capture");
  expect(hipFree(kept) == hipErrorStreamCaptureUnsupported, "hipFree during a capture");
  expect(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated, "that capture's end");
  expect(hipGetLastError() != hipSuccess, "is the last error");
  expect(filled(kept, 3) && hipFree(kept) == hipSuccess, "the memory is still there");
  expect(hipFree(kept) == hipErrorInvalidValue && hipGetLastError() == hipErrorInvalidValue, "and then it is not");
  expect(hipStreamDestroy(stream) == hipSuccess, "hipStreamDestroy");
  int local = 0;
  expect(hipFree(&local) == hipErrorInvalidValue, "hipFree of a local variable");
  int* memory = nullptr;
  expect(hipMalloc(&memory, 4096) == hipSuccess, "hipMalloc");
  expect(hipFree(memory + 64) == hipErrorInvalidValue, "hipFree of the middle");
  expect(hipHostFree(memory) == hipErrorInvalidValue, "hipHostFree of device memory");
  expect(hipFree(memory) == hipSuccess && hipFree(memory) == hipErrorInvalidValue, "hipFree twice");
  expect(hipPointerGetAttributes(nullptr, memory) == hipErrorInvalidValue, "attributes into nothing");
  hipPointerAttribute_t attributes{};
  hipDeviceptr_t base = nullptr;
  size_t size = 0;
  expect(hipPointerGetAttributes(&attributes, memory) == hipErrorInvalidValue, "attributes of what was released");
  expect(hipMemGetAddressRange(&base, &size, memory) != hipSuccess, "the range of what was released");
  (void)hipGetLastError();
}

static void pitched_memory() {
  int* rows = nullptr;
  size_t pitch = 0;
  expect(hipMallocPitch(reinterpret_cast<void**>(&rows), &pitch, 100, 10) == hipSuccess, "hipMallocPitch");
  expect(pitch >= 100 && pitch % 256 == 0 && filled(rows, 3), "rows are aligned");
  hipPitchedPtr box{};
  expect(hipMalloc3D(&box, hipExtent{300, 4, 5}) == hipSuccess, "hipMalloc3D");
  expect(box.pitch >= 300 && box.xsize == 300 && box.ysize == 4, "its dimensions");
  expect(filled(static_cast<int*>(box.ptr), 4), "kernels reach it");
  expect(hipFree(rows) == hipSuccess && hipFree(box.ptr) == hipSuccess, "hipFree of pitched memory");
}

static void host_memory() {
  int *pinned = nullptr, *managed = nullptr;
  expect(hipHostMalloc(reinterpret_cast<void**>(&pinned), 4096, hipHostMallocMapped) == hipSuccess, "hipHostMalloc");
  expect(hipMallocManaged(reinterpret_cast<void**>(&managed), 4096, hipMemAttachGlobal) == hipSuccess, "managed");
  expect(filled(pinned, 5) && pinned[0] == 5 && filled(managed, 6) && managed[63] == 6, "both sides see it");
  void* device = nullptr;
  expect(hipHostGetDevicePointer(&device, pinned, 0) == hipSuccess && filled(static_cast<int*>(device), 7),
         "the device's pointer");
  unsigned flags = 0;
  expect(hipHostGetFlags(&flags, pinned) == hipSuccess && flags == hipHostMallocMapped, "flags");
  hipPointerAttribute_t attributes{};
  expect(hipPointerGetAttributes(&attributes, pinned) == hipSuccess && attributes.memoryType == hipMemoryTypeHost &&
             attributes.hostPointer == pinned,
         "attributes of pinned memory");
  expect(hipPointerGetAttributes(&attributes, managed) == hipSuccess && attributes.isManaged, "of managed memory");
  expect(hipHostRegister(pinned, 100, 0) == hipErrorHostMemoryAlreadyRegistered, "hipHostRegister of pinned memory");
  expect(hipHostUnregister(pinned) == hipErrorHostMemoryNotRegistered, "hipHostUnregister of pinned memory");
  expect(hipGetLastError() == hipErrorHostMemoryNotRegistered, "its error is the last one");
  expect(filled(pinned, 8) && pinned[5] == 8, "and it is what it was");
  expect(hipFree(pinned) == hipErrorInvalidValue, "hipFree of pinned memory");
  expect(hipHostFree(pinned) == hipSuccess && hipFree(managed) == hipSuccess, "release");
  (void)hipGetLastError();
}

static void stream_ordered_memory() {
  hipStream_t stream = nullptr;
  expect(hipStreamCreate(&stream) == hipSuccess, "hipStreamCreate");
  int* memory = nullptr;
  expect(hipMallocAsync(reinterpret_cast<void**>(&memory), 4096, stream) == hipSuccess, "hipMallocAsync");
  fill<<<1, 64, 0, stream>>>(memory, 64, 8);
  int seen = 0;
  expect(hipMemcpyAsync(&seen, memory, sizeof seen, hipMemcpyDeviceToHost, stream) == hipSuccess, "copy");
  expect(hipFreeAsync(memory, stream) == hipSuccess, "hipFreeAsync");
  expect(hipStreamSynchronize(stream) == hipSuccess && seen == 8, "in order");
  expect(hipStreamDestroy(stream) == hipSuccess, "hipStreamDestroy");
}

static size_t free_memory() {
  size_t left = 0, total = 0;
  expect(hipMemGetInfo(&left, &total) == hipSuccess && left <= total, "hipMemGetInfo");
  return left;
}

static void what_is_left() {
  fill<<<1, 1>>>(nullptr, 0, 0);  // what the runtime itself needs, it has from here on
  void *device = nullptr, *pinned = nullptr;
  const size_t before = free_memory(), size = size_t{100} << 20;
  expect(hipMalloc(&device, size) == hipSuccess && free_memory() == before - size, "allocated memory is in use");
  expect(hipHostMalloc(&pinned, size, 0) == hipSuccess && free_memory() == before - size, "the host's is no device's");
  expect(hipFree(device) == hipSuccess && free_memory() == before, "released memory is free again");
  expect(hipHostFree(pinned) == hipSuccess, "hipHostFree");
  // Nearly all, and then there is no more of it.
  const size_t most = before / 2 + (3 << 20);
  expect(hipMalloc(&device, most) == hipSuccess && hipMalloc(&pinned, most) == hipErrorOutOfMemory, "what there is");
  expect(hipGetLastError() == hipErrorOutOfMemory && hipFree(device) == hipSuccess, "and release of it");
}

static void bounds() {
  char *memory = nullptr, *pinned = nullptr, more[32] = {};
  expect(hipMalloc(&memory, 16) == hipSuccess, "hipMalloc");
  expect(hipHostMalloc(reinterpret_cast<void**>(&pinned), 16, 0) == hipSuccess, "hipHostMalloc");
  expect(hipMemset(memory, 1, 16) == hipSuccess && hipMemset(memory + 8, 1, 8) == hipSuccess, "sets within");
  expect(hipMemset(memory, 0, 17) == hipErrorInvalidValue, "a set past the end");
  expect(hipMemset(memory + 8, 0, 9) == hipErrorInvalidValue, "and from the middle");
  expect(hipMemset(pinned, 0, 17) == hipErrorInvalidValue, "and of host memory");
  expect(hipMemcpy(memory, more, 17, hipMemcpyHostToDevice) == hipErrorInvalidValue, "a copy past the end");
  expect(hipMemcpy(more, memory + 1, 16, hipMemcpyDeviceToHost) == hipErrorInvalidValue, "and out of it");
  expect(hipMemcpyAsync(memory, more, 17, hipMemcpyHostToDevice, nullptr) == hipErrorInvalidValue, "and later");
  expect(hipFree(memory) == hipSuccess && hipHostFree(pinned) == hipSuccess, "release");
  (void)hipGetLastError();
}

static uint64_t of_pool(hipMemPool_t pool, hipMemPoolAttr which) {
  uint64_t value = ~uint64_t{0};
  expect(hipMemPoolGetAttribute(pool, which, &value) == hipSuccess, "hipMemPoolGetAttribute");
  return value;
}

static void pools() {
  hipMemPool_t pool = nullptr;
  expect(hipDeviceGetDefaultMemPool(&pool, 0) == hipSuccess, "the default pool");
  const uint64_t before = of_pool(pool, hipMemPoolAttrUsedMemCurrent);
  void *first = nullptr, *second = nullptr;
  expect(hipMallocAsync(&first, 1000, nullptr) == hipSuccess, "hipMallocAsync");
  expect(hipMallocFromPoolAsync(&second, 500, pool, nullptr) == hipSuccess, "hipMallocFromPoolAsync");
  expect(of_pool(pool, hipMemPoolAttrUsedMemCurrent) == before + 1500, "what is in use of a pool");
  expect(of_pool(pool, hipMemPoolAttrReservedMemCurrent) >= before + 1500, "is reserved");
  expect(hipFreeAsync(first, nullptr) == hipSuccess && hipStreamSynchronize(nullptr) == hipSuccess, "hipFreeAsync");
  expect(of_pool(pool, hipMemPoolAttrUsedMemCurrent) == before + 500, "released memory is not in use");
  expect(of_pool(pool, hipMemPoolAttrUsedMemHigh) >= before + 1500, "but was");
  uint64_t none = 0;
  expect(hipMemPoolSetAttribute(pool, hipMemPoolAttrUsedMemHigh, &none) == hipSuccess, "forgetting");
  expect(of_pool(pool, hipMemPoolAttrUsedMemHigh) == before + 500, "the most");
  expect(hipFree(second) == hipSuccess, "hipFree of a pool's memory");
  expect(of_pool(pool, hipMemPoolAttrUsedMemCurrent) == before, "nothing in use");
  expect(hipMallocFromPoolAsync(&second, 500, nullptr, nullptr) == hipErrorInvalidValue, "no pool");
  (void)hipGetLastError();
}

// A graph goes on using what it frees.
static void memory_of_a_graph() {
  hipStream_t stream = nullptr;
  hipGraph_t graph = nullptr;
  hipGraphExec_t exec = nullptr;
  int *data = nullptr, *pinned = nullptr, *other = nullptr;
  expect(hipStreamCreate(&stream) == hipSuccess && hipHostMalloc(&pinned, 256, 0) == hipSuccess, "a stream");
  expect(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed) == hipSuccess, "a capture");
  expect(hipMallocAsync(reinterpret_cast<void**>(&data), 256, stream) == hipSuccess, "memory of a graph");
  fill<<<1, 64, 0, stream>>>(data, 64, 11);
  expect(hipMemcpyAsync(pinned, data, 256, hipMemcpyDeviceToHost, stream) == hipSuccess, "a copy in it");
  expect(hipFreeAsync(pinned, stream) == hipErrorInvalidValue, "pinned memory, freed in it");
  expect(hipFreeAsync(data + 1, stream) == hipErrorInvalidValue, "the middle of memory");
  expect(hipFreeAsync(data, stream) == hipSuccess, "its memory, freed in it");
  expect(hipStreamEndCapture(stream, &graph) == hipSuccess, "the capture's end");
  expect(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0) == hipSuccess, "the graph");
  expect(hipMalloc(&other, 256) == hipSuccess && other != data && filled(other, 5), "memory beside it");
  for (int i = 0; i < 3; ++i) expect(hipGraphLaunch(exec, stream) == hipSuccess, "its launch");
  expect(hipStreamSynchronize(stream) == hipSuccess && pinned[63] == 11, "what it makes");
  int seen[64] = {};
  expect(hipMemcpy(seen, other, sizeof seen, hipMemcpyDeviceToHost) == hipSuccess, "a copy beside it");
  for (int x : seen) expect(x == 5, "what is not its memory");
  expect(hipGraphExecDestroy(exec) == hipSuccess && hipGraphDestroy(graph) == hipSuccess, "its end");
  expect(hipFree(other) == hipSuccess && hipHostFree(pinned) == hipSuccess, "release beside it");
  expect(hipStreamDestroy(stream) == hipSuccess, "the stream's end");
  (void)hipGetLastError();
}

static void much_and_many() {
  char* large = nullptr;
  const size_t size = size_t{200} << 20;
  expect(hipMalloc(&large, size) == hipSuccess, "more than one chunk");
  char last = 1;
  expect(hipMemcpy(large + size - 1, &last, 1, hipMemcpyHostToDevice) == hipSuccess, "its last byte");
  static void* small[3000];
  for (void*& pointer : small) expect(hipMalloc(&pointer, 256) == hipSuccess, "many small ones");
  expect(filled(static_cast<int*>(small[2999]), 9), "kernels reach the last of them");
  for (void* pointer : small) expect(hipFree(pointer) == hipSuccess, "release of many");
  expect(hipFree(large) == hipSuccess, "release of much");
}

int main() {
  device_memory();
  refusals();
  pitched_memory();
  host_memory();
  stream_ordered_memory();
  what_is_left();
  bounds();
  pools();
  memory_of_a_graph();
  much_and_many();
  std::printf("memory_calls: %s\n", failures ? "FAILED" : "ok");
  return failures != 0;
}
