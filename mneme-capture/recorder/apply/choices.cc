// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/apply/choices.h"

#include "base/error.h"

namespace mneme::record {
namespace {

constexpr std::string_view kFolder = "choices/";

// As lib/bundle's reader does.
void check_guards(const bundle::Choice& choice, const bundle::KernelInfo& kernel, const std::string& path) {
  for (const bundle::Guard& guard : choice.guards) {
    if (guard.offset + guard.bytes.size() <= kernel.argument_bytes) continue;
    throw Error::of("'{}': {} is damaged: its guards are not of its kernel's arguments", path,
                    bundle::choice_name(choice.kernel, choice.id));
  }
}

}  // namespace

Choices::Choices(const std::string& path, std::string_view kernels) : path_(path), file_(path) {
  for (const auto& [name, bytes] : file_.members()) {
    if (!name.starts_with(kFolder)) continue;
    const std::string_view kernel = name.substr(kFolder.size(), name.find('/', kFolder.size()) - kFolder.size());
    if (kernels.empty() || kernels.find(kernel) != kernels.npos) add(std::string(name), bytes);
  }
  for (const One& one : choices_) by_kernel_[one.choice.kernel].push_back(&one);
  for (const auto& [id, choices] : by_kernel_) {
    const std::string name = "kernels/" + id.hex() + "/kernel.json";
    const bundle::KernelInfo kernel = bundle::parse_kernel(text_of(file_.member(name)), "'" + path_ + "', " + name);
    for (const One* one : choices) check_guards(one->choice, kernel, path_);
    names_.insert(kernel.name);
  }
}

void Choices::add(const std::string& name, Bytes json) {
  One one{bundle::parse_choice(text_of(json), "'" + path_ + "', " + name), choices_.size(), {}};
  one.code = code_of(one.choice);
  choices_.push_back(std::move(one));
}

// The code of another variant where that is the same, and of a kernel without IR a code member.
Bytes Choices::code_of(const bundle::Choice& choice) const {
  const std::string variants = "variants/" + choice.kernel.hex() + "/";
  auto parse = [&](const Digest& id) {
    const std::string name = variants + id.hex() + "/variant.json";
    return bundle::parse_variant(text_of(file_.member(name)), "'" + path_ + "', " + name);
  };
  bundle::VariantInfo variant = parse(choice.variant);
  if (!variant.same_as.empty()) variant = parse(variant.same_as);
  const auto shared = file_.members().find("code/" + variant.code_digest.hex());
  const Bytes code =
      shared != file_.members().end() ? shared->second : file_.member(variants + variant.id.hex() + "/" + variant.code);
  if (digest_of(code) != variant.code_digest) throw Error::of("'{}' has damaged code in {}", path_, variants);
  return code;
}

const std::vector<const Choices::One*>* Choices::of(const Digest& kernel) const {
  auto found = by_kernel_.find(kernel);
  return found == by_kernel_.end() ? nullptr : &found->second;
}

}  // namespace mneme::record
