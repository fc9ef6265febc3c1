// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "applying/applying.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "bundle/json/json.h"
#include "cli/expression.h"
#include "cli/options.h"
#include "cli/stage.h"
#include "recorder/apply/applier.h"
#include "recorder/apply/report.h"

namespace mneme::capture {
namespace {

std::string new_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "mneme-apply-XXXXXX").string();
  if (!::mkdtemp(path.data())) throw system_error("cannot make a folder for temporary files");
  return path;
}

std::string dimensions(const bundle::Choice& choice) {
  return fmt::format("<<<({}, {}, {}), ({}, {}, {}), {}>>>", choice.grid.x, choice.grid.y, choice.grid.z,
                     choice.block.x, choice.block.y, choice.block.z, choice.shared_bytes);
}

std::string launches_of(uint64_t count) { return fmt::format("{} {}", count, count == 1 ? "launch" : "launches"); }

std::vector<uint64_t> samples_of(record::ChoiceReport::Times& times) {
  const uint64_t count = std::min<uint64_t>(times.count, record::kSamples);
  std::vector<uint64_t> samples;
  for (uint64_t i = 0; i < count; ++i) samples.push_back(times.samples[i]);
  return samples;
}

std::string text_of_field(const char* field, size_t size) { return {field, ::strnlen(field, size)}; }

}  // namespace

Applying::Applying(const ApplySettings& settings) : settings_(settings) {
  read_bundle();
  own_.resize(choices_.size());
  variant_.resize(choices_.size());
  folder_ = new_folder();
}

Applying::~Applying() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Applying::read_bundle() {
  const std::string& path = settings_.bundle;
  Fd file = open_file(path, O_RDONLY);
  bundle::Reader reader(file.get(), path, bundle::Memory::kPass);
  std::map<Digest, std::string> kernels;
  while (std::optional<bundle::Item> item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) kernels[kernel->info.id] = kernel->info.demangled;
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) variants_[variant->info.id] = std::move(*variant);
    if (auto* choice = std::get_if<bundle::ChoiceMember>(&*item)) choices_.emplace_back().choice = choice->info;
  }
  if (reader.truncated()) throw Error(reader.truncation());
  if (choices_.empty()) {
    throw Error::of("'{}' chooses no variants: make a bundle that does with mneme-restore --tuned", path);
  }
  std::ranges::sort(choices_, {},
                    [](const Applied& one) { return bundle::choice_name(one.choice.kernel, one.choice.id); });
  for (Applied& one : choices_) one.kernel = kernels[one.choice.kernel];
  if (!settings_.kernel.empty()) select_kernels();
}

void Applying::select_kernels() {
  const cli::Expression expression("--kernel", settings_.kernel);
  std::vector<std::string> names;
  for (const Applied& one : choices_) names.push_back(one.kernel);
  std::erase_if(choices_, [&](const Applied& one) { return !expression.matches(one.kernel); });
  if (choices_.empty()) throw cli::no_kernel_matches(settings_.kernel, names);
}

bundle::VariantMember Applying::variant_of(const Digest& choice) const {
  auto found = std::ranges::find(choices_, choice, [](const Applied& one) { return one.choice.id; });
  if (found == choices_.end()) throw Error("a process asks for a choice that the bundle does not have");
  bundle::VariantMember variant = variants_.at(found->choice.variant);
  if (!variant.info.same_as.empty()) variant.code = variants_.at(variant.info.same_as).code;
  variant.info.same_as = {};
  return variant;
}

std::vector<std::string> Applying::variables() const {
  std::vector<std::string> variables;
  auto set = [&](const char* name, const std::string& value) {
    variables.push_back(fmt::format("{}={}", name, value));
  };
  set(record::kApplyVariable, std::filesystem::absolute(settings_.bundle).string());
  set(record::kApplyReportVariable, folder_);
  std::set<std::string> kernels;
  for (const Applied& one : choices_) kernels.insert(one.choice.kernel.hex());
  set(record::kApplyKernelsVariable, settings_.kernel.empty() ? "" : fmt::format("{}", fmt::join(kernels, ",")));
  set(record::kApplyMeasureVariable, settings_.measure ? "1" : "");
  set(record::kApplyRecordVariable, settings_.recorded);
  set(record::kApplyUndoVariable, settings_.undo);
  set(record::kApplyCheckVariable, std::to_string(settings_.checks));
  return variables;
}

