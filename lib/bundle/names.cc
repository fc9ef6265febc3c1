// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/names.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"

namespace mneme::bundle {
namespace {

constexpr size_t kMaxName = 1024;
constexpr size_t kMaxSymbolFile = 100;  // file systems end at 255

std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t slash = name.find('/');
    parts.push_back(name.substr(0, slash));
    if (slash == std::string_view::npos || parts.size() > 4) return parts;
    name.remove_prefix(slash + 1);
  }
}

bool is_digest(std::string_view text, Digest& out) {
  if (text.size() != 2 * Digest::kSize) return false;
  for (char c : text) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  out = Digest::parse(text);
  return true;
}

std::optional<std::string_view> without_suffix(std::string_view text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return std::nullopt;
  return text.substr(0, text.size() - suffix.size());
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

MemberName parse_memory(const std::vector<std::string_view>& parts) {
  MemberName out;
  if (parts.size() == 2) {
    auto number = without_suffix(parts[1], ".pack");
    if (number && is_number(*number)) out.kind = MemberKind::kPack;
    auto list = without_suffix(parts[1], ".keep");
    if (list && is_number(*list)) out.kind = MemberKind::kKeep;
  } else if (parts.size() == 3 && is_digest(parts[1], out.digests[0]) && parts[2].ends_with(".raw")) {
    out.kind = MemberKind::kRaw;
    out.file = parts[2];
  }
  return out;
}

// <folder>/<digest>/…/<digest>.json with `count` digests.
MemberName parse_json_name(const std::vector<std::string_view>& parts, size_t count, MemberKind kind) {
  MemberName out;
  if (parts.size() != count + 1) return out;
  for (size_t i = 0; i < count; ++i) {
    std::string_view part = parts[i + 1];
    if (i + 1 == count) {
      auto stem = without_suffix(part, ".json");
      if (!stem) return out;
      part = *stem;
    }
    if (!is_digest(part, out.digests[i])) return out;
  }
  out.kind = kind;
  return out;
}

bool fit_for_file(std::string_view symbol) {
  return !symbol.empty() && symbol.size() <= kMaxSymbolFile && symbol.front() != '.' && !symbol.starts_with("0x") &&
         std::all_of(symbol.begin(), symbol.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
                  c == '$';
         });
}

}  // namespace

MemberName parse_name(std::string_view name) {
  MemberName out;
  if (name == kBundleMember) out.kind = MemberKind::kBundle;
  if (name == kSummaryMember) out.kind = MemberKind::kSummary;
  std::vector<std::string_view> parts = split(name);
  if (parts[0] == "memory") return parse_memory(parts);
  if (parts[0] == "instances") return parse_json_name(parts, 2, MemberKind::kInstance);
  if (parts[0] == "runs") return parse_json_name(parts, 3, MemberKind::kRun);
  if (parts[0] == "choices") return parse_json_name(parts, 2, MemberKind::kChoice);
  if (parts[0] == "code" && parts.size() == 2 && is_digest(parts[1], out.digests[0])) out.kind = MemberKind::kCode;
  if (parts[0] == "states" && parts.size() == 2 && is_digest(parts[1], out.digests[0])) out.kind = MemberKind::kState;
  if (parts[0] == "kernels" && parts.size() == 3 && is_digest(parts[1], out.digests[0])) {
    if (parts[2] == "kernel.json") out.kind = MemberKind::kKernelJson;
    if (parts[2] == "kernel.bc" || parts[2] == kCubinFile || parts[2] == kPtxFile) out.kind = MemberKind::kKernelFile;
  }
  if (parts[0] == "variants" && parts.size() == 4 && is_digest(parts[1], out.digests[0]) &&
      is_digest(parts[2], out.digests[1])) {
    if (parts[3] == "variant.json") out.kind = MemberKind::kVariantJson;
    if (parts[3].starts_with("code.")) {
      out.kind = MemberKind::kVariantCode;
      out.file = parts[3];
    }
  }
  return out;
}

std::string shown(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, 200)) out += c >= ' ' && c <= '~' && c != '\'' ? c : '?';
  return out + (name.size() > 200 ? "…" : "");
}

void check_name(std::string_view name) {
  auto refuse = [&](const char* why) { throw Error::of("a member is named '{}', which {}", shown(name), why); };
  if (name.empty()) refuse("is no name");
  if (name.size() > kMaxName) refuse("is too long");
  if (name.front() == '/') refuse("is an absolute path");
  if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; })) {
    refuse("has characters other than printable ASCII");
  }
  for (size_t at = 0; at <= name.size();) {
    size_t slash = std::min(name.find('/', at), name.size());
    std::string_view part = name.substr(at, slash - at);
    if (part == "..") refuse("leads out of its folder");
    if (part.empty() || part == ".") refuse("has an empty part");
    at = slash + 1;
  }
}

std::string code_name(const Digest& code) { return "code/" + code.hex(); }
std::string kernel_json_name(const Digest& kernel) { return "kernels/" + kernel.hex() + "/kernel.json"; }
std::string kernel_bitcode_name(const Digest& kernel) { return kernel_file_name(kernel, "kernel.bc"); }
std::string kernel_file_name(const Digest& kernel, std::string_view file) {
  return fmt::format("kernels/{}/{}", kernel.hex(), file);
}
std::string variant_json_name(const Digest& kernel, const Digest& variant) {
  return variant_code_name(kernel, variant, "variant.json");
}
std::string variant_code_name(const Digest& kernel, const Digest& variant, std::string_view file) {
  return fmt::format("variants/{}/{}/{}", kernel.hex(), variant.hex(), file);
}
std::string state_name(const Digest& state) { return "states/" + state.hex(); }
std::string pack_name(uint64_t number) { return fmt::format("memory/{}.pack", number); }
std::string keep_name(uint64_t number) { return fmt::format("memory/{}.keep", number); }
std::string instance_name(const Digest& kernel, const Digest& instance) {
  return fmt::format("instances/{}/{}.json", kernel.hex(), instance.hex());
}
std::string run_name(const Digest& kernel, const Digest& instance, const Digest& variant) {
  return fmt::format("runs/{}/{}/{}.json", kernel.hex(), instance.hex(), variant.hex());
}
std::string choice_name(const Digest& kernel, const Digest& choice) {
  return fmt::format("choices/{}/{}.json", kernel.hex(), choice.hex());
}

std::string raw_name(const Digest& state, const std::string& file) { return "memory/" + state.hex() + "/" + file; }

std::vector<std::string> raw_files(std::span<const Segment> segments) {
  std::map<std::string_view, size_t> uses;
  for (const Segment& segment : segments) ++uses[segment.symbol];
  std::vector<std::string> files;
  files.reserve(segments.size());
  for (const Segment& segment : segments) {
    bool symbol = fit_for_file(segment.symbol) && uses[segment.symbol] == 1;
    files.push_back((symbol ? segment.symbol : fmt::format("{:#x}", segment.address)) + ".raw");
  }
  return files;
}

}  // namespace mneme::bundle
