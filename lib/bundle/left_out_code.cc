// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/left_out_code.h"

#include <utility>

namespace mneme::bundle {

void LeftOutCode::keep(VariantMember variant) {
  if (variant.info.has_code_member()) codes_.try_emplace(variant.info.id, std::move(variant.code));
}

void LeftOutCode::make_whole(VariantMember& variant) const {
  auto code = codes_.find(variant.info.same_as);
  if (variant.info.same_as.empty() || code == codes_.end()) return;
  variant.info.same_as = {};
  variant.code = code->second;
  variant.text = write(variant.info);
}

}  // namespace mneme::bundle
