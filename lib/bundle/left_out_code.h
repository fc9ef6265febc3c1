// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <string>

#include "bundle/reader.h"

namespace mneme::bundle {

// Where a tool leaves variants out of a stream that it passes on: the code of those, as variants that follow may have
// no code but theirs.
class LeftOutCode {
 public:
  // One that is left out.
  void keep(VariantMember variant);
  // One that is passed on gets code of its own, if the one that has it was left out.
  void make_whole(VariantMember& variant) const;

 private:
  std::map<Digest, std::string> codes_;  // by variant
};

}  // namespace mneme::bundle
