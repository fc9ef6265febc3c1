// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/judge/verify_stage.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/pipeline.h"
#include "replay/judge/comparing.h"
#include "replay/judge/report.h"

namespace mneme::verify {
namespace {

bool on_standard_output(const std::string& path) { return path == "-"; }

void tell(const Row& row, const std::string& what, const std::string& reason) {
  cli::note(fmt::format("{}: kernel '{}', instance {}, variant {} ({}): {}", what, row.name, short_hash(row.instance),
                        short_hash(row.variant), row.configuration.passes, reason));
}

void explain(const Row& row) {
  for (const std::string& reason : row.verdict.reasons) tell(row, to_string(row.verdict.status), reason);
}

// Where the recorded launch changed nothing, nothing is what code has to do.
void warn_of_little_proof(const std::vector<Row>& rows) {
  std::map<std::string, std::map<Digest, bool>> proven;  // kernel → variant → by a launch that changed memory
  for (const Row& row : rows) {
    if (row.verdict.status != Status::kVerified) continue;
    bool& variant = proven[row.name][row.variant];
    variant = variant || row.launch_changed_memory;
  }
  for (const auto& [kernel, variants] : proven) {
    auto count = std::ranges::count(variants, false, [](const auto& variant) { return variant.second; });
    if (count == 0) continue;
    cli::warn(fmt::format(
        "kernel '{}': {} of its variants are verified only on launches that change no memory, which is weak evidence: "
        "code that does nothing would be verified, too; record other launches",
        kernel, count));
  }
}

// A check that could not be made has not passed.
void check_bound(const Comparing& comparing) {
  if (comparing.unbounded() > 0) {
    throw Error::of(
        "{} verified run(s) have no times that --fail-if-slower can judge: it takes mneme-run --rounds {} or more, "
        "and the reference on the same device",
        comparing.unbounded(), Speedup::kFewestRounds);
  }
  if (comparing.bounded() == 0) {
    throw Error("--fail-if-slower judged nothing: no verified run is of another variant than that of --reference");
  }
}

}  // namespace

void RuleOptions::add_options(cli::Options& options) {
  overrides_.add_options(options);
  options.flag(
      "--infer", infer_,
      "give segments without annotation a default tolerance for the floating-point type that the kernel stores");
  options.choice("--infer-kind", infer_kind_, {"scaled", "relative"},
                 "the kind of error that --infer holds against its tolerance: scaled (the default) or relative");
  options.choice(
      "--nan", nan_, {"bits", "equal"},
      "memory that differs in the sign and payload of NaNs only fails (bits, the default), or passes (equal)");
  options.flag("--recheck", recheck_, "verify only by the differing blocks that are stored with a run");
  options.flag(
      "--lenient", lenient_,
      "let pass results that differ no more than the recorded code's vary by themselves (mneme-run --baseline)");
}

Rules RuleOptions::rules(const cli::Options& options) const {
  Rules rules;
  rules.overrides = overrides_.overrides(options);
  if (options.given("--infer-kind") && !infer_) throw Error("--infer-kind needs --infer");
  if (infer_) rules.infer = infer_kind_ == "relative" ? Kind::kRelative : Kind::kScaled;
  rules.strictness = {recheck_, nan_ == "equal"};
  rules.lenient = lenient_;
  return rules;
}

void VerifyOptions::add_options(cli::Options& options) {
  options.group("Tolerances");
  judging_.add_options(options);
  options.flag("--algebra", algebra_,
               "judge runs of code with elements of a ring in place of floating-point numbers only, by the recorded "
               "code's (mneme-run --algebra)");
  options.group("Times");
  options.value(
      "--reference", reference_, "first|recorded|PREFIX",
      "compare the times of each instance's variants with those of this one: the first, the application's own code "
      "(else the first), or the one whose hash starts so; mneme-run --rounds makes times that can be compared");
  options.value(
      "--fail-if-slower", slower_, "FACTOR",
      "with --reference: fail where a variant takes more than so many times as long, as far as times can tell");
  options.group("Output");
  options.choice("--format", format_, {"json", "table"},
                 fmt::format("json lines{} or a table for people{}", format_ == "json" ? " (the default)" : "",
                             format_ == "table" ? " (the default)" : ""));
  rules_.findings.add_options(options);
  options.value("--junit", junit_, "FILE", "also write a JUnit report to FILE");
}

void VerifyOptions::check(const cli::Options& options) {
  cli::FindingOptions findings = std::move(rules_.findings);
  findings.read();
  rules_ = judging_.rules(options);
  rules_.findings = std::move(findings);
  rules_.algebra = algebra_;
  if (slower_ == 0 && options.given("--fail-if-slower")) {
    throw Error("--fail-if-slower 0: give a ratio of at least 1; 1.1 accepts 10 % more time");
  }
}

Exit VerifyOptions::verify(int input, const std::string& name, cli::Output& output, const cli::Selection& selection) {
  if (on_standard_output(junit_) && !output.is_file()) {
    throw Error("--junit - and the other report cannot both go to standard output: name a file for one of them");
  }
  if (!junit_.empty() && !on_standard_output(junit_)) cli::check_is_free(junit_, output);
  bundle::Reader reader(input, name, bundle::Memory::kDecode);
  std::vector<Row> rows;
  std::map<std::string, uint64_t> uncompared;  // kernel → verified runs of which nothing is judged
  Comparing comparing(reference_, slower_, [&](Row row, const std::vector<bundle::Segment>& segments) {
    if (row.run && row.run->stray_bytes > 0) {
      cli::warn(fmt::format(
          "kernel '{}', instance {}, variant {} ({}): it changes {} byte(s) beside the recorded memory, as stores past "
          "the end of an array do; they are not compared: mneme-compile --check-memory finds them",
          row.name, short_hash(row.instance), short_hash(row.variant), row.configuration.passes, row.run->stray_bytes));
    }
    const auto left_out = std::ranges::count_if(row.verdict.segments, lets_anything_pass);
    if (row.passed && left_out > 0 && static_cast<size_t>(left_out) == segments.size()) ++uncompared[row.name];
    if (row.comparison && row.comparison->outcome == kTooSlow) tell(row, kTooSlow, too_slow_text(*row.comparison));
    if (format_ == "json") {
      explain(row);
      write_all(output.fd(), bytes_of(json_line(row, segments)), output.name());
    }
    rows.push_back(std::move(row));
  });
  Judgement judgement(reader, selection, rules_, [&](Row row, const std::vector<bundle::Segment>& segments) {
    comparing.take(std::move(row), segments);
  });
  reader.before_leaving([&] { judgement.end_algebra(); });
  bool cut_before = false, failed_before = false;  // by an earlier stage
  while (std::optional<bundle::Item> item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) judgement.take(*kernel);
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) judgement.take(*variant);
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) judgement.take(std::move(*instance));
    if (auto* run = std::get_if<bundle::RunMember>(&*item)) judgement.take(std::move(*run));
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) {
      failed_before = summary->failed && reader.piped();
      cut_before = summary->truncated;
    }
  }
  bool whole = !reader.truncated() && !cut_before && !failed_before;
  judgement.finish(whole);
  comparing.finish();

  if (format_ == "table" && !rows.empty()) write_all(output.fd(), bytes_of(table(rows)), output.name());
  output.close();
  if (on_standard_output(junit_)) {
    write_all(STDOUT_FILENO, bytes_of(junit(rows)), "standard output");
    Fd(STDOUT_FILENO).close_checked("standard output");
  } else if (!junit_.empty()) {
    write_file(junit_, junit(rows));
  }

  if (failed_before && judgement.runs() == 0) throw Reported();
  std::vector<std::string> unmet;
  for (const auto& [kernel, count] : judgement.uncompiled()) {
    unmet.push_back(fmt::format("kernel '{}': {} of its instances met no variant, so nothing shows that they replay",
                                kernel, count));
  }
  if (whole && judgement.runs() > 0) cli::warn_of_each(unmet, "kernels");
  for (const auto& [kernel, count] : uncompared) {
    cli::warn(
        fmt::format("kernel '{}': {} of its runs are verified although nothing is compared: the threshold inf lets any "
                    "result pass; "
                    "name the memory to leave out with --segment",
                    kernel, count));
  }
  warn_of_little_proof(rows);
  if (comparing.without_reference() > 0) {
    cli::warn(fmt::format("{} instance(s) have no verified times of --reference {}: nothing is compared there",
                          comparing.without_reference(), reference_));
  }
  if (rules_.lenient && judgement.runs() > 0 && judgement.baselines() == 0) {
    cli::warn("--lenient lets nothing pass, because no run has a baseline: give mneme-run --baseline N");
  }
  if (reader.truncated()) throw Error(reader.truncation());
  if (cut_before)
    throw Error("an earlier tool did not reach the end of its bundle: only the runs that are there were judged");
  selection.check_met();
  check_met(rules_.overrides);
  if (rules_.algebra && judgement.runs() == 0) {
    throw Error("nothing was verified because no run has --algebra: give it to mneme-compile and to mneme-run");
  }
  if (judgement.runs() == 0) {
    if (rows.empty()) {
      throw Error(
          "nothing was verified because nothing was compiled: put mneme-compile and mneme-run before mneme-verify");
    }
    throw Error("nothing was verified because nothing was run: put mneme-run before mneme-verify");
  }
  if (!judgement.all_passed() || comparing.too_slow() > 0) return Exit::kNotVerified;
  if (slower_ > 0) check_bound(comparing);
  return Exit::kSuccess;
}

}  // namespace mneme::verify
