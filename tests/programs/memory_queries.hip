// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of memory: where a pointer leads, how large its allocation is, how much is left, what was advised about
// a range; pools; and what wrong pointers give.

#include "check.h"

__global__ void increment(int* a, int* b, int* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    a[i] += 1;
    b[i] += 2;
    c[i] += 3;
  }
}

void check_pointer(Test& test, const char* name, void* pointer, hipMemoryType type, bool managed) {
  hipPointerAttribute_t a = {};
  check(hipPointerGetAttributes(&a, pointer));
  test.expect(a.memoryType == type, std::string(name) + " is memory of another type");
  test.expect(a.device == 0 && (a.isManaged != 0) == managed, std::string(name) + " is managed by somebody else");
  test.expect(a.devicePointer == pointer, std::string(name) + " is elsewhere on the device");
  hipMemoryType again = hipMemoryTypeUnified;
  check(hipPointerGetAttribute(&again, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
  test.expect(again == type, std::string(name) + " has two types");
}

int main() {
  Test test("memory_queries");
  const int n = 4000;
  const std::size_t bytes = n * sizeof(int);
  std::vector<int> zeros(n);
  int* device = to_device(zeros);
  void *pinned_memory = nullptr, *managed_memory = nullptr;
  check(hipHostMalloc(&pinned_memory, bytes, hipHostMallocDefault));
  check(hipMallocManaged(&managed_memory, bytes, hipMemAttachGlobal));
  std::memset(pinned_memory, 0, bytes);
  std::memset(managed_memory, 0, bytes);
  int *pinned = static_cast<int*>(pinned_memory), *managed = static_cast<int*>(managed_memory);
  increment<<<blocks_for(n, 256), 256>>>(device, pinned, managed, n);
  check(hipGetLastError());
  check(hipDeviceSynchronize());
  test.equal("device", to_host(device, n), std::vector<int>(n, 1));
  test.equal("pinned", std::vector<int>(pinned, pinned + n), std::vector<int>(n, 2));
  test.equal("managed", std::vector<int>(managed, managed + n), std::vector<int>(n, 3));

  check_pointer(test, "device", device + 10, hipMemoryTypeDevice, false);
  check_pointer(test, "pinned", pinned + 10, hipMemoryTypeHost, false);
  check_pointer(test, "managed", managed + 10, hipMemoryTypeDevice, true);
  hipDeviceptr_t base = nullptr, start = nullptr;
  std::size_t size = 0, again = 0;
  check(hipMemGetAddressRange(&base, &size, device + 100));
  test.expect(base == device && size == bytes, "the allocation's range");
  check(hipMemPtrGetInfo(device, &again));
  test.equal("its size", again, bytes);
  void* data[] = {&start, &again};
  hipPointer_attribute which[] = {HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, HIP_POINTER_ATTRIBUTE_RANGE_SIZE};
  check(hipDrvPointerGetAttributes(2, which, data, device + 100));
  test.expect(start == device && again == bytes, "the range by its attributes");
  int local = 0;
  hipPointerAttribute_t attributes = {};
  test.equal("not the device's", hipPointerGetAttributes(&attributes, &local), hipErrorInvalidValue);
  test.equal("no allocation", hipFree(&local), hipErrorInvalidValue);
  test.equal("the middle of one", hipFree(device + 1), hipErrorInvalidValue);
  check(hipFree(nullptr));
  test.equal("null", hipMalloc(nullptr, 4), hipErrorInvalidValue);
  test.equal("direction", hipMemcpy(device, zeros.data(), 4, static_cast<hipMemcpyKind>(9)),
             hipErrorInvalidMemcpyDirection);
  void* huge = nullptr;
  test.equal("too much", hipMalloc(&huge, std::size_t{1} << 50), hipErrorOutOfMemory);
  (void)hipGetLastError();

  std::size_t left = 0, total = 0, less = 0;
  check(hipMemGetInfo(&left, &total));
  test.expect(left > 0 && left <= total, "more left than there is");
  const std::size_t large = std::size_t{200} << 20;
  check(hipMalloc(&huge, large));
  check(hipMemGetInfo(&less, &total));
  test.expect(less < left, "memory that takes no room");
  check(hipFree(huge));

  check(hipMemAdvise(managed, bytes, hipMemAdviseSetReadMostly, 0));
  check(hipMemPrefetchAsync(managed, bytes, 0, nullptr));
  int mostly = -1, where = -5;
  check(hipMemRangeGetAttribute(&mostly, sizeof mostly, hipMemRangeAttributeReadMostly, managed, bytes));
  check(hipMemRangeGetAttribute(&where, sizeof where, hipMemRangeAttributeLastPrefetchLocation, managed, bytes));
  test.expect(mostly == 1 && where == 0, "advice is forgotten");
  test.equal("no memory", hipMemAdvise(nullptr, bytes, hipMemAdviseSetReadMostly, 0), hipErrorInvalidValue);
  test.equal("no such device", hipMemPrefetchAsync(managed, bytes, 99, nullptr), hipErrorInvalidDevice);
  (void)hipGetLastError();

  hipMemPoolProps wanted = {};
  wanted.allocType = hipMemAllocationTypePinned;
  wanted.location.type = hipMemLocationTypeDevice;
  hipMemPool_t pool = nullptr, standard = nullptr;
  check(hipDeviceGetDefaultMemPool(&standard, 0));
  check(hipMemPoolCreate(&pool, &wanted));
  std::uint64_t threshold = 1 << 20, same = 0;
  check(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold));
  check(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &same));
  test.equal("threshold", same, threshold);
  hipStream_t stream = nullptr;
  check(hipStreamCreate(&stream));
  void* from_pool = nullptr;
  check(hipMallocFromPoolAsync(&from_pool, bytes, pool, stream));
  check(hipMemcpyAsync(from_pool, device, bytes, hipMemcpyDeviceToDevice, stream));
  increment<<<blocks_for(n, 256), 256, 0, stream>>>(static_cast<int*>(from_pool), device, managed, n);
  check(hipStreamSynchronize(stream));
  test.equal("from the pool", to_host(static_cast<int*>(from_pool), n), std::vector<int>(n, 2));
  check(hipFreeAsync(from_pool, stream));
  check(hipStreamSynchronize(stream));
  check(hipMemPoolTrimTo(pool, 0));
  check(hipMemPoolDestroy(pool));
  test.equal("the default one stays", hipMemPoolDestroy(standard), hipErrorInvalidValue);
  (void)hipGetLastError();

  check(hipStreamDestroy(stream));
  check(hipHostFree(pinned));
  check(hipFree(managed));
  check(hipFree(device));
  return test.finish();
}
