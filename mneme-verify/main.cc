// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-verify: judges whether the runs in a bundle left memory as the recording says.
#include "cli/options.h"
#include "cli/stage.h"
#include "replay/judge/verify_stage.h"

using namespace mneme;

namespace {

Exit verify_bundle(int argc, char** argv) {
  cli::Options options("mneme-verify",
                       "Judges replays: device memory must be as the recording left it, byte for byte or within "
                       "the tolerance that it was annotated with. Writes a report of one line of json a run. Exit "
                       "status 1 means that something is not verified.");
  cli::Input input;
  cli::Output output(cli::Output::Kind::kOther);
  cli::Selection selection;
  verify::VerifyOptions judging("json");
  selection.add_options(options);
  judging.add_options(options);
  output.add_options(options);
  input.add_options(options);
  options.parse(argc, argv);
  selection.check();
  judging.check(options);

  input.open();
  output.open();
  return judging.verify(input.fd(), input.name(), output, selection);
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("mneme-verify", [&] { return verify_bundle(argc, argv); });
}
