// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "objects/embedded.h"

namespace mneme::capture {
namespace {

// Programs may be large, and little of them is looked at.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    Fd file = open_file(path, O_RDONLY);
    struct stat status{};
    if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
    size_ = static_cast<size_t>(status.st_size);
    memory_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
  }
  ~MappedFile() {
    if (memory_ != MAP_FAILED) ::munmap(memory_, size_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const {
    if (memory_ == MAP_FAILED) return {};
    return {static_cast<const std::byte*>(memory_), size_};
  }

 private:
  void* memory_ = MAP_FAILED;
  size_t size_ = 0;
};

bool is_elf(Bytes file) { return text_of(file).starts_with(std::string_view(ELFMAG, SELFMAG)); }

bool has_section(Bytes elf, std::string_view name, const std::string& path) {
  return !objects::elf_section(elf, name, path).empty();
}

bool has_cuda_code(Bytes elf, const std::string& path) {
  return has_section(elf, ".nv_fatbin", path) || has_section(elf, "__nv_relfatbin", path);
}

bool has_hip_code(Bytes elf, const std::string& path) { return has_section(elf, ".hip_fatbin", path); }

// A line of the loader's list for each library: "libcudart.so.13 => /usr/local/cuda/lib64/libcudart.so.13 (0x00007f…)".
// Its loader is asked, which does not run the program for that; with this LD_LIBRARY_PATH, if one is given. Empty: it
// is a static program. nullopt: it lacks some.
std::optional<std::string> libraries_of(Bytes program, const std::string& path, const std::string& library_path = {}) {
  std::string_view loader = text_of(objects::elf_section(program, ".interp", path));
  if (loader.empty()) return std::string();
  std::vector<std::string> command{std::string(loader.substr(0, loader.find('\0')))};
  if (!library_path.empty()) command.insert(command.end(), {"--library-path", library_path});
  command.insert(command.end(), {"--list", path});
  CommandResult listed = run_command(command);
  if (listed.status != 0) return std::nullopt;
  return std::move(listed.output);
}

// LD_LIBRARY_PATH with this folder before the rest; empty for none: as it is.
std::string library_path_with(const std::string& folder) {
  const char* before = std::getenv("LD_LIBRARY_PATH");
  return !folder.empty() && before && *before ? folder + ":" + before : folder;
}

ProgramKind kind_of_library(std::istringstream line) {
  std::string name, arrow, path;
  line >> name >> arrow >> path;
  if (name.starts_with("libcudart.so") || name.starts_with("libcuda.so")) return ProgramKind::kCuda;
  if (name.starts_with("libamdhip64.so")) return ProgramKind::kHip;
  if (arrow != "=>" || !path.starts_with('/')) return ProgramKind::kUnknown;
  MappedFile file(path);
  if (!is_elf(file.bytes())) return ProgramKind::kUnknown;
  if (has_cuda_code(file.bytes(), path)) return ProgramKind::kCuda;
  return has_hip_code(file.bytes(), path) ? ProgramKind::kHip : ProgramKind::kUnknown;
}

ProgramKind kind_of_program(const std::string& path) {
  MappedFile file(path);
  if (!is_elf(file.bytes())) return ProgramKind::kUnknown;
  // A HIP program's libraries may know both.
  if (has_hip_code(file.bytes(), path)) return ProgramKind::kHip;
  if (has_cuda_code(file.bytes(), path)) return ProgramKind::kCuda;
  std::istringstream lines(libraries_of(file.bytes(), path).value_or(""));
  ProgramKind kind = ProgramKind::kUnknown;
  for (std::string line; kind != ProgramKind::kCuda && std::getline(lines, line);) {
    ProgramKind library = kind_of_library(std::istringstream(line));
    if (library != ProgramKind::kUnknown) kind = library;
  }
  return kind;
}

ProgramKind kind_of_word(const std::string& word) {
  std::string path = resolve_program(word);
  try {
    return path.empty() ? ProgramKind::kUnknown : kind_of_program(path);
  } catch (const Error&) {
    return ProgramKind::kUnknown;  // what is no program, or cannot be read, tells nothing
  }
}

bool has_static_cudart(const std::string& word, const std::string& folder) {
  std::string path = resolve_program(word);
  if (path.empty()) return false;
  try {
    MappedFile file(path);
    if (!is_elf(file.bytes()) || !has_cuda_code(file.bytes(), path)) return false;
    std::optional<std::string> libraries = libraries_of(file.bytes(), path, library_path_with(folder));
    return libraries && libraries->find("libcudart.so") == std::string::npos;
  } catch (const Error&) {
    return false;
  }
}

void add_overruled(const std::string& word, const std::string& folder, std::set<std::string>& found) {
  std::string path = resolve_program(word);
  if (path.empty()) return;
  try {
    MappedFile file(path);
    if (!is_elf(file.bytes())) return;
    std::istringstream lines(libraries_of(file.bytes(), path, library_path_with(folder)).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      std::string name, arrow, given;
      std::istringstream(line) >> name >> arrow >> given;
      std::string ours = folder + "/" + name;
      if (arrow == "=>" && given != ours && file_exists(ours)) found.insert(ours);
    }
  } catch (const Error&) {  // what is no program, or cannot be read, tells nothing
  }
}

}  // namespace

ProgramKind kind_of_programs(const std::vector<std::string>& command) {
  ProgramKind kind = ProgramKind::kUnknown;
  for (const std::string& word : command) {
    ProgramKind one = kind_of_word(word);
    if (one == ProgramKind::kCuda) return one;
    if (one == ProgramKind::kHip) kind = one;
  }
  return kind;
}

std::string with_static_cudart(const std::vector<std::string>& command, const std::string& folder) {
  auto found = std::ranges::find_if(command, [&](const std::string& word) { return has_static_cudart(word, folder); });
  return found == command.end() ? std::string() : *found;
}

std::vector<std::string> overruled_libraries(const std::vector<std::string>& command, const std::string& folder) {
  std::set<std::string> found;
  for (const std::string& word : command) add_overruled(word, folder, found);
  return {found.begin(), found.end()};
}

}  // namespace mneme::capture
