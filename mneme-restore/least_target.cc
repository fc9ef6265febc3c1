// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "least_target.h"

#include <charconv>
#include <string_view>
#include <tuple>

namespace mneme::restore {
namespace {

// In the order in which they count.
using Rank = std::tuple<uint64_t, uint64_t, uint64_t, size_t, std::string_view>;

uint64_t number(std::string_view digits, int base = 10) {
  uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return value;
}

// "sm_90a": the number, and then what only that one has.
Rank rank_of_nvidias(std::string_view processor) {
  return {number(processor.substr(std::string_view("sm_").size())), 0, 0, processor.size(), processor};
}

// "gfx90a:xnack+": generation 9, 0, a (hexadecimal), then settings. "gfx10-3-generic": generation 10, 3, ahead of all.
Rank rank_of_amds(std::string_view processor) {
  std::string_view name = processor.substr(0, processor.find(':')).substr(std::string_view("gfx").size());
  if (name.ends_with("-generic")) {
    size_t minor = name.find('-') + 1;
    return {number(name), number(name.substr(minor)), 0, processor.size(), processor};
  }
  if (name.size() < 3) return {0, 0, 0, processor.size(), processor};
  const size_t of_generation = name.size() - 2;
  return {number(name.substr(0, of_generation)), number(name.substr(of_generation, 1)),
          1 + number(name.substr(of_generation + 1), 16), processor.size(), processor};
}

Rank rank_of(std::string_view target) {
  size_t colon = target.find(':');
  std::string_view processor = colon == std::string_view::npos ? std::string_view() : target.substr(colon + 1);
  if (processor.starts_with("sm_")) return rank_of_nvidias(processor);
  if (processor.starts_with("gfx")) return rank_of_amds(processor);
  return {0, 0, 0, processor.size(), processor};
}

}  // namespace

bool is_lesser_target(const std::string& one, const std::string& other) { return rank_of(one) < rank_of(other); }

std::map<std::string, std::string> least_targets(const std::set<std::string>& targets) {
  std::map<std::string, std::string> least;
  for (const std::string& target : targets) {
    std::string& place = least[target.substr(0, target.find(':'))];
    if (place.empty() || is_lesser_target(target, place)) place = target;
  }
  return least;
}

}  // namespace mneme::restore
