// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle_target.h"

#include <set>

#include "bundle/adding.h"
#include "bundle/blocks/coverage.h"

namespace mneme::restore {

void BundleTarget::take(const bundle::KernelMember& kernel) { bundle::add(writer_, kernel); }

void BundleTarget::take(const bundle::VariantMember& variant) { bundle::add(writer_, variant); }

void BundleTarget::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  writer_.add_raw_instance(instance.info, instance.prologue, instance.epilogue, bundle::blocks_of(reader, instance),
                           instance.text);
}

void BundleTarget::take(const bundle::RunMember& run, const bundle::Reader& reader) {
  const std::vector<Digest> all = bundle::cited_blocks(run.info);
  const std::set<Digest> cited(all.begin(), all.end());
  std::vector<bundle::Writer::LooseBlock> blocks;
  for (const Digest& digest : cited) blocks.push_back({digest, reader.block(digest)});
  if (!blocks.empty()) writer_.add_blocks(blocks);
  add_json(run);
}

void BundleTarget::take(const bundle::ChoiceMember& choice) {
  writer_.add(bundle::choice_name(choice.info.kernel, choice.info.id), choice.text);
}

void BundleTarget::add_json(const bundle::RunMember& run) {
  writer_.add(bundle::run_name(run.info.kernel, run.info.instance, run.info.variant), run.text);
}

}  // namespace mneme::restore
