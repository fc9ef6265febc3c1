// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory of the driver's virtual memory functions: pieces are mapped one behind the other as an array grows, one is
// replaced by another at the same address, kernels find them by a list in memory; and one is mapped at two addresses.
#include <cstring>
#include <vector>

#include "cuda.h"
#include "driver.h"

using Number = unsigned;

MemoryProperties properties() {
  MemoryProperties made;
  std::memset(&made, 0, sizeof made);
  made.type = made.location = 1;  // pinned memory, of a device: the first
  return made;
}

size_t granularity() {
  size_t bytes = 0;
  MemoryProperties of = properties();
  CHECK(cuMemGetAllocationGranularity(&bytes, &of, 0) == 0);
  return bytes;
}

MemoryHandle create(size_t size) {
  MemoryHandle handle = 0;
  MemoryProperties of = properties();
  CHECK(cuMemCreate(&handle, size, &of, 0) == 0);
  return handle;
}

void map(CUdeviceptr at, size_t size, MemoryHandle handle) {
  MemoryAccess access{1, 0, 3};
  CHECK(cuMemMap(at, size, 0, handle, 0) == 0 && cuMemSetAccess(at, size, &access, 1) == 0);
}

// An array that grows in place.
class Growing {
 public:
  explicit Growing(size_t most) : piece_(granularity()), most_(most) {
    CHECK(cuMemAddressReserve(&base_, most_ * piece_, 0, 0, 0) == 0);
  }
  ~Growing() {
    CHECK(cuMemUnmap(base_, pieces_ * piece_) == 0);
    CHECK(cuMemAddressFree(base_, most_ * piece_) == 0);
  }

  void grow() { map_new(pieces_++); }
  void replace(size_t piece) {
    CHECK(cuMemUnmap(base_ + piece * piece_, piece_) == 0);
    map_new(piece);
  }
  CUdeviceptr address() const { return base_; }
  size_t numbers_of_piece() const { return piece_ / sizeof(Number); }

 private:
  // A mapping keeps the memory.
  void map_new(size_t piece) {
    MemoryHandle handle = create(piece_), again = 0;
    CUdeviceptr at = base_ + piece * piece_;
    map(at, piece_, handle);
    CHECK(cuMemRelease(handle) == 0);
    CHECK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(at)) == 0 && cuMemRelease(again) == 0);
    CHECK(cuMemsetD8_v2(at, 0, piece_) == 0);
  }

  size_t piece_, most_, pieces_ = 0;
  CUdeviceptr base_ = 0;
};

// The numbers around the border at `middle`, in both arrays.
__global__ void add_around(Number** arrays, size_t middle, Number what) {
  size_t i = middle - BLOCKS(x) * BLOCK_SIZE(x) / 2 + index();
  arrays[0][i] += what + static_cast<Number>(i);
  arrays[1][i] += arrays[0][i] ^ what;
}

__global__ void add(Number* numbers, Number what) { numbers[index()] += what; }

constexpr unsigned kNumbers = 256;

std::vector<Number> numbers_at(CUdeviceptr address) {
  std::vector<Number> host(kNumbers);
  CHECK(cuMemcpyDtoH_v2(host.data(), address, kNumbers * sizeof(Number)) == 0);
  return host;
}

void growing() {
  Growing first(4), second(4);
  first.grow();
  second.grow();
  CUdeviceptr both[] = {first.address(), second.address()};
  void* list = nullptr;
  CHECK(cudaMalloc(&list, sizeof both) == 0 && cudaMemcpy(list, both, sizeof both, cudaMemcpyHostToDevice) == 0);
  const size_t border = first.numbers_of_piece(), begin = border - kNumbers / 2;
  first.grow();
  second.grow();
  std::vector<Number> want(kNumbers, 0), want_second(kNumbers, 0);
  auto launch = [&](Number what) {
    add_around<<<4, kNumbers / 4>>>(static_cast<Number**>(list), border, what);
    for (size_t i = 0; i < kNumbers; ++i) {
      want[i] += what + static_cast<Number>(begin + i);
      want_second[i] += want[i] ^ what;
    }
  };
  launch(3);
  launch(5);
  CHECK(cudaDeviceSynchronize() == 0);
  first.replace(1);  // another piece of memory, and zeros again
  for (size_t i = kNumbers / 2; i < kNumbers; ++i) want[i] = 0;
  launch(7);
  CHECK(numbers_at(first.address() + begin * sizeof(Number)) == want);
  CHECK(numbers_at(second.address() + begin * sizeof(Number)) == want_second);
  CHECK(cudaFree(list) == 0);
}

// What is written at one address is read at the other.
void twice() {
  const size_t size = granularity();
  MemoryHandle handle = create(size);
  CUdeviceptr at = 0;
  CHECK(cuMemAddressReserve(&at, 2 * size, 0, 0, 0) == 0);
  map(at, size, handle);
  CHECK(cuMemsetD8_v2(at, 0, size) == 0);
  add<<<1, kNumbers>>>(reinterpret_cast<Number*>(at), 4);
  CHECK(cudaDeviceSynchronize() == 0);
  map(at + size, size, handle);
  add<<<1, kNumbers>>>(reinterpret_cast<Number*>(at + size), 5);
  CHECK(numbers_at(at) == std::vector<Number>(kNumbers, 9));
  CHECK(cuMemRelease(handle) == 0 && cuMemUnmap(at, 2 * size) == 0 && cuMemAddressFree(at, 2 * size) == 0);
}

int main() {
  CUcontext context;
  CHECK(cuInit(0) == 0 && cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxSetCurrent(context) == 0);
  growing();
  twice();
  std::puts("virtual_memory: ok");
}
