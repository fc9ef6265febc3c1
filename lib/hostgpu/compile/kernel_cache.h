// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled kernels in $XDG_CACHE_HOME/mneme or ~/.cache/mneme; MNEME_KERNEL_CACHE=off does without. A cache that cannot
// be used costs time, never an error.
#pragma once
#include <optional>
#include <string>

#include "objects/embedded.h"

namespace mneme::hostgpu {

struct CompileOptions {
  std::string form = "auto";
  bool check_memory = false;  // find out before each access whether there is memory
  std::string checks = {};    // as Configuration::checks
};

struct CachedCode {
  std::string path;  // empty: in no file
  std::string code;
};

class KernelCache {
 public:
  KernelCache(const objects::EmbeddedKernel& kernel, const CompileOptions& options, const std::string& compiler);

  std::optional<CachedCode> find() const;
  // The file's path, or empty when it could not be written.
  std::string add(const std::string& code) const;

 private:
  std::string folder_;  // empty: none
  std::string path_;
};

}  // namespace mneme::hostgpu
