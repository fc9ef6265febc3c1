// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "other_llvm.h"

#include <sys/wait.h>

#include <charconv>
#include <sstream>

#include "base/confine.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "codegen/amdgpu/amdgpu.h"
#include "codegen/amdgpu/metadata.h"
#include "ir/fatal_errors.h"
#include "older_ir.h"

namespace mneme::compile {
namespace {

constexpr unsigned kOldest = 16;       // before, IR of today has types and attributes that no text can do without
constexpr char kNothing[] = "verify";  // a pipeline that changes nothing
constexpr char kBehindTheOther[] = "default<O1>";  // the host device's own, behind the other's

std::string_view after(const std::string& target) { return std::string_view(target).substr(target.find(':') + 1); }

// The first line of a tool's that is no warning.
std::string complaint(const std::string& messages) {
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.find("(ignoring feature)") == std::string::npos &&
        line.find("warning:") == std::string::npos) {
      return line;
    }
  }
  return "no reason is given";
}

// In one text: the code object's version, and the IR.
std::string prepared_text(std::string_view ir, unsigned major) {
  unsigned code_object = 0;
  std::string text = ir_for_release(ir, major, code_object);
  return std::string(1, static_cast<char>('0' + code_object)) + text;
}

}  // namespace

OtherLlvm::OtherLlvm(const std::string& path) {
  for (const std::string& folder : {path + "/bin", path}) {
    if (bin_.empty() && file_exists(folder + "/opt") && file_exists(folder + "/llc")) bin_ = folder;
  }
  if (bin_.empty()) {
    throw Error::of(Exit::kMissing, "there is no LLVM in '{}': neither it nor its folder bin has opt and llc", path);
  }
  constexpr std::string_view kVersion = "LLVM version ";
  const std::string says = run_command({bin_ + "/opt", "--version"}).output;
  const size_t at = says.find(kVersion);
  if (at != std::string::npos) {
    const size_t begin = at + kVersion.size();
    version_ = says.substr(begin, says.find_first_of(" \n", begin) - begin);
    std::from_chars(version_.data(), version_.data() + version_.size(), major_);
  }
  if (major_ < kOldest) {
    throw Error::of("LLVM {} in '{}' does not read today's IR: name one from {} on",
                    version_.empty() ? "of an unknown version" : version_, path, kOldest);
  }
}

std::string OtherLlvm::run(const bundle::KernelInfo& kernel, std::vector<std::string> command,
                           const std::string& input) const {
  const std::string tool = command[0];
  command[0] = bin_ + "/" + tool;
  const CommandResult result = run_confined_command(command, input);
  if (result.status == 0) return result.output;
  if (WIFSIGNALED(result.status)) {
    throw Error::of("kernel '{}': {} of LLVM {} {}: {}", kernel.demangled, tool, version_,
                    describe_wait_status(result.status), complaint(result.errors));
  }
  throw Error::of("kernel '{}' is not compiled by {} of LLVM {}: {}", kernel.demangled, tool, version_,
                  complaint(result.errors));
}

std::string OtherLlvm::optimise(const bundle::KernelInfo& kernel, const bundle::Configuration& configuration,
                                const std::string& text) const {
  std::vector<std::string> command = {"opt", "-passes=" + configuration.passes, "-S", "-o", "-"};
  auto add = [&](const char* option, const std::optional<uint32_t>& value) {
    if (value) command.push_back(fmt::format("{}={}", option, *value));
  };
  add("-unroll-threshold", configuration.unroll_threshold);
  add("-inline-threshold", configuration.inline_threshold);
  add("-opt-bisect-limit", configuration.opt_bisect);
  command.push_back("-");
  return run(kernel, command, text);
}

codegen::Code OtherLlvm::compile(const bundle::KernelInfo& kernel, std::string_view ir,
                                 const bundle::Configuration& configuration, const codegen::Given& given) const {
  bundle::Configuration own = configuration;
  own.llvm.clear();
  own.opt_bisect = {};
  own.unroll_threshold = own.inline_threshold = {};
  const std::string what = compiling(kernel, configuration);
  const bool is_host = configuration.target.starts_with("host:"), is_amds = configuration.target.starts_with("hip:");
  codegen::Code code;
  std::string text(ir);
  if (!is_host) {
    own.passes = kNothing;
    codegen::Given with_text = given;
    with_text.texts = true;
    code = compile_confined(kernel, ir, own, with_text);
    text = std::move(code.ir);
  }
  text = run_confined(what, [&] {
    ir::throw_fatal_errors();
    return prepared_text(text, major_);
  });
  const char code_object = text[0];
  const std::string optimised = optimise(kernel, configuration, text.substr(1));
  if (is_host) {
    own.passes = kBehindTheOther;
    codegen::Given judged = given;
    if (judged.recorded.empty()) judged.recorded = ir;
    return compile_confined(kernel, optimised, own, judged);
  }
  std::vector<std::string> command = {
      "llc", fmt::format("-O{}", configuration.codegen_opt),
      fmt::format("-mcpu={}", after(configuration.target).substr(0, after(configuration.target).find(':'))),
      "-relocation-model=pic"};
  const bool fuses = configuration.fuse || (!is_amds && optimised.find(" contract ") != std::string::npos);
  command.push_back(fmt::format("-fp-contract={}", fuses ? "fast" : "on"));
  if (is_amds && code_object != '0' && major_ < 18) {
    command.push_back(fmt::format("-amdhsa-code-object-version={}", code_object));
  }
  auto emitted = [&](const char* type) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {fmt::format("-filetype={}", type), "-o", "-", "-"});
    return run(kernel, words, optimised);
  };
  code.ir = given.texts ? optimised : std::string();
  code.assembly.clear();
  code.resources.reset();
  if (!is_amds) {
    code.bytes = emitted("asm");
    if (given.texts) code.assembly = code.bytes;
    return code;
  }
  const std::string object = emitted("obj");
  if (given.texts) code.assembly = emitted("asm");
  code.bytes = run_confined(what, [&] { return codegen::amdgpu::link(object); });
  const auto target = codegen::amdgpu::parse_target_id(after(configuration.target));
  code.resources =
      codegen::amdgpu::resources_in_code_object(bytes_of(code.bytes), kernel.name, *target, "the linked code object");
  return code;
}

codegen::Code compile_wanted(const bundle::KernelInfo& kernel, std::string_view ir, const Wanted& wanted,
                             const codegen::Given& given, const std::vector<OtherLlvm>& llvms) {
  const bundle::Configuration& configuration = wanted.configuration;
  if (configuration.llvm.empty()) return compile_confined(kernel, ir, configuration, wanted.assembler, given);
  for (const OtherLlvm& llvm : llvms) {
    if (llvm.version() != configuration.llvm) continue;
    return assembled(kernel, llvm.compile(kernel, ir, configuration, given), configuration, wanted.assembler);
  }
  throw Error::of("no --llvm is LLVM {}", configuration.llvm);
}

}  // namespace mneme::compile
