// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <dlfcn.h>
#include <stdlib.h>

#include <climits>

#include "base/error.h"
#include "device/hip/profiler.h"

namespace mneme::device::hip {
namespace {

constexpr const char* kSwitch = "MNEME_ROCPROFILER";  // 0: it is not to be used
// By which the runtime's library finds the one that it is to tell of itself (ROCm/rocprofiler-register). Releases until
// 7.1 may find another than the one that was configured, unless this says which.
constexpr const char* kRegistered = "ROCPROFILER_REGISTER_LIBRARY";
// With these somebody else profiles this process.
constexpr const char* kOfOthers[] = {"ROCP_TOOL_LIBRARIES", kRegistered, "HSA_TOOLS_LIB"};
constexpr const char* kNames[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0", "librocprofiler-sdk.so"};

bool is_set(const char* variable) {
  const char* text = ::getenv(variable);
  return text && *text;
}

// Of the file that a function is in; empty if that is not known.
std::string path_of(const void* function) {
  Dl_info found{};
  char path[PATH_MAX];
  if (::dladdr(function, &found) == 0 || !found.dli_fname || !::realpath(found.dli_fname, path)) return {};
  return path;
}

void* open_one(const Runtime& runtime) {
  const std::string beside = path_of(reinterpret_cast<const void*>(runtime.hipInit));
  const size_t folder = beside.rfind('/');
  for (const std::string& where : {folder == std::string::npos ? "" : beside.substr(0, folder + 1), std::string()}) {
    for (const char* name : kNames) {
      if (void* library = ::dlopen((where + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  return nullptr;
}

std::string why_not(const char* what) {
  return fmt::format("times are those of events, as rocprofiler-sdk is not used: {}", what);
}

ProfilerChoice choose(const Runtime& runtime) {
  const char* text = ::getenv(kSwitch);
  if (text && std::string_view(text) == "0") return {};
  for (const char* variable : kOfOthers) {
    if (is_set(variable)) return {nullptr, why_not(fmt::format("${} is set", variable).c_str())};
  }
  if (::dlsym(RTLD_DEFAULT, "rocprofiler_configure")) return {nullptr, why_not("this process has a tool for it")};
  const std::optional<std::string> wrong = try_profiler(runtime);
  if (!wrong) return {};
  if (!wrong->empty()) return {nullptr, why_not(wrong->c_str())};
  auto* profiler = new Profiler;
  try {
    profiler->set_up(open_profiler(runtime));
    return {profiler, {}};
  } catch (const Error& error) {
    ::unsetenv(kRegistered);
    return {nullptr, why_not(error.what())};
  }
}

}  // namespace

void* open_profiler(const Runtime& runtime) {
  void* library = open_one(runtime);
  if (!library) return nullptr;
  const std::string path = path_of(::dlsym(library, "rocprofiler_force_configure"));
  if (!path.empty()) ::setenv(kRegistered, path.c_str(), 1);
  ::setenv("ROCPROFILER_LOG_LEVEL", "error", 0);  // some warn of every tool
  return library;
}

const ProfilerChoice& choose_profiler(const Runtime& runtime) {
  static const ProfilerChoice choice = choose(runtime);
  return choice;
}

}  // namespace mneme::device::hip
