// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every atomic operation on every type that HIP declares it for, on global and on shared memory, by blocks that run
// at the same time. What is added up is exact in each type, so the order does not matter.
#include "check.h"

constexpr unsigned kBlocks = 6, kThreads = 128, kAll = kBlocks * kThreads;

// One of each operation on values of type T; a slot an operation.
enum Slot { kAdd, kSub, kMin, kMax, kAnd, kOr, kXor, kLast, kExchange, kCompare, kSlots };

template <class T>
struct Slots {
  T value[kSlots];
};

template <class T>
__device__ void update_arithmetic(T* slots, unsigned i) {
  atomicAdd(&slots[kAdd], static_cast<T>(i % 7));
  atomicMin(&slots[kMin], static_cast<T>(1000 - i));
  atomicMax(&slots[kMax], static_cast<T>(i));
}

template <class T>
__device__ void update(T* slots, unsigned i) {
  update_arithmetic(slots, i);
  atomicAnd(&slots[kAnd], static_cast<T>(~(T{1} << (i % 20))));
  atomicOr(&slots[kOr], static_cast<T>(T{1} << (i % 24)));
  atomicXor(&slots[kXor], static_cast<T>(i * 3));
  // One takes what was there at first, the others what another one has left.
  T taken = atomicExch(&slots[kExchange], T{9});
  atomicAdd(&slots[kLast], taken);
  for (T old = slots[kCompare];;) {
    T seen = atomicCAS(&slots[kCompare], old, static_cast<T>(old + 2));
    if (seen == old) break;
    old = seen;
  }
}

__global__ void integers(Slots<int>* i, Slots<unsigned>* u, Slots<unsigned long long>* w) {
  __shared__ Slots<int> si;
  __shared__ Slots<unsigned> su;
  __shared__ Slots<unsigned long long> sw;
  unsigned local = threadIdx.x, n = blockIdx.x * blockDim.x + local;
  if (local == 0) {
    si = i[1 + kBlocks];
    su = u[1 + kBlocks];
    sw = w[1 + kBlocks];
  }
  __syncthreads();
  update(i->value, n);
  update(u->value, n);
  update(w->value, n);
  atomicSub(&i->value[kSub], 3);
  atomicSub(&u->value[kSub], 3u);
  update(si.value, local);
  update(su.value, local);
  update(sw.value, local);
  __syncthreads();
  if (local == 0) {
    i[1 + blockIdx.x] = si;
    u[1 + blockIdx.x] = su;
    w[1 + blockIdx.x] = sw;
  }
}

template <class T>
__global__ void floats(T* out) {
  __shared__ T shared[kSlots];
  unsigned local = threadIdx.x, n = blockIdx.x * blockDim.x + local;
  if (local < kSlots) shared[local] = local == kMin ? T{5000} : T{0};
  __syncthreads();
  update_arithmetic(out, n);
  update_arithmetic(shared, local);
  unsafeAtomicAdd(&out[kSub], T(0.5));
  safeAtomicAdd(&out[kAnd], T(0.25));
  atomicAdd_system(&out[kOr], T(0.125));
  unsafeAtomicAdd(&shared[kSub], T(0.5));
  T taken = atomicExch(&out[kExchange], T{9});
  atomicAdd(&out[kLast], taken);
  __syncthreads();
  if (local < kSlots) out[kSlots * (1 + blockIdx.x) + local] = shared[local];
}

