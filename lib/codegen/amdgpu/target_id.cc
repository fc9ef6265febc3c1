// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/amdgpu/target_id.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/TargetParser/TargetParser.h>

namespace mneme::codegen::amdgpu {
namespace {

constexpr uint32_t kFirstGeneration = 9, kLastGeneration = 11;

const char* sign(bool on) { return on ? "+" : "-"; }

}  // namespace

std::string TargetId::text() const {
  std::string text = processor;
  if (sramecc) text += std::string(":sramecc") + sign(*sramecc);
  if (xnack) text += std::string(":xnack") + sign(*xnack);
  return text;
}

std::string TargetId::features() const {
  std::string list;
  if (sramecc) list += std::string(sign(*sramecc)) + "sramecc";
  if (xnack) list += std::string(list.empty() ? "" : ",") + sign(*xnack) + "xnack";
  return list;
}

std::optional<TargetId> parse_target_id(std::string_view text) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(text).split(parts, ':');
  llvm::AMDGPU::GPUKind kind = llvm::AMDGPU::parseArchAMDGCN(parts[0]);
  // The older processors also have names, such as "vega"; there is one text for each target.
  if (kind == llvm::AMDGPU::GK_NONE || llvm::AMDGPU::getArchNameAMDGCN(kind) != parts[0]) return std::nullopt;
  llvm::AMDGPU::IsaVersion version = llvm::AMDGPU::getIsaVersion(parts[0]);
  if (version.Major < kFirstGeneration || version.Major > kLastGeneration) return std::nullopt;
  TargetId target;
  target.processor = parts[0].str();
  target.generation = version.Major;
  target.isa_version = version.Major * 1000 + version.Minor * 100 + version.Stepping;
  target.generic = parts[0].ends_with("-generic");
  unsigned has = llvm::AMDGPU::getArchAttrAMDGCN(kind);
  for (llvm::StringRef part : llvm::drop_begin(parts)) {
    if (!part.ends_with("+") && !part.ends_with("-")) return std::nullopt;
    llvm::StringRef name = part.drop_back();
    bool is_xnack = name == "xnack";
    if (!is_xnack && name != "sramecc") return std::nullopt;
    if (!(has & (is_xnack ? llvm::AMDGPU::FEATURE_XNACK : llvm::AMDGPU::FEATURE_SRAMECC))) return std::nullopt;
    std::optional<bool>& setting = is_xnack ? target.xnack : target.sramecc;
    if (setting) return std::nullopt;
    setting = part.ends_with("+");
  }
  return target;
}

}  // namespace mneme::codegen::amdgpu
