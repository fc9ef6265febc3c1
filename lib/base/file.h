// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "base/digest.h"

namespace mneme {

// Owns a file descriptor; closes it quietly. Where a failed close matters, call close_checked().
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }
  void close_checked(const std::string& name);  // throws Error naming `name`

 private:
  int fd_ = -1;
};

// All throw Error with the path and the system's reason.
Fd open_file(const std::string& path, int flags, int mode = 0666);  // O_CLOEXEC is added
std::string read_file(const std::string& path, size_t limit = SIZE_MAX);
std::string read_all(int fd, const std::string& name, size_t limit = SIZE_MAX);
void write_file(const std::string& path, std::string_view contents);
void write_all(int fd, Bytes bytes, const std::string& name);  // a closed pipe is an Error too
// Reads exactly out.size() bytes; false at end of file before the first, Error in the middle.
bool read_exactly(int fd, std::span<std::byte> out, const std::string& name);
// An anonymous file in memory holding `contents`, offset 0. Where the system forbids those (a container's rules may):
// a file without a name in $TMPDIR or /tmp.
Fd memory_file(const std::string& name, Bytes contents = {});
// The same, of `size` zeros to be mapped. Where it is on a disk, its space is taken already.
Fd zeroed_memory_file(const std::string& name, uint64_t size);
// Makes sure that memory_file() works that many times more, though this process may soon create no files.
void set_memory_files_aside(size_t count);
// How large a file this process may make (ulimit -f), in bytes.
uint64_t largest_file();
bool file_exists(const std::string& path);

// A folder that exists until this object dies, made under $TMPDIR or /tmp.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& prefix = "mneme");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Where this installation's parts are, found from the running executable (or shared object), so
// that a build tree and an installed copy both work from anywhere. `name` is relative to
// <prefix>/lib/mneme, e.g. "libmneme-record.so", "hostgpu/libamdhip64.so.5". Throws Error
// (Exit::kMissing) naming the part when it is not there. $MNEME_LIBDIR overrides the folder.
std::string installed_part(const std::string& name);

}  // namespace mneme
