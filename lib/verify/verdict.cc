// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "verify/verdict.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "verify/baseline.h"
#include "verify/compare.h"
#include "verify/layout.h"
#include "verify/nans.h"

namespace mneme::verify {
namespace {

using bundle::SegmentDifference;

const bundle::Segment* segment_at(const bundle::InstanceInfo& instance, uint64_t address) {
  auto found = std::lower_bound(instance.segments.begin(), instance.segments.end(), address,
                                [](const bundle::Segment& s, uint64_t a) { return s.address < a; });
  return found != instance.segments.end() && found->address == address ? &*found : nullptr;
}

// The largest errors of each kind, as far as they are known.
std::string largest_errors(const bundle::Observation& observation) {
  std::string text =
      fmt::format("absolute {:.3g}, relative {:.3g}", observation.absolute.linf, observation.relative.linf);
  if (observation.scaled) {
    text += fmt::format(", scaled {:.3g} (scale {:.3g})", observation.scaled->linf, observation.scale.value_or(0));
  }
  if (observation.ulps) {
    text += fmt::format(", {:.3g} {}", observation.ulps->linf, observation.ulps->linf == 1 ? "ULP" : "ULPs");
  }
  return text;
}

// By how much, of a floating-point type that is known; integers are right or wrong.
std::string error_clause(const bundle::Observation& observation) {
  const std::optional<ElementType> type = element_type(observation.type);
  const std::optional<Policy> usual = type ? default_policy(*type, Kind::kScaled) : std::nullopt;
  if (!usual || !observation.scaled || observation.tail) return "";
  return fmt::format(" (scaled error {:.3g} as {}{})", observation.scaled->linf, observation.type,
                     observation.scaled->linf <= usual->threshold ? ", which --infer accepts" : "");
}

// "segment at 0x… (heap) ('tag') of argument 'out'"
std::string name_with_arguments(const bundle::Segment& segment, const Choice& choice) {
  constexpr size_t kMostNames = 3;
  std::string text = describe(segment);
  if (choice.policy && !choice.policy->tag.empty()) text += fmt::format(" ('{}')", choice.policy->tag);
  const size_t named = std::min(choice.arguments.size(), kMostNames);
  for (size_t i = 0; i < named; i++) {
    text += fmt::format("{}'{}'", i > 0 ? ", " : named > 1 ? " of arguments " : " of argument ", choice.arguments[i]);
  }
  return text;
}

std::string bytes_sentence(const bundle::Segment& segment, const Choice& choice, const SegmentDifference& difference) {
  return fmt::format("{}: {} of {} bytes differ{}, the first at offset {}: {:#04x} was recorded, {:#04x} replayed",
                     name_with_arguments(segment, choice), difference.bytes, segment.size,
                     difference.observation ? error_clause(*difference.observation) : "", difference.first,
                     difference.expected, difference.actual);
}

std::string policy_sentence(const bundle::Segment& segment, const Choice& choice, const bundle::ErrorNorms& norms,
                            const bundle::Observation& observation) {
  const Policy& policy = *choice.policy;
  const std::string name = name_with_arguments(segment, choice);
  if (observation.tail) {
    return fmt::format("{}: {} bytes behind its last whole element of type {} differ", name, observation.tail,
                       name_of(policy.type));
  }
  return fmt::format(
      "{}: its {} error ({}) is {:.3g}, more than {:.3g}; {} of {} elements differ, worst is element {}: {} was "
      "recorded, {} replayed; the largest errors: {}",
      name, name_of(policy.kind), name_of(policy.norm), error_by(policy, norms), policy.threshold, observation.differ,
      observation.elements, norms.worst, element_text(policy.type, bytes_of(norms.expected)),
      element_text(policy.type, bytes_of(norms.actual)), largest_errors(observation));
}

// What is impossible in a list of differences, if anything; `baseline`: whether it is told how much of them varies.
std::optional<std::string> contradiction(const bundle::InstanceInfo& instance,
                                         const std::vector<SegmentDifference>& differences, bool baseline) {
  uint64_t after = 0;
  for (const SegmentDifference& difference : differences) {
    const bundle::Segment* segment = segment_at(instance, difference.address);
    if (!segment) return fmt::format("it lists a segment at {:#x}, which the instance lacks", difference.address);
    if (difference.address < after) return "it lists a segment twice";
    after = difference.address + 1;
    if (difference.bytes == 0 || difference.bytes > segment->size || difference.first >= segment->size ||
        difference.expected > 255 || difference.actual > 255 || difference.expected == difference.actual) {
      return fmt::format("its difference in the {} is impossible", describe(*segment));
    }
    if (difference.steady.has_value() != baseline) {
      return fmt::format("it {} how the {} varies", baseline ? "does not tell" : "has no baseline, but tells",
                         describe(*segment));
    }
  }
  return std::nullopt;
}

// Feeds the blocks stored with the run; what is wrong with their list, if anything.
std::optional<std::string> add_blocks(const Layout& layout, const bundle::RunInfo& run, const Blocks& blocks,
                                      Comparison& comparison, SteadyDifferences* steady = nullptr) {
  for (size_t i = 0; i < run.blocks.size(); i++) {
    const bundle::BlockDifference& block = run.blocks[i];
    if ((i > 0 && block.address <= run.blocks[i - 1].address) || !layout.covers(block.address) ||
        block.address % bundle::kBlockSize != 0) {
      return fmt::format("its block at {:#x} is listed twice or belongs to no segment", block.address);
    }
    comparison.add(block.address, blocks(block.expected), blocks(block.actual));
    if (steady) steady->add(block.address, blocks(block.expected), blocks(block.actual));
  }
  return std::nullopt;
}

// What a run measured a segment's scaled errors by, if it did.
std::optional<double> scale_in(const std::vector<SegmentDifference>& differences, uint64_t address) {
  auto found = std::ranges::find(differences, address, &SegmentDifference::address);
  if (found == differences.end() || !found->observation) return std::nullopt;
  return found->observation->scale;
}

// Derives the differences again from the blocks stored with the run. What it measured scaled errors by is its word: of
// the memory that was recorded these are but a part.
std::optional<std::string> check_blocks(const Layout& layout, const bundle::RunInfo& run, const Readings& readings,
                                        const Blocks& blocks) {
  Comparison comparison(layout, readings,
                        [&](size_t segment) { return scale_in(run.differences, layout.segment(segment).address); });
  Variation variation;
  if (run.baseline) {
    if (auto wrong = read_variation(layout, *run.baseline, blocks, variation)) return wrong;
  }
  SteadyDifferences steady(layout, readings, variation);
  if (auto wrong = add_blocks(layout, run, blocks, comparison, &steady)) return wrong;
  std::vector<SegmentDifference> derived = comparison.differences();
  if (has_baseline(run)) steady.note_in(derived);
  if (run.blocks_complete) {
    if (derived != run.differences)
      return std::string("the blocks stored with it show other differences than it lists");
    return std::nullopt;
  }
  for (const SegmentDifference& part : derived) {
    auto whole = std::ranges::find(run.differences, part.address, &SegmentDifference::address);
    if (whole == run.differences.end() || whole->bytes < part.bytes || whole->first > part.first ||
        whole->steady < part.steady) {
      return std::string("the blocks stored with it show differences that it does not list");
    }
  }
  return std::nullopt;
}

// Judges the segments that differ and those that have a policy.
class Segments {
 public:
  Segments(const bundle::InstanceInfo& instance, const Layout& layout, const Readings& readings,
           const bundle::RunInfo& run, const Blocks& blocks, const Strictness& strictness)
      : instance_(instance),
        layout_(layout),
        readings_(readings),
        run_(run),
        blocks_(blocks),
        strictness_(strictness) {}

