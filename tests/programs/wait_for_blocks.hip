// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks that wait for other blocks by spinning on global memory: a barrier of the grid written by hand, a prefix sum
// that looks back over blocks numbered as they come, a triangular solver whose rows wait for rows above them, blocks
// that consume what later ones produce, waves that vote on whether they have to wait. The grids are small enough for a
// GPU to have all their blocks at once.

#include "check.h"

constexpr unsigned kBlock = 128;

// ---- a barrier of the grid ---------------------------------------------------------------------------------------

__device__ unsigned arrived;
__device__ volatile unsigned generation;

__device__ void meet_grid() {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned mine = generation;
    __threadfence();
    if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
      arrived = 0;
      __threadfence();
      generation = mine + 1;
    } else {
      while (generation == mine) {
      }
    }
    __threadfence();
  }
  __syncthreads();
}

__global__ void smooth(unsigned* a, unsigned* b, unsigned n, unsigned steps) {
  for (unsigned step = 0; step < steps; ++step) {
    for (unsigned i = blockIdx.x * kBlock + threadIdx.x; i < n; i += gridDim.x * kBlock) {
      b[i] = a[i] + 3 * a[(i + n / 2 + 7) % n];
    }
    unsigned* other = a;
    a = b;
    b = other;
    meet_grid();
  }
}

// ---- a prefix sum in one pass ------------------------------------------------------------------------------------

using Word = unsigned long long;
constexpr Word kSum = Word{1} << 32, kPrefix = Word{2} << 32;
__device__ unsigned next_block;

