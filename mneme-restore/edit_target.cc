// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "edit_target.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "bundle/adding.h"
#include "bundle/blocks/coverage.h"
#include "bundle/json/dimensions.h"
#include "bundle/json/json.h"

namespace mneme::restore {
namespace {

using bundle::kBlockSize;

std::vector<Edit::Range> ranges(const bundle::json::Object& in, const char* key) {
  std::vector<Edit::Range> found;
  if (!in.has(key)) return found;
  in.each(key, [&](const bundle::json::Object& range) {
    found.push_back({range.address("address"), range.number("size")});
    if (found.back().address > UINT64_MAX - found.back().size) range.fail("size", "leads beyond all addresses");
  });
  return found;
}

// The memory of a launch at one moment, as it is edited.
class EditedState {
 public:
  EditedState(const bundle::State& state, const bundle::Reader& reader) : reader_(reader) {
    for (const bundle::BlockReference& block : state.blocks) digests_[block.address] = block.digest;
  }

  void put(const std::map<uint64_t, Digest>& blocks) {
    for (const auto& [address, digest] : blocks) digests_.at(address) = digest;
  }

  // Only what the segments have stays, without the ranges.
  void cut(const std::vector<bundle::Segment>& segments, const std::vector<Edit::Range>& zero, bool all) {
    std::map<uint64_t, Digest> left;
    for (const bundle::Segment& segment : segments) {
      const uint64_t end = segment.address + segment.size;
      for (uint64_t block = bundle::block_of(segment.address); block < end; block += kBlockSize) {
        left[block] = digests_.at(block);
      }
    }
    digests_ = std::move(left);
    for (auto& [address, digest] : digests_) {
      const bool is_zeroed = std::ranges::any_of(zero, [&, at = address](const Edit::Range& range) {
        return range.address < at + kBlockSize && at < range.address + range.size;
      });
      if (digest == bundle::zero_block_digest() || !(all || is_zeroed)) continue;
      std::vector<std::byte> made(kBlockSize);
      const Bytes old = bytes(address);
      bundle::for_each_part(address, segments, [&](const bundle::Segment&, uint64_t at, uint64_t, uint64_t size) {
        std::memcpy(made.data() + at, old.data() + at, size);
      });
      for (const Edit::Range& range : zero) {
        const uint64_t begin = std::max(range.address, address);
        const uint64_t end = std::min(range.address + range.size, address + kBlockSize);
        if (begin < end) std::memset(made.data() + (begin - address), 0, end - begin);
      }
      digest = digest_of(made);
      made_[digest] = std::move(made);
    }
  }

  Bytes bytes(uint64_t address) const {
    const Digest& digest = digests_.at(address);
    auto made = made_.find(digest);
    return made == made_.end() ? reader_.block(digest) : Bytes(made->second);
  }

  bundle::State state() const {
    bundle::State state;
    for (const auto& [address, digest] : digests_) state.blocks.push_back({address, digest});
    return state;
  }

