// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "base/digest.h"

namespace mneme::verify {

// Which variants are run on which instances, as a bundle streams by: a pair of one kernel, once both have arrived; an
// instance can be paired until the next one arrives. mneme-run runs by this, and mneme-verify expects runs by it, so
// that a run that is missing does not go unnoticed.
class Pairing {
 public:
  // The variants that the instance, now in hand, is run with at once.
  std::vector<Digest> instance(const Digest& kernel, const Digest& instance);
  // An instance that is not to be paired has arrived.
  void none_in_hand() { instance_in_hand_ = {}; }
  // The instance in hand, if the variant is run on it at once. A variant that has arrived before is not paired again.
  // `only`: the one instance that the variant is for, if there is one.
  std::optional<Digest> variant(const Digest& kernel, const Digest& variant, const Digest& only = {});
  bool any_variant(const Digest& kernel) const;

 private:
  struct Variant {
    Digest id, only;
  };
  std::map<Digest, std::vector<Variant>> variants_;  // by kernel, in order of arrival
  Digest kernel_in_hand_, instance_in_hand_;
};

}  // namespace mneme::verify
