// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-run: replays every recorded instance with every compiled variant of its kernel.
#include <list>
#include <utility>

#include "cli/options.h"
#include "cli/stage.h"
#include "compiled_input.h"
#include "runner.h"

using namespace mneme;

namespace {

constexpr uint64_t kMostExecutions = 1'000'000;

struct Options {
  run::RunnerOptions runner;
  bool keep = false;
};

Exit replay(int input, const std::string& name, cli::Output& output, const cli::Options& options,
            const cli::Selection& selection, const Options& settings) {
  bundle::Reader reader(input, name, bundle::Memory::kDecode);
  bundle::Writer writer(output.fd(), output.name());
  bundle::BundleInfo info = cli::with_provenance(reader.info(), "mneme-run", options);
  if (!settings.keep) info.memory = "none";
  writer.add(std::string(bundle::kBundleMember), bundle::write(info));
  reader.copy_to(&writer, settings.keep);

  run::Runner runner(reader, writer, selection, settings.runner);
  reader.before_leaving([&] { runner.end_instance(); });
  std::optional<bundle::Summary> summary;
  while (std::optional<bundle::Item> item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) runner.take(std::move(*kernel));
    if (auto* variant = std::get_if<bundle::VariantMember>(&*item)) runner.take(std::move(*variant));
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) runner.take(std::move(*instance));
    if (auto* last = std::get_if<bundle::Summary>(&*item)) summary = std::move(*last);
  }

  // Where the input was cut short, that is the sentence to say: what is missing may have been behind the cut.
  runner.end_instance();
  if (!reader.truncated()) {
    selection.check_met();
    runner.finish();
  }
  Exit exit = cli::finish(reader, writer, output, summary);
  if (exit == Exit::kSuccess && runner.refused() > 0) {
    throw Error::of("{} recorded launch(es) were not run because they are not complete", runner.refused());
  }
  return exit;
}

// The same on the input with variants of each kernel that mneme-compile adds: one for each list of its arguments.
Exit replay_compiled(int input, const std::string& name, const std::vector<std::vector<std::string>>& variants,
                     cli::Output& output, const cli::Options& options, const cli::Selection& selection,
                     const Options& settings) {
  std::list<run::CompiledInput> stages;  // each reads from the one before it
  for (std::vector<std::string> arguments : variants) {
    std::string what = arguments[0];
    arguments.erase(arguments.begin());
    for (const std::string& word : selection.kernel_words()) arguments.push_back(word);
    stages.emplace_back(stages.empty() ? input : stages.back().fd(), what, arguments);
  }
  try {
    Exit exit = replay(stages.empty() ? input : stages.back().fd(), name, output, options, selection, settings);
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) stage->finish();
    return exit;
  } catch (const Error&) {
    // If it was they that failed, what they have to say comes first.
    for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) stage->check_end();
    throw;
  }
}

Exit run_bundle(int argc, char** argv) {
  cli::Options options("mneme-run",
                       "Replays recorded kernel launches: restores each instance's memory, executes each compiled "
                       "variant of its kernel, and records timings and how memory differs from the recording.");
  cli::Input input;
  cli::Output output;
  cli::Selection selection;
  Options all;
  run::RunnerOptions& settings = all.runner;
  uint64_t warmup = settings.settings.warmup, iterations = settings.settings.iterations;
  uint64_t baseline = 0, rounds = 1;
  bool check_memory = false;
  std::string cache = "warm", target;
  options.choice("--device", settings.device, {"auto", "host", "cuda", "hip"},
                 "where to run; auto (the default): where the variant's code belongs");
  options.value("--warmup", warmup, "N", "executions before those that are timed (default 1)");
  options.value("--iterations", iterations, "N", "executions that are timed (default 3)");
  options.value("--rounds", rounds, "N",
                "how often to do all that, each launch's variants in turn, as mneme-verify --reference needs it to "
                "compare them (default 1)");
  options.choice("--cache", cache, {"warm", "cold"},
                 "cold: what the kernel works on is in no cache when an execution begins; warm (the default): what the "
                 "one before left there is");
  options.value("--timeout", settings.timeout, "SECONDS", "kill a kernel that runs longer (default 60)");
  options.bytes("--max-diff", settings.settings.max_difference, "BYTES",
                "store at most so much of the memory that differs, for each run; K, M and G are understood "
                "(default 64M)");
  options.value("--baseline", baseline, "N",
                "first replay the recorded code N times, at least 2, and mark the bytes that vary by themselves");
  options.value("--target", target, "TARGET",
                "compile the recorded code for --baseline for this, as mneme-compile takes it (default: what the "
                "recording ran on)");
  options.flag("--poison", settings.settings.poison_shared,
               "fill shared memory with 0xCB before each block, so that a kernel that reads what it never wrote shows");
  options.flag("--move-globals", settings.settings.move_globals,
               "place device variables elsewhere than when they were recorded, and translate the pointers to them");
  options.flag("--check-memory", check_memory,
               "host device: also run each kernel compiled to find out before each access whether there is memory");
  options.flag("--force", settings.force, "also run recorded launches of which the recording is not complete");
  options.flag("--keep", all.keep, "keep the recorded memory in the output");
  selection.add_options(options);
  output.add_options(options);
  input.add_options(options);
  options.parse(argc, argv);
  selection.check();
  if (iterations == 0 || iterations > kMostExecutions || warmup > kMostExecutions) {
    throw Error::of("--iterations must be from 1 to {0} and --warmup from 0 to {0}", kMostExecutions);
  }
  if (rounds == 0 || rounds > kMostExecutions / iterations) {
    throw Error::of("--rounds must be from 1 to {} with so many iterations", kMostExecutions / iterations);
  }
  if (settings.timeout <= 0) throw Error("--timeout must be more than 0 seconds");
  if (baseline == 1 || baseline > kMostExecutions) {
    throw Error::of(
        "--baseline must be 0, or from 2 to {}: executions of the recorded code are compared with each other",
        kMostExecutions);
  }
  settings.settings.baseline = static_cast<uint32_t>(baseline);
  settings.settings.warmup = static_cast<uint32_t>(warmup);
  settings.settings.iterations = static_cast<uint32_t>(iterations);
  settings.settings.cold = cache == "cold";
  settings.rounds = static_cast<uint32_t>(rounds);
  settings.verbose = options.verbose();

  input.open();
  output.open();
  std::vector<std::vector<std::string>> variants;
  // Of no use to know how fast, and all levels give the same bits.
  if (check_memory) variants.push_back({"--check-memory", "-O1", "--target", "host"});
  if (baseline > 0) variants.push_back({"--as-recorded"});
  if (baseline > 0 && !target.empty()) variants.back().insert(variants.back().end(), {"--target", target});
  return replay_compiled(input.fd(), input.name(), variants, output, options, selection, all);
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("mneme-run", [&] { return run_bundle(argc, argv); });
}
