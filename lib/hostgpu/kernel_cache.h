// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled kernels in $XDG_CACHE_HOME/mneme or ~/.cache/mneme; MNEME_CACHE=off does without. A cache that cannot be
// used costs time, never an error.
#pragma once
#include <optional>
#include <string>

#include "objects/embedded.h"

namespace mneme::hostgpu {

struct CachedCode {
  std::string path;  // empty: in no file
  std::string code;
};

class KernelCache {
 public:
  KernelCache(const objects::EmbeddedKernel& kernel, const std::string& form, const std::string& compiler);

  std::optional<CachedCode> find() const;
  // The file's path, or empty when it could not be written.
  std::string add(const std::string& code) const;

 private:
  std::string folder_;  // empty: none
  std::string path_;
};

}  // namespace mneme::hostgpu
