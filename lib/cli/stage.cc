// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/stage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <set>

#include "base/pipeline.h"

namespace mneme::cli {
namespace {

// The regular files open as inputs, as (device, inode): writing to one would destroy what is being read.
std::multiset<std::pair<dev_t, ino_t>>& inputs() {
  static std::multiset<std::pair<dev_t, ino_t>> files;
  return files;
}

std::optional<std::pair<dev_t, ino_t>> regular_file(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return std::pair{info.st_dev, info.st_ino};
}

std::optional<std::pair<dev_t, ino_t>> regular_file(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return std::pair{info.st_dev, info.st_ino};
}

// As after 2>&1: nobody reads a bundle from there.
bool is_where_messages_go(int fd) {
  struct stat info{}, errors{};
  return ::fstat(fd, &info) == 0 && ::fstat(STDERR_FILENO, &errors) == 0 && info.st_dev == errors.st_dev &&
         info.st_ino == errors.st_ino;
}

Fd duplicate(int fd, const std::string& name) {
  Fd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) throw system_error("cannot use " + name);
  return copy;
}

}  // namespace

void Output::add_options(Options& options) {
  options.group("Output");
  options.value("-o,--output", path_, "FILE", "write to FILE instead of standard output");
}

void Output::open() {
  open_uncleared();
  clear();
}

void Output::open_uncleared() {
  if (path_ == "-") path_.clear();
  if (path_.empty()) {
    name_ = "standard output";
    if (kind_ == Kind::kBundle && ::isatty(STDOUT_FILENO)) {
      throw Error("a bundle is not written to a terminal; use -o FILE, or pipe it into the next tool");
    }
    // The original stays open too, so that a failed close is seen, and closed in close().
    fd_ = duplicate(STDOUT_FILENO, name_);
  } else {
    name_ = "'" + path_ + "'";
    fd_ = Fd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    only_made_ = static_cast<bool>(fd_);
    if (!only_made_) fd_ = open_file(path_, O_WRONLY | O_CREAT);
  }
  auto file = regular_file(fd_.get());
  if (file && inputs().count(*file)) throw Error::of("{} is also the input; name another file", name_);
}

Output::~Output() {
  if (only_made_) ::unlink(path_.c_str());
  if (kind_ == Kind::kBundle && !is_file() && !taken_ && std::uncaught_exceptions() > 0 && is_pipe(STDOUT_FILENO) &&
      !is_where_messages_go(STDOUT_FILENO)) {
    bundle::Writer ends_it(STDOUT_FILENO, "standard output");
  }
}

void Output::clear() {
  only_made_ = false;
  if (!path_.empty() && regular_file(fd_.get()) && ::ftruncate(fd_.get(), 0) != 0) {
    throw system_error("cannot write " + name_);
  }
}

void Output::close() {
  fd_.close_checked(name_);
  if (path_.empty()) Fd(STDOUT_FILENO).close_checked(name_);
}

Input::~Input() {
  auto file = regular_file(fd_.get());
  if (!file) return;
  auto known = inputs().find(*file);
  if (known != inputs().end()) inputs().erase(known);
}

void Input::add_options(Options& options) { options.file(path_, "FILE", "read FILE instead of standard input"); }

void Input::open() {
  if (is_standard()) {
    name_ = "standard input";
    if (::isatty(STDIN_FILENO)) {
      throw Error("a bundle is expected on standard input, which is a terminal; name a file, or pipe one in");
    }
    fd_ = duplicate(STDIN_FILENO, name_);
  } else {
    name_ = "'" + path_ + "'";
    fd_ = open_file(path_, O_RDONLY);
    struct stat info{};
    if (::fstat(fd_.get(), &info) == 0 && S_ISDIR(info.st_mode)) {
      throw Error::of("{} is a folder; a bundle is expected", name_);
    }
  }
  if (auto file = regular_file(fd_.get())) inputs().insert(*file);
}

bool keep_as_input(const std::string& path) {
  auto file = regular_file(path);
  if (file) inputs().insert(*file);
  return file.has_value();
}

void check_is_no_input(const std::string& path) {
  auto file = regular_file(path);
  if (file && inputs().count(*file)) throw Error::of("'{}' is also the input; name another file", path);
}

void check_is_free(const std::string& path, const Output& output) {
  check_is_no_input(path);
  auto file = regular_file(path);
  if (file && file == regular_file(output.fd_.get()))
    throw Error::of("'{}' is also the output; name another file", path);
}

bundle::BundleInfo with_provenance(bundle::BundleInfo info, const std::string& tool, const Options& options) {
  info.provenance.push_back({tool, kVersion, options.arguments(), info.version});
  return info;
}

bool is_whole(const bundle::Reader& reader, const std::optional<bundle::Summary>& summary) {
  return !reader.truncated() && !(summary && summary->failed && reader.piped());
}

void finish(const bundle::Reader& reader, bundle::Writer& writer, Output& output,
            std::optional<bundle::Summary> summary) {
  bundle::Summary last = summary.value_or(bundle::Summary{});
  if (reader.truncated()) last.truncated = last.failed = true;
  writer.add(std::string(bundle::kSummaryMember), bundle::write(last));
  writer.finish();
  output.close();
  if (reader.truncated()) throw Error(reader.truncation() + "; the members before the cut were passed on");
  if (last.failed && reader.piped()) throw Reported();
}

}  // namespace mneme::cli
