// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers in shared memory (cuda::barrier): threads that come and go on before they wait, that leave for good, halves
// of a block that make and use what is in two places; copies that a barrier, a pipeline or a group waits for, in pieces
// and in bulk.
#include "../check.h"
// After the runtime's header.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int kBlock = 128, kRounds = 6;

// clang takes no variable in shared memory that has a constructor.
template <class T>
struct Room {
  alignas(T) char bytes[sizeof(T)];
  __device__ T& object() { return *reinterpret_cast<T*>(bytes); }
};

// Each round adds the neighbour's value of the round before; what needs no neighbour is done between coming and
// waiting.
__global__ void rounds(const int* in, int* out) {
  __shared__ Room<Barrier> room;
  __shared__ int values[2][kBlock];
  Barrier& barrier = room.object();
  int x = static_cast<int>(threadIdx.x), i = static_cast<int>(blockIdx.x) * kBlock + x, own = 0;
  if (x == 0) init(&barrier, kBlock);
  values[0][x] = in[i];
  __syncthreads();
  for (int k = 0; k < kRounds; ++k) {
    Barrier::arrival_token token = barrier.arrive();
    own += k * x;
    barrier.wait(std::move(token));
    values[(k + 1) % 2][x] = values[k % 2][x] + values[k % 2][(x + 1) % kBlock];
  }
  barrier.arrive_and_wait();
  out[i] = values[kRounds % 2][x] + own;
}

// Thread x leaves after round x; the others go on without it.
__global__ void leaving(unsigned* out) {
  __shared__ Room<Barrier> room;
  __shared__ int come;
  Barrier& barrier = room.object();
  int x = static_cast<int>(threadIdx.x);
  if (x == 0) {
    init(&barrier, blockDim.x);
    come = 0;
  }
  __syncthreads();
  unsigned seen = 0;
  for (int k = 0; k <= x; ++k) {
    atomicAdd(&come, 1);
    barrier.arrive_and_wait();
    seen = seen * 3 + static_cast<unsigned>(come);  // of this round and those before
    if (k == x) {
      barrier.arrive_and_drop();
    } else {
      barrier.arrive_and_wait();
    }
  }
  out[x] = seen;
}

// Half of the threads make what the other half uses, in two places by turns.
__global__ void made_and_used(const int* in, int* out, int turns) {
  __shared__ Room<Barrier> rooms[4];
  __shared__ int places[2][kBlock / 2];
  int x = static_cast<int>(threadIdx.x), lane = x % (kBlock / 2);
  Barrier *full = &rooms[0].object(), *empty = &rooms[2].object();
  if (x < 2) {
    init(full + x, kBlock);
    init(empty + x, kBlock);
  }
  __syncthreads();
  if (x < kBlock / 2) {
    for (int turn = 0; turn < turns; ++turn) {
      if (turn >= 2) empty[turn % 2].arrive_and_wait();
      places[turn % 2][lane] = in[turn * (kBlock / 2) + lane];
      (void)full[turn % 2].arrive();
    }
  } else {
    int sum = 0;
    for (int turn = 0; turn < turns; ++turn) {
      full[turn % 2].arrive_and_wait();
      sum = sum * 5 + places[turn % 2][kBlock / 2 - 1 - lane];
      if (turn + 2 < turns) (void)empty[turn % 2].arrive();
    }
    out[lane] = sum;
  }
}

__global__ void copied(const int* in, int* out) {
  namespace cg = cooperative_groups;
  __shared__ Room<Barrier> room;
  alignas(16) __shared__ int tile[kBlock];
  Barrier& barrier = room.object();
  auto block = cg::this_thread_block();
  int x = static_cast<int>(threadIdx.x), result = 0;
  if (x == 0) init(&barrier, kBlock);
  block.sync();
  cuda::memcpy_async(&tile[x], in + x, sizeof(int), barrier);  // each its own
  barrier.arrive_and_wait();
  result = tile[kBlock - 1 - x];
  block.sync();
  cuda::memcpy_async(block, tile, in + kBlock, cuda::aligned_size_t<16>(sizeof tile), barrier);  // all at once
  barrier.arrive_and_wait();
  result = result * 7 + tile[kBlock - 1 - x];
  block.sync();
  cg::memcpy_async(block, tile, in + 2 * kBlock, sizeof tile);
  cg::wait(block);
  out[x] = result * 7 + tile[kBlock - 1 - x];
}

