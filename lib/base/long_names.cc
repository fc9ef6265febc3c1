// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/long_names.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

namespace mneme {
namespace {

constexpr size_t kEnd = 20;  // characters behind the cut

bool is_inside(char c) { return (c & 0xC0) == 0x80; }  // a character of UTF-8

// Longest first: a name may be part of another. Never destroyed: threads may still have something to say at the end.
struct Longer {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  }
};
std::mutex& mutex() {
  static auto& one = *new std::mutex;
  return one;
}
std::set<std::string, Longer>& names() {
  static auto& all = *new std::set<std::string, Longer>;
  return all;
}

}  // namespace

size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !is_inside(c); }));
}

std::string cut_in_the_middle(const std::string& text) {
  if (width_of(text) <= kWidestName) return text;
  size_t begin = kWidestName - kEnd - 1, end = text.size() - kEnd;
  while (begin > 0 && is_inside(text[begin])) --begin;
  while (end < text.size() && is_inside(text[end])) ++end;
  return text.substr(0, begin) + "…" + text.substr(end);
}

std::string with_short_name(std::string message, const std::string& name) {
  if (width_of(name) <= kWidestName) return message;
  const std::string cut = cut_in_the_middle(name);
  for (size_t at = message.find(name); at != std::string::npos; at = message.find(name, at + cut.size())) {
    message.replace(at, name.size(), cut);
  }
  return message;
}

void note_name(const std::string& name) {
  if (width_of(name) <= kWidestName) return;
  std::lock_guard lock(mutex());
  names().insert(name);
}

std::string with_short_names(std::string message) {
  if (message.size() <= kWidestName) return message;
  std::lock_guard lock(mutex());
  for (const std::string& name : names()) message = with_short_name(std::move(message), name);
  return message;
}

}  // namespace mneme
