// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.h"

#include <fcntl.h>
#include <unistd.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "objects/embedded.h"

namespace mneme::extract {
namespace {

constexpr size_t kLongestMagic = 24;
constexpr size_t kMaxBinary = size_t{8} << 30;

bool is_elf(std::string_view bytes) { return bytes.starts_with("\177ELF"); }
bool is_fatbin(std::string_view bytes) {
  return bytes.starts_with("__CLANG_OFFLOAD_BUNDLE__") || bytes.starts_with("CCOB") ||
         bytes.starts_with("\x50\xED\x55\xBA");
}

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

  void add(const bundle::KernelInfo& info, std::string_view bitcode) {
    if (met_.insert(info.id).second && selection_.kernel(info)) found_.kernels.push_back({info, std::string(bitcode)});
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
  while (auto item = reader.next()) {
    if (auto* kernel = std::get_if<bundle::KernelMember>(&*item)) collector.add(kernel->info, kernel->bitcode);
    if (auto* instance = std::get_if<bundle::InstanceMember>(&*item)) {
      if (selection.instance(instance->info.id)) launched.insert(instance->info.kernel);
    }
  }
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
  Bytes bytes = bytes_of(file);
  size_t met = 0;
  auto collect = [&](Bytes code_object) {
    Bytes section = objects::elf_section(code_object, objects::kEmbeddedSection, input.name());
    for (const objects::EmbeddedKernel& kernel : objects::parse_embedded(section, input.name())) {
      collector.add(kernel.info, text_of(kernel.bitcode));
      ++met;
    }
  };
  std::vector<objects::DeviceCode> codes;
  if (is_fatbin(file)) {
    codes = objects::device_code_of_fatbin(bytes.data(), bytes.size(), input.name());
  } else {
    collect(bytes);  // it may be a device code object itself
    codes = objects::device_code_of_executable(bytes, input.name());
  }
  for (const objects::DeviceCode& code : codes) collect(code.image);
  if (met == 0) {
    throw Error::of("{} has no embedded kernel IR{}; build it with mneme-inject", input.name(),
                    codes.empty() ? " and no device code" : "");
  }
}

}  // namespace

Found find_kernels(const cli::Input& input, const cli::Selection& selection, const std::string& target) {
  Collector collector(selection);
  std::string magic = peek(input.fd());
  bool binary = is_elf(magic) || is_fatbin(magic);
  (binary ? collect_from_binary : collect_from_bundle)(input, selection, collector);
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
