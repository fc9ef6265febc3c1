// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/format.h"

namespace mneme::bundle {

enum class MemberKind {
  kBundle,
  kCode,
  kKernelJson,
  kKernelFile,
  kVariantJson,
  kVariantCode,
  kPack,
  kKeep,
  kRaw,
  kState,
  kInstance,
  kRun,
  kChoice,
  kSummary,
  kOther  // unknown to this version
};

// A member's name taken apart: what it is, and the digests in it, in order.
struct MemberName {
  MemberKind kind = MemberKind::kOther;
  Digest digests[3];
  std::string_view file;  // a code member's or a raw member's file name
};
MemberName parse_name(std::string_view name);

// Throws Error unless the name is one that unpacking keeps inside its folder: relative, of printable ASCII, with no
// empty, "." or ".." part.
void check_name(std::string_view name);

// A name from a stranger as a message may show it.
std::string shown(std::string_view name);

// Members whose contents their name determines may occur again.
inline bool may_recur(MemberKind kind) {
  return kind == MemberKind::kState || kind == MemberKind::kRaw || kind == MemberKind::kCode;
}

// memory/<state>/<file>; one file name a segment, in order: a global's symbol where it is fit to be a file name and
// no other's, else the address.
std::string raw_name(const Digest& state, const std::string& file);
std::vector<std::string> raw_files(std::span<const Segment> segments);

}  // namespace mneme::bundle
