// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "codegen/host/math/ring.h"
#include "verify/layout.h"
#include "verify/numbers.h"

namespace mneme::verify {
namespace {

bool same_bytes(Bytes a, Bytes b, uint64_t offset, uint64_t size) {
  return std::memcmp(a.data() + offset, b.data() + offset, size) == 0;
}

// A number of 16 bits, be it an IEEE half or the upper half of a float.
bool same_short(const std::byte* a, const std::byte* b) {
  auto brain = [](const std::byte* bytes) { return ring_short(ring_of_number(BrainFloat::read(bytes))); };
  auto half = [](const std::byte* bytes) { return ring_short(ring_of_number(Half::read(bytes))); };
  return brain(a) == brain(b) || half(a) == half(b);
}

// A part of both memories: where the first difference is, or its end.
class Elements {
 public:
  Elements(Bytes a, Bytes b, bool short_numbers) : a_(a), b_(b), short_numbers_(short_numbers) {}

  // `begin` to `end` are of one segment, and `begin` is aligned as the segment's address is.
  uint64_t first_difference(uint64_t begin, uint64_t end) const {
    for (uint64_t at = begin; at < end;) {
      const uint64_t size = std::min<uint64_t>({8, end - at, 8 - at % 8});
      if (!same(at, size)) return at + difference_in(at, size);
      at += size;
    }
    return end;
  }

 private:
  bool same(uint64_t at, uint64_t size) const {
    if (same_bytes(a_, b_, at, size)) return true;
    if (size == 8 && ring_of_double(read_as<double>(&a_[at])) == ring_of_double(read_as<double>(&b_[at]))) return true;
    return difference_in(at, size) == size;
  }

  // In words of 4 bytes and less.
  uint64_t difference_in(uint64_t at, uint64_t size) const {
    for (uint64_t offset = 0; offset < size;) {
      const uint64_t word = std::min<uint64_t>(4, size - offset), begin = at + offset;
      const bool same_single =
          word == 4 && ring_of_single(read_as<float>(&a_[begin])) == ring_of_single(read_as<float>(&b_[begin]));
      if (!same_single) {
        for (uint64_t part = 0; part < word; part += 2) {
          const uint64_t left = std::min<uint64_t>(2, word - part);
          if (same_bytes(a_, b_, begin + part, left)) continue;
          if (!short_numbers_ || left < 2 || !same_short(&a_[begin + part], &b_[begin + part])) return offset + part;
        }
      }
      offset += word;
    }
    return size;
  }

  Bytes a_, b_;
  bool short_numbers_;
};

}  // namespace

bool is_algebra_reference(const bundle::Configuration& configuration) {
  return configuration.algebra && configuration.ir.empty() && configuration.passes == "default<O0>" &&
         configuration.fast_math.empty() && configuration.plugins.empty() && !configuration.fuse &&
         !configuration.grid && !configuration.block && configuration.specialize_args.empty() &&
         !configuration.specialize_dims;
}

bool has_short_numbers(const std::vector<bundle::StoreType>& stores) {
  return std::ranges::any_of(stores, [](const bundle::StoreType& store) {
    return store.type == "f16" || store.type == "bf16" || store.type == "i16" || store.type == "mixed";
  });
}

Verdict judge_algebra(const bundle::InstanceInfo& instance, const bundle::RunInfo* reference,
                      const bundle::RunInfo& run, bool short_numbers, const Blocks& blocks) {
  if (run.status == "failed") {
    return {Status::kFailed, {run.reason.empty() ? "the run failed and does not say why" : run.reason}};
  }
  auto unverified = [](std::string reason) { return Verdict{Status::kNotVerified, {std::move(reason)}}; };
  if (!reference) {
    return unverified(
        "there is no run of the recorded code with --algebra to compare with: give --algebra to mneme-run");
  }
  if (reference->status == "failed") {
    return unverified("the recorded code's run with --algebra failed: " + reference->reason);
  }
  if (!reference->blocks_complete || !run.blocks_complete) {
    return unverified(
        "the run, or that of the recorded code, does not come with all of its differing blocks: raise "
        "mneme-run's --max-diff");
  }
  if (!reference->others.empty() || !run.others.empty()) {
    return unverified(
        "executions of the same code compute different elements: its result depends on the order of "
        "threads");
  }
  struct Both {
    Digest of_reference, of_run;
  };
  std::map<uint64_t, Both> differing;  // by address
  for (const bundle::BlockDifference& block : reference->blocks)
    differing[block.address] = {block.actual, block.expected};
  for (const bundle::BlockDifference& block : run.blocks) {
    auto [found, fresh] = differing.try_emplace(block.address, block.expected, block.actual);
    if (!fresh) found->second.of_run = block.actual;
  }
  const Layout layout(instance.segments);
  for (const auto& [address, both] : differing) {
    if (!layout.covers(address) || address % bundle::kBlockSize != 0) {
      return {Status::kFailed, {"the run cites a block that the instance does not have"}};
    }
    if (both.of_reference == both.of_run) continue;
    const std::string left(text_of(blocks(both.of_reference)));  // the next may take its place
    const Bytes expected = bytes_of(left), actual = blocks(both.of_run);
    const Elements elements(expected, actual, short_numbers);
    for (const Piece& piece : layout.pieces(address)) {
      const uint64_t end = piece.in_block + piece.size, at = elements.first_difference(piece.in_block, end);
      if (at == end) continue;
      return unverified(fmt::format(
          "{}: at offset {} it computes something else than the recorded code: in the ring {:#04x} is not {:#04x}",
          describe(instance.segments[piece.segment]), piece.in_segment + at - piece.in_block,
          std::to_integer<unsigned>(actual[at]), std::to_integer<unsigned>(expected[at])));
    }
  }
  return {Status::kVerified};
}

}  // namespace mneme::verify
