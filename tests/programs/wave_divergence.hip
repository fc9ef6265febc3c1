// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Votes where the lanes of a wave have parted: in branches within branches, in loops of different lengths that some
// leave or skip through, after some have returned. Each thread notes how many lanes it met and with what, against who
// is there by the rules of the language.

#include <functional>

#include "check.h"

constexpr int kBlock = 200, kBlocks = 3, kN = kBlock * kBlocks, kNotes = 8;

__device__ unsigned met() { return __popcll(__ballot(1)); }

__global__ void diverge(const unsigned* in, unsigned* notes, int* wave) {
  unsigned i = blockIdx.x * kBlock + threadIdx.x;
  unsigned v = in[i];
  unsigned* note = notes + i * kNotes;
  if (i == 0) *wave = warpSize;

  // Branches.
  if (v & 1) {
    note[0] = met();
    if (v & 2) {
      note[0] += 100 * met();
    } else {
      note[0] += 10000 * met();
    }
    note[1] = met();
  } else if (v & 4) {
    note[0] = 1000000 * met();
  }
  note[1] += 1000 * met();

  // Each its own number of times, all together again behind.
  unsigned sum = 0;
  for (unsigned k = 0; k < v % 7; ++k) sum += (k + 1) * met();
  note[2] = sum + 100000 * met();

  // Some skip, some leave.
  sum = 0;
  for (unsigned k = 0; k < 12; ++k) {
    if ((v >> k) & 1) continue;
    sum += (k + 1) * met();
    if (k > 5 && (v >> (k + 8)) & 1) break;
    sum += 1000 * met();
  }
  note[3] = sum;

  // A loop in a loop.
  sum = 0;
  unsigned outer = 0;
  while (outer < v % 3 + 1) {
    for (unsigned k = outer; k < (v >> 4) % 4; ++k) {
      if (__any((v >> k) & 8)) sum += met();
    }
    sum = sum * 3 + met();
    ++outer;
  }
  note[4] = sum;

  if (v % 5 == 3) return;
  note[5] = met();
  if (__all(v % 5 != 3)) note[6] = 1;
  __syncthreads();
  note[7] = met();
}

// How many threads of the wave of thread `i` something holds for.
struct Waves {
  int wave;
  unsigned count(int i, const std::function<bool(int)>& holds) const {
    unsigned sum = 0;
    int begin = i / kBlock * kBlock, first = begin + (i - begin) / wave * wave;
    for (int o = first; o < first + wave && o < begin + kBlock; ++o) sum += holds(o);
    return sum;
  }
};

// The iteration at which a value's third loop ends, 12 if it runs to the end.
unsigned leaves_at(unsigned v) {
  for (unsigned k = 6; k < 12; ++k) {
    if (!((v >> k) & 1) && (v >> (k + 8)) & 1) return k;
  }
  return 12;
}

std::vector<unsigned> expected(const std::vector<unsigned>& in, int wave) {
  Waves waves{wave};
  std::vector<unsigned> notes(in.size() * kNotes);
  for (int i = 0; i < kN; ++i) {
    unsigned v = in[i];
    unsigned* note = &notes[i * kNotes];
    auto met = [&](auto holds) { return waves.count(i, [&](int o) { return holds(in[o]); }); };
    if (v & 1) {
      unsigned odd = met([](unsigned o) { return o & 1; });
      note[0] = odd + (v & 2 ? 100u : 10000u) * met([&](unsigned o) { return (o & 3) == (v & 3); });
      note[1] = odd;
    } else if (v & 4) {
      note[0] = 1000000 * met([](unsigned o) { return (o & 5) == 4; });
    }
    unsigned all = met([](unsigned) { return true; });
    note[1] += 1000 * all;
    for (unsigned k = 0; k < v % 7; ++k) note[2] += (k + 1) * met([&](unsigned o) { return o % 7 > k; });
    note[2] += 100000 * all;
    for (unsigned k = 0; k <= leaves_at(v) && k < 12; ++k) {
      if ((v >> k) & 1) continue;
      note[3] += (k + 1) * met([&](unsigned o) { return leaves_at(o) >= k && !((o >> k) & 1); });
      if (k == leaves_at(v)) break;
      note[3] += 1000 * met([&](unsigned o) { return leaves_at(o) > k && !((o >> k) & 1); });
    }
    unsigned sum = 0;
    for (unsigned outer = 0; outer < v % 3 + 1; ++outer) {
      for (unsigned k = outer; k < (v >> 4) % 4; ++k) {
        auto here = [&](unsigned o) { return o % 3 + 1 > outer && (o >> 4) % 4 > k; };
        if (met([&](unsigned o) { return here(o) && (o >> k) & 8; })) sum += met(here);
      }
      sum = sum * 3 + met([&](unsigned o) { return o % 3 + 1 > outer; });
    }
    note[4] = sum;
    if (v % 5 == 3) continue;
    note[5] = met([](unsigned o) { return o % 5 != 3; });
    note[6] = 1;
    note[7] = note[5];
  }
  return notes;
}

int main() {
  Test test("wave_divergence");
  Random random(3);
  std::vector<unsigned> in(kN);
  for (unsigned& value : in) value = random.below(1u << 20);
  for (int i = 0; i < 130; ++i) in[i] = static_cast<unsigned>(i) / 64 + 2;  // waves that stay together
  unsigned* device_in = to_device(in);
  unsigned* device_notes = to_device(std::vector<unsigned>(kN * kNotes));
  int* device_wave = to_device(std::vector<int>{0});
  diverge<<<kBlocks, kBlock>>>(device_in, device_notes, device_wave);
  check(hipGetLastError());
  test.equal("notes", to_host(device_notes, kN * kNotes), expected(in, to_host(device_wave, 1)[0]));
  check(hipFree(device_in));
  check(hipFree(device_notes));
  check(hipFree(device_wave));
  return test.finish();
}
