// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "edits.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "bundle/format.h"
#include "ir/binary_kernels.h"
#include "objects/embedded.h"

namespace mneme::compile {
namespace {

constexpr size_t kMaxBinary = size_t{8} << 30;
constexpr char kAnswerWithRecords[] = "MNEME_INJECT_RECORDS";  // mneme-inject/command.h

// "add" of "void add<int>(int*, int)".
std::string_view plain_name(std::string_view demangled) {
  std::string_view name = demangled.substr(0, demangled.find_first_of("(<"));
  return name.substr(name.rfind(' ') == std::string_view::npos ? 0 : name.rfind(' ') + 1);
}

std::string triple_of(const bundle::KernelInfo& kernel) { return kernel.target.substr(0, kernel.target.rfind("--")); }

// The first error of a compiler's messages; of what is not found, what to do.
std::string complaint(const std::string& messages, const std::string& path) {
  constexpr std::string_view kError = "error: ";
  constexpr std::string_view kNotFound = "' file not found";
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(kError);
    if (at == std::string::npos) continue;
    if (const size_t end = line.find(kNotFound); end != std::string::npos) {
      const size_t begin = line.rfind('\'', end - 1) + 1;
      return fmt::format(
          "'{}' needs the header '{}', which is not on this machine: mneme-extract-ir --source DIR writes those that "
          "mneme-inject --embed-source embedded; edit and compile the file there",
          path, line.substr(begin, end - begin));
    }
    return fmt::format("'{}' is not compiled: {}", path, line);
  }
  return {};
}

}  // namespace

void check_arguments(const bundle::KernelInfo& recorded, const bundle::KernelInfo& found, const std::string& path) {
  auto same = [](const bundle::Argument& one, const bundle::Argument& other) {
    return one.offset == other.offset && one.size == other.size && one.kind == other.kind;
  };
  if (std::ranges::equal(recorded.arguments, found.arguments, same)) return;
  throw Error::of(
      "kernel '{}' takes other arguments in '{}', as '{}': recorded launches have the recorded ones, so its parameters "
      "must stay",
      recorded.demangled, path, found.demangled);
}

Edits Edits::from_binary(const std::string& path) {
  Edits edits;
  edits.path_ = path;
  const std::string file = read_file(path, kMaxBinary);
  if (!ir::is_binary(file)) throw Error::of("'{}' is no executable, object file or library", path);
  ir::BinaryKernels binary = ir::kernels_of_binary(bytes_of(file), "'" + path + "'");
  if (!binary.lack.empty()) throw Error::of("'{}' {}", path, binary.lack);
  for (bundle::KernelMember& kernel : binary.kernels) {
    edits.kernels_.push_back({std::move(kernel.info), std::move(kernel.bitcode)});
  }
  return edits;
}

Edits Edits::from_source(const std::string& path, Trust trust) {
  if (!file_exists(path)) throw Error::of("'{}' is not there", path);
  Edits edits;
  edits.path_ = path;
  edits.is_source_ = true;
  edits.trust_ = std::move(trust);
  return edits;
}

const Edits::Kernels& Edits::kernels_for(const bundle::KernelInfo& kernel) {
  if (!is_source_) return kernels_;
  const std::vector<std::string> command = source_command(kernel, path_, trust_);
  auto [known, fresh] = compiled_.try_emplace(fmt::format("{}", fmt::join(command, "\n")));
  if (!fresh) return known->second;
  ::setenv(kAnswerWithRecords, "1", 1);
  const CommandResult result = run_confined_command(command, {});
  ::unsetenv(kAnswerWithRecords);
  if (result.status != 0) {
    write_all(STDERR_FILENO, bytes_of(result.errors), "standard error");
    compiled_.erase(known);
    const std::string why = complaint(result.errors, path_);
    throw Error(why.empty()
                    ? fmt::format("'{}' is not compiled: the compiler {}", path_, describe_wait_status(result.status))
                    : why);
  }
  for (const objects::EmbeddedKernel& found : objects::parse_embedded(bytes_of(result.output), "'" + path_ + "'")) {
    known->second.push_back({found.info, std::string(text_of(found.bitcode))});
  }
  return known->second;
}

std::string Edits::ir_of(const bundle::KernelInfo& kernel) {
  if (!has_ir(kernel)) {
    throw Error::of("kernel '{}' was recorded without IR: --code takes other code for it", kernel.demangled);
  }
  const Kernels& all = kernels_for(kernel);
  const Kernel* found = nullptr;
  for (const Kernel& one : all) {
    if (one.info.name != kernel.name || triple_of(one.info) != triple_of(kernel)) continue;
    if (!found || (found->info.target != kernel.target && one.info.target == kernel.target)) found = &one;
  }
  if (found) {
    check_arguments(kernel, found->info, path_);
    return found->ir;
  }
  std::vector<std::string> names;
  for (const Kernel& one : all) {
    if (one.info.name == kernel.name) {
      throw Error::of("'{}' has kernel '{}' for {}, and it was recorded for {}", path_, kernel.demangled,
                      one.info.target, kernel.target);
    }
    if (plain_name(one.info.demangled) == plain_name(kernel.demangled)) {
      throw Error::of(
          "kernel '{}' takes other arguments in '{}', as '{}': recorded launches have the recorded ones, so its "
          "parameters must stay",
          kernel.demangled, path_, one.info.demangled);
    }
    names.push_back("'" + one.info.demangled + "'");
  }
  if (names.empty()) throw Error::of("'{}' has no kernel", path_);
  throw Error::of("'{}' has no kernel '{}', only {}", path_, kernel.demangled, fmt::join(names, ", "));
}

}  // namespace mneme::compile
