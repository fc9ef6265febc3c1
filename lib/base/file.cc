// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace mneme {

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

void Fd::close_checked(const std::string& name) {
  if (::close(release()) != 0) throw system_error("cannot finish writing " + name);
}

Fd open_file(const std::string& path, int flags, int mode) {
  int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (fd < 0) {
    throw system_error(((flags & O_ACCMODE) == O_RDONLY ? "cannot open '" : "cannot write '") + path + "'");
  }
  return Fd(fd);
}

std::string read_all(int fd, const std::string& name, size_t limit) {
  // Not on the stack, which may be one of an application's threads, and small.
  std::string out(4096, '\0');
  size_t size = 0;
  for (;;) {
    if (size == out.size()) out.resize(2 * size);
    ssize_t n = ::read(fd, out.data() + size, out.size() - size);
    if (n < 0) {
      if (errno == EINTR) continue;
      throw system_error("cannot read " + name);
    }
    if (n == 0) break;
    size += static_cast<size_t>(n);
    if (size > limit) throw Error::of("{} is larger than {} bytes", name, limit);
  }
  out.resize(size);
  out.shrink_to_fit();
  return out;
}

std::string read_file(const std::string& path, size_t limit) {
  return read_all(open_file(path, O_RDONLY).get(), "'" + path + "'", limit);
}

void write_all(int fd, Bytes bytes, const std::string& name) {
  while (!bytes.empty()) {
    ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      throw system_error("cannot write " + name);
    }
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void write_file(const std::string& path, std::string_view contents) {
  Fd fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  write_all(fd.get(), bytes_of(contents), "'" + path + "'");
  fd.close_checked("'" + path + "'");
}

bool read_exactly(int fd, std::span<std::byte> out, const std::string& name) {
  size_t done = 0;
  while (done < out.size()) {
    ssize_t n = ::read(fd, out.data() + done, out.size() - done);
    if (n == 0) {
      if (done == 0) return false;
      throw Error::of("{} ends in the middle of a message", name);
    }
    if (n < 0) {
      if (errno == EINTR) continue;
      throw system_error("cannot read " + name);
    }
    done += static_cast<size_t>(n);
  }
  return true;
}

bool file_exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

TemporaryFolder::TemporaryFolder(const std::string& prefix) {
  const char* base = std::getenv("TMPDIR");
  path_ = std::string(base && *base ? base : "/tmp") + "/" + prefix + "-XXXXXX";
  if (!::mkdtemp(path_.data())) throw system_error("cannot create a temporary folder '" + path_ + "'");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string installed_part(const std::string& name) {
  namespace fs = std::filesystem;
  if (const char* folder = std::getenv("MNEME_LIBDIR")) {
    std::string path = std::string(folder) + "/" + name;
    if (file_exists(path)) return path;
  }
  Dl_info info{};
  std::error_code ignored;
  fs::path self = fs::read_symlink("/proc/self/exe", ignored);
  fs::path object;
  if (::dladdr(reinterpret_cast<void*>(&installed_part), &info) && info.dli_fname) {
    object = fs::canonical(info.dli_fname, ignored);
  }
  // <prefix>/bin/tool and <prefix>/lib/mneme[/sub]/part: the build tree has the same shape.
  for (const fs::path& from : {object, self}) {
    for (fs::path up = from.parent_path(); !up.empty(); up = up.parent_path()) {
      for (const fs::path& candidate : {up / "lib" / "mneme" / name, up / name}) {
        if (candidate.has_filename() && fs::is_regular_file(candidate, ignored)) return candidate.string();
      }
      if (up == up.root_path()) break;
    }
  }
  throw Error::of(Exit::kMissing, "this installation of Mneme lacks '{}'; build or install it again", name);
}

}  // namespace mneme
