// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rocm.h"

#include <cstdlib>
#include <filesystem>

namespace mneme::inject {
namespace {

constexpr char kDistribution[] = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";
constexpr char kDefaultRocm[] = "/opt/rocm";

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool has_device_libraries(const std::string& rocm) { return !rocm.empty() && exists(rocm + "/amdgcn/bitcode"); }

}  // namespace

std::string device_libraries_to_name(const Invocation& invocation) {
  if (invocation.names_device_libraries || !variable("HIP_DEVICE_LIB_PATH").empty()) return "";
  // clang looks at the first of these that is given.
  std::string rocm = invocation.rocm_path;
  if (rocm.empty()) rocm = variable("ROCM_PATH");
  if (rocm.empty()) rocm = kDefaultRocm;
  if (has_device_libraries(rocm) || !exists(kDistribution)) return "";
  return kDistribution;
}

void drop_misleading_paths() {
  for (const char* name : {"ROCM_PATH", "HIP_PATH"}) {
    std::string path = variable(name);
    if (!path.empty() && !exists(path + "/share/hip/version") && !exists(path + "/bin/.hipVersion")) ::unsetenv(name);
  }
}

}  // namespace mneme::inject
