// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/run_stage.h"

#include <utility>

#include "base/pipeline.h"
#include "bundle/adding.h"

namespace mneme::run {
namespace {

// As if the bundle had it here.
void add(const bundle::VariantMember& variant, bundle::Writer& writer, Runner& runner) {
  bundle::add(writer, variant);
  runner.take(variant);
}

}  // namespace

void ReplayOptions::add_options(cli::Options& options) {
  RunSettings& settings = runner_.settings;
  options.group("Selection");
  options.flag("--force", runner_.force, "also run recorded launches that are not complete");
  options.group("Launch");
  options.choice("--device", runner_.device, {"auto", "host", "cuda", "hip"},
                 "where to run; auto (the default): where the variant's code belongs");
  options.value("--timeout", runner_.timeout, "SECONDS", "kill a kernel that runs longer (default 60)");
  options.value("--baseline", baseline_, "N",
                "first replay the recorded code N times, at least 2, and mark the bytes that vary by themselves");
  options.flag("--check-memory", check_memory_,
               "host device: also run each kernel in code that checks each access to memory");
  options.flag("--poison", settings.poison_shared,
               "fill shared memory with 0xCB before each block, so that a kernel that reads it uninitialised shows");
  options.flag("--move-globals", settings.move_globals,
               "place device variables elsewhere than when they were recorded, and translate the pointers to them");
  options.group("Times");
  options.value("--warmup", warmup_, "N", "executions before those that are timed (default 1)");
  options.value("--iterations", iterations_, "N", "executions that are timed (default 3)");
  options.value("--precision", runner_.settings.precision, "RATIO",
                "end the iterations when the standard error of their median is at most so much of it, such as 0.01");
  options.value("--rounds", rounds_, "N",
                "how often to do all that, each launch's variants in turn, as mneme-verify --reference needs it to "
                "compare them (default 1)");
  options.choice("--cache", cache_, {"warm", "cold"},
                 "cold: empty the caches before each execution; warm (the default): leave them as they are");
  options.group("Output");
  options.bytes("--max-diff", settings.max_difference, "BYTES",
                "store at most so much of the memory that differs, for each run; K, M and G are understood "
                "(default 64M)");
}

RunnerOptions ReplayOptions::checked(const cli::Options& options) {
  if (iterations_ == 0 || iterations_ > kMostExecutions || warmup_ > kMostExecutions) {
    throw Error::of("--iterations must be from 1 to {0} and --warmup from 0 to {0}", kMostExecutions);
  }
  if (rounds_ == 0 || rounds_ > kMostExecutions / iterations_) {
    throw Error::of("--rounds must be from 1 to {} with so many iterations", kMostExecutions / iterations_);
  }
  const double precision = runner_.settings.precision;
  if (!(precision >= 0 && precision < 1)) throw Error("--precision must be from 0 to less than 1");
  if (precision > 0 && rounds_ > 1) throw Error("--precision goes with one round: leave --precision or --rounds out");
  if (runner_.timeout <= 0) throw Error("--timeout must be more than 0 seconds");
  if (baseline_ == 1 || baseline_ > kMostExecutions) {
    throw Error::of(
        "--baseline must be 0, or from 2 to {}: executions of the recorded code are compared with each other",
        kMostExecutions);
  }
  runner_.settings.baseline = static_cast<uint32_t>(baseline_);
  runner_.settings.warmup = static_cast<uint32_t>(warmup_);
  runner_.settings.iterations = static_cast<uint32_t>(iterations_);
  runner_.settings.cold = cache_ == "cold";
  runner_.rounds = static_cast<uint32_t>(rounds_);
  runner_.verbose = options.verbose();
  return runner_;
}

Exit replay(int input, const std::string& name, cli::Output& output, const std::string& tool,
            const cli::Options& options, const cli::Selection& selection, const RunnerOptions& settings, bool keep,
            const std::vector<bundle::VariantMember>& further) {
  bundle::Reader reader(input, name, bundle::Memory::kDecode);
  bundle::Writer writer(output.fd(), output.name());
  bundle::BundleInfo info = cli::with_provenance(reader.info(), tool, options);
  if (!keep) info.memory = "none";
  writer.add(std::string(bundle::kBundleMember), bundle::write(info));
  reader.copy_to(&writer, keep);

  RunnerOptions own = settings;
  own.judged = is_pipe(output.fd());
  Runner runner(reader, writer, selection, own);
  reader.before_leaving([&] { runner.end_instance(); });
  std::optional<bundle::Summary> summary;
  while (std::optional<bundle::Item> item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) {
      const Digest id = kernel->info.id;
      runner.take(std::move(*kernel));
      for (const bundle::VariantMember& variant : further) {
        if (variant.info.kernel == id) add(variant, writer, runner);
      }
    }
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) runner.take(std::move(*variant));
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) runner.take(std::move(*instance));
    if (auto* last = std::get_if<bundle::Summary>(&*item)) summary = std::move(*last);
  }

  // Where the input was cut short, that is the sentence to say: what is missing may have been behind the cut.
  runner.end_instance();
  if (cli::is_whole(reader, summary)) {
    selection.check_met();
    runner.finish();
  }
  cli::finish(reader, writer, output, summary);
  if (runner.refused() > 0) {
    throw Error::of("{} recorded launch(es) were not run because they are not complete", runner.refused());
  }
  return Exit::kSuccess;
}

}  // namespace mneme::run