  // `stored`: whether these are the differences that the run's blocks are about.
  std::vector<SegmentVerdict> judge(std::vector<Choice> choices, const std::vector<SegmentDifference>& differences,
                                    bool stored) {
    stored_ = stored;
    std::vector<SegmentVerdict> verdicts;
    for (size_t i = 0; i < instance_.segments.size(); i++) {
      auto found = std::ranges::find(differences, instance_.segments[i].address, &SegmentDifference::address);
      bool differs = found != differences.end();
      if (!differs && !choices[i].policy) continue;
      SegmentVerdict verdict{i, std::move(choices[i])};
      if (differs) verdict.difference = *found;
      if (differs) verdict.choice.policy ? by_policy(verdict, *found) : by_bytes(verdict, *found);
      verdicts.push_back(std::move(verdict));
    }
    return verdicts;
  }

  // Of those that are not verified, whether all differ only as much as they vary by themselves.
  bool only_vary() const {
    return std::ranges::all_of(reasons_, [](const Reason& reason) { return reason.varies; });
  }

  // The worst first.
  std::vector<std::string> reasons() {
    std::ranges::sort(reasons_, [](const Reason& a, const Reason& b) {
      return std::tie(a.varies, b.badness, a.order) < std::tie(b.varies, a.badness, b.order);
    });
    std::vector<std::string> sentences;
    for (Reason& reason : reasons_) sentences.push_back(std::move(reason.sentence));
    return sentences;
  }

 private:
  struct Reason {
    double badness;
    size_t order;
    bool varies;
    std::string sentence;
  };

  void fail(SegmentVerdict& verdict, std::string sentence, double badness) {
    verdict.verified = false;
    reasons_.push_back({badness, reasons_.size(), verdict.varies, std::move(sentence)});
  }

