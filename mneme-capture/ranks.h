// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mneme::capture {

// Some of an MPI job's processes.
class Ranks {
 public:
  static Ranks only(int64_t rank) { return Ranks({{rank, rank}}); }
  static Ranks all() { return Ranks({{0, INT64_MAX}}); }
  // "all", or ranks and ranges of them with commas between: "0,4-7". Throws Error.
  static Ranks parse(const std::string& text);

  bool contains(int64_t rank) const;
  bool several() const { return several_; }

 private:
  struct Range {
    int64_t first, last;
  };
  explicit Ranks(std::vector<Range> ranges);
  std::vector<Range> ranges_;
  bool several_;
};

// A file's name for this process: its rank for %r, its number for %p, and % for %%. Throws Error for %r without a
// rank.
std::string name_for_process(const std::string& name, std::optional<int64_t> rank, pid_t process);
// Whether the name holds %r or %p, so that each process has its own.
bool names_each_rank(const std::string& name);

}  // namespace mneme::capture
