// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ways in which lanes of a wave exchange values below the level of __shfl: DPP with every control word, swizzles,
// permutes both ways, reading one lane, comparing across a wave; with all lanes, and with some of them elsewhere.
#include <array>
#include <climits>

#include "check.h"

constexpr unsigned kThreads = 160;  // not whole waves of 64
constexpr int kOld = -77;
constexpr int kNotHere = INT_MIN;  // what a GPU that lacks a form answers

struct Dpp {
  int control, rows, banks;
  bool bound;
};
constexpr Dpp kDpps[] = {{0x1b, 15, 15, true},   {0xb1, 15, 15, false}, {0x101, 15, 15, false}, {0x103, 15, 15, true},
                         {0x10f, 5, 15, false},  {0x111, 15, 15, true}, {0x118, 15, 10, false}, {0x11f, 2, 3, true},
                         {0x121, 15, 15, true},  {0x12a, 15, 6, false}, {0x130, 15, 15, false}, {0x134, 15, 15, true},
                         {0x138, 15, 15, true},  {0x13c, 1, 15, false}, {0x140, 15, 15, true},  {0x141, 15, 12, false},
                         {0x142, 10, 15, false}, {0x143, 12, 15, true}};
constexpr unsigned kDppCount = sizeof kDpps / sizeof *kDpps;
// The last six groups have gone with gfx10: shifts and rotations of the whole wave, broadcasts of a row's end.
constexpr bool only_gfx9(int control) { return (control >= 0x130 && control <= 0x13c) || control >= 0x142; }

constexpr int kSwizzles[] = {0x8000 | 0x1b, 0x8000 | 0xe4,  0x041f,         0x401f, 0x0010, 0x03e0, 0x7c1f,
                             0x0a56,        0xc000 | 0x0a0, 0xc000 | 0x4e7, 0xe000, 0xe01f, 0xe003};
constexpr unsigned kSwizzleCount = sizeof kSwizzles / sizeof *kSwizzles;
enum Other {
  kPull,
  kPush,
  kPushMany,
  kLane,
  kFirst,
  kBallot,
  kCompare,
  kCompareFloats,
  kBelow,
  kExec,
  kWide,
  kHere,
  kOthers
};
constexpr unsigned kForms = kDppCount + kSwizzleCount + kOthers;

template <unsigned kForm>
__device__ int dpp(int value) {
  constexpr Dpp form = kDpps[kForm];
#ifdef __GFX9__
  constexpr bool has = true;
#else
  constexpr bool has = !only_gfx9(form.control);
#endif
  if constexpr (has) {
    return __builtin_amdgcn_update_dpp(kOld, value, form.control, form.rows, form.banks, form.bound);
  } else {
    return kNotHere;
  }
}

template <unsigned... kForm>
__device__ void every_dpp(std::integer_sequence<unsigned, kForm...>, int value, int* out) {
  ((out[kForm * kThreads] = dpp<kForm>(value)), ...);
}

template <unsigned... kForm>
__device__ void every_swizzle(std::integer_sequence<unsigned, kForm...>, int value, int* out) {
  ((out[kForm * kThreads] = __builtin_amdgcn_ds_swizzle(value, kSwizzles[kForm])), ...);
}

__device__ int fold(unsigned long long mask) { return static_cast<int>(mask ^ (mask >> 32) * 3); }

