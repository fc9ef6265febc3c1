// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Atomic operations of the scope of the whole system, on memory of the host (pinned, registered, managed) and of the
// device.

#include "check.h"

constexpr int kBlocks = 12, kThreads = 96, kAll = kBlocks * kThreads;

struct Slots {
  int sum, least, most, difference, swapped, first, last;
  unsigned bits, cleared, flipped, up, down;
  unsigned long long wide, wide_most;
  double halves;
  float ones;
};

__global__ void update(Slots* slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd_system(&slots->sum, i);
  atomicMin_system(&slots->least, 5000 - i);
  atomicMax_system(&slots->most, i);
  atomicSub_system(&slots->difference, 2);
  // One takes what was there at first, the others what another one has left.
  int taken = atomicExch_system(&slots->swapped, 9);
  atomicAdd_system(&slots->last, taken);
  atomicCAS_system(&slots->first, 0, 7);
  atomicOr_system(&slots->bits, 1u << (i % 30));
  atomicAnd_system(&slots->cleared, ~(1u << (i % 30)));
  atomicXor_system(&slots->flipped, static_cast<unsigned>(i));
  atomicInc(&slots->up, 99u);
  atomicDec(&slots->down, 49u);
  atomicAdd_system(&slots->wide, 1ull << 33);
  atomicMax_system(&slots->wide_most, static_cast<unsigned long long>(i) << 35);
  __hip_atomic_fetch_add(&slots->halves, 0.5, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  atomicAddNoRet(&slots->ones, 1.0f);
  __threadfence_system();
}

static void compare(Test& test, const char* where, const Slots& got) {
  auto equal = [&](const char* what, auto value, auto want) {
    test.equal((std::string(what) + " in " + where).c_str(), value, static_cast<decltype(value)>(want));
  };
  unsigned flipped = 0;
  for (unsigned i = 0; i < kAll; ++i) flipped ^= i;
  constexpr int kSum = kAll * (kAll - 1) / 2;
  equal("sum", got.sum, kSum);
  equal("least", got.least, 5000 - (kAll - 1));
  equal("most", got.most, kAll - 1);
  equal("difference", got.difference, -2 * kAll);
  equal("exchanged", got.swapped, 9);
  equal("exchanges", got.last, 9 * (kAll - 1));
  equal("first", got.first, 7);
  equal("bits", got.bits, (1u << 30) - 1);
  equal("cleared", got.cleared, 3u << 30);
  equal("flipped", got.flipped, flipped);
  equal("up", got.up, kAll % 100);
  equal("down", got.down, (50 - kAll % 50) % 50);
  equal("wide", got.wide, static_cast<unsigned long long>(kAll) << 33);
  equal("wide most", got.wide_most, static_cast<unsigned long long>(kAll - 1) << 35);
  equal("halves", got.halves, kAll / 2);
  equal("ones", got.ones, kAll);
}

int main() {
  Test test("host_atomics");
  Slots initial = {};
  initial.least = 1 << 20;
  initial.cleared = ~0u;
  auto run = [&](const char* where, Slots* slots) {
    update<<<kBlocks, kThreads>>>(slots);
    check(hipDeviceSynchronize());
    Slots got;
    check(hipMemcpy(&got, slots, sizeof got, hipMemcpyDefault));
    compare(test, where, got);
  };

  Slots *pinned = nullptr, *managed = nullptr, *registered = nullptr;
  check(hipHostMalloc(reinterpret_cast<void**>(&pinned), sizeof(Slots), hipHostMallocCoherent));
  *pinned = initial;
  run("pinned memory", pinned);
  check(hipMallocManaged(&managed, sizeof(Slots)));
  *managed = initial;
  run("managed memory", managed);
  auto* pages = static_cast<Slots*>(aligned_alloc(4096, 4096));
  *pages = initial;
  check(hipHostRegister(pages, 4096, hipHostRegisterMapped));
  check(hipHostGetDevicePointer(reinterpret_cast<void**>(&registered), pages, 0));
  run("registered memory", registered);
  run("device memory", to_device(std::vector<Slots>(1, initial)));
  return test.finish();
}