// Counting round and round, both ways, on both kinds of memory; system and agent scopes; the builtins.
__global__ void others(unsigned* out, int* host, unsigned long long* wide) {
  __shared__ unsigned up, down;
  if (threadIdx.x == 0) up = down = 5;
  __syncthreads();
  atomicInc(&out[0], 9);
  atomicDec(&out[1], 9);
  atomicInc(&up, 6);
  atomicDec(&down, 6);
  atomicAdd_system(&host[0], 1);
  atomicMax_system(&host[1], static_cast<int>(threadIdx.x));
  atomicOr_system(&out[2], 1u << (threadIdx.x % 9));
  atomicAdd_system(&wide[0], 1ull << 33);
  __hip_atomic_fetch_add(&out[3], 2u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  __hip_atomic_fetch_max(&host[2], static_cast<int>(blockIdx.x), __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_xor(&out[4], threadIdx.x, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(&out[5 + blockIdx.x], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[20 + 2 * blockIdx.x] = up;
    out[21 + 2 * blockIdx.x] = down;
  }
}

// The last block to come adds up what all have left: fences between them.
__global__ void last_block(unsigned* parts, unsigned* come, unsigned* total) {
  __shared__ bool last;
  __shared__ unsigned sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, threadIdx.x + blockIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(come, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    unsigned all = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) all += static_cast<volatile unsigned*>(parts)[i];
    *total = all;
  }
}

template <class T>
void expect_slots(Test& test, const char* what, const Slots<T>& got, const Slots<T>& first, unsigned count,
                  bool subtracted) {
  Slots<T> want = first;
  for (unsigned i = 0; i < count; ++i) {
    want.value[kAdd] += i % 7;
    want.value[kMin] = std::min<T>(want.value[kMin], static_cast<T>(1000 - i));
    want.value[kMax] = std::max<T>(want.value[kMax], static_cast<T>(i));
    want.value[kAnd] &= ~(T{1} << (i % 20));
    want.value[kOr] |= T{1} << (i % 24);
    want.value[kXor] ^= i * 3;
    want.value[kCompare] += 2;
    if (subtracted) want.value[kSub] -= 3;
  }
  want.value[kExchange] = 9;
  want.value[kLast] = static_cast<T>(first.value[kExchange] + 9 * (count - 1));
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    test.equal((std::string(what) + " operation " + std::to_string(slot)).c_str(), got.value[slot], want.value[slot]);
  }
}

template <class T>
std::vector<Slots<T>> beginnings() {
  Slots<T> first = {};
  first.value[kSub] = static_cast<T>(100000);
  first.value[kMin] = static_cast<T>(5000);
  first.value[kAnd] = static_cast<T>(-1);
  first.value[kExchange] = 77;
  return std::vector<Slots<T>>(2 + kBlocks, first);
}

template <class T>
void check_integers(Test& test, const char* what, const std::vector<Slots<T>>& got, bool subtracts) {
  Slots<T> first = beginnings<T>()[0];
  expect_slots(test, what, got[0], first, kAll, subtracts);
  for (unsigned b = 0; b < kBlocks; ++b) {
    expect_slots(test, (std::string(what) + " shared").c_str(), got[1 + b], first, kThreads, false);
  }
}

template <class T>
void check_floats(Test& test, const char* what) {
  std::vector<T> first(kSlots * (1 + kBlocks), T{0});
  first[kMin] = 5000;
  T* device = to_device(first);
  floats<<<kBlocks, kThreads>>>(device);
  std::vector<T> got = to_host(device, first.size());
  auto expect = [&](unsigned block, unsigned count) {
    T sum = 0;
    for (unsigned i = 0; i < count; ++i) sum += i % 7;
    const T* slots = &got[kSlots * block];
    test.equal(what, slots[kAdd], sum);
    test.equal(what, slots[kMin], T(1001) - T(count));
    test.equal(what, slots[kMax], T(count - 1));
    test.equal(what, slots[kSub], T(0.5) * count);
    if (block) return;
    test.equal(what, slots[kAnd], T(0.25) * count);
    test.equal(what, slots[kOr], T(0.125) * count);
    test.equal(what, slots[kLast], T(9) * (count - 1));
  };
  expect(0, kAll);
  for (unsigned b = 0; b < kBlocks; ++b) expect(1 + b, kThreads);
  check(hipFree(device));
}

int main() {
  Test test("atomic_types");
  auto* i = to_device(beginnings<int>());
  auto* u = to_device(beginnings<unsigned>());
  auto* w = to_device(beginnings<unsigned long long>());
  integers<<<kBlocks, kThreads>>>(i, u, w);
  check_integers(test, "int", to_host(i, 2 + kBlocks), true);
  check_integers(test, "unsigned", to_host(u, 2 + kBlocks), true);
  check_integers(test, "unsigned long long", to_host(w, 2 + kBlocks), false);
  check_floats<float>(test, "float");
  check_floats<double>(test, "double");

  unsigned* out = to_device(std::vector<unsigned>(64, 3));
  unsigned long long* wide = to_device(std::vector<unsigned long long>(1, 7));
  int* host = nullptr;
  check(hipHostMalloc(reinterpret_cast<void**>(&host), 4 * sizeof(int), hipHostMallocMapped));
  host[0] = host[1] = host[2] = host[3] = 0;
  others<<<kBlocks, kThreads>>>(out, host, wide);
  std::vector<unsigned> got = to_host(out, 64), want(64, 3);
  auto inc = [](unsigned x, unsigned limit) { return x >= limit ? 0 : x + 1; };
  auto dec = [](unsigned x, unsigned limit) { return x == 0 || x > limit ? limit : x - 1; };
  for (unsigned n = 0; n < kAll; ++n) {
    want[0] = inc(want[0], 9);
    want[1] = dec(want[1], 9);
    want[2] |= 1u << (n % kThreads % 9);
    want[3] += 2;
    want[4] ^= n % kThreads;
    want[5 + n / kThreads] += 1;
  }
  for (unsigned b = 0; b < kBlocks; ++b) {
    unsigned up = 5, down = 5;
    for (unsigned n = 0; n < kThreads; ++n) up = inc(up, 6), down = dec(down, 6);
    want[20 + 2 * b] = up;
    want[21 + 2 * b] = down;
  }
  test.equal("counters", got, want);
  test.equal("host memory", std::vector<int>(host, host + 3),
             std::vector<int>{int(kAll), int(kThreads) - 1, int(kBlocks) - 1});
  test.equal("wide", to_host(wide, 1)[0], 7 + (static_cast<unsigned long long>(kAll) << 33));

  std::vector<unsigned> beginning(kBlocks + 2, 11);
  beginning[kBlocks] = 0;
  unsigned* parts = to_device(beginning);
  last_block<<<kBlocks, kThreads>>>(parts, parts + kBlocks, parts + kBlocks + 1);
  unsigned total = 0;
  for (unsigned n = 0; n < kAll; ++n) total += n % kThreads + n / kThreads;
  test.equal("the last block's sum", to_host(parts, kBlocks + 2)[kBlocks + 1], total);
  for (void* memory : {static_cast<void*>(i), static_cast<void*>(u), static_cast<void*>(w), static_cast<void*>(out),
                       static_cast<void*>(wide), static_cast<void*>(parts)}) {
    check(hipFree(memory));
  }
  check(hipHostFree(host));
  return test.finish();
}
