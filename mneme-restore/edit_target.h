// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bundle/writer.h"
#include "target.h"

namespace mneme::restore {

// What becomes of a recording that is made small (mneme-reduce).
struct Edit {
  struct Range {
    uint64_t address = 0, size = 0;
  };
  std::vector<Range> zero;             // memory that is zeros before the launch
  std::map<uint64_t, uint64_t> sizes;  // segments that are made shorter, by address; 0: they are gone
  std::optional<bundle::Dim3> grid, block;
  std::string bitcode;  // in place of the kernel's; empty: the kernel's own
  // The variant, by the beginning of its hash, whose result is what is to be expected from now on. Empty: the result
  // that was recorded, with the same ranges zeroed, which stands for none. Excludes all others.
  std::string accept;
};

// A JSON object with the keys "zero" (list of "address", "size"), "segments" (likewise), "grid", "block" (lists of
// three numbers), "ir" (a file of bitcode) and "accept". Throws Error, naming `where`.
Edit parse_edit(std::string_view text, const std::string& where);

// Writes a bundle of the edited launches, without variants and runs, whose memory is packs. Kernels and launches have
// the hashes of what they are then.
class EditTarget : public Target {
 public:
  EditTarget(bundle::Writer& writer, Edit edit) : writer_(writer), edit_(std::move(edit)) {}  // borrowed

  void take(const bundle::KernelMember& kernel) override;
  void take(const bundle::InstanceMember& instance, const bundle::Reader& reader) override;
  void take(const bundle::RunMember& run, const bundle::Reader& reader) override;
  // The input has ended. Throws Error where a launch has no run of the variant that is accepted.
  void finish() const;

 private:
  void write(const bundle::InstanceMember& instance, const bundle::Reader& reader,
             const std::map<uint64_t, Digest>& results);

  bundle::Writer& writer_;
  const Edit edit_;
  std::map<Digest, Digest> kernels_;               // new ids by the old ones
  std::optional<bundle::InstanceMember> waiting_;  // for its run
};

}  // namespace mneme::restore
