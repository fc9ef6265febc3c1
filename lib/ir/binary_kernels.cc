// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/binary_kernels.h"

#include <llvm/Object/Archive.h>
#include <llvm/Object/ObjectFile.h>

#include "base/error.h"
#include "objects/embedded.h"
#include "objects/lifted_kernels.h"
#include "objects/source.h"

namespace mneme::ir {
namespace {

bool is_archive(std::string_view bytes) { return bytes.starts_with("!<arch>\n") || bytes.starts_with("!<thin>\n"); }
bool is_elf(std::string_view bytes) { return bytes.starts_with("\177ELF"); }
bool is_fatbin(std::string_view bytes) {
  return bytes.starts_with("__CLANG_OFFLOAD_BUNDLE__") || bytes.starts_with("CCOB") ||
         bytes.starts_with("\x50\xED\x55\xBA");
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
  explicit Binaries(BinaryKernels& found) : found_(found) {}

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
      found_.refused.merge(lifted.refused);
    }
  }
  void collect(const std::string& name, Bytes code_object) {
    add_records(name, objects::elf_section(code_object, objects::kEmbeddedSection, name));
    const Bytes sources = objects::elf_section(code_object, objects::kSourceSection, name);
    for (Bytes source : objects::parse_sources(sources, name))
      found_.sources.try_emplace(digest_of(source), text_of(source));
  }
  void add_records(const std::string& name, Bytes records) {
    for (const objects::EmbeddedKernel& kernel : objects::parse_embedded(records, name)) {
      found_.kernels.push_back({kernel.info, std::string(text_of(kernel.bitcode))});
      ++met_;
    }
  }

  BinaryKernels& found_;
  size_t met_ = 0, codes_ = 0;
  bool has_kernels_ = false;
};

}  // namespace

bool is_binary(std::string_view bytes) { return is_elf(bytes) || is_fatbin(bytes) || is_archive(bytes); }

BinaryKernels kernels_of_binary(Bytes file, const std::string& name) {
  BinaryKernels found;
  Binaries binaries(found);
  binaries.add(name, file);
  found.lack = binaries.lack();
  return found;
}

}  // namespace mneme::ir