  // A segment that differs by more than it may; as it was observed.
  void fail_unless_it_varies(SegmentVerdict& verdict, const SegmentDifference& observed, std::string sentence,
                             double badness) {
    if (has_baseline(run_)) {
      const Policy* policy = verdict.choice.policy ? &*verdict.choice.policy : nullptr;
      verdict.varies = is_as_it_varies(observed, *run_.baseline);
      sentence += variation_clause(observed, *run_.baseline, policy);
    }
    fail(verdict, std::move(sentence), badness);
  }

  void by_bytes(SegmentVerdict& verdict, const SegmentDifference& observed) {
    const bundle::Segment& segment = instance_.segments[verdict.segment];
    NanDifferences found = nan_differences(verdict);
    bool nans_only = found.nans > 0 && found.others == 0;
    if (nans_only && strictness_.equal_nans) return;
    std::string nans =
        fmt::format("{} element{} NaN in both, with other bits", found.nans, found.nans == 1 ? " is" : "s are");
    std::string sentence = bytes_sentence(segment, verdict.choice, observed);
    if (nans_only) {
      sentence = fmt::format("{}: {}, and nothing else differs: --nan equal accepts that",
                             name_with_arguments(segment, verdict.choice), nans);
    } else if (found.nans > 0) {
      sentence += "; " + nans;
    }
    const std::string& not_inferred = verdict.choice.not_inferred;
    if (!not_inferred.empty()) sentence += "; it is compared byte for byte, because " + not_inferred;
    fail_unless_it_varies(verdict, observed, std::move(sentence), static_cast<double>(observed.bytes));
  }

  // As the stored blocks show it; none where they do not show all, or the segment's type is not known.
  NanDifferences nan_differences(const SegmentVerdict& verdict) const {
    NanDifferences found;
    const std::optional<Reading>& reading = readings_[verdict.segment];
    if (!run_.blocks_complete || !stored_ || !reading || !has_nans(reading->type)) return found;
    for (const bundle::BlockDifference& block : run_.blocks) {
      Bytes expected = blocks_(block.expected), actual = blocks_(block.actual);
      for (const Piece& piece : layout_.pieces(block.address)) {
        if (piece.segment != verdict.segment) continue;
        found.add(reading->type, piece.in_segment, expected.subspan(piece.in_block, piece.size),
                  actual.subspan(piece.in_block, piece.size));
      }
    }
    return found;
  }

  void by_policy(SegmentVerdict& verdict, const SegmentDifference& observed) {
    const bundle::Segment& segment = instance_.segments[verdict.segment];
    const Policy& policy = *verdict.choice.policy;
    std::optional<bundle::Observation>& observation = verdict.difference->observation;
    const bool as_observed = observation && observation->type == name_of(policy.type);
    std::optional<double> scale = policy.scale;
    if (as_observed && !scale) scale = observation->scale;
    if (policy.kind == Kind::kScaled && !scale) {
      return refuse(verdict, "the run lacks the root mean square of the recorded elements: give --scale");
    }
    if (!as_observed || !norms_by(policy, *observation)) observation = derive(verdict, scale);
    if (!observation) {
      return refuse(verdict, stored_ ? "the run does not come with all of its differing blocks: raise mneme-run's "
                                       "--max-diff"
                                     : "only the blocks of one execution come with the run");
    }
    const bundle::ErrorNorms& norms = *norms_by(policy, *observation);
    verdict.error = error_by(policy, norms);
    if (observation->tail == 0 && verdict.error <= policy.threshold) return;
    double badness = observation->tail || policy.threshold == 0 ? kInfinite : verdict.error / policy.threshold;
    fail_unless_it_varies(verdict, observed, policy_sentence(segment, verdict.choice, norms, *observation), badness);
  }

  // Fails what its policy cannot judge.
  void refuse(SegmentVerdict& verdict, const std::string& reason) {
    const Policy& policy = *verdict.choice.policy;
    verdict.error = kInfinite;
    verdict.difference->observation.reset();
    fail(verdict,
         fmt::format("{}: it cannot be judged as {} by {} errors, because {}",
                     name_with_arguments(instance_.segments[verdict.segment], verdict.choice), name_of(policy.type),
                     name_of(policy.kind), reason),
         kInfinite);
  }

