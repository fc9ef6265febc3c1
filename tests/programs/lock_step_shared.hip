// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanes of a wave that exchange values through plain shared memory, with neither a barrier nor `volatile` between:
// reductions, scans, transposed tiles, broadcasts, barriers left out at a loop's end. HIP calls all of that a race; on
// hardware that runs a wave's lanes in step it works, for waves of 32 and of 64 alike.
#include <array>

#include "check.h"

constexpr unsigned kThreads = 128, kBlocks = 3, kWave = 32;

// A tree in each wave.
template <class T>
__global__ void reduce(const T* in, T* out) {
  __shared__ T shared[kThreads];
  unsigned i = threadIdx.x, lane = i & (kWave - 1);
  shared[i] = in[blockIdx.x * kThreads + i];
  for (unsigned offset = kWave / 2; offset > 0; offset /= 2) {
    if (lane < offset) shared[i] += shared[i + offset];
  }
  if (lane == 0) out[(blockIdx.x * kThreads + i) / kWave] = shared[i];
}

// The last steps of a block's tree, written out, by all lanes of the first wave.
__global__ void reduce_block(const int* in, int* out) {
  __shared__ int shared[kThreads];
  unsigned i = threadIdx.x;
  shared[i] = in[blockIdx.x * kThreads + i];
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 16; half /= 2) {
    if (i < half) shared[i] += shared[i + half];
    __syncthreads();
  }
  if (i < 16) {
    shared[i] += shared[i + 16];
    shared[i] += shared[i + 8];
    shared[i] += shared[i + 4];
    shared[i] += shared[i + 2];
    shared[i] += shared[i + 1];
  }
  if (i == 0) out[blockIdx.x] = shared[0];
}

// Sums of all lanes up to this one; lanes below give to those above.
__global__ void scan(const int* in, int* out) {
  extern __shared__ int dynamic[];
  int* row = dynamic + threadIdx.x / kWave * kWave;
  unsigned lane = threadIdx.x % kWave;
  row[lane] = in[threadIdx.x];
  for (unsigned step = 1; step < kWave; step *= 2) {
    int before = lane >= step ? row[lane - step] : 0;
    row[lane] += before;
  }
  out[threadIdx.x] = row[lane];
}

// Tiles of 8 by 8, a column a lane, turned by way of shared memory and back; rows of the block by the dozen.
__global__ void turn_tiles(const float* in, float* out) {
  constexpr unsigned kWidth = 33;
  __shared__ float tiles[4 * 8 * kWidth];
  unsigned x = threadIdx.x, column = x & 7, y = 8 * threadIdx.y;
  float *down = &tiles[y * kWidth + x], *across = &tiles[(y + column) * kWidth + x - column];
  in += y * 32 + x;
  out += y * 32 + x;
  float values[8];
  for (unsigned i = 0; i < 8; ++i) down[i * kWidth] = in[i * 32];
  for (unsigned i = 0; i < 8; ++i) values[i] = across[i];
  for (unsigned i = 0; i < 8; ++i) across[7 - i] = values[i];
  for (unsigned i = 0; i < 8; ++i) values[i] = down[i * kWidth];
  for (unsigned i = 0; i < 8; ++i) out[i * 32] = values[i];
}

// One lane tells the others; one that is chosen by data; all turn what they have. In a branch that odd waves do not
// take, and in which lanes part.
__global__ void tell(const int* in, int* out, unsigned chosen) {
  __shared__ int head[kThreads / kWave], ring[kThreads];
  unsigned i = threadIdx.x, lane = i % kWave, wave = i / kWave;
  int sum = 0;
  for (unsigned round = 0; round < 5; ++round) {
    if (lane == 0) head[wave] = in[i] + static_cast<int>(round);
    sum += head[wave];
    if (lane == chosen % kWave) head[wave] = in[(i + round) % kThreads];
    sum += 2 * head[wave];
    if (wave % 2 == 0 && lane < 24) {
      ring[i] = sum;
      sum += ring[wave * kWave + (lane + 5) % 24];
    }
  }
  out[i] = sum;
}

// A barrier left out at the end of a loop: the next tile overwrites what others still read.
__global__ void add_tiles(const unsigned* in, unsigned* out, unsigned count) {
  __shared__ unsigned tile[kWave];
  unsigned sum = 0;
  for (unsigned base = 0; base < count; base += kWave) {
    tile[threadIdx.x] = in[base + threadIdx.x];
    __syncthreads();
    for (unsigned i = 0; i < kWave; ++i) sum = 3 * sum + tile[i];
  }
  out[threadIdx.x] = sum;
}

// What needs no more than it has: private slices, an element each, halves that are swapped in pairs, one lane at work.
__global__ void keep_apart(const int* in, int* out, unsigned rounds) {
  __shared__ int slices[kThreads * 5], columns[4][kThreads], pairs[kThreads];
  __shared__ int only[8];
  unsigned i = threadIdx.x;
  int* mine = slices + i * 5;
  for (unsigned k = 0; k < 5; ++k) mine[k] = in[i] * static_cast<int>(k);
  for (unsigned k = 0; k < rounds; ++k) columns[k % 4][i] = mine[k % 5] + mine[(k + 2) % 5];
  pairs[i] = in[i];
  __syncthreads();
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    unsigned other = i ^ width;
    if (other > i && pairs[i] > pairs[other]) {
      int kept = pairs[i];
      pairs[i] = pairs[other];
      pairs[other] = kept;
    }
    __syncthreads();
  }
  if (i == 0) {
    only[0] = in[0];
    for (unsigned k = 1; k < 8; ++k) only[k] = only[k - 1] * 3 + in[k];
  }
  __syncthreads();
  int sum = pairs[i] + only[i % 8];
  for (unsigned k = 0; k < 4; ++k) sum += columns[k][i] * static_cast<int>(k + 1);
  out[i] = sum;
}

