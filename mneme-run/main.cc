// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-run: replays every recorded instance with every compiled variant of its kernel.
#include <list>
#include <utility>

#include "cli/checks.h"
#include "cli/options.h"
#include "cli/stage.h"
#include "replay/compiled_input.h"
#include "replay/run_stage.h"

using namespace mneme;

namespace {

// run::replay() on the input with variants of each kernel that mneme-compile adds: one for each list of its arguments.
Exit replay_compiled(int input, const std::string& name, const std::vector<std::vector<std::string>>& variants,
                     cli::Output& output, const cli::Options& options, const cli::Selection& selection,
                     const run::RunnerOptions& settings, bool keep) {
  std::list<run::CompiledInput> stages;  // each reads from the one before it
  for (std::vector<std::string> arguments : variants) {
    std::string what = arguments[0];
    arguments.erase(arguments.begin());
    for (const std::string& word : selection.kernel_words()) arguments.push_back(word);
    stages.emplace_back(stages.empty() ? input : stages.back().fd(), what, arguments);
  }
  try {
    int last = stages.empty() ? input : stages.back().fd();
    Exit exit = run::replay(last, name, output, "mneme-run", options, selection, settings, keep);
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
  run::ReplayOptions replays;
  cli::FindingOptions findings;
  bool keep = false, algebra = false;
  std::string target, checks;
  selection.add_options(options);
  replays.add_options(options);
  options.group("Launch");
  options.flag("--algebra", algebra,
               "host device: also run each kernel's recorded code with elements of a ring in place of floating-point "
               "numbers, for mneme-verify --algebra");
  options.value("--target", target, "TARGET",
                "compile the recorded code for --baseline for this, as mneme-compile takes it (default: what the "
                "recording ran on)");
  options.value(cli::kCheckOption, checks, "LIST",
                "host device: also run each kernel in code that looks for faults: all, or some of memory, races, init, "
                "sync and nan");
  findings.add_options(options);
  options.group("Output");
  options.flag("--keep", keep, "keep the recorded memory in the output");
  output.add_options(options);
  input.add_options(options);
  options.parse(argc, argv);
  selection.check();
  run::RunnerOptions settings = replays.checked(options);
  bundle::WantedChecks wanted = cli::wanted_checks(checks);
  wanted.memory |= replays.checks_memory();
  findings.read();
  settings.findings = findings;
  const bool baseline = settings.settings.baseline > 0;

  input.open();
  output.open();
  std::vector<std::vector<std::string>> variants;
  // Of no use to know how fast, and all levels give the same bits.
  if (wanted.memory && wanted.checks.empty()) {
    variants.push_back({"--check-memory", "-O1", "--target", "host"});
  } else if (!wanted.checks.empty()) {
    const std::string what = fmt::format("{}={}", cli::kCheckOption, bundle::list_of(wanted));
    variants.push_back({what, "-O1", "--target", "host"});
  }
  if (algebra) variants.push_back({"--algebra", "-O0", "--target", "host"});
  if (baseline) variants.push_back({"--as-recorded"});
  if (baseline && !target.empty()) variants.back().insert(variants.back().end(), {"--target", target});
  return replay_compiled(input.fd(), input.name(), variants, output, options, selection, settings, keep);
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("mneme-run", [&] { return run_bundle(argc, argv); });
}
