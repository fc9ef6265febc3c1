// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/policy.h"

#include <fmt/format.h>

#include <cmath>

#include "bundle/json/json.h"

namespace mneme::verify {
namespace {

constexpr std::string_view kKinds[] = {"absolute", "relative", "scaled", "ulp"};
constexpr std::string_view kNorms[] = {"none", "l1", "l2", "linf"};

}  // namespace

std::string_view name_of(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }
std::string_view name_of(Norm norm) { return kNorms[static_cast<size_t>(norm)]; }

std::string to_string(const Policy& policy) {
  std::string scale = policy.kind == Kind::kScaled && policy.scale ? fmt::format(" by {:g}", *policy.scale) : "";
  return fmt::format("{} {}{} {} <= {}", name_of(policy.type), name_of(policy.kind), scale, name_of(policy.norm),
                     policy.threshold);
}

Policy parse_policy(std::string_view annotation, const std::string& where) {
  bundle::json::Document document(annotation, where);
  bundle::json::Object in(document);
  Policy policy;
  std::string type = in.text("dtype");
  auto known = element_type(type);
  if (!known) in.fail("dtype", fmt::format("is '{}', which this version does not know", type.substr(0, 80)));
  policy.type = *known;
  policy.threshold = in.real("threshold");
  policy.kind = static_cast<Kind>(in.choice("kind", {kKinds[0], kKinds[1], kKinds[2], kKinds[3]}));
  policy.norm = static_cast<Norm>(in.choice("norm", {kNorms[0], kNorms[1], kNorms[2], kNorms[3]}));
  if (in.has("scale")) policy.scale = in.real("scale");
  if (policy.scale && !(*policy.scale > 0 && std::isfinite(*policy.scale))) in.fail("scale", "is not a number above 0");
  policy.tag = in.text_or("tag", "");
  if (!in.has("ignore")) return policy;
  uint64_t end = 0;
  in.each("ignore", [&](bundle::json::Object range) {
    ElementRange ignored{range.number("first"), range.number("count")};
    if (ignored.first < end || ignored.count > UINT64_MAX - ignored.first) {
      range.fail("first", "overlaps the range before it, or is out of order");
    }
    end = ignored.first + ignored.count;
    policy.ignored.push_back(ignored);
  });
  return policy;
}

}  // namespace mneme::verify