template <class T>
void check_reduction(Test& test, const char* what) {
  std::vector<T> in = Random(3).values<T>(kBlocks * kThreads, -50, 50);
  for (T& value : in) value = static_cast<T>(static_cast<int>(value));  // exact sums
  std::vector<T> want(kBlocks * kThreads / kWave, 0);
  T *device_in = to_device(in), *device_out = device_array<T>(want.size());
  reduce<<<kBlocks, kThreads>>>(device_in, device_out);
  for (unsigned i = 0; i < in.size(); ++i) want[i / kWave] += in[i];
  test.equal(what, to_host(device_out, want.size()), want);
  check(hipFree(device_in));
  check(hipFree(device_out));
}

void check_tell(Test& test, const std::vector<int>& in, const int* device_in, int* device_out) {
  constexpr unsigned kChosen = 71;
  tell<<<1, kThreads>>>(device_in, device_out, kChosen);
  std::vector<int> want(kThreads, 0);
  for (unsigned round = 0; round < 5; ++round) {
    std::vector<int> ring(kThreads);
    for (unsigned i = 0; i < kThreads; ++i) {
      unsigned first = i / kWave * kWave;
      want[i] += in[first] + static_cast<int>(round) + 2 * in[(first + kChosen % kWave + round) % kThreads];
      ring[i] = want[i];
    }
    for (unsigned i = 0; i < kThreads; ++i) {
      if (i / kWave % 2 == 0 && i % kWave < 24) want[i] += ring[i / kWave * kWave + (i % kWave + 5) % 24];
    }
  }
  test.equal("tell", to_host(device_out, kThreads), want);
}

void check_kept_apart(Test& test, const std::vector<int>& in, const int* device_in, int* device_out) {
  constexpr unsigned kRounds = 11;
  keep_apart<<<1, kThreads>>>(device_in, device_out, kRounds);
  std::vector<int> want(kThreads), pairs(in.begin(), in.begin() + kThreads), only = {in[0]};
  for (unsigned width = kThreads / 2; width > 0; width /= 2) {
    for (unsigned i = 0; i < kThreads; ++i) {
      if ((i ^ width) > i && pairs[i] > pairs[i ^ width]) std::swap(pairs[i], pairs[i ^ width]);
    }
  }
  for (unsigned k = 1; k < 8; ++k) only.push_back(only[k - 1] * 3 + in[k]);
  for (unsigned i = 0; i < kThreads; ++i) {
    std::array<int, 4> column = {};
    for (unsigned k = 0; k < kRounds; ++k) column[k % 4] = in[i] * static_cast<int>(k % 5 + (k + 2) % 5);
    want[i] = pairs[i] + only[i % 8];
    for (unsigned k = 0; k < 4; ++k) want[i] += column[k] * static_cast<int>(k + 1);
  }
  test.equal("keep_apart", to_host(device_out, kThreads), want);
}

int main() {
  Test test("lock_step_shared");
  check_reduction<int>(test, "int");
  check_reduction<float>(test, "float");
  check_reduction<double>(test, "double");

  std::vector<int> in = Random(9).values(kBlocks * kThreads, -1000, 1000), want(kBlocks);
  int *device_in = to_device(in), *device_out = device_array<int>(kThreads);
  reduce_block<<<kBlocks, kThreads>>>(device_in, device_out);
  for (unsigned i = 0; i < in.size(); ++i) want[i / kThreads] += in[i];
  test.equal("reduce_block", to_host(device_out, kBlocks), want);

  scan<<<1, kThreads, kThreads * sizeof(int)>>>(device_in, device_out);
  want.assign(kThreads, 0);
  for (unsigned i = 0; i < kThreads; ++i) want[i] = in[i] + (i % kWave ? want[i - 1] : 0);
  test.equal("scan", to_host(device_out, kThreads), want);

  check_tell(test, in, device_in, device_out);
  check_kept_apart(test, in, device_in, device_out);

  std::vector<unsigned> numbers = Random(7).values<unsigned>(kBlocks * kThreads, 0, 1000);
  unsigned *device_numbers = to_device(numbers), *device_sums = device_array<unsigned>(kWave), sum = 0;
  add_tiles<<<1, kWave>>>(device_numbers, device_sums, kBlocks * kThreads);
  for (unsigned number : numbers) sum = 3 * sum + number;
  test.equal("add_tiles", to_host(device_sums, kWave), std::vector<unsigned>(kWave, sum));

  constexpr unsigned kPixels = 32 * 32;
  std::vector<float> image = Random(5).values<float>(kPixels, -1, 1), turned(kPixels);
  float *device_image = to_device(image), *device_turned = device_array<float>(kPixels);
  turn_tiles<<<1, dim3(32, 4)>>>(device_image, device_turned);
  for (unsigned i = 0; i < kPixels; ++i) turned[i] = image[i / 8 * 8 + 7 - i % 8];
  test.equal("turn_tiles", to_host(device_turned, kPixels), turned);

  for (void* memory : {(void*)device_in, (void*)device_out, (void*)device_image, (void*)device_turned,
                       (void*)device_numbers, (void*)device_sums})
    check(hipFree(memory));
  return test.finish();
}
