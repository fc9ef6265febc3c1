// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-restore: rebuilds recorded memory in full: as a bundle of raw members, as files, on a device, or by a program
// that replays it. Or makes a bundle of the best variants of what was replayed.
#include <unistd.h>

#include <functional>
#include <memory>
#include <utility>

#include "base/pipeline.h"
#include "bundle_target.h"
#include "check_target.h"
#include "cli/options.h"
#include "cli/stage.h"
#include "dump_target.h"
#include "edit_stage.h"
#include "inputs.h"
#include "merge.h"
#include "on_demand.h"
#include "pack_target.h"
#include "program_file.h"
#include "program_target.h"
#include "tuned_stage.h"

using namespace mneme;

namespace {

// Removes a program's file that is begun and never ended: it would hold no recording.
struct BegunProgram {
  std::string path;
  ~BegunProgram() {
    if (!path.empty()) ::unlink(path.c_str());
  }
};

Exit restore_bundles(int argc, char** argv) {
  cli::Options options("mneme-restore",
                       "Rebuilds the recorded memory of a bundle in full. Writes a bundle whose memory is plain "
                       "members that tar and od can read. Several bundles are merged into one, whose memory stays "
                       "packed.");
  cli::Output output;
  cli::Selection selection;
  std::vector<std::string> paths;
  std::string dump, executable, strip, device = "auto";
  bool check = false, raw = false, packs = false;
  selection.add_options(options);
  options.group("Result");
  options.choice("--strip", strip, {"source"}, "leave out the kernels' source, and the commands that compiled it");
  options.flag("--raw", raw, "write plain memory, as of one FILE, also of several");
  options.flag("--packs", packs, "write packed memory, as of several FILEs, also of one");
  options.value("--dump", dump, "DIR", "write files into the new folder DIR instead of a bundle");
  options.value("--executable", executable, "FILE",
                "instead of a bundle, write a program that holds the recordings, replays them with the variants that "
                "mneme-compile made and judges the results, where nothing is installed");
  options.flag("--check", check,
               "instead of a bundle, restore each state onto the device, read it back and compare; exit status 1 "
               "when something differs");
  options.choice("--device", device, {"auto", "host", "cuda", "hip"}, "the device for --check (default auto)");
  restore::EditOptions edit;
  edit.add_options(options);
  restore::TunedOptions tuned;
  tuned.add_options(options);
  output.add_options(options);
  options.files(paths, "FILE", "read the FILEs, one after another, instead of standard input");
  options.parse(argc, argv);
  selection.check();
  tuned.check(options, check || raw || packs || !strip.empty() || !dump.empty() || !executable.empty());
  if (edit.asked()) {
    if (check || raw || packs || tuned.asked() || !strip.empty() || !dump.empty() || !executable.empty()) {
      throw Error(
          "--edit writes a bundle of its own: leave out --raw, --packs, --dump, --executable, --check, --strip, "
          "--tuned");
    }
    return edit.write(std::move(paths), selection, output, options);
  }
  if (tuned.asked()) return tuned.write(std::move(paths), selection, output, options);

  if ((check || !dump.empty()) && executable.empty() && options.given("--output")) {
    throw Error("--output names a bundle's file, and no bundle is written with --check or --dump");
  }
  if (!executable.empty()) {
    if (output.is_file()) throw Error("--executable and --output both name the output; give one of them");
    output.set_path(executable);
  }

  if (raw && packs) throw Error("--raw and --packs exclude each other");
  if ((raw || packs) && (check || !dump.empty() || !executable.empty())) {
    throw Error("--raw and --packs need a bundle to write: leave them out with --check, --dump and --executable");
  }
  const bool writes_bundle = executable.empty() && dump.empty() && !check;
  if (!writes_bundle) output.set_kind(cli::Output::Kind::kOther);
  packs = writes_bundle && (packs || (!raw && paths.size() > 1));
  // Packs can be passed on as they are where all instances are: an instance builds on those before it.
  const bool passes_packs = packs && selection.everything();
  restore::Inputs inputs(paths, passes_packs ? bundle::Memory::kPacks : bundle::Memory::kDecode);
  std::vector<std::unique_ptr<restore::Target>> targets;
  restore::CheckTarget* checked = nullptr;
  std::unique_ptr<bundle::Writer> writer;
  if (!dump.empty()) targets.push_back(std::make_unique<restore::DumpTarget>(dump));
  if (check) {
    auto target = std::make_unique<restore::CheckTarget>([&] { return device::make_device(device); });
    checked = target.get();
    targets.push_back(std::move(target));
  }
  restore::ProgramTarget* program = nullptr;
  bundle::BundleInfo recording;  // what a program is made of
  BegunProgram begun;
  if (!executable.empty() || writes_bundle) {
    std::string part = executable.empty() ? "" : installed_part(restore::kProgramPart);
    output.open();
    if (!executable.empty()) {
      restore::begin_program(output.fd(), output.name(), part);
      begun.path = executable;
    }
    writer = std::make_unique<bundle::Writer>(output.fd(), output.name());
    recording = restore::merge(inputs.infos());
    if (!strip.empty()) recording.has_source = false;
    bundle::BundleInfo info = cli::with_provenance(recording, "mneme-restore", options);
    info.memory = writes_bundle && !packs ? "raw" : "packs";
    if (packs && (inputs.infos().size() > 1 || recording.memory == "kept")) {  // a tool never lowers a version
      info.memory = "kept";
      info.version = std::max(info.version, bundle::kKeptBlocks);
      writer->keep_others(restore::kKeptBytes);
    }
    writer->add(std::string(bundle::kBundleMember), bundle::write(info));
    if (packs) {
      targets.push_back(std::make_unique<restore::PackTarget>(*writer));
    } else if (writes_bundle) {
      targets.push_back(std::make_unique<restore::BundleTarget>(*writer));
    } else {
      auto target = std::make_unique<restore::ProgramTarget>(*writer);
      program = target.get();
      targets.push_back(std::move(target));
    }
  }

  std::vector<restore::Target*> borrowed;
  for (const auto& target : targets) borrowed.push_back(target.get());
  restore::Merge merge(selection, borrowed, !strip.empty());
  std::string truncations;
  inputs.for_each([&](bundle::Reader& reader) {
    if (writer) reader.copy_others_to(writer.get());
    merge.take(reader);
    if (reader.truncated()) truncations += (truncations.empty() ? "" : "; ") + reader.truncation();
  });
  if (!merge.truncated() && !merge.failed_before()) {
    selection.check_met();
    if (merge.instances() == 0)
      throw Error("nothing was restored: no launch is recorded in the bundle; mneme-capture --summary says why");
  }
  if (program) program->check_variants();
  if (writer) {
    writer->add(std::string(bundle::kSummaryMember), bundle::write(merge.summary()));
    writer->finish();
    if (program) {
      std::string on_demand = restore::pack(restore::compile_on_demand(program->compiled(), recording));
      restore::ProgramParts parts = restore::end_program(output.fd(), output.name(), on_demand);
      begun.path.clear();
      cli::note(fmt::format("{} is a program of {} bytes, {} of which are its bundle", output.name(), parts.end,
                            parts.on_demand - parts.bundle));
    }
    output.close();
  }
  if (checked) {
    cli::note(fmt::format("{} states of {} instances, {} bytes, were restored and read back{}", checked->states(),
                          merge.instances(), checked->bytes(), checked->all_equal() ? "" : "; not all are equal"));
    if (!checked->all_equal()) return Exit::kNotVerified;
  }
  if (merge.truncated()) throw Error(truncations + "; the launches before the cut were restored");
  if (merge.failed_before()) throw Reported();
  return Exit::kSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("mneme-restore", [&] { return restore_bundles(argc, argv); });
}
