// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/pairing.h"

#include <algorithm>

namespace mneme::verify {

std::vector<Digest> Pairing::instance(const Digest& kernel, const Digest& instance) {
  kernel_in_hand_ = kernel;
  instance_in_hand_ = instance;
  std::vector<Digest> paired;
  for (const Variant& variant : variants_[kernel]) {
    if (variant.only.empty() || variant.only == instance) paired.push_back(variant.id);
  }
  return paired;
}

std::optional<Digest> Pairing::variant(const Digest& kernel, const Digest& variant, const Digest& only) {
  std::vector<Variant>& known = variants_[kernel];
  if (std::ranges::find(known, variant, &Variant::id) != known.end()) return std::nullopt;
  known.push_back({variant, only});
  if (!only.empty() && only != instance_in_hand_) return std::nullopt;
  if (kernel != kernel_in_hand_ || instance_in_hand_.empty()) return std::nullopt;
  return instance_in_hand_;
}

bool Pairing::any_variant(const Digest& kernel) const {
  auto found = variants_.find(kernel);
  return found != variants_.end() && !found->second.empty();
}

}  // namespace mneme::verify