__global__ void look_back(const unsigned* in, unsigned* out, Word* states) {
  __shared__ unsigned number, sums[kBlock], before;
  if (threadIdx.x == 0) number = atomicAdd(&next_block, 1u);
  __syncthreads();
  unsigned i = number * kBlock + threadIdx.x;
  sums[threadIdx.x] = in[i];
  __syncthreads();
  for (unsigned distance = 1; distance < kBlock; distance *= 2) {
    unsigned left = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
    __syncthreads();
    sums[threadIdx.x] += left;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    unsigned sum = 0, total = sums[kBlock - 1];
    if (number > 0) {
      __hip_atomic_store(&states[number], kSum | total, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
      for (unsigned other = number - 1;;) {
        Word state = __hip_atomic_load(&states[other], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
        if (state == 0) continue;
        sum += static_cast<unsigned>(state);
        if (state >= kPrefix) break;
        --other;
      }
    }
    before = sum;
    __hip_atomic_store(&states[number], kPrefix | (sum + total), __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  }
  __syncthreads();
  out[i] = before + sums[threadIdx.x];
}

// ---- a triangular solver -----------------------------------------------------------------------------------------

// A thread a row, and whoever can solve its row does so within the loop: rows may wait for rows of their own wave.
// From below, the blocks that begin first wait for those that begin last.
__global__ void solve(const unsigned* rows, const unsigned* columns, const double* values, const double* right,
                      volatile double* x, volatile unsigned* solved, unsigned n, bool from_below) {
  unsigned row = blockIdx.x * kBlock + threadIdx.x;
  if (row >= n) return;
  if (from_below) row = n - 1 - row;
  double sum = right[row];
  unsigned at = rows[row], last = rows[row + 1] - 1;
  while (true) {
    if (at == last) {
      x[row] = sum / values[last];
      __threadfence();
      solved[row] = 1;
      break;
    }
    if (solved[columns[at]] != 0) {
      __threadfence();
      sum -= values[at] * x[columns[at]];
      ++at;
    }
  }
}

// ---- producers and consumers -------------------------------------------------------------------------------------

// The first half of the blocks take, round after round, what the other half put into their boxes.
__global__ void exchange(unsigned* boxes, unsigned* full, unsigned* out, unsigned rounds) {
  unsigned half = gridDim.x / 2;
  bool consumes = blockIdx.x < half;
  unsigned pair = blockIdx.x % half;
  unsigned* box = boxes + pair * kBlock;
  unsigned sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) {
      while (atomicAdd(&full[pair], 0u) != (consumes ? 1u : 0u)) __threadfence();
    }
    __syncthreads();
    if (consumes) {
      sum = sum * 5 + __hip_atomic_load(&box[kBlock - 1 - threadIdx.x], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    } else {
      __hip_atomic_store(&box[threadIdx.x], pair * 1000 + round * 10 + threadIdx.x, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicExch(&full[pair], consumes ? 0u : 1u);
  }
  if (consumes) out[pair * kBlock + threadIdx.x] = sum;
}

// ---- waves that wait together ------------------------------------------------------------------------------------

// Each block's first wave waits, voting, until two blocks behind it are done.
__global__ void vote(unsigned* done, unsigned* out) {
  unsigned lane = threadIdx.x % warpSize, other = blockIdx.x + 1 + lane % 2;
  unsigned mine = 0;
  if (threadIdx.x < warpSize) {
    bool waits = other < gridDim.x;
    do {
      if (waits) mine = __hip_atomic_load(&done[other], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
    } while (__any(waits && mine == 0));
    unsigned next = __shfl(mine, 0), one_more = __shfl(mine, 1);
    if (lane == 0) {
      __hip_atomic_store(&done[blockIdx.x], (next + one_more) % 1000 + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
  }
  __syncthreads();
  out[blockIdx.x * kBlock + threadIdx.x] = done[blockIdx.x] + threadIdx.x;
}

int main() {
  Test test("wait_for_blocks");
  Random random(11);

  constexpr unsigned kPoints = 5000, kSteps = 5;
  std::vector<unsigned> a = random.values(kPoints, 0u, 99u), b(kPoints);
  unsigned *device_a = to_device(a), *device_b = device_array<unsigned>(kPoints);
  smooth<<<20, kBlock>>>(device_a, device_b, kPoints, kSteps);
  check(hipGetLastError());
  for (unsigned step = 0; step < kSteps; ++step) {
    for (unsigned i = 0; i < kPoints; ++i) b[i] = a[i] + 3 * a[(i + kPoints / 2 + 7) % kPoints];
    a.swap(b);
  }
  test.equal("smoothed", to_host(device_b, kPoints), a);

  constexpr unsigned kItems = 40 * kBlock;
  std::vector<unsigned> in = random.values(kItems, 0u, 99u), scanned(kItems);
  for (unsigned i = 0, sum = 0; i < kItems; ++i) scanned[i] = sum += in[i];
  unsigned *device_in = to_device(in), *out = device_array<unsigned>(kItems);
  Word* states = to_device(std::vector<Word>(kItems / kBlock));
  look_back<<<kItems / kBlock, kBlock>>>(device_in, out, states);
  check(hipGetLastError());
  test.equal("prefix sum", to_host(out, kItems), scanned);

  constexpr unsigned kRows = 10 * kBlock - 5;
  std::vector<unsigned> rows = {0}, columns;
  std::vector<double> values, right = random.values(kRows, -1.0, 1.0), x(kRows);
  for (unsigned row = 0; row < kRows; ++row) {
    double sum = right[row];
    for (unsigned k = 0; k < 3 && row > 0; ++k) {
      unsigned column = k == 0 && row % 3 ? row - 1 : random.below(row);
      columns.push_back(column);
      values.push_back(random.between(-1.0, 1.0));
      sum -= values.back() * x[column];
    }
    columns.push_back(row);
    values.push_back(4.0 + row % 3);
    x[row] = sum / values.back();
    rows.push_back(static_cast<unsigned>(columns.size()));
  }
  for (bool from_below : {false, true}) {
    double* device_x = to_device(std::vector<double>(kRows));
    unsigned* solved = to_device(std::vector<unsigned>(kRows));
    solve<<<blocks_for(kRows, kBlock), kBlock>>>(to_device(rows), to_device(columns), to_device(values),
                                                 to_device(right), device_x, solved, kRows, from_below);
    check(hipGetLastError());
    test.close("solution", to_host(device_x, kRows), x, 1e-12);
  }

  constexpr unsigned kPairs = 6, kRounds = 4;
  std::vector<unsigned> taken(kPairs * kBlock);
  for (unsigned i = 0; i < taken.size(); ++i) {
    for (unsigned round = 0; round < kRounds; ++round) {
      taken[i] = taken[i] * 5 + i / kBlock * 1000 + round * 10 + kBlock - 1 - i % kBlock;
    }
  }
  unsigned *boxes = device_array<unsigned>(kPairs * kBlock), *full = to_device(std::vector<unsigned>(kPairs));
  unsigned* device_taken = device_array<unsigned>(kPairs * kBlock);
  exchange<<<2 * kPairs, kBlock>>>(boxes, full, device_taken, kRounds);
  check(hipGetLastError());
  test.equal("taken", to_host(device_taken, taken.size()), taken);

  constexpr unsigned kVoters = 25;
  std::vector<unsigned> done(kVoters + 2), voted(kVoters * kBlock);
  for (unsigned block = kVoters; block-- > 0;) {
    done[block] = (done[block + 1] + done[block + 2]) % 1000 + 1;
    for (unsigned i = 0; i < kBlock; ++i) voted[block * kBlock + i] = done[block] + i;
  }
  unsigned *device_done = to_device(std::vector<unsigned>(kVoters)),
           *device_voted = device_array<unsigned>(voted.size());
  vote<<<kVoters, kBlock>>>(device_done, device_voted);
  check(hipGetLastError());
  test.equal("voted", to_host(device_voted, voted.size()), voted);
  return test.finish();
}