__global__ void exchange(const int* in, int* out, unsigned part) {
  unsigned lane = __lane_id(), here = threadIdx.x;
  int value = in[here];
  // Only some lanes are in here, or all.
  if (part == 0 || lane % 7 % part == 0) {
    int* mine = out + here;
    every_dpp(std::make_integer_sequence<unsigned, kDppCount>(), value, mine);
    mine += kDppCount * kThreads;
    every_swizzle(std::make_integer_sequence<unsigned, kSwizzleCount>(), value, mine);
    mine += kSwizzleCount * kThreads;
    mine[kPull * kThreads] = __builtin_amdgcn_ds_bpermute(static_cast<int>(4 * (lane * 5 + 3)), value);
    mine[kPush * kThreads] = __builtin_amdgcn_ds_permute(static_cast<int>(4 * (lane * 5 + 3)), value);
    mine[kPushMany * kThreads] = __builtin_amdgcn_ds_permute(static_cast<int>(4 * (lane / 3)), value);
    mine[kLane * kThreads] = __builtin_amdgcn_readlane(value, 21);
    mine[kFirst * kThreads] = __builtin_amdgcn_readfirstlane(value);
    mine[kBallot * kThreads] = fold(__ballot(value & 4));
    mine[kCompare * kThreads] = fold(__builtin_amdgcn_sicmp(value, 100, 38 /* greater */));
    mine[kCompareFloats * kThreads] = fold(__builtin_amdgcn_fcmpf(static_cast<float>(value), 150.0f, 4 /* less */));
    mine[kBelow * kThreads] = static_cast<int>(
        __builtin_amdgcn_mbcnt_hi(0x5555aaaa, __builtin_amdgcn_mbcnt_lo(0xf0f01234, static_cast<unsigned>(value))));
    mine[kExec * kThreads] = fold(__builtin_amdgcn_read_exec());
    double wide = value + 0.5;
    mine[kWide * kThreads] = static_cast<int>(2 * __shfl_xor(wide, 9));
    mine[kHere * kThreads] = __any(value > 190) + 2 * __all(value < 190);
  }
}

// A wave as the manuals describe it.
struct Wave {
  unsigned size;
  std::vector<int> value;
  std::vector<bool> here;

  bool active(int lane) const { return lane >= 0 && lane < static_cast<int>(size) && here[lane]; }
  int take(int lane, int otherwise) const { return active(lane) ? value[lane] : otherwise; }
  template <class F>
  unsigned long long mask(F holds) const {
    unsigned long long result = 0;
    for (unsigned lane = 0; lane < size; ++lane) {
      if (here[lane] && holds(value[lane])) result |= 1ull << lane;
    }
    return result;
  }
  int folded(unsigned long long mask) const { return static_cast<int>(mask ^ (mask >> 32) * 3); }

  int dpp_source(int control, int lane) const {
    int row = lane / 16 * 16, column = lane % 16, n = control & 15, last = static_cast<int>(size) - 1;
    auto in_row = [&](int to) { return to < 0 || to > 15 ? -1 : row + to; };
    if (control <= 0xff) return lane / 4 * 4 + (control >> (lane % 4 * 2)) % 4;
    if (control <= 0x10f) return in_row(column + n);
    if (control <= 0x11f) return in_row(column - n);
    if (control <= 0x12f) return row + (column + 16 - n) % 16;
    switch (control) {
      case 0x130:
        return lane == last ? -1 : lane + 1;
      case 0x134:
        return lane == last ? 0 : lane + 1;
      case 0x138:
        return lane - 1;
      case 0x13c:
        return lane == 0 ? last : lane - 1;
      case 0x140:
        return row + 15 - column;
      case 0x141:
        return lane / 8 * 8 + 7 - lane % 8;
      case 0x142:
        return row - 1;
      default:
        return lane < 32 ? -1 : 31;
    }
  }

  int dpp(const Dpp& form, int lane) const {
    if (!(form.rows >> (lane / 16) & 1) || !(form.banks >> (lane % 16 / 4) & 1)) return kOld;
    return take(dpp_source(form.control, lane), form.bound ? 0 : kOld);
  }

  int swizzle(int pattern, int lane) const {
    int group = lane / 32 * 32, i = lane % 32, to = 0, low = pattern & 31;
    if (pattern >= 0xe000) {
      int reversed = 0;
      for (int bit = 0; bit < 5; ++bit) reversed |= (i >> bit & 1) << (4 - bit);
      to = reversed >> __builtin_popcount(static_cast<unsigned>(low)) | (i & low);
    } else if (pattern >= 0xc000) {
      int rotate = pattern >> 5 & 31;
      if (pattern & 0x400) rotate = -rotate;
      to = (i & low) | ((i + rotate) & 31 & ~low);
    } else if (pattern & 0x8000) {
      to = i / 4 * 4 + (pattern >> (i % 4 * 2)) % 4;
    } else {
      to = ((i & low) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31);
    }
    return take(group + to, 0);
  }

