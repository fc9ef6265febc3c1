// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small bundles for tests: some kernels, each with a variant and a few instances, each of those with a run.
#pragma once
#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "bundle/adding.h"
#include "bundle/blocks/coverage.h"
#include "bundle/reader.h"
#include "bundle/writer.h"

namespace mneme::bundle {

struct SampleShape {
  size_t kernels = 1;
  size_t instances = 2;            // of each kernel; the next one's prologue is the epilogue of the one before
  uint64_t heap = 4 * kBlockSize;  // bytes of the one large segment
  bool runs = true;
  std::string memory = "packs";  // or "raw"
  size_t alike = 0;              // more segments, of 64 bytes each
  bool bulk = false;             // each kernel also has a variant with the same code, and one that failed
  bool ir = true;                // that kernels have; else the code that ran
  bool choices = false;          // each instance's launch also has a choice: the kernel's variant
};

// Device memory made of segments, as it is at one moment. Bytes outside them are zero.
class SampleMemory {
 public:
  explicit SampleMemory(std::vector<Segment> segments) : segments_(std::move(segments)) {
    for (const Segment& segment : segments_) {
      for (uint64_t b = block_of(segment.address); b < segment.address + segment.size; b += kBlockSize) {
        blocks_.try_emplace(b, std::string(kBlockSize, '\0'));
      }
    }
  }
  const std::vector<Segment>& segments() const { return segments_; }
  void write(uint64_t address, std::string_view bytes) {
    for (; !bytes.empty();) {
      std::string& block = blocks_.at(block_of(address));
      size_t size = std::min<size_t>(bytes.size(), block_of(address) + kBlockSize - address);
      std::memcpy(block.data() + (address - block_of(address)), bytes.data(), size);
      address += size;
      bytes.remove_prefix(size);
    }
  }
  Bytes block(uint64_t address) const { return bytes_of(blocks_.at(address)); }
  // What is left when all other segments are freed; they share no block with it.
  SampleMemory only(size_t segment) const {
    SampleMemory left({segments_.at(segment)});
    for (auto& [address, bytes] : left.blocks_) bytes = blocks_.at(address);
    return left;
  }
  State state() const {
    State state;
    for (const auto& [address, bytes] : blocks_) state.blocks.push_back({address, digest_of(bytes)});
    return state;
  }