 private:
  const bundle::Reader& reader_;
  std::map<uint64_t, Digest> digests_;  // by address
  std::map<Digest, std::vector<std::byte>> made_;
};

}  // namespace

Edit parse_edit(std::string_view text, const std::string& where) {
  const bundle::json::Document document(text, where);
  const bundle::json::Object in(document);
  for (const std::string& key : in.keys()) {
    constexpr std::string_view kKeys[] = {"zero", "segments", "grid", "block", "ir", "accept"};
    if (std::ranges::find(kKeys, key) == std::end(kKeys)) in.fail(key.c_str(), "is no key of an edit");
  }
  Edit edit;
  edit.zero = ranges(in, "zero");
  for (const Edit::Range& range : ranges(in, "segments")) edit.sizes[range.address] = range.size;
  if (in.has("grid")) edit.grid = bundle::json::dimensions(in, "grid", UINT32_MAX);
  if (in.has("block")) edit.block = bundle::json::dimensions(in, "block", UINT32_MAX);
  if (in.has("ir")) edit.bitcode = read_file(in.text("ir"), bundle::kMaxCodeSize);
  edit.accept = in.text_or("accept", "");
  if (!edit.accept.empty() && in.keys().size() > 1) in.fail("accept", "excludes all other keys");
  return edit;
}

void EditTarget::take(const bundle::KernelMember& kernel) {
  if (edit_.bitcode.empty()) {
    kernels_[kernel.info.id] = kernel.info.id;
    return bundle::add(writer_, kernel);
  }
  if (kernel.info.bitcode.empty())
    throw Error::of("kernel '{}' has no IR that another could replace", kernel.info.demangled);
  if (!kernels_.empty()) throw Error("the edit has IR for one kernel, and several are selected: choose with --kernel");
  bundle::KernelMember edited{kernel.info, edit_.bitcode};
  bundle::KernelInfo& info = edited.info;
  info.id = info.bitcode = digest_of(bytes_of(edited.bitcode));
  if (!info.function_addresses.empty()) info.id = bundle::kernel_id(info.id, info.function_addresses);
  kernels_[kernel.info.id] = info.id;
  bundle::add(writer_, edited);
}

void EditTarget::take(const bundle::InstanceMember& instance, const bundle::Reader& reader) {
  finish();
  if (edit_.accept.empty()) return write(instance, reader, {});
  waiting_ = instance;
}

void EditTarget::take(const bundle::RunMember& run, const bundle::Reader& reader) {
  if (!waiting_ || !run.info.variant.hex().starts_with(edit_.accept)) return;
  const std::string what =
      fmt::format("variant {} on instance {}", edit_.accept, run.info.instance.hex().substr(0, 12));
  if (run.info.status != "completed") throw Error::of("{} has no result: {}", what, run.info.reason);
  if (!run.info.blocks_complete) {
    throw Error::of("the result of {} is not whole: have mneme-run store more with --max-diff", what);
  }
  std::map<uint64_t, Digest> results;
  for (const bundle::BlockDifference& block : run.info.blocks) results[block.address] = block.actual;
  write(*waiting_, reader, results);
  waiting_.reset();
}

void EditTarget::finish() const {
  if (!waiting_) return;
  throw Error::of("instance {} has no run of variant {}", waiting_->info.id.hex().substr(0, 12), edit_.accept);
}

void EditTarget::write(const bundle::InstanceMember& instance, const bundle::Reader& reader,
                       const std::map<uint64_t, Digest>& results) {
  bundle::InstanceInfo info = instance.info;
  for (bundle::Segment& segment : info.segments) {
    auto size = edit_.sizes.find(segment.address);
    if (size == edit_.sizes.end()) continue;
    if (size->second > segment.size) {
      throw Error::of("the segment at {:#x} has {} bytes, and cannot be made {}", segment.address, segment.size,
                      size->second);
    }
    segment.size = size->second;
  }
  std::erase_if(info.segments, [](const bundle::Segment& segment) { return segment.size == 0; });

  EditedState before(instance.prologue, reader), after(instance.epilogue, reader);
  after.put(results);
  for (EditedState* state : {&before, &after}) state->cut(info.segments, edit_.zero, !edit_.sizes.empty());
  const bundle::State prologue = before.state(), epilogue = after.state();
  info.prologue = digest_of(bytes_of(bundle::write(prologue)));
  info.epilogue = digest_of(bytes_of(bundle::write(epilogue)));
  if (edit_.grid) info.grid = *edit_.grid;
  if (edit_.block) info.block = *edit_.block;
  info.kernel = kernels_.at(info.kernel);
  info.id = bundle::instance_id(info);
  writer_.add_instance(info, prologue, epilogue,
                       [&](uint64_t address, bool is_after) { return (is_after ? after : before).bytes(address); });
}

}  // namespace mneme::restore