void Applying::add(const std::string& path) {
  record::Report report(path);
  if (report.choices().size() != choices_.size()) throw Error::of("'{}' is of another bundle", path);
  launches_ += report.header().launches;
  for (size_t i = 0; i < choices_.size(); ++i) {
    record::ChoiceReport& from = report.choices()[i];
    Applied& to = choices_[i];
    to.launches += from.applied;
    to.in_graphs += from.in_graph;
    to.checked += from.checked;
    to.differing += from.differing;
    to.faulted += from.faulted;
    if (to.trouble.empty()) to.trouble = text_of_field(from.trouble, sizeof from.trouble);
    to.measured += from.own_launches;
    std::ranges::copy(samples_of(from.own), std::back_inserter(own_[i]));
    std::ranges::copy(samples_of(from.variant), std::back_inserter(variant_[i]));
  }
  for (const record::MissReport& miss : report.header().misses) {
    if (!miss.ready) break;
    const std::string kernel = text_of_field(miss.kernel, sizeof miss.kernel);
    const std::string reason = text_of_field(miss.reason, sizeof miss.reason);
    auto alike = std::ranges::find_if(
        misses_, [&](const Missed& known) { return known.kernel == kernel && known.reason == reason; });
    if (alike == misses_.end()) alike = misses_.insert(alike, {kernel, reason, 0});
    alike->launches += miss.launches;
  }
}

void Applying::collect() {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) files.insert(entry.path().string());
  for (const std::string& file : files) add(file);
  for (size_t i = 0; i < choices_.size(); ++i) {
    choices_[i].own_ns = verify::median(own_[i]);
    choices_[i].variant_ns = verify::median(variant_[i]);
    // They took turns: a round has one of each.
    const size_t rounds = std::min(own_[i].size(), variant_[i].size());
    if (rounds == 0) continue;
    choices_[i].speedup = verify::speedup(std::span(own_[i]).first(rounds), std::span(variant_[i]).first(rounds),
                                          static_cast<uint32_t>(rounds));
  }
}

uint64_t Applying::sum_of(uint64_t Applied::* count) const {
  uint64_t sum = 0;
  for (const Applied& one : choices_) sum += one.*count;
  return sum;
}

uint64_t Applying::applied() const { return sum_of(&Applied::launches); }
uint64_t Applying::differing() const { return sum_of(&Applied::differing); }
uint64_t Applying::faulted() const { return sum_of(&Applied::faulted); }

std::optional<WallTime> wall_time(const Applying& applying, double seconds) {
  WallTime wall{seconds, {seconds, seconds, seconds}, {seconds, seconds, seconds}, {}};
  bool any = false;
  for (const Applied& one : applying.choices()) {
    wall.with_checks = wall.with_checks || one.checked > 0;
    if (!one.speedup.is_told()) {
      wall.left_out += one.launches;
      continue;
    }
    any = true;
    const double own = static_cast<double>(one.measured), variants = static_cast<double>(one.launches);
    auto add = [&](double ratio, double& with_own, double& with_variants) {
      const double saved = static_cast<double>(one.variant_ns) / 1e9 * (ratio - 1);  // by a launch
      with_own += variants * saved;
      with_variants -= own * saved;
    };
    add(one.speedup.factor, wall.own.value, wall.variants.value);
    add(one.speedup.low, wall.own.low, wall.variants.high);
    add(one.speedup.high, wall.own.high, wall.variants.low);
  }
  if (!any || wall.variants.low <= 0) return std::nullopt;  // kernels ran at the same time
  wall.ratio = {wall.own.value / wall.variants.value, wall.own.low / wall.variants.high,
                wall.own.high / wall.variants.low};
  return wall;
}

