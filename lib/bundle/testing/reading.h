// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: a bundle's bytes read from end to end.
#pragma once
#include <string>
#include <vector>

#include "base/error.h"
#include "bundle/testing/sample.h"

namespace mneme::bundle {

struct Contents {
  std::vector<KernelMember> kernels;
  std::vector<VariantMember> variants;
  std::vector<InstanceMember> instances;
  std::vector<RunMember> runs;
  std::vector<ChoiceMember> choices;
  std::vector<std::string> others;
  std::optional<Summary> summary;
  bool truncated = false;
  std::string truncation;
};

inline Contents read_bundle(std::string_view bytes, Memory memory) {
  Fd file = memory_file("bundle", bytes_of(bytes));
  Reader reader(file.get(), "the bundle", memory);
  Contents contents;
  while (auto item = reader.next()) {
    if (auto* kernel = std::get_if<KernelMember>(&*item)) contents.kernels.push_back(*kernel);
    if (auto* variant = std::get_if<VariantMember>(&*item)) contents.variants.push_back(*variant);
    if (auto* instance = std::get_if<InstanceMember>(&*item)) {
      contents.instances.push_back(*instance);
      if (!reader.decodes()) continue;
      for (const BlockReference& block : instance->prologue.blocks) (void)reader.block(block.digest);
      for (const BlockReference& block : instance->epilogue.blocks) (void)reader.block(block.digest);
    }
    if (auto* run = std::get_if<RunMember>(&*item)) contents.runs.push_back(*run);
    if (auto* choice = std::get_if<ChoiceMember>(&*item)) contents.choices.push_back(*choice);
    if (auto* other = std::get_if<OtherMember>(&*item)) contents.others.push_back(other->name);
    if (auto* summary = std::get_if<Summary>(&*item)) contents.summary = *summary;
  }
  contents.truncated = reader.truncated();
  contents.truncation = reader.truncation();
  return contents;
}

// What a stage that adds nothing makes of a bundle; of one cut short, an archive that ends properly.
inline std::string copy_of(std::string_view bytes, Memory memory) {
  Fd file = memory_file("bundle", bytes_of(bytes));
  Reader reader(file.get(), "the bundle", memory);
  return bundle_bytes([&](Writer& writer) {
    writer.add(std::string(kBundleMember), write(reader.info()));
    reader.copy_to(&writer);
    std::optional<Summary> summary;
    while (auto item = reader.next()) {
      if (auto* met = std::get_if<Summary>(&*item)) summary = *met;
    }
    if (summary) writer.add(std::string(kSummaryMember), write(*summary));
    writer.finish();
  });
}

}  // namespace mneme::bundle
