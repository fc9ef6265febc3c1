// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/compile/kernel_code.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/long_names.h"
#include "base/process.h"
#include "bundle/checks.h"
#include "codegen/host/host.h"
#include "hostgpu/compile/detached_command.h"
#include "hostgpu/compile/kernel_cache.h"

namespace mneme::hostgpu {
namespace {

std::string compile(const objects::EmbeddedKernel& kernel, const CompileOptions& options, const std::string& compiler) {
  std::string record = objects::write_embedded(kernel.json, kernel.bitcode);
  // For the processor that this process sees: Valgrind's has no AVX-512.
  std::vector<std::string> command = {compiler, "--target", codegen::host::default_target(), "--form", options.form};
  if (options.check_memory) command.push_back("--check-memory");
  if (!options.checks.empty()) command.insert(command.end(), {"--checks", options.checks});
  CommandResult result = run_detached(command, bytes_of(record));
  if (result.status == 0) return std::move(result.output);
  while (!result.errors.empty() && result.errors.back() == '\n') result.errors.pop_back();
  if (result.errors.starts_with("kernel '"))
    throw Error(with_short_name(result.errors, kernel.info.demangled));  // it says which
  throw Error::of("kernel '{}' cannot be compiled for the host: {}", cut_in_the_middle(kernel.info.demangled),
                  result.errors.empty() ? "the compiler " + describe_wait_status(result.status) : result.errors);
}

CachedCode make(const objects::EmbeddedKernel& kernel, const CompileOptions& options, const std::string& compiler,
                const KernelCache& cache) {
  CachedCode made{{}, compile(kernel, options, compiler)};
  made.path = cache.add(made.code);
  return made;
}

// A file is loaded once; whoever else needs its code, for variables of its own, loads a copy.
std::unique_ptr<device::host::HostCode> load(const CachedCode& cached, const std::string& kernel) {
  static std::mutex mutex;
  static auto* loaded = new std::set<std::string>;
  bool first = false;
  if (!cached.path.empty()) {
    std::lock_guard lock(mutex);
    first = loaded->insert(cached.path).second;
  }
  // By its path where possible: debuggers and profilers can read it there.
  return first ? device::host::HostCode::load(cached.path, kernel)
               : device::host::HostCode::load(bytes_of(cached.code), kernel);
}

}  // namespace

bool checks_memory() {
  static const bool checks = [] {  // asked at every launch
    const char *value = std::getenv("MNEME_CHECK_MEMORY"), *list = std::getenv("MNEME_CHECK");
    return (value && *value && *value != '0') || (list && *list && bundle::wanted_checks(list).memory);
  }();
  return checks;
}

const std::string& wanted_checks() {
  static const auto* wanted = new std::string([] {
    const char* list = std::getenv("MNEME_CHECK");
    return list && *list ? bundle::wanted_checks(list).checks : std::string();
  }());
  return *wanted;
}

CompileOptions usual_options() {
  const char* form = std::getenv("MNEME_HOST_FORM");
  return {form && *form ? form : "auto", checks_memory(), wanted_checks()};
}

std::unique_ptr<device::host::HostCode> code_of(const objects::EmbeddedKernel& kernel, const CompileOptions& options) {
  std::string compiler = installed_part("mneme-host-compile");
  KernelCache cache(kernel, options, compiler);
  const std::string name = cut_in_the_middle(kernel.info.demangled);  // what messages call it
  if (auto cached = cache.find()) {
    try {
      return load(*cached, name);
    } catch (const Error&) {
      // A file that is not what it was: compile it again.
    }
  }
  return load(make(kernel, options, compiler, cache), name);
}

std::unique_ptr<device::host::HostCode> code_beside(const device::host::HostCode& other,
                                                    const objects::EmbeddedKernel& kernel,
                                                    const CompileOptions& options) {
  auto code = code_of(kernel, options);
  for (codegen::host::GlobalSlot& slot : code->globals()) {
    auto same =
        std::ranges::find_if(other.globals(), [&](const auto& s) { return std::strcmp(s.name, slot.name) == 0; });
    if (same == other.globals().end()) throw Error::of("the variable '{}' is not there", slot.name);
    slot.address = same->address;
  }
  return code;
}

std::string object_of(const objects::EmbeddedKernel& kernel, const CompileOptions& options) {
  std::string compiler = installed_part("mneme-host-compile");
  KernelCache cache(kernel, options, compiler);
  if (auto cached = cache.find()) return std::move(cached->code);
  return make(kernel, options, compiler, cache).code;
}

}  // namespace mneme::hostgpu
