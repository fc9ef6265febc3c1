// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"

namespace mneme::capture {
namespace {

// As MPI has them.
constexpr int64_t kLastRank = INT32_MAX;

int64_t parse_rank(std::string_view text, const std::string& all) {
  int64_t rank = -1;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || stop != text.data() + text.size() || rank < 0 || rank > kLastRank) {
    throw Error::of("--ranks '{}': '{}' is not a rank; 'all', '2' and '0,4-7' are understood", all, text);
  }
  return rank;
}

// Calls `take` with each character, and whether a % stood before it that gives it a meaning.
template <class Take>
void read_name(const std::string& name, const Take& take) {
  for (size_t i = 0; i < name.size(); ++i) {
    bool special =
        name[i] == '%' && i + 1 < name.size() && std::string_view("rp%").find(name[i + 1]) != std::string::npos;
    if (special) ++i;
    take(special, name[i]);
  }
}

}  // namespace

Ranks::Ranks(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
  several_ = std::ranges::any_of(
      ranges_, [&](const Range& range) { return range.first != range.last || range.first != ranges_.front().first; });
}

Ranks Ranks::parse(const std::string& text) {
  if (text == "all") return all();
  std::vector<Range> ranges;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string_view piece = std::string_view(text).substr(begin, end - begin);
    size_t dash = piece.find('-');
    Range range{};
    range.first = parse_rank(piece.substr(0, dash), text);
    range.last = dash == std::string_view::npos ? range.first : parse_rank(piece.substr(dash + 1), text);
    if (range.last < range.first) throw Error::of("--ranks '{}': '{}' ends before it begins", text, piece);
    ranges.push_back(range);
    begin = end + 1;
  }
  return Ranks(std::move(ranges));
}

bool Ranks::contains(int64_t rank) const {
  return std::ranges::any_of(ranges_, [&](const Range& range) { return range.first <= rank && rank <= range.last; });
}

std::string name_for_process(const std::string& name, std::optional<int64_t> rank, pid_t process) {
  std::string out;
  read_name(name, [&](bool special, char c) {
    if (special && c == 'r' && !rank) {
      throw Error::of(
          "-o '{}': %r is the rank of this process, which is in no MPI, Slurm, Flux or PMI job; let the launcher start "
          "mneme-capture (mpirun -n 4 mneme-capture …), or name a file without %r",
          name);
    }
    if (special && c == 'r') {
      out += std::to_string(*rank);
    } else if (special && c == 'p') {
      out += std::to_string(process);
    } else {
      out += c;
    }
  });
  return out;
}

bool names_each_rank(const std::string& name) {
  bool found = false;
  read_name(name, [&](bool special, char c) { found = found || (special && c != '%'); });
  return found;
}

}  // namespace mneme::capture
