// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle_target.h"

#include <set>

namespace mneme::restore {

void BundleTarget::take(const bundle::KernelMember& kernel) {
  writer_.add(bundle::kernel_json_name(kernel.info.id), bundle::write(kernel.info));
  writer_.add(bundle::kernel_bitcode_name(kernel.info.id), kernel.bitcode);
}

void BundleTarget::take(const bundle::VariantMember& variant) {
  const bundle::VariantInfo& info = variant.info;
  writer_.add(bundle::variant_json_name(info.kernel, info.id), bundle::write(info));
  if (info.has_code_member()) writer_.add(bundle::variant_code_name(info.kernel, info.id, info.code), variant.code);
}

void BundleTarget::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  writer_.add_raw_instance(instance.info, instance.prologue, instance.epilogue, bundle::blocks_of(reader, instance));
}

void BundleTarget::take(const bundle::RunMember& run, const bundle::Reader& reader) {
  std::set<Digest> cited;
  for (const bundle::BlockDifference& block : run.info.blocks) cited.insert({block.expected, block.actual});
  std::vector<bundle::Writer::LooseBlock> blocks;
  for (const Digest& digest : cited) blocks.push_back({digest, reader.block(digest)});
  if (!blocks.empty()) writer_.add_blocks(blocks);
  writer_.add(bundle::run_name(run.info.kernel, run.info.instance, run.info.variant), bundle::write(run.info));
}

}  // namespace mneme::restore
