// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "view.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace mneme::inject {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// A folder that only this user may write to, there already or made; empty if it cannot be.
std::string own_folder(const std::string& path) {
  ::mkdir(path.c_str(), 0700);
  struct stat about{};
  bool own = ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid() &&
             !(about.st_mode & (S_IWGRP | S_IWOTH)) && ::access(path.c_str(), W_OK) == 0;
  return own ? path : "";
}

std::string cache_folder(const std::string& of) {
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
      "cannot make a folder of links to {} in '{}' or '{}'; set XDG_CACHE_HOME to a folder that can be written", of,
      base, temporary);
}

void remove(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

}  // namespace

std::string folder_of(const View& view) {
  std::string folder = cache_folder(view.of), path = folder + "/" + view.name;
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (view.is_whole(path)) return path;
    if (attempt > 0) remove(path);  // damaged
    std::string partial = path + "-XXXXXX";
    if (!::mkdtemp(partial.data())) throw system_error("cannot make a folder in '" + folder + "'");
    try {
      view.make(partial);
    } catch (const fs::filesystem_error& error) {
      remove(partial);
      throw Error::of("cannot make '{}': {}", path, error.code().message());
    } catch (...) {
      remove(partial);
      throw;
    }
    if (::rename(partial.c_str(), path.c_str()) != 0) remove(partial);  // another compilation was faster
  }
  if (view.is_whole(path)) return path;
  throw Error::of("cannot make '{}'; remove it, and try again", path);
}

void link_entries(const std::string& from, const std::string& to) {
  for (const auto& entry : fs::directory_iterator(from)) {
    fs::create_symlink(entry.path(), fs::path(to) / entry.path().filename());
  }
}

}  // namespace mneme::inject
