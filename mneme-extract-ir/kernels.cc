// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.h"

#include <fcntl.h>
#include <unistd.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/pipeline.h"
#include "ir/binary_kernels.h"

namespace mneme::extract {
namespace {

constexpr size_t kLongestMagic = 24;
constexpr size_t kMaxBinary = size_t{8} << 30;

// The first bytes of the input, which stay to be read.
std::string peek(int fd) {
  char bytes[kLongestMagic];
  ssize_t size = ::pread(fd, bytes, sizeof bytes, ::lseek(fd, 0, SEEK_CUR));
  if (size < 0) {  // a pipe
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("cannot create a pipe");
    Fd from(ends[0]), to(ends[1]);
    size = ::tee(fd, to.get(), sizeof bytes, 0);
    if (size > 0) size = ::read(from.get(), bytes, static_cast<size_t>(size));
  }
  return {bytes, static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

class Collector {
 public:
  explicit Collector(const cli::Selection& selection) : selection_(selection) {}

  void add(bundle::KernelMember kernel) {
    if (!met_.insert(kernel.info.id).second || !selection_.kernel(kernel.info)) return;
    if (!kernel.source.empty()) found_.sources.try_emplace(kernel.info.source_text, std::move(kernel.source));
    kernel.source.clear();
    found_.kernels.push_back(std::move(kernel));
  }

  Found& found() { return found_; }

 private:
  const cli::Selection& selection_;
  std::set<Digest> met_;  // two translation units may instantiate the same template
  Found found_;
};

void collect_from_bundle(const cli::Input& input, const cli::Selection& selection, Collector& collector) {
  bundle::Reader reader(input.fd(), input.name(), bundle::Memory::kPass);
  std::set<Digest> launched;  // kernels of selected instances
  bool failed_before = false;
  while (auto item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) collector.add(std::move(*kernel));
    if (auto* summary = std::get_if<bundle::Summary>(&*item)) failed_before = summary->failed && reader.piped();
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) {
      if (selection.instance(instance->info.id)) launched.insert(instance->info.kernel);
    }
  }
  if (failed_before) throw Reported();
  Found& found = collector.found();
  if (selection.selects_instances()) {
    std::erase_if(found.kernels, [&](const auto& kernel) { return !launched.contains(kernel.info.id); });
  }
  if (reader.truncated()) found.truncation = reader.truncation();
}

void collect_from_binary(const cli::Input& input, const cli::Selection& selection, Collector& collector) {
  if (selection.selects_instances()) {
    throw Error::of("{} is a binary, which holds no instances: --instance needs a bundle", input.name());
  }
  std::string file = read_all(input.fd(), input.name(), kMaxBinary);
  ir::BinaryKernels binary = ir::kernels_of_binary(bytes_of(file), input.name());
  for (const auto& [kernel, why] : binary.refused) {
    cli::warn(fmt::format("kernel '{}' has no IR, and none can be made of its PTX: {}", kernel, why));
  }
  if (!binary.lack.empty()) throw Error::of("{} {}", input.name(), binary.lack);
  for (bundle::KernelMember& kernel : binary.kernels) collector.add(std::move(kernel));
  collector.found().sources = std::move(binary.sources);
}

}  // namespace

Found find_kernels(const cli::Input& input, const cli::Selection& selection, const std::string& target) {
  Collector collector(selection);
  std::string magic = peek(input.fd());
  (ir::is_binary(magic) ? collect_from_binary : collect_from_bundle)(input, selection, collector);
  Found& found = collector.found();
  if (!found.truncation.empty() && found.kernels.empty()) throw Error(found.truncation);
  selection.check_met();
  if (found.kernels.empty()) throw Error::of("{} holds no kernels", input.name());
  std::erase_if(found.kernels,
                [&](const auto& kernel) { return kernel.info.target.find(target) == std::string::npos; });
  if (found.kernels.empty()) throw Error::of("no kernel is for --target '{}'; see --list", target);
  return std::move(found);
}

}  // namespace mneme::extract
