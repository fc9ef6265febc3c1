// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "kernels.h"

#include <fcntl.h>
#include <llvm/Object/Archive.h>
#include <llvm/Object/ObjectFile.h>
#include <unistd.h>

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/pipeline.h"
#include "objects/lifted_kernels.h"

namespace mneme::extract {
namespace {

constexpr size_t kLongestMagic = 24;
constexpr size_t kMaxBinary = size_t{8} << 30;

bool is_archive(std::string_view bytes) { return bytes.starts_with("!<arch>\n") || bytes.starts_with("!<thin>\n"); }
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

  void add(bundle::KernelMember kernel) {
    if (met_.insert(kernel.info.id).second && selection_.kernel(kernel.info))
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

// As its symbols tell; true where they do not.
bool may_have_kernels(Bytes image) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(text_of(image)), "device code"));
  if (!object) {
    llvm::consumeError(object.takeError());
    return true;
  }
  auto named = [](auto& part) {
    auto name = part.getName();
    if (name) return *name;
    llvm::consumeError(name.takeError());
    return llvm::StringRef();
  };
  if ((*object)->isELF() && (*object)->getArch() == llvm::Triple::amdgcn) {
    return llvm::any_of((*object)->symbols(), [&](auto symbol) { return named(symbol).ends_with(".kd"); });
  }
  return llvm::any_of((*object)->sections(),
                      [&](auto section) { return named(section).starts_with(".nv.constant0."); });
}

class Binaries {
 public:
  explicit Binaries(Collector& collector) : collector_(collector) {}

  void add(const std::string& name, Bytes file) {
    if (is_archive(text_of(file))) {
      add_archive(name, file);
    } else if (is_fatbin(text_of(file))) {
      add_codes(name, objects::device_code_of_fatbin(file.data(), file.size(), name));
    } else if (is_elf(text_of(file))) {
      collect(name, file);  // it may be a device code object itself
      std::vector<objects::DeviceCode> ptx;
      add_codes(name, objects::device_code_of_executable(file, name, &ptx));
      if (met_ == 0) lift(name, ptx);
    }
  }

  // Why there are no kernels, if there are none.
  std::string lack() const {
    if (met_ > 0) return {};
    if (codes_ == 0) return "has no embedded kernel IR and no device code; build it with mneme-inject";
    if (!has_kernels_) return "has device code, and no kernels in it";
    return "has no embedded kernel IR; build it with mneme-inject";
  }

 private:
  void add_archive(const std::string& name, Bytes file) {
    auto archive = llvm::object::Archive::create(llvm::MemoryBufferRef(llvm::StringRef(text_of(file)), name));
    if (!archive) throw Error::of("{} is not a static library: {}", name, llvm::toString(archive.takeError()));
    llvm::Error failure = llvm::Error::success();
    for (const llvm::object::Archive::Child& child : (*archive)->children(failure)) {
      auto member = child.getMemoryBufferRef();
      if (!member) throw Error::of("{}: a member cannot be read: {}", name, llvm::toString(member.takeError()));
      add(name, bytes_of(std::string_view(member->getBuffer())));
    }
    if (failure) throw Error::of("{} is damaged: {}", name, llvm::toString(std::move(failure)));
  }
  void add_codes(const std::string& name, const std::vector<objects::DeviceCode>& codes) {
    for (const objects::DeviceCode& code : codes) {
      ++codes_;
      has_kernels_ |= may_have_kernels(code.image);
      collect(name, code.image);
    }
  }
  // Of an executable that no compiler of ours has made.
  void lift(const std::string& name, const std::vector<objects::DeviceCode>& ptx) {
    for (const objects::DeviceCode& text : ptx) {
      objects::LiftedKernels lifted = objects::lift_kernels(text.image);
      add_records(name, bytes_of(lifted.records));
      for (const auto& [kernel, why] : lifted.refused) {
        cli::warn(fmt::format("kernel '{}' has no IR, and none can be made of its PTX: {}", kernel, why));
      }
    }
  }
  void collect(const std::string& name, Bytes code_object) {
    add_records(name, objects::elf_section(code_object, objects::kEmbeddedSection, name));
  }
  void add_records(const std::string& name, Bytes records) {
    for (const objects::EmbeddedKernel& kernel : objects::parse_embedded(records, name)) {
      collector_.add({kernel.info, std::string(text_of(kernel.bitcode))});
      ++met_;
    }
  }

  Collector& collector_;
  size_t met_ = 0, codes_ = 0;
  bool has_kernels_ = false;
};

void collect_from_binary(const cli::Input& input, const cli::Selection& selection, Collector& collector) {
  if (selection.selects_instances()) {
    throw Error::of("{} is a binary, which holds no instances: --instance needs a bundle", input.name());
  }
  std::string file = read_all(input.fd(), input.name(), kMaxBinary);
  Binaries binaries(collector);
  binaries.add(input.name(), bytes_of(file));
  if (std::string lack = binaries.lack(); !lack.empty()) throw Error::of("{} {}", input.name(), lack);
}

}  // namespace

Found find_kernels(const cli::Input& input, const cli::Selection& selection, const std::string& target) {
  Collector collector(selection);
  std::string magic = peek(input.fd());
  bool binary = is_elf(magic) || is_fatbin(magic) || is_archive(magic);
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
