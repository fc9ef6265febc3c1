// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For tests: bundles such as the ranks of one job write, and what becomes of them when their packs are passed on.
#pragma once
#include <string>
#include <vector>

#include "bundle/blocks/coverage.h"
#include "bundle/blocks/physical_memory.h"
#include "bundle/pack/queue.h"
#include "bundle/testing/reading.h"

namespace mneme::bundle {

// A process of a job: a table that is the same in all of them, and a field of its own that each launch changes a
// little.
struct Rank {
  uint32_t number = 0;
  uint64_t table = 40;  // blocks
  uint64_t field = 4;   // blocks
  size_t launches = 2;
  std::string memory = "packs";
  size_t frees = SIZE_MAX;  // launches that come after the table is freed: from this number on
};

inline std::string noise(size_t size, uint32_t seed) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>((seed = seed * 1664525 + 1013904223) >> 24);
  return out;
}

// Bundles of several ranks, launch by launch, as one mneme-capture of all of them writes.
inline std::string rank_bundle(const std::vector<Rank>& ranks) {
  return bundle_bytes([&](Writer& writer) {
    BundleInfo bundle{1, "host", {{"device", 0x400000000000, uint64_t{1} << 40}}, ranks[0].memory, {}};
    bundle.provenance = {{"mneme-capture", "0.1.0", {"./app"}, 0}};
    writer.add(std::string(kBundleMember), write(bundle));
    KernelMember kernel = sample_kernel(0);
    writer.add(kernel_json_name(kernel.info.id), write(kernel.info));
    writer.add(kernel_bitcode_name(kernel.info.id), kernel.bitcode);
    std::vector<SampleMemory> memories;
    for (const Rank& rank : ranks) {
      const uint64_t base = 0x400000000000, field = base + (rank.table + 1) * kBlockSize;
      SampleMemory& memory = memories.emplace_back(std::vector<Segment>{
          {base, rank.table * kBlockSize, SegmentKind::kHeap, "", ""},
          {field, rank.field * kBlockSize, SegmentKind::kHeap, "", ""},
      });
      memory.write(base, noise(rank.table * kBlockSize, 1));
      memory.write(field, noise(rank.field * kBlockSize, 100 + rank.number));
    }
    Summary summary;
    for (size_t launch = 0; launch < ranks[0].launches; ++launch) {
      for (size_t i = 0; i < ranks.size(); ++i) {
        SampleMemory& memory = memories[i];
        if (launch == ranks[i].frees) memory = memory.only(1);
        SampleMemory before = memory;
        for (uint64_t block = 0; block < ranks[i].field; ++block) {
          memory.write(memory.segments().back().address + block * kBlockSize + 64 * launch, std::string(8, '+'));
        }
        InstanceInfo instance = sample_instance(kernel, before, memory, launch);
        auto block = [&](uint64_t address, bool epilogue) { return (epilogue ? memory : before).block(address); };
        if (ranks[i].memory == "raw") {
          writer.add_raw_instance(instance, before.state(), memory.state(), block);
        } else {
          writer.add_instance(instance, before.state(), memory.state(), block);
        }
        summary.occurrences.push_back({instance.id, 1});
      }
    }
    writer.add(std::string(kSummaryMember), write(summary));
    writer.finish();
  });
}

// All instances of the bundles that are `selected`, and their runs, each once, by a PackQueue. Kernels and variants
// come from where they come first. `kept`: how many blocks stay at hand; 0: as in bundles that are not merged.
inline std::string passed_on(const std::vector<std::string>& bundles,
                             const std::function<bool(const InstanceInfo&)>& selected = {}, uint64_t kept = 0,
                             uint64_t memory_limit = physical_memory()) {
  return bundle_bytes([&](Writer& writer) {
    PackQueue queue(writer);
    std::map<Digest, uint32_t> kernels;  // and the size of their arguments
    for (const std::string& bundle : bundles) {
      Fd file = memory_file("bundle", bytes_of(bundle));
      Reader reader(file.get(), "the bundle", Memory::kPacks);
      reader.set_memory_limit(memory_limit);
      if (!writer.has(std::string(kBundleMember))) {
        BundleInfo info = reader.info();
        info.memory = kept ? "kept" : "packs";
        if (kept) writer.keep_others(kept * kBlockSize);
        writer.add(std::string(kBundleMember), write(info));
      }
      queue.begin();
      writer.begin_input();
      reader.choose_packs([&](std::span<const PackEntry> entries) { return queue.wants(entries); });
      bool passes_runs = false;
      while (auto item = reader.next()) {
        if (auto* kernel = std::get_if<KernelMember>(&*item)) {
          auto [known, fresh] = kernels.try_emplace(kernel->info.id, kernel->info.argument_bytes);
          if (known->second != kernel->info.argument_bytes) throw Error("two kernels have one id");
          if (!fresh) continue;
          add(writer, *kernel);
        }
        if (auto* variant = std::get_if<VariantMember>(&*item)) {
          const VariantInfo& info = variant->info;
          if (writer.has(variant_json_name(info.kernel, info.id))) continue;
          add(writer, *variant);
        }
        if (auto* pack = std::get_if<PackMember>(&*item)) queue.add(std::move(*pack));
        if (auto* instance = std::get_if<InstanceMember>(&*item)) {
          const InstanceInfo& info = instance->info;
          passes_runs = (!selected || selected(info)) && !writer.has(instance_name(info.kernel, info.id));
          if (!passes_runs) {
            if (!reader.decodes()) queue.leave_out(*instance);
          } else if (reader.decodes()) {
            writer.add_instance(info, instance->prologue, instance->epilogue, blocks_of(reader, *instance));
          } else {
            queue.write(*instance);
          }
        }
        if (auto* run = std::get_if<RunMember>(&*item); run && passes_runs) {
          const std::string name = run_name(run->info.kernel, run->info.instance, run->info.variant);
          if (!reader.decodes()) queue.write(cited_blocks(run->info), name);
          writer.add(name, run->text);
        }
      }
    }
    writer.finish();
  });
}

}  // namespace mneme::bundle
