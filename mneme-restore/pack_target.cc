// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pack_target.h"

#include "bundle/blocks/coverage.h"

namespace mneme::restore {

void PackTarget::begin(bundle::Reader& reader) {
  packs_.begin();
  writer_.begin_input();
  reader.choose_packs([this](std::span<const bundle::PackEntry> entries) { return packs_.wants(entries); });
}

void PackTarget::take(bundle::PackMember&& pack) { packs_.add(std::move(pack)); }

void PackTarget::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  if (!reader.decodes()) return packs_.write(instance);
  writer_.add_instance(instance.info, instance.prologue, instance.epilogue, bundle::blocks_of(reader, instance),
                       instance.text);
}

void PackTarget::leave_out(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  if (!reader.decodes()) packs_.leave_out(instance);
}

void PackTarget::take(const bundle::RunMember& run, const bundle::Reader& reader) {
  if (reader.decodes()) return BundleTarget::take(run, reader);
  packs_.write(bundle::cited_blocks(run.info), bundle::run_name(run.info.kernel, run.info.instance, run.info.variant));
  add_json(run);
}

}  // namespace mneme::restore
