// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory of the virtual memory calls: addresses are reserved, pieces of memory are mapped there one behind the other as
// an array grows, one is replaced by another at the same address, and what is mapped is known to the kernels by a list
// in device memory only.

#include "check.h"

// An array that grows in place.
class Growing {
 public:
  explicit Growing(size_t most_pieces) : most_(most_pieces) {
    properties_.type = hipMemAllocationTypePinned;
    properties_.location = {hipMemLocationTypeDevice, 0};
    check(hipMemGetAllocationGranularity(&piece_, &properties_, hipMemAllocationGranularityMinimum));
    check(hipMemAddressReserve(&base_, most_ * piece_, 0, nullptr, 0));
  }
  ~Growing() {
    check(hipMemUnmap(base_, pieces_ * piece_));
    check(hipMemAddressFree(base_, most_ * piece_));
  }
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;

  void grow() { map(pieces_++); }
  void replace(size_t piece) {
    check(hipMemUnmap(at(piece), piece_));
    map(piece);
  }
  size_t words_of_piece() const { return piece_ / sizeof(unsigned); }
  unsigned* words() const { return static_cast<unsigned*>(base_); }

 private:
  char* at(size_t piece) const { return static_cast<char*>(base_) + piece * piece_; }
  void map(size_t piece) {
    hipMemGenericAllocationHandle_t handle{};
    check(hipMemCreate(&handle, piece_, &properties_, 0));
    check(hipMemMap(at(piece), piece_, 0, handle, 0));
    check(hipMemRelease(handle));  // a mapping keeps the memory
    hipMemAccessDesc access{};
    access.location = properties_.location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    check(hipMemSetAccess(at(piece), piece_, &access, 1));
    check(hipMemset(at(piece), 0, piece_));
  }

  hipMemAllocationProp properties_{};
  size_t most_, piece_ = 0, pieces_ = 0;
  void* base_ = nullptr;
};

// The words around the border at `middle`, in both arrays.
__global__ void add_around(unsigned** arrays, size_t middle, unsigned what) {
  size_t i = middle - gridDim.x * blockDim.x / 2 + blockIdx.x * blockDim.x + threadIdx.x;
  arrays[0][i] += what + static_cast<unsigned>(i);
  arrays[1][i] += arrays[0][i] ^ what;
}

int main() {
  Test test("virtual_memory");
  constexpr size_t kWords = 256;
  Growing first(4), second(4);
  first.grow();
  second.grow();
  unsigned** arrays = to_device<unsigned*>({first.words(), second.words()});
  size_t border = first.words_of_piece();

  first.grow();
  second.grow();
  std::vector<unsigned> want(kWords, 0), want_second(kWords, 0);
  auto launch = [&](unsigned what) {
    add_around<<<4, kWords / 4>>>(arrays, border, what);
    for (size_t i = 0; i < kWords; ++i) {
      want[i] += what + static_cast<unsigned>(border - kWords / 2 + i);
      want_second[i] += want[i] ^ what;
    }
  };
  launch(3);
  launch(5);
  check(hipDeviceSynchronize());
  first.replace(1);  // another piece of memory, and zeros again
  for (size_t i = kWords / 2; i < kWords; ++i) want[i] = 0;
  launch(7);
  test.equal("first", to_host(first.words() + border - kWords / 2, kWords), want);
  test.equal("second", to_host(second.words() + border - kWords / 2, kWords), want_second);
  check(hipFree(arrays));
  return test.finish();
}