// While one batch is used, the next is on its way.
__global__ void piped(const int* in, int* out, int batches) {
  constexpr int kStages = 2;
  using State = cuda::pipeline_shared_state<cuda::thread_scope_block, kStages>;
  namespace cg = cooperative_groups;
  __shared__ Room<State> room;
  __shared__ int stages[kStages][kBlock];
  auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &room.object());
  int x = static_cast<int>(threadIdx.x), sum = 0, fetched = 0;
  for (int batch = 0; batch < batches; ++batch) {
    for (; fetched < batches && fetched < batch + kStages; ++fetched) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, stages[fetched % kStages], in + fetched * kBlock, sizeof stages[0], pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum = sum * 3 + stages[batch % kStages][kBlock - 1 - x];
    pipeline.consumer_release();
  }
  out[x] = sum;
}

// Bytes that a barrier waits for, besides threads.
__global__ void in_bulk(const int* in, int* out) {
  __shared__ Room<Barrier> room;
  alignas(128) __shared__ int tile[kBlock];
  Barrier& barrier = room.object();
  int x = static_cast<int>(threadIdx.x);
  if (x == 0) init(&barrier, kBlock);
  __syncthreads();
  Barrier::arrival_token token;
  if (x == 0) {
    cuda::device::memcpy_async_tx(tile, in, cuda::aligned_size_t<16>(sizeof tile), barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  out[x] = tile[kBlock - 1 - x] + 1;
}

std::vector<int> want_rounds(const std::vector<int>& in, int blocks) {
  std::vector<int> out(blocks * kBlock);
  for (int block = 0; block < blocks; ++block) {
    std::vector<int> values(in.begin() + block * kBlock, in.begin() + (block + 1) * kBlock);
    for (int k = 0; k < kRounds; ++k) {
      std::vector<int> next(kBlock);
      for (int x = 0; x < kBlock; ++x) next[x] = values[x] + values[(x + 1) % kBlock];
      values = next;
    }
    for (int x = 0; x < kBlock; ++x) out[block * kBlock + x] = values[x] + kRounds * (kRounds - 1) / 2 * x;
  }
  return out;
}

int main() {
  Test test("shared_barriers");
  constexpr int kBlocks = 3, kLeaving = 40, kTurns = 7, kBatches = 5;
  std::vector<int> values(kBlocks * kBlock + kBatches * kBlock);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 37 % 101);
  int* in = to_device(values);
  int* out = device_array<int>(kBlocks * kBlock);

  rounds<<<kBlocks, kBlock>>>(in, out);
  test.equal("rounds", to_host(out, kBlocks * kBlock), want_rounds(values, kBlocks));

  unsigned* seen = device_array<unsigned>(kLeaving);
  leaving<<<1, kLeaving>>>(seen);
  std::vector<unsigned> left(kLeaving);
  for (int x = 0; x < kLeaving; ++x) {
    for (int k = 0, come = 0; k <= x; ++k) {
      come += kLeaving - k;
      left[x] = left[x] * 3 + static_cast<unsigned>(come);
    }
  }
  test.equal("leaving", to_host(seen, kLeaving), left);
  check(hipFree(seen));

  made_and_used<<<1, kBlock>>>(in, out, kTurns);
  std::vector<int> used(kBlock / 2);
  for (int lane = 0; lane < kBlock / 2; ++lane) {
    for (int turn = 0; turn < kTurns; ++turn) {
      used[lane] = used[lane] * 5 + values[turn * (kBlock / 2) + kBlock / 2 - 1 - lane];
    }
  }
  test.equal("made_and_used", to_host(out, kBlock / 2), used);

  copied<<<1, kBlock>>>(in, out);
  std::vector<int> want(kBlock);
  for (int x = 0; x < kBlock; ++x) {
    int y = kBlock - 1 - x;
    want[x] = (values[y] * 7 + values[kBlock + y]) * 7 + values[2 * kBlock + y];
  }
  test.equal("copied", to_host(out, kBlock), want);

  piped<<<1, kBlock>>>(in, out, kBatches);
  for (int x = 0; x < kBlock; ++x) {
    want[x] = 0;
    for (int batch = 0; batch < kBatches; ++batch) want[x] = want[x] * 3 + values[(batch + 1) * kBlock - 1 - x];
  }
  test.equal("piped", to_host(out, kBlock), want);

  in_bulk<<<1, kBlock>>>(in, out);
  for (int x = 0; x < kBlock; ++x) want[x] = values[kBlock - 1 - x] + 1;
  test.equal("in_bulk", to_host(out, kBlock), want);
  check(hipFree(in));
  check(hipFree(out));
  return test.finish();
}