 private:
  std::vector<Segment> segments_;
  std::map<uint64_t, std::string> blocks_;
};

inline KernelMember sample_kernel(size_t number) {
  KernelMember kernel;
  kernel.bitcode = "BC\xC0\xDE the code of kernel " + std::to_string(number);
  kernel.info.id = digest_of("kernel " + std::to_string(number));
  kernel.info.name = "_Z6kernel" + std::to_string(number) + "Pfj";
  kernel.info.demangled = "kernel" + std::to_string(number) + "(float*, unsigned int)";
  kernel.info.target = "amdgcn-amd-amdhsa--gfx90a";
  kernel.info.argument_bytes = 16;
  kernel.info.arguments = {{0, 8, "pointer", "float", {}}, {8, 8, "struct", "%struct.Size", {{4, 4}}}};
  kernel.info.globals = {{"counter", 8, 8, false}};
  kernel.info.pointers = {{{{-1, {}, 0, 0, {}}}},
                          {{{-1, "counter", 0, 0, {}}, {0, {}, 8, 16, {}}, {0, {}, -8, 0, {}}}, true},
                          {{{-1, {}, 8, 0, {}}}, false, true}};
  kernel.info.source = "sample.hip";
  kernel.info.bitcode = digest_of(kernel.bitcode);
  return kernel;
}

// The same with a cubin and PTX in place of IR.
inline KernelMember sample_kernel_without_ir(size_t number) {
  KernelMember kernel = sample_kernel(number);
  kernel.bitcode.clear();
  kernel.info.bitcode = {};
  kernel.code =
      "\x7f"
      "ELF the code that ran, of all kernels";
  kernel.ptx = ".version 9.0 // of all kernels";
  kernel.info.code = kCubinFile;
  kernel.info.code_digest = digest_of(kernel.code);
  kernel.info.ptx = digest_of(kernel.ptx);
  return kernel;
}

inline VariantMember sample_variant(const KernelMember& kernel) {
  VariantMember variant;
  if (!has_ir(kernel.info)) {
    variant.info.configuration = {"cuda:sm_90", kAsRecorded, 0, "auto", false, {}};
    variant.code = kernel.code;
    variant.info.code = "code.cubin";
  } else {
    variant.info.configuration = {"host:x86-64-v3", "default<O3>", 3, "auto", false, {}};
    variant.code =
        "\x7f"
        "ELF the code of a variant of " +
        kernel.info.name;
    variant.info.code = "code.so";
    variant.info.form = "loop";
  }
  variant.info.kernel = kernel.info.id;
  variant.info.id = variant_id(kernel.info.id, variant.info.configuration);
  variant.info.code_digest = digest_of(variant.code);
  return variant;
}

// One with the code of that, and one that could not be compiled.
inline VariantInfo sample_same(const VariantInfo& variant) {
  VariantInfo same = variant;
  same.configuration.passes = "default<O3>,verify";
  same.id = variant_id(same.kernel, same.configuration);
  same.same_as = variant.id;
  return same;
}
inline VariantInfo sample_failed(const Digest& kernel) {
  VariantInfo failed;
  failed.kernel = kernel;
  failed.configuration = {"host:x86-64-v3", "no-such-pass", 3, "auto", false, {}};
  failed.id = variant_id(kernel, failed.configuration);
  failed.failed = "LLVM rejects the pipeline 'no-such-pass'";
  return failed;
}

inline std::vector<Segment> sample_segments(uint64_t heap, size_t alike = 0) {
  uint64_t base = 0x400000000000;
  std::vector<Segment> segments;
  segments.push_back({base + 256, heap, SegmentKind::kHeap, "", R"({"dtype":"f32","threshold":0.001})"});
  uint64_t after = block_of(base + 256 + heap) + 2 * kBlockSize;
  segments.push_back({after, 8, SegmentKind::kGlobal, "counter", ""});
  segments.push_back({after + 512, 100, SegmentKind::kHeap, "", ""});
  for (size_t i = 0; i < alike; ++i) segments.push_back({after + 1024 + i * 256, 64, SegmentKind::kHeap, "", ""});
  return segments;
}

// A smooth field, a little further in time with each step.
inline std::string sample_field(size_t bytes, size_t step) {
  std::string out(bytes, '\0');
  for (size_t i = 0; i < bytes / sizeof(float); ++i) {
    float value = std::sin(0.001f * static_cast<float>(i)) + 0.0001f * static_cast<float>(step);
    std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
  }
  return out;
}

inline InstanceInfo sample_instance(const KernelMember& kernel, const SampleMemory& before, const SampleMemory& after,
                                    size_t index) {
  InstanceInfo info;
  info.kernel = kernel.info.id;
  info.index = index;
  info.grid = {4, 2, 1};
  info.block = {256, 1, 1};
  info.stack_bytes = 4096;
  info.arguments.assign(16, '\0');
  std::memcpy(info.arguments.data(), &before.segments()[0].address, 8);
  info.arguments[8] = static_cast<char>(index);
  info.segments = before.segments();
  info.prologue = digest_of(write(before.state()));
  info.epilogue = digest_of(write(after.state()));
  info.id = instance_id(info);
  return info;
}

inline RunInfo sample_run(const InstanceInfo& instance, const VariantInfo& variant) {
  RunInfo run;
  run.kernel = instance.kernel;
  run.instance = instance.id;
  run.variant = variant.id;
  run.device = "host";
  run.status = "completed";
  run.clock = "steady";
  run.nanoseconds = {1200, 1100};
  run.changed_bytes = 4096;
  run.compared_bytes = 65536;
  ErrorNorms norms{0.5, 0.75, 0.625, 1, std::string("\0\0\0\0", 4), "abcd"};
  run.differences = {{instance.segments[0].address, 5, 4, 0, 97, Observation{"f32", 100, 2, 0, norms, norms}}};
  run.baseline = Baseline{3, "", run.differences, {}, true, 5};
  run.differences[0].steady = 1;
  return run;
}

// Launches with the instance's last argument are made with the variant.
inline Choice sample_choice(const InstanceInfo& instance, const VariantInfo& variant) {
  Choice choice;
  choice.kernel = instance.kernel;
  choice.variant = variant.id;
  choice.target = variant.configuration.target;
  choice.device = choice.target.substr(0, choice.target.find(':'));
  choice.grid = instance.grid;
  choice.block = instance.block;
  choice.shared_bytes = instance.shared_bytes;
  choice.guards = {{8, instance.arguments.substr(8, 4)}};
  choice.baseline_ns = 2300;
  choice.median_ns = 1150;
  choice.ratio = 2;
  choice.low = 1.75;
  choice.high = 2.25;
  choice.instances = 1;
  choice.id = choice_id(choice);
  return choice;
}

// Writes the bundle; `each` is called with every instance and its memory before and after, if given.
using SampleVisitor = std::function<void(const InstanceInfo&, const SampleMemory&, const SampleMemory&)>;
inline void write_sample(Writer& writer, const SampleShape& shape, const SampleVisitor& each = {}) {
  BundleInfo bundle;
  bundle.device = "host";
  bundle.ranges = {{"device", 0x400000000000, uint64_t{1} << 40}};
  bundle.memory = shape.memory;
  if (shape.bulk) bundle.version = kVariantsWithoutCode;
  if (!shape.ir) bundle.version = kKernelsWithoutIr;
  bundle.provenance = {{"mneme-capture", "0.1.0", {"./app"}, 0}};
  writer.add(std::string(kBundleMember), write(bundle));
  Summary summary;
  summary.application = "exited with status 0";
  SampleMemory memory(sample_segments(shape.heap, shape.alike));
  memory.write(memory.segments()[0].address, sample_field(shape.heap / 2 & ~size_t{3}, 0));
  for (size_t k = 0, index = 0; k < shape.kernels; ++k) {
    KernelMember kernel = shape.ir ? sample_kernel(k) : sample_kernel_without_ir(k);
    add(writer, kernel);
    VariantMember variant = sample_variant(kernel);
    add(writer, variant);
    std::vector<VariantInfo> variants = {variant.info};
    if (shape.bulk) variants.insert(variants.end(), {sample_same(variant.info), sample_failed(kernel.info.id)});
    for (size_t i = 1; i < variants.size(); ++i) {
      writer.add(variant_json_name(kernel.info.id, variants[i].id), write(variants[i]));
    }
    for (size_t i = 0; i < shape.instances; ++i, ++index) {
      SampleMemory before = memory;
      memory.write(memory.segments()[0].address, sample_field(shape.heap / 4 & ~size_t{3}, index + 1));
      memory.write(memory.segments()[1].address, std::string(8, static_cast<char>(index + 1)));
      InstanceInfo instance = sample_instance(kernel, before, memory, index);
      auto block = [&](uint64_t address, bool epilogue) { return (epilogue ? memory : before).block(address); };
      if (shape.memory == "raw") {
        writer.add_raw_instance(instance, before.state(), memory.state(), block);
      } else {
        writer.add_instance(instance, before.state(), memory.state(), block);
      }
      if (each) each(instance, before, memory);
      if (shape.runs) {
        for (const VariantInfo& each_variant : variants) {
          RunInfo run = sample_run(instance, each_variant);
          run.same_as = each_variant.same_as;
          writer.add(run_name(run.kernel, run.instance, run.variant), write(run));
        }
      }
      if (shape.choices) {
        const Choice choice = sample_choice(instance, variant.info);
        writer.add(choice_name(choice.kernel, choice.id), write(choice));
      }
      summary.occurrences.push_back({instance.id, 1});
    }
  }
  writer.add(std::string(kSummaryMember), write(summary));
  writer.finish();
}

// What `write_bundle` writes to a Writer that it is given, as bytes.
inline std::string bundle_bytes(const std::function<void(Writer&)>& write_bundle) {
  Fd file = memory_file("bundle");
  Writer writer(file.get(), "the bundle");
  write_bundle(writer);
  ::lseek(file.get(), 0, SEEK_SET);
  return read_all(file.get(), "the bundle");
}

inline std::string sample_bundle(const SampleShape& shape = {}, const SampleVisitor& each = {}) {
  return bundle_bytes([&](Writer& writer) { write_sample(writer, shape, each); });
}

}  // namespace mneme::bundle
