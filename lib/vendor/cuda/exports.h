// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What CUDA's driver exports, and which of its functions a name means that a program looks up: the newest version that
// the program's version of CUDA has.
#pragma once
#include <cstddef>
#include <string_view>

namespace mneme::vendor::cuda {

struct Exported {
  const char* name;
  int since;  // which version of CUDA
};
inline constexpr Exported kExported[] = {
#include "vendor/cuda/exported.inc"
};

// How the name of a function ends that is another version of it, or for streams of a thread: "_v2_ptsz".
struct Ending {
  bool is_one = false, per_thread = false;
};
constexpr Ending ending(std::string_view rest) {
  constexpr size_t kVersion = 3, kPerThread = 5;
  if (rest.starts_with("_v") && rest.size() >= kVersion) rest.remove_prefix(kVersion);
  if (rest.empty()) return {true, false};
  bool per_thread = rest.size() == kPerThread && (rest == "_ptsz" || rest == "_ptds");
  return {per_thread, per_thread};
}

enum class Found { kYes = 0, kNo = 1, kNotYet = 2 };  // CU_GET_PROC_ADDRESS_…

// CU_GET_PROC_ADDRESS_…_STREAM, cudaEnable…Stream
inline constexpr unsigned long long kLegacyStream = 1, kThreadsStream = 2;

struct FoundExport {
  Found found = Found::kNo;
  const Exported* function = nullptr;
};

constexpr FoundExport look_up(std::string_view symbol, int version, bool per_thread) {
  FoundExport result;
  bool is_of_thread = false;
  for (const Exported& one : kExported) {
    std::string_view name = one.name;
    if (!name.starts_with(symbol)) continue;
    Ending how = ending(name.substr(symbol.size()));
    if (!how.is_one || (how.per_thread && !per_thread)) continue;
    if (one.since > version) {
      if (!result.function) result.found = Found::kNotYet;
      continue;
    }
    bool better = !result.function || how.per_thread > is_of_thread ||
                  (how.per_thread == is_of_thread && one.since > result.function->since);
    if (better) result = {Found::kYes, &one}, is_of_thread = how.per_thread;
  }
  return result;
}

}  // namespace mneme::vendor::cuda
