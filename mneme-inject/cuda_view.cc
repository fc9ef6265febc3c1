// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"

namespace mneme::inject {
namespace {

namespace fs = std::filesystem;

constexpr int kNewestKnown = 12059;  // to clang 19: any 12.5

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// Whether its fatbinary no longer takes the options that clang 19 gives it.
bool has_new_fatbinary(const CudaToolkit& toolkit) {
  fs::path program = fs::path(toolkit.path) / "bin/fatbinary";
  if (toolkit.version <= kNewestKnown || !file_exists(program)) return false;
  std::string help = run_command({program.string(), "--help"}).output;
  return help.find("--image3 ") != std::string::npos && help.find("--image ") == std::string::npos;
}

// A folder that only this user may write to, there already or made; empty if it cannot be.
std::string own_folder(const std::string& path) {
  ::mkdir(path.c_str(), 0700);
  struct stat about{};
  bool own = ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
             !(about.st_mode & (S_IWGRP | S_IWOTH)) && ::access(path.c_str(), W_OK) == 0;
  return own ? path : "";
}

std::string cache_folder() {
  std::string base = variable("XDG_CACHE_HOME");
  if (!base.starts_with('/')) base = variable("HOME").starts_with('/') ? variable("HOME") + "/.cache" : "";
  std::error_code ignored;
  if (!base.empty()) fs::create_directories(base, ignored);
  std::string folder = base.empty() ? "" : own_folder(base + "/mneme");
  if (!folder.empty()) return folder;
  std::string temporary = variable("TMPDIR").starts_with('/') ? variable("TMPDIR") : "/tmp";
  folder = own_folder(fmt::format("{}/mneme-{}", temporary, ::geteuid()));
  if (!folder.empty()) return folder;
  throw Error::of(
      "no folder can be made in '{}' or '{}' for what clang needs to use the CUDA toolkit; set XDG_CACHE_HOME", base,
      temporary);
}

// What stands for a program of the toolkit; its own becomes toolkit-NAME beside it.
struct Stand {
  std::string name;
  std::string part;
};

std::string key_of(const CudaToolkit& toolkit, const std::vector<Stand>& stands) {
  struct stat about{};
  ::stat((toolkit.path + "/bin").c_str(), &about);  // changes when programs come and go
  DigestStream stream;
  stream.add(toolkit.path + '\0');
  stream.add(static_cast<uint64_t>(toolkit.version));
  stream.add(static_cast<uint64_t>(about.st_mtim.tv_sec));
  for (const Stand& stand : stands) stream.add(stand.part + '\0');
  stream.add(std::string_view(MNEME_VERSION));
  return stream.finish().hex().substr(0, 16);
}

void link_entries(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::directory_iterator(from)) fs::create_symlink(entry.path(), to / entry.path().filename());
}

void make_links(const fs::path& view, const fs::path& toolkit, const std::vector<Stand>& stands) {
  link_entries(toolkit, view);
  fs::remove(view / "bin");
  fs::create_directory(view / "bin");
  link_entries(toolkit / "bin", view / "bin");
  for (const Stand& stand : stands) {
    fs::rename(view / "bin" / stand.name, view / "bin" / ("toolkit-" + stand.name));
    fs::create_symlink(stand.part, view / "bin" / stand.name);
  }
}

bool is_whole(const fs::path& view, const std::vector<Stand>& stands) {
  for (const Stand& stand : stands) {
    if (!file_exists(view / "bin" / ("toolkit-" + stand.name)) || !file_exists(view / "bin" / stand.name)) return false;
  }
  return file_exists(view);
}

void remove(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace

std::string cuda_path(const CudaToolkit& toolkit) {
  // --print-flags gives the folder of links to whoever asks, and so it may be named here.
  if (file_exists(toolkit.path + "/bin/toolkit-ptxas")) return toolkit.path;
  std::vector<Stand> stands;
  for (const char* name : {"ptxas", "nvlink"}) {
    bool there = file_exists(toolkit.path + "/bin/" + name);
    if (there) stands.push_back({name, installed_part(fmt::format("cuda/{}", name))});
  }
  if (has_new_fatbinary(toolkit)) stands.push_back({"fatbinary", installed_part("cuda/fatbinary")});
  std::string folder = cache_folder(), view = folder + "/cuda-" + key_of(toolkit, stands);
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (is_whole(view, stands)) return view;
    if (attempt > 0) remove(view);  // damaged
    std::string partial = view + "-XXXXXX";
    if (!::mkdtemp(partial.data())) throw system_error("cannot make a folder in '" + folder + "'");
    try {
      make_links(partial, toolkit.path, stands);
    } catch (const fs::filesystem_error& error) {
      remove(partial);
      throw Error::of("cannot make '{}': {}", view, error.code().message());
    }
    if (::rename(partial.c_str(), view.c_str()) != 0) remove(partial);  // another compilation was faster
  }
  if (is_whole(view, stands)) return view;
  throw Error::of("cannot make '{}'; remove it, and try again", view);
}

std::vector<std::string> cuda_compile_flags(const CudaToolkit& toolkit, bool headers) {
  std::vector<std::string> flags;
  if (toolkit.version > kNewestKnown) flags.push_back("-Wno-unknown-cuda-version");
  if (!headers) return flags;
  auto add = [&](const fs::path& folder) { flags.insert(flags.end(), {"-isystem", folder.string()}); };
  add(fs::path(installed_part("cuda/include/__clang_cuda_intrinsics.h")).parent_path());
  // By their own names, not by those of links, in what the compiler says they depend on. The system's folder has a
  // place in the order that it must keep.
  fs::path include = fs::path(toolkit.path) / "include";
  std::error_code ignored;
  if (fs::canonical(include, ignored) != "/usr/include") add(include);
  if (file_exists(include / "cccl")) add(include / "cccl");
  return flags;
}

}  // namespace mneme::inject