  // As the policy reads it, from the stored blocks.
  std::optional<bundle::Observation> derive(const SegmentVerdict& verdict, std::optional<double> scale) const {
    if (!run_.blocks_complete || !stored_) return std::nullopt;
    Readings readings(instance_.segments.size());
    readings[verdict.segment] = Reading{verdict.choice.policy->type, verdict.choice.policy->ignored};
    // Errors in ULPs are measured along with scaled ones, by whatever scale.
    Comparison comparison(layout_, readings, [&](size_t) { return scale.value_or(1); });
    add_blocks(layout_, run_, blocks_, comparison);
    uint64_t address = instance_.segments[verdict.segment].address;
    if (comparison.lacks_blocks(address)) return std::nullopt;
    for (SegmentDifference& difference : comparison.differences()) {
      if (difference.address != address) continue;
      if (!scale && difference.observation) {
        difference.observation->scale.reset();
        difference.observation->scaled.reset();
      }
      return std::move(difference.observation);
    }
    return std::nullopt;
  }

  const bundle::InstanceInfo& instance_;
  const Layout& layout_;
  const Readings& readings_;
  const bundle::RunInfo& run_;
  const Blocks& blocks_;
  const Strictness& strictness_;
  bool stored_ = true;
  std::vector<Reason> reasons_;
};

}  // namespace

std::string to_string(Status status) {
  switch (status) {
    case Status::kVerified:
      return "verified";
    case Status::kVaries:
      return "varies";
    case Status::kFailed:
      return "failed";
    case Status::kNotVerified:
      break;
  }
  return "not verified";
}

std::string describe(const bundle::Segment& segment) {
  const char* kind = segment.kind == bundle::SegmentKind::kGlobal ? "global"
                     : segment.kind == bundle::SegmentKind::kHost ? "host"
                                                                  : "heap";
  if (!segment.symbol.empty()) return fmt::format("segment '{}' ({}) at {:#x}", segment.symbol, kind, segment.address);
  return fmt::format("segment at {:#x} ({})", segment.address, kind);
}

Verdict judge(const bundle::InstanceInfo& instance, const bundle::RunInfo& run,
              const std::vector<bundle::StoreType>& stores, std::vector<Choice> choices, const Blocks& blocks,
              const Strictness& strictness) {
  if (run.status == "failed") {
    return {Status::kFailed, {run.reason.empty() ? "the run failed and does not say why" : run.reason}};
  }
  Verdict verdict;
  auto refuse = [&](std::string reason) {
    verdict.status = Status::kNotVerified;
    verdict.reasons.push_back(std::move(reason));
  };
  if (run.status != "completed") {
    refuse(fmt::format("the run's status '{}' is neither completed nor failed", run.status));
    return verdict;
  }
  if (run.nanoseconds.empty()) refuse("nothing was executed");

  Layout layout(instance.segments);
  if (run.compared_bytes != layout.segment_bytes()) {
    refuse(fmt::format("{} of {} bytes of memory were compared", run.compared_bytes, layout.segment_bytes()));
  }
  std::optional<std::string> wrong = contradiction(instance, run.differences, has_baseline(run));
  for (const auto& differences : run.others) {
    if (!wrong) wrong = contradiction(instance, differences, has_baseline(run));
  }
  if (!wrong && run.baseline) wrong = contradiction(instance, run.baseline->spread, false);
  const Readings as_stored = readings(instance, stores);
  if (!wrong) wrong = check_blocks(layout, run, as_stored, blocks);
  if (wrong) {
    refuse("the run is not believable: " + *wrong);
    return verdict;
  }
  if (strictness.recheck && !run.blocks_complete) {
    refuse(
        "it cannot be rechecked, because the run does not come with all of its differing blocks: raise mneme-run's "
        "--max-diff");
  }
  // A replay is as good as the worst of its executions. One of those is told of.
  auto judge_execution = [&](const std::vector<SegmentDifference>& differences, bool stored) {
    Segments segments(instance, layout, as_stored, run, blocks, strictness);
    std::vector<SegmentVerdict> judged = segments.judge(choices, differences, stored);
    std::vector<std::string> reasons = segments.reasons();
    Status status = reasons.empty() ? Status::kVerified : segments.only_vary() ? Status::kVaries : Status::kNotVerified;
    if (!stored && status <= verdict.status) return;
    verdict.segments = std::move(judged);
    verdict.status = std::max(verdict.status, status);
    if (!stored) {
      for (std::string& reason : reasons) reason.insert(0, "another execution: ");
    }
    verdict.reasons.insert(stored ? verdict.reasons.end() : verdict.reasons.begin(),
                           std::make_move_iterator(reasons.begin()), std::make_move_iterator(reasons.end()));
  };
  judge_execution(run.differences, true);
  for (const auto& differences : run.others) judge_execution(differences, false);
  if (run.changed_bytes == 0 && instance.prologue != instance.epilogue) {
    refuse("the replay changed no memory, although the recorded launch did");
  }
  if (verdict.status == Status::kNotVerified && run.baseline) {
    if (auto remark = baseline_remark(*run.baseline)) refuse(std::move(*remark));
  }
  return verdict;
}

}  // namespace mneme::verify
