// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "edit_stage.h"

#include "base/error.h"
#include "base/file.h"
#include "base/pipeline.h"
#include "edit_target.h"
#include "inputs.h"
#include "merge.h"

namespace mneme::restore {
namespace {

constexpr size_t kMostOfEdit = 64u << 20;  // bytes

}  // namespace

void EditOptions::add_options(cli::Options& options) {
  options.value("--edit", path_, "FILE",
                "write the selected launches without variants and runs, changed as this file of JSON says: memory that "
                "is zeros, other dimensions, other IR, or the result that is expected");
}

Exit EditOptions::write(std::vector<std::string> paths, const cli::Selection& selection, cli::Output& output,
                        const cli::Options& options) const {
  if (paths.size() > 1) throw Error("--edit takes one bundle");
  cli::keep_as_input(path_);
  Edit edit = parse_edit(read_file(path_, kMostOfEdit), "'" + path_ + "'");
  Inputs inputs(std::move(paths), bundle::Memory::kDecode);
  output.open();
  bundle::Writer writer(output.fd(), output.name());
  bundle::BundleInfo info = cli::with_provenance(inputs.infos()[0], "mneme-restore", options);
  info.memory = "packs";
  writer.add(std::string(bundle::kBundleMember), bundle::write(info));
  EditTarget target(writer, std::move(edit));
  Merge merge(selection, {&target});
  std::string truncation;
  inputs.for_each([&](bundle::Reader& reader) {
    merge.take(reader);
    truncation = reader.truncation();
  });
  target.finish();
  if (!merge.truncated() && !merge.failed_before()) {
    selection.check_met();
    if (merge.instances() == 0) throw Error("nothing was edited: no launch is recorded in the bundle");
  }
  bundle::Summary summary;  // the launches are not the application's
  summary.truncated = merge.truncated();
  summary.failed = merge.truncated() || merge.failed_before();
  writer.add(std::string(bundle::kSummaryMember), bundle::write(summary));
  writer.finish();
  output.close();
  if (merge.truncated()) throw Error(truncation + "; the launches before the cut were edited");
  if (merge.failed_before()) throw Reported();
  return Exit::kSuccess;
}

}  // namespace mneme::restore
