// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/blocks/physical_memory.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace mneme::bundle {
namespace {

constexpr char kGroups[] = "sys/fs/cgroup";

// In a group's folder and those above it. A file that is not there, or says "max", is no limit.
uint64_t least_from(const std::filesystem::path& root, std::filesystem::path group, const char* file) {
  uint64_t least = UINT64_MAX;
  for (;; group = group.parent_path()) {
    uint64_t limit = 0;
    if (std::ifstream(root / group.relative_path() / file) >> limit) least = std::min(least, limit);
    if (!group.has_relative_path()) return least;
  }
}

}  // namespace

// Lines of "number:controllers:/group"; the second version of control groups has no controllers named.
uint64_t memory_limit_of_groups(const std::string& root) {
  const std::filesystem::path base = std::filesystem::path(root) / kGroups;
  uint64_t least = UINT64_MAX;
  std::ifstream groups(std::filesystem::path(root) / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",", group = line.substr(second + 1);
    if (controllers == ",,") least = std::min(least, least_from(base, group, "memory.max"));
    if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_from(base / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

uint64_t physical_memory() {
  uint64_t machine = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(machine, memory_limit_of_groups("/"));
}

}  // namespace mneme::bundle