namespace {

std::string text_of(const WallTime::Estimate& time) {
  return fmt::format("{:.3g} s ({:.3g} to {:.3g})", time.value, time.low, time.high);
}

std::string text_of(const WallTime& wall) {
  std::string text = fmt::format(
      "the run took {:.3g} s; estimated by the kernels' times: {} with its own code alone, {} with the variants alone: "
      "{:.2f} times as fast ({:.2f} to {:.2f})",
      wall.measured, text_of(wall.own), text_of(wall.variants), wall.ratio.value, wall.ratio.low, wall.ratio.high);
  if (wall.left_out > 0) text += fmt::format(", without {} whose times are too few", launches_of(wall.left_out));
  if (wall.with_checks) text += "; checking took some of that";
  return text;
}

void add(bundle::json::Text& out, const char* name, const WallTime::Estimate& estimate) {
  out.open(name).add("estimate", estimate.value).add("low", estimate.low).add("high", estimate.high).close();
}

}  // namespace

std::vector<std::string> report(const Applying& applying, double seconds) {
  std::vector<std::string> lines;
  lines.push_back(
      fmt::format("{} of kernels with choices, {} applied", launches_of(applying.launches()), applying.applied()));
  for (const Applied& one : applying.choices()) {
    std::string line = fmt::format("{} {}: variant {}: {} applied", one.kernel, dimensions(one.choice),
                                   one.choice.variant.hex().substr(0, 12), launches_of(one.launches));
    if (one.in_graphs > 0) line += fmt::format(", {} of them by graphs", one.in_graphs);
    if (one.checked > 0) line += fmt::format(", {} checked, {} differing", one.checked, one.differing);
    if (one.faulted > 0) line += fmt::format(", {} failed", launches_of(one.faulted));
    if (one.measured > 0) line += fmt::format(", {} with its own code to compare", one.measured);
    if (one.speedup.rounds > 0) {
      line += fmt::format(", {:.1f} µs in place of {:.1f} µs by events", static_cast<double>(one.variant_ns) / 1e3,
                          static_cast<double>(one.own_ns) / 1e3);
      line += one.speedup.is_told() ? fmt::format(": {:.2f} times as fast ({:.2f} to {:.2f})", one.speedup.factor,
                                                  one.speedup.low, one.speedup.high)
                                    : fmt::format(" ({} of each, too few to compare)", one.speedup.rounds);
    }
    if (!one.trouble.empty()) line += ", not applied: " + one.trouble;
    lines.push_back(std::move(line));
  }
  for (const Missed& miss : applying.misses()) {
    lines.push_back(fmt::format("{}: {} with its own code: {}", miss.kernel, launches_of(miss.launches), miss.reason));
  }
  if (const auto wall = wall_time(applying, seconds)) lines.push_back(text_of(*wall));
  return lines;
}

std::string json_report(const Applying& applying, double seconds) {
  bundle::json::Text out;
  out.open().add("launches", applying.launches()).add("applied", applying.applied());
  out.add("differing", applying.differing())
      .add("faulted", applying.faulted())
      .add("seconds", seconds)
      .open_array("choices");
  for (const Applied& one : applying.choices()) {
    out.open().add("kernel", one.kernel).add("choice", one.choice.id).add("variant", one.choice.variant);
    out.add("launch", dimensions(one.choice)).add("applied", one.launches).add("in_graphs", one.in_graphs);
    out.add("checked", one.checked).add("differing", one.differing).add("faulted", one.faulted);
    if (one.measured > 0) out.add("own", one.measured);
    if (!one.trouble.empty()) out.add("reason", one.trouble);
    if (one.speedup.rounds > 0) {
      out.add("clock", "events").add("own_ns", one.own_ns).add("variant_ns", one.variant_ns);
      out.add("rounds", one.speedup.rounds).add("ratio", one.speedup.factor);
      if (one.speedup.is_told()) out.add("low", one.speedup.low).add("high", one.speedup.high);
    }
    out.close();
  }
  out.close_array().open_array("misses");
  for (const Missed& miss : applying.misses()) {
    out.open().add("kernel", miss.kernel).add("reason", miss.reason).add("launches", miss.launches).close();
  }
  out.close_array();
  if (const auto wall = wall_time(applying, seconds)) {
    out.open("wall").add("seconds", seconds).add("checked", wall->with_checks);
    add(out, "own", wall->own);
    add(out, "variants", wall->variants);
    add(out, "ratio", wall->ratio);
    out.add("left_out", wall->left_out).close();
  }
  return out.close().text() + "\n";
}

}  // namespace mneme::capture
