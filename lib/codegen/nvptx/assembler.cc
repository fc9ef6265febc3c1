// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/nvptx/assembler.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/confine.h"
#include "base/cuda_toolkit.h"
#include "base/error.h"
#include "base/file.h"
#include "codegen/nvptx/nvjitlink.h"
#include "objects/cubin.h"

namespace mneme::codegen::nvptx {
namespace {

constexpr char kPtxas[] = "ptxas", kNvJitLink[] = "nvjitlink";
constexpr char kNvJitLinkFiles[][20] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};

std::optional<Assembler> find_ptxas() {
  auto toolkit = find_cuda_toolkit("");
  std::string program = toolkit ? resolve_program(toolkit->path + "/bin/ptxas") : "";
  if (program.empty()) program = resolve_program("ptxas");
  if (program.empty()) return std::nullopt;
  // "Cuda compilation tools, release 13.0, V13.0.88"
  std::string said = run_command({program, "--version"}).output;
  size_t begin = said.find(", V");
  if (begin == std::string::npos) return std::nullopt;
  begin += 3;
  return Assembler{kPtxas, said.substr(begin, said.find_first_not_of("0123456789.", begin) - begin), program};
}

std::optional<Assembler> find_nvjitlink() {
  auto toolkit = find_cuda_toolkit("");
  std::string folder = toolkit ? runtime_library_folder(*toolkit) : "";
  for (const std::string& place : {folder + "/", std::string()}) {
    if (place == "/") continue;
    for (const char* file : kNvJitLinkFiles) {
      if (auto library = NvJitLink::load(place + file)) return Assembler{kNvJitLink, library->version(), place + file};
    }
  }
  return std::nullopt;
}

std::vector<std::string> options_of(const bundle::Configuration& configuration) {
  std::vector<std::string> options = {"-arch=" + configuration.target.substr(sizeof "cuda:" - 1)};
  if (configuration.max_registers) options.push_back(fmt::format("-maxrregcount={}", configuration.max_registers));
  return options;
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0')) text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

NvJitLink::Linked run_ptxas(const Assembler& assembler, const std::string& ptx,
                            const bundle::Configuration& configuration) {
  std::vector<std::string> command = options_of(configuration);
  command.insert(command.begin(), assembler.path);
  command.insert(command.end(),
                 {fmt::format("-O{}", configuration.ptxas_level), "-v", "/dev/stdin", "-o", "/dev/stdout"});
  CommandResult result = run_confined_command(command, ptx);
  if (result.status == 0) return {std::move(result.output), std::move(result.errors)};
  return {"", result.errors.empty() ? "it " + describe_wait_status(result.status) : std::move(result.errors)};
}

NvJitLink::Linked run_nvjitlink(const Assembler& assembler, const std::string& what, const std::string& ptx,
                                const bundle::Configuration& configuration) {
  std::vector<std::string> options = options_of(configuration);
  options.insert(options.end(), {fmt::format("-Xptxas=-O{}", configuration.ptxas_level), "-verbose"});
  auto library = NvJitLink::load(assembler.path);
  if (!library) throw Error::of(Exit::kMissing, "'{}' is no longer there", assembler.path);
  std::string answer = run_confined(what, [&] {
    NvJitLink::Linked linked = library->assemble(ptx, options);
    return fmt::format("{}:", linked.log.size()) + linked.log + linked.cubin;
  });
  size_t size = std::stoul(answer), begin = answer.find(':') + 1;
  return {answer.substr(begin + size), answer.substr(begin, size)};
}

// The number in front of `unit` in a line of the log: "16 bytes spill stores".
uint64_t number_before(std::string_view line, std::string_view unit) {
  size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t begin = at;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  return std::strtoull(std::string(line.substr(begin, at - begin)).c_str(), nullptr, 10);
}

}  // namespace

std::optional<Assembler> find_assembler(const std::string& wanted) {
  std::optional<Assembler> found;
  if (wanted != kNvJitLink) found = find_ptxas();
  if (!found && wanted != kPtxas) found = find_nvjitlink();
  if (!found && wanted == kPtxas) {
    throw Error("there is no ptxas in a CUDA toolkit (CUDA_PATH, CUDA_HOME, /usr/local/cuda, …) nor in PATH",
                Exit::kMissing);
  }
  if (!found && wanted == kNvJitLink) {
    throw Error(
        "there is no libnvJitLink.so.13 or .12 in a CUDA toolkit (CUDA_PATH, CUDA_HOME, /usr/local/cuda, …) nor where "
        "the loader looks (LD_LIBRARY_PATH)",
        Exit::kMissing);
  }
  return found;
}

Assembled assemble(const Assembler& assembler, const bundle::KernelInfo& kernel, const std::string& ptx,
                   const bundle::Configuration& configuration) {
  std::string what = fmt::format("assembling the kernel '{}' with {}", kernel.demangled, assembler.kind);
  NvJitLink::Linked made = assembler.kind == kPtxas ? run_ptxas(assembler, ptx, configuration)
                                                    : run_nvjitlink(assembler, what, ptx, configuration);
  if (made.cubin.empty()) {
    throw Error::of("kernel '{}': {} {} cannot assemble it for {}: {}; --assembler none leaves that to the driver",
                    kernel.demangled, assembler.kind, assembler.version, configuration.target, one_line(made.log));
  }
  Assembled assembled{std::move(made.cubin), {}};
  assembled.resources = objects::resources_in_cubin(bytes_of(assembled.cubin), kernel.name, "the assembler's output");
  read_assemblers_log(made.log, kernel.name, assembled.resources);
  return assembled;
}

void read_assemblers_log(const std::string& log, const std::string& kernel, bundle::Resources& resources) {
  bool of_kernel = false;
  for (size_t begin = 0, end = 0; begin < log.size(); begin = end + 1) {
    end = std::min(log.find('\n', begin), log.size());
    std::string_view line = std::string_view(log).substr(begin, end - begin);
    resources.spill_stores += number_before(line, " bytes spill stores");
    resources.spill_loads += number_before(line, " bytes spill loads");
    if (line.find("Compiling entry function '") != std::string_view::npos) {
      of_kernel = line.find("'" + kernel + "'") != std::string_view::npos;
    }
    if (of_kernel && line.find(": Used ") != std::string_view::npos) {
      resources.shared = number_before(line, " bytes smem");
      of_kernel = false;
    }
  }
}

}  // namespace mneme::codegen::nvptx
