// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/kernels/past_recorder.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <cstdlib>

#include "base/long_names.h"
#include "hostgpu/errors.h"
#include "memory/listing.h"

namespace mneme::hostgpu {
namespace {

thread_local bool handed_over = false;

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

bool is_recorded() {
  static const bool recorded = std::getenv(memory::kRecordingVariable) != nullptr;
  return recorded;
}

// Of the recorder in this namespace; null: it is not here.
memory::IsInLaunch recorder_here() {
  static const auto found = symbol<memory::IsInLaunch>(RTLD_DEFAULT, memory::kIsInLaunchSymbol);
  return found;
}

// Of the recorder in the program's namespace; null: it is not there either.
memory::CountLaunch recorder_of_program() {
  static const auto found = []() -> memory::CountLaunch {
    void* library = ::dlmopen(LM_ID_BASE, memory::kRecorderLibrary, RTLD_LAZY | RTLD_NOLOAD);
    return library ? symbol<memory::CountLaunch>(library, memory::kCountLaunchSymbol) : nullptr;
  }();
  return found;
}

}  // namespace

HandedOver::HandedOver() { handed_over = true; }
HandedOver::~HandedOver() { handed_over = false; }

void* function_in_front(const char* name) {
  if (handed_over || !is_recorded() || !recorder_here() || recorder_here()()) return nullptr;
  return ::dlsym(RTLD_DEFAULT, name);
}

void tell_if_unrecorded(const bundle::KernelInfo& kernel) {
  if (!is_recorded() || recorder_here()) return;
  const auto count = recorder_of_program();
  if (count && count(kernel.demangled.c_str())) return;
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  say(
      fmt::format("kernel '{}' is launched where the recorder is not loaded, from a library in a namespace of its own "
                  "(dlmopen), or without LD_PRELOAD: its launches are not recorded",
                  cut_in_the_middle(kernel.demangled)));
}

}  // namespace mneme::hostgpu
