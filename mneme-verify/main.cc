// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-verify: judges whether the runs in a bundle left memory as the recording says.
#include <utility>

#include "cli/options.h"
#include "cli/stage.h"
#include "comparing.h"
#include "judgement.h"
#include "overrides.h"
#include "report.h"

using namespace mneme;

namespace {

void tell(const verify::Row& row, const std::string& what, const std::string& reason) {
  cli::note(fmt::format("{}: kernel '{}', instance {}, variant {} ({}): {}", what, row.name,
                        verify::short_hash(row.instance), verify::short_hash(row.variant), row.configuration.passes,
                        reason));
}

void explain(const verify::Row& row) {
  for (const std::string& reason : row.verdict.reasons) tell(row, verify::to_string(row.verdict.status), reason);
}

// A check that could not be made has not passed.
void check_bound(const verify::Comparing& comparing) {
  if (comparing.unbounded() > 0) {
    throw Error::of(
        "{} verified run(s) have no times that --fail-if-slower can judge: it takes mneme-run --rounds {} or more, "
        "and the reference on the same device",
        comparing.unbounded(), verify::Speedup::kFewestRounds);
  }
  if (comparing.bounded() == 0) {
    throw Error("--fail-if-slower judged nothing: no verified run is of another variant than that of --reference");
  }
}

Exit verify_bundle(int argc, char** argv) {
  cli::Options options("mneme-verify",
                       "Judges replays: device memory must be as the recording left it, byte for byte or within "
                       "the tolerance that it was annotated with. Writes a report of one line of json a run. Exit "
                       "status 1 means that something is not verified.");
  cli::Input input;
  cli::Output output;
  cli::Selection selection;
  verify::OverrideOptions overrides;
  verify::Rules rules;
  std::string format = "json", junit, reference;
  double slower = 0;
  options.choice("--format", format, {"json", "table"}, "json lines (the default) or a table for people");
  options.value("--junit", junit, "FILE", "also write a JUnit report to FILE");
  overrides.add_options(options);
  options.flag(
      "--infer", rules.infer,
      "give segments without annotation a default tolerance for the floating-point type that the kernel stores");
  options.flag("--recheck", rules.recheck, "believe only what the differing blocks stored with a run show");
  options.flag("--lenient", rules.lenient,
               "let pass what differs no more than the recorded code's result varies by itself (mneme-run --baseline)");
  options.value(
      "--reference", reference, "first|PREFIX",
      "compare the times of each instance's variants with those of this one: the first, or the one whose hash "
      "starts so; mneme-run --rounds makes times that can be compared");
  options.value(
      "--fail-if-slower", slower, "FACTOR",
      "with --reference: fail where a variant takes more than so many times as long, as far as times can tell");
  selection.add_options(options);
  output.add_options(options);
  input.add_options(options);
  options.parse(argc, argv);
  selection.check();
  rules.overrides = overrides.overrides(options);

  input.open();
  output.open(/*bundle=*/false);
  bundle::Reader reader(input.fd(), input.name(), bundle::Memory::kDecode);
  std::vector<verify::Row> rows;
  verify::Comparing comparing(reference, slower, [&](verify::Row row, const std::vector<bundle::Segment>& segments) {
    if (row.comparison && row.comparison->outcome == verify::kTooSlow) {
      tell(row, verify::kTooSlow, verify::too_slow_text(*row.comparison));
    }
    if (format == "json") {
      explain(row);
      write_all(output.fd(), bytes_of(json_line(row, segments)), output.name());
    }
    rows.push_back(std::move(row));
  });
  verify::Judgement judgement(
      reader, selection, rules,
      [&](verify::Row row, const std::vector<bundle::Segment>& segments) { comparing.take(std::move(row), segments); });
  bool cut_before = false;  // by an earlier stage
  while (std::optional<bundle::Item> item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) judgement.take(*kernel);
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) judgement.take(*variant);
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) judgement.take(std::move(*instance));
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) judgement.take(std::move(*run));
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) cut_before = summary->truncated;
  }
  bool whole = !reader.truncated() && !cut_before;
  judgement.finish(whole);
  comparing.finish();

  if (format == "table" && !rows.empty()) write_all(output.fd(), bytes_of(verify::table(rows)), output.name());
  output.close();
  if (!junit.empty()) write_file(junit, verify::junit(rows));

  for (const auto& [kernel, count] : judgement.uncompiled()) {
    cli::warn(fmt::format("kernel '{}': {} of its instances met no variant, so nothing shows that they replay", kernel,
                          count));
  }
  if (comparing.without_reference() > 0) {
    cli::warn(fmt::format("{} instance(s) have no verified times of --reference {}: nothing is compared there",
                          comparing.without_reference(), reference));
  }
  if (rules.lenient && judgement.runs() > 0 && judgement.baselines() == 0) {
    cli::warn("--lenient lets nothing pass, because no run has a baseline: give mneme-run --baseline N");
  }
  if (reader.truncated()) throw Error(reader.truncation());
  if (cut_before) throw Error("the bundle was cut short before an earlier stage: only what is there was judged");
  selection.check_met();
  check_met(rules.overrides);
  if (judgement.runs() == 0) {
    throw Error("nothing was verified because nothing was run: put mneme-run before mneme-verify");
  }
  if (!judgement.all_passed() || comparing.too_slow() > 0) return Exit::kNotVerified;
  if (slower > 0) check_bound(comparing);
  return Exit::kSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("mneme-verify", [&] { return verify_bundle(argc, argv); });
}
