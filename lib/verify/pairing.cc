// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/pairing.h"

#include <algorithm>

namespace mneme::verify {

const std::vector<Digest>& Pairing::instance(const Digest& kernel, const Digest& instance) {
  kernel_in_hand_ = kernel;
  instance_in_hand_ = instance;
  return variants_[kernel];
}

std::optional<Digest> Pairing::variant(const Digest& kernel, const Digest& variant) {
  std::vector<Digest>& known = variants_[kernel];
  if (std::find(known.begin(), known.end(), variant) != known.end()) return std::nullopt;
  known.push_back(variant);
  if (kernel != kernel_in_hand_ || instance_in_hand_.empty()) return std::nullopt;
  return instance_in_hand_;
}

bool Pairing::any_variant(const Digest& kernel) const {
  auto found = variants_.find(kernel);
  return found != variants_.end() && !found->second.empty();
}

}  // namespace mneme::verify
