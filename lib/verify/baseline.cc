// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mneme::verify {
namespace {

bool is_within(const bundle::ErrorNorms& norms, const bundle::ErrorNorms& spread) {
  return norms.linf <= kSpreadFactor * spread.linf && norms.l1 <= kSpreadFactor * spread.l1 &&
         norms.l2 <= kSpreadFactor * spread.l2;
}

bool is_within(const bundle::Observation& observation, const bundle::Observation& spread) {
  return observation.type == spread.type && std::isfinite(spread.absolute.linf) &&
         static_cast<double>(observation.tail) <= kSpreadFactor * static_cast<double>(spread.tail) &&
         is_within(observation.absolute, spread.absolute) && is_within(observation.relative, spread.relative);
}

const bundle::SegmentDifference* spread_of(const bundle::Baseline& baseline, uint64_t segment) {
  auto found = std::ranges::find(baseline.spread, segment, &bundle::SegmentDifference::address);
  return found == baseline.spread.end() ? nullptr : &*found;
}

// How many bytes vary, by the segment's address.
std::map<uint64_t, uint64_t> count_varying(const Layout& layout, const Variation& variation) {
  std::map<uint64_t, uint64_t> counts;
  for (const auto& [address, bytes] : variation.blocks()) {
    for (const Piece& piece : layout.pieces(address)) {
      Bytes part = bytes_of(bytes).subspan(piece.in_block, piece.size);
      counts[layout.segment(piece.segment).address] +=
          part.size() - static_cast<uint64_t>(std::ranges::count(part, std::byte{0}));
    }
  }
  return counts;
}

}  // namespace

const bundle::ErrorNorms* norms_by(const Policy& policy, const bundle::Observation& observation) {
  switch (policy.kind) {
    case Kind::kAbsolute:
      return &observation.absolute;
    case Kind::kRelative:
      return &observation.relative;
    case Kind::kScaled:
      if (!observation.scaled || (policy.scale && policy.scale != observation.scale)) return nullptr;
      return &*observation.scaled;
    case Kind::kUlp:
      break;
  }
  return observation.ulps ? &*observation.ulps : nullptr;
}

double error_by(const Policy& policy, const bundle::ErrorNorms& norms) {
  if (policy.norm == Norm::kL1) return norms.l1;
  if (policy.norm == Norm::kL2) return norms.l2;
  return norms.linf;
}

bool is_as_it_varies(const bundle::SegmentDifference& difference, const bundle::Baseline& baseline) {
  const bundle::SegmentDifference* spread = spread_of(baseline, difference.address);
  if (!spread || difference.steady != 0) return false;
  if (difference.observation && spread->observation) return is_within(*difference.observation, *spread->observation);
  return !difference.observation && !spread->observation &&
         static_cast<double>(difference.bytes) <= kSpreadFactor * static_cast<double>(spread->bytes);
}

std::string variation_clause(const bundle::SegmentDifference& difference, const bundle::Baseline& baseline,
                             const Policy* policy) {
  const bundle::SegmentDifference* spread = spread_of(baseline, difference.address);
  std::string short_of = baseline.blocks_complete ? "" : " as far as was looked at (mneme-run --max-diff)";
  if (!spread) {
    return fmt::format("; in {} executions of the recorded code it does not vary{}", baseline.executions, short_of);
  }
  bool as_elements = difference.observation && spread->observation;
  std::string most = fmt::format("{} bytes", spread->bytes);
  const bundle::ErrorNorms* norms = nullptr;
  if (as_elements && policy && spread->observation->type == name_of(policy->type)) {
    norms = norms_by(*policy, *spread->observation);
  }
  if (norms) {
    most = fmt::format("{} elements, {} error ({}) {:.3g}", spread->observation->differ, name_of(policy->kind),
                       name_of(policy->norm), error_by(*policy, *norms));
  } else if (as_elements) {
    most = fmt::format("{} elements, absolute error (linf) {:.3g}, relative {:.3g}", spread->observation->differ,
                       spread->observation->absolute.linf, spread->observation->relative.linf);
  }
  std::string itself = fmt::format("{} executions of the recorded code differ by up to {}", baseline.executions, most);
  if (is_as_it_varies(difference, baseline)) return fmt::format("; this is as much as it varies by itself: {}", itself);
  if (difference.steady != 0) {
    return fmt::format("; {} of the {} that differ do not vary by themselves{}", difference.steady.value_or(0),
                       difference.observation ? "elements" : "bytes", short_of);
  }
  return fmt::format("; this is more than it varies by itself: {}", itself);
}

std::optional<std::string> baseline_remark(const bundle::Baseline& baseline) {
  if (baseline.executions == 0) {
    return fmt::format(
        "how its results vary by themselves is not known, because the recorded code could not be replayed: {}",
        baseline.reason.empty() ? "it is not said why" : baseline.reason);
  }
  if (baseline.unlike == 0) return std::nullopt;
  return fmt::format(
      "the recorded code itself does not reproduce the recording: {} bytes differ from it in each of {} executions, as "
      "where a kernel reads a clock; --segment ADDRESS --threshold inf leaves such memory out",
      baseline.unlike, baseline.executions);
}

std::optional<std::string> read_variation(const Layout& layout, const bundle::Baseline& baseline,
                                          const std::function<Bytes(const Digest&)>& blocks, Variation& variation) {
  uint64_t after = 0;
  for (const bundle::VaryingBlock& block : baseline.blocks) {
    if (block.address < after || !layout.covers(block.address)) {
      return fmt::format("its baseline's block at {:#x} is listed twice or belongs to no segment", block.address);
    }
    after = block.address + bundle::kBlockSize;
    variation.set(block.address, blocks(block.bytes));
  }
  std::map<uint64_t, uint64_t> varying = count_varying(layout, variation);
  for (const bundle::SegmentDifference& spread : baseline.spread) {
    if (spread.bytes <= varying[spread.address]) continue;
    return fmt::format("its baseline claims that more varies at {:#x} than its blocks show", spread.address);
  }
  return std::nullopt;
}

}  // namespace mneme::verify
