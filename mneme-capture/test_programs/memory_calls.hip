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
  much_and_many();
  std::printf("memory_calls: %s\n", failures ? "FAILED" : "ok");
  return failures != 0;
}