  template <class F>
  int pushed(F target, unsigned lane) const {
    int result = 0;
    for (unsigned from = 0; from < size; ++from) {
      if (active(static_cast<int>(from)) && target(from) % size == lane) result = value[from];
    }
    return result;
  }

  int other(Other form, unsigned lane) const {
    switch (form) {
      case kPull:
        return take(static_cast<int>((lane * 5 + 3) % size), 0);
      case kPush:
        return pushed([](unsigned from) { return from * 5 + 3; }, lane);
      case kPushMany:
        return pushed([](unsigned from) { return from / 3; }, lane);
      case kLane:
        return take(21, kNotHere);
      case kFirst:
        return value[static_cast<unsigned>(__builtin_ctzll(mask([](int) { return true; })))];
      case kBallot:
        return folded(mask([](int x) { return x & 4; }));
      case kCompare:
        return folded(mask([](int x) { return x > 100; }));
      case kCompareFloats:
        return folded(mask([](int x) { return x < 150; }));
      case kBelow: {
        unsigned long long bits = 0x5555aaaaf0f01234 & ((1ull << lane) - 1);
        return value[lane] + __builtin_popcountll(bits);
      }
      case kExec:
        return folded(mask([](int) { return true; }));
      case kWide:
        return 2 * take(static_cast<int>(lane ^ 9), 0) + (active(static_cast<int>(lane ^ 9)) ? 1 : 0);
      default: {
        bool any = mask([](int x) { return x > 190; }), all = !mask([](int x) { return x >= 190; });
        return any + 2 * all;
      }
    }
  }
};

int main() {
  Test test("shuffle_forms");
  int size = 0;
  check(hipDeviceGetAttribute(&size, hipDeviceAttributeWarpSize, 0));
  unsigned wave_size = static_cast<unsigned>(size);
  std::vector<int> in = Random(5).values(kThreads, 1, 200);
  int* device_in = to_device(in);
  for (unsigned part : {0u, 2u, 3u}) {
    int* device_out = to_device(std::vector<int>(kForms * kThreads, kOld - 1));
    exchange<<<1, kThreads>>>(device_in, device_out, part);
    std::vector<int> got = to_host(device_out, kForms * kThreads);
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      unsigned lane = thread % wave_size;
      Wave wave{wave_size, {}, {}};
      for (unsigned l = 0; l < wave_size; ++l) {
        unsigned other = thread - lane + l;
        wave.value.push_back(other < kThreads ? in[other] : 0);
        wave.here.push_back(other < kThreads && (part == 0 || l % 7 % part == 0));
      }
      for (unsigned form = 0; form < kForms; ++form) {
        int value = got[form * kThreads + thread], want = 0;
        if (!wave.here[lane]) {
          want = kOld - 1;
        } else if (form < kDppCount) {
          want = only_gfx9(kDpps[form].control) && wave_size == 32 ? kNotHere
                                                                   : wave.dpp(kDpps[form], static_cast<int>(lane));
        } else if (form < kDppCount + kSwizzleCount) {
          want = wave.swizzle(kSwizzles[form - kDppCount], static_cast<int>(lane));
        } else {
          want = wave.other(static_cast<Other>(form - kDppCount - kSwizzleCount), lane);
          // What a lane that is elsewhere last held may be anything.
          if (want == kNotHere) continue;
        }
        std::string what =
            "form " + std::to_string(form) + ", part " + std::to_string(part) + ", thread " + std::to_string(thread);
        test.equal(what.c_str(), value, want);
      }
    }
    check(hipFree(device_out));
  }
  check(hipFree(device_in));
  return test.finish();
}
