// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hostgpu/compile/kernel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "codegen/host/abi.h"
#include "codegen/host/host.h"

namespace mneme::hostgpu {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string cache_folder() {
  if (variable("MNEME_KERNEL_CACHE") == "off") return {};
  if (std::string folder = variable("XDG_CACHE_HOME"); folder.starts_with('/')) return folder + "/mneme";
  if (std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/mneme";
  return {};
}

// What the code depends on: another compiler, or another machine sharing the folder, has files of its own.
Digest key(const objects::EmbeddedKernel& kernel, const CompileOptions& options, const std::string& compiler) {
  struct stat about{};
  ::stat(compiler.c_str(), &about);
  DigestStream stream;
  stream.add(codegen::host::kAbiVersion);
  stream.add(codegen::host::default_target());
  stream.add(options.form.size());
  stream.add(options.form);
  stream.add(uint64_t{options.check_memory});
  stream.add(options.checks.size());
  stream.add(options.checks);
  stream.add(static_cast<uint64_t>(about.st_size));
  stream.add(static_cast<uint64_t>(about.st_mtim.tv_sec));
  stream.add(static_cast<uint64_t>(about.st_mtim.tv_nsec));
  bundle::KernelInfo info = kernel.info;
  info.command = {};  // how the source was compiled is in the IR
  info.source_text = {};
  const std::string json = bundle::write(info);
  stream.add(json.size());
  stream.add(json);
  stream.add(kernel.bitcode);
  return stream.finish();
}

}  // namespace

KernelCache::KernelCache(const objects::EmbeddedKernel& kernel, const CompileOptions& options,
                         const std::string& compiler)
    : folder_(cache_folder()) {
  if (!folder_.empty()) path_ = folder_ + "/" + key(kernel, options, compiler).hex() + ".so";
}

// A file ends in the digest of what is before, which the loader does not mind.
std::optional<CachedCode> KernelCache::find() const {
  if (folder_.empty() || !file_exists(path_)) return std::nullopt;
  try {
    std::string file = read_file(path_, bundle::kMaxCodeSize + Digest::kSize);
    if (file.size() < Digest::kSize) return std::nullopt;
    Bytes all = bytes_of(file), code = all.first(all.size() - Digest::kSize);
    if (Digest::load(all.data() + code.size()) != digest_of(code)) return std::nullopt;
    file.resize(code.size());
    return CachedCode{path_, std::move(file)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string KernelCache::add(const std::string& code) const {
  if (folder_.empty()) return {};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(folder_).parent_path(), ignored);
  ::mkdir(folder_.c_str(), 0700);
  std::string partial = path_ + "-XXXXXX";
  Fd file(::mkostemp(partial.data(), O_CLOEXEC));
  if (!file) return {};
  try {
    std::byte digest[Digest::kSize];
    digest_of(code).store(digest);
    write_all(file.get(), bytes_of(code), partial);
    write_all(file.get(), digest, partial);
    file.close_checked(partial);
  } catch (const Error&) {
    ::unlink(partial.c_str());
    return {};
  }
  // Whole or not at all, whoever else is writing the same.
  if (::rename(partial.c_str(), path_.c_str()) != 0) {
    ::unlink(partial.c_str());
    return {};
  }
  return path_;
}

}  // namespace mneme::hostgpu
