// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tuned_stage.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <set>

#include "base/error.h"
#include "base/pipeline.h"
#include "deploy.h"
#include "inputs.h"
#include "replay/judge/comparing.h"
#include "tuned.h"

namespace mneme::restore {
namespace {

// What only --tuned has.
constexpr const char* kOwn[] = {"--deploy",     "--reference", "--segment", "--dtype",    "--kind",
                                "--norm",       "--threshold", "--scale",   "--policies", "--infer",
                                "--infer-kind", "--nan",       "--recheck", "--lenient"};

// Members that this version does not know, held until there is something to write.
class Others {
 public:
  explicit Others(const bundle::BundleInfo& info) : file_(memory_file("others")), writer_(file_.get(), kName) {
    writer_.add(std::string(bundle::kBundleMember), bundle::write(info));
  }
  bundle::Writer& writer() { return writer_; }
  void copy_to(bundle::Writer& to) {
    writer_.finish();
    ::lseek(file_.get(), 0, SEEK_SET);
    bundle::Reader reader(file_.get(), kName, bundle::Memory::kPass);
    reader.copy_others_to(&to);
    while (reader.next()) {
    }
  }

 private:
  static constexpr char kName[] = "what is passed on";
  Fd file_;
  bundle::Writer writer_;
};

std::string told(const std::vector<bundle::Choice>& choices) {
  std::set<Digest> kernels;
  std::set<std::string> targets;
  for (const bundle::Choice& choice : choices) {
    kernels.insert(choice.kernel);
    targets.insert(choice.target);
  }
  return fmt::format("{} choice(s) for {} kernel(s), for {}", choices.size(), kernels.size(), fmt::join(targets, ", "));
}

}  // namespace

void TunedOptions::add_options(cli::Options& options) {
  options.group("Result");
  options.flag("--tuned", tuned_,
               "instead of memory, write the verified variants that are faster than the baseline, with the runs that "
               "prove it, and for each launch the best of them: of bundles that went through mneme-run, and of such "
               "tuned bundles");
  options.value("--deploy", deploy_, "DIR",
                "with --tuned: write the bundle into DIR, with all that an application needs to run with it on a GPU "
                "where Mneme is not installed");
  options.group("Tuning");
  options.value("--reference", reference_, "recorded|first|PREFIX",
                "with --tuned: the baseline of each instance: the application's own code, else the first variant "
                "(recorded, the default); the first; or the variant whose hash starts so");
  judging_.add_options(options);
}

void TunedOptions::check(const cli::Options& options, bool other_output) {
  if (!tuned_) {
    for (const char* own : kOwn) {
      if (options.on_command_line(own)) throw Error::of("{} needs --tuned", own);
    }
    return;
  }
  if (other_output) {
    throw Error("--tuned writes a bundle without memory: leave out --raw, --packs, --dump, --executable and --check");
  }
  if (!deploy_.empty() && options.given("--output")) {
    throw Error("--deploy and --output both name the output; give one of them");
  }
}

Exit TunedOptions::write(std::vector<std::string> paths, const cli::Selection& selection, cli::Output& output,
                         const cli::Options& options) const {
  verify::Rules rules = judging_.rules(options);
  verify::check_reference(reference_);
  Inputs inputs(std::move(paths), bundle::Memory::kDecode);
  if (deploy_.empty()) output.open_uncleared();
  const bundle::BundleInfo info = cli::with_provenance(merge_tuned(inputs.infos()), "mneme-restore", options);
  Others others(info);
  Tuned tuned(selection, std::move(rules), reference_);
  inputs.for_each([&](bundle::Reader& reader) {
    reader.copy_others_to(&others.writer());
    tuned.take(reader);
  });
  if (tuned.truncation().empty() && !tuned.failed_before()) selection.check_met();
  tuned.choose();
  if (tuned.choices().empty()) throw Reported();
  if (!deploy_.empty()) begin_deployment(deploy_, tuned.choices(), output);
  output.clear();
  bundle::Writer writer(output.fd(), output.name());
  writer.add(std::string(bundle::kBundleMember), bundle::write(info));
  others.copy_to(writer);
  tuned.write(writer);
  writer.finish();
  output.close();
  if (!deploy_.empty()) end_deployment(deploy_);
  cli::note(fmt::format("{}: {}", output.name(), told(tuned.choices())));
  if (!tuned.truncation().empty()) throw Error(tuned.truncation() + "; the runs before the cut were taken");
  if (tuned.failed_before()) throw Reported();
  return Exit::kSuccess;
}

}  // namespace mneme::restore
