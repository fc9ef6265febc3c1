// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "recorder/runtime/devices.h"
#include "recorder/runtime/variant_code.h"

namespace mneme::record {

// The device variables of a variant that a GPU's driver has loaded. They lie elsewhere than the application's own, so
// that those which the kernel only reads are copied, in the order of the stream, before each launch.
class CopiedVariables {
 public:
  using Find = std::function<std::optional<MemoryRange>(const std::string& name)>;

  // `ours` and `theirs` find a variable in the variant and in the application. Throws Error where the kernel may write
  // one.
  CopiedVariables(const bundle::KernelInfo& kernel, const Find& ours, const Find& theirs);

  bool any() const { return !variables_.empty(); }
  int copy(const Devices& devices, void* stream) const;  // the vendor's status

 private:
  struct Variable {
    MemoryRange theirs;
    uint64_t ours = 0;
  };
  std::vector<Variable> variables_;
};

// Asking a variant for a variable ends with that, or with the error that is thrown then: only the first means that the
// variant does not use it.
inline constexpr int kNotFound = 500;  // of both vendors
Error without_variable(const std::string& name, const std::string& error);

// Where each argument's value lies. Throws Error where the launch has none.
std::vector<void*> argument_list(const bundle::KernelInfo& kernel, const LaunchRequest& request);

}  // namespace mneme::record
