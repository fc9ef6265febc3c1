// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorded_code.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "objects/cubin.h"
#include "objects/cuda_processor.h"
#include "objects/lifted_kernels.h"

namespace mneme::compile {
namespace {

constexpr std::string_view kNvidia = "cuda:";
constexpr char kAssembled[] = "the code assembled of the PTX";

// Keys, and options, that have a meaning only where IR is compiled.
constexpr std::string_view kNeedIr[] = {"level",
                                        "passes",
                                        "codegen_opt",
                                        "ir",
                                        "fuse",
                                        "contract",
                                        "check_memory",
                                        "checks",
                                        "algebra",
                                        "cpu",
                                        "features",
                                        "code_object",
                                        "max_threads",
                                        "min_blocks",
                                        "unroll_threshold",
                                        "inline_threshold",
                                        "fast_math",
                                        "attributes",
                                        "opt_bisect",
                                        "plugins",
                                        "specialize_args",
                                        "specialize_dims",
                                        "llvm",
                                        "save_ir",
                                        "print_after",
                                        "embed_ir"};
// Those of an assembler.
constexpr std::string_view kNeedPtx[] = {"ptxas_level", "max_registers"};

const std::string* first_given(const Asked& asked, std::span<const std::string_view> keys) {
  for (std::string_view key : keys) {
    if (auto given = asked.given.find(std::string(key)); given != asked.given.end()) return &*given;
  }
  return nullptr;
}

std::string recorded_target(const bundle::KernelInfo& kernel) {
  const size_t processor = kernel.target.rfind("--");
  return processor == std::string::npos ? std::string() : nvidia_target(kernel.target.substr(processor + 2));
}

// Why the kernel has none.
std::string without_ir(const bundle::KernelInfo& kernel, const std::string& what, const std::string& unliftable) {
  if (!unliftable.empty()) {
    return fmt::format("kernel '{}' has no IR, which {} needs, and none can be made of its PTX: {}", kernel.demangled,
                       what, unliftable);
  }
  return fmt::format(
      "kernel '{}' has no IR, which {} needs: the application was not built with mneme-inject, so the recording has "
      "only "
      "the code that ran, without PTX",
      kernel.demangled, what);
}

// What the launch and the runs are like, whatever the code is.
bundle::Configuration launched_as(const bundle::Configuration& asked, const std::string& target, const char* what) {
  bundle::Configuration configuration;
  configuration.target = target;
  configuration.passes = what;
  configuration.codegen_opt = 0;
  configuration.form = "auto";
  configuration.baseline = asked.baseline;
  configuration.grid = asked.grid;
  configuration.block = asked.block;
  configuration.shared_mem = asked.shared_mem;
  configuration.warmup = asked.warmup;
  configuration.iterations = asked.iterations;
  return configuration;
}

Wanted refused(const Asked& asked, const std::string& target, std::string reason) {
  Wanted wanted{asked.configuration, std::nullopt, asked.line};
  wanted.from_code = true;
  wanted.refused = std::move(reason);
  wanted.configuration.target = target;
  wanted.configuration.assembler.clear();
  return wanted;
}

std::string parameters_of(const objects::Parameters& parameters) {
  std::string text;
  for (const auto& [offset, size] : parameters) {
    text += fmt::format("{}{} bytes at {}", text.empty() ? "" : ", ", size, offset);
  }
  return text.empty() ? "none" : text;
}

void check_given(const bundle::KernelInfo& kernel, const GivenCode& given) {
  constexpr char kWhat[] = "the code given by --code";
  const Bytes bytes = bytes_of(given.bytes);
  const auto found = given.is_ptx ? objects::parameters_in_ptx(given.bytes, kernel.name)
                                  : objects::parameters_in_cubin(bytes, kernel.name, kWhat);
  const bool is_there = found || (!given.is_ptx && objects::has_kernel(bytes, kernel.name, kWhat));
  if (!is_there) throw Error::of("{} has no kernel '{}'", kWhat, kernel.name);
  if (!found) throw Error::of("{} does not say where the parameters of '{}' lie", kWhat, kernel.name);
  check_parameters(kernel, *found, kWhat);
}

codegen::Code of_cubin(const bundle::KernelInfo& kernel, const std::string& cubin, const std::string& where) {
  codegen::Code code{cubin, "code.cubin", "", {}};
  code.resources = objects::resources_in_cubin(bytes_of(cubin), kernel.name, where);
  return code;
}

codegen::Code of_ptx(const bundle::KernelInfo& kernel, const std::string& ptx, const Wanted& wanted) {
  if (const size_t units = objects::units_of_ptx(ptx); units > 1) {
    throw Error::of(
        "kernel '{}' has the PTX of {} units that were linked (nvcc -rdc=true), which is assembled only by way of "
        "IR: give -O3, or another option that needs IR",
        kernel.demangled, units);
  }
  if (!wanted.assembler) return {ptx, "code.ptx", "", {}};
  codegen::nvptx::Assembled assembled = codegen::nvptx::assemble(*wanted.assembler, kernel, ptx, wanted.configuration);
  codegen::Code code{std::move(assembled.cubin), "code.cubin", "", {}};
  code.resources = std::move(assembled.resources);
  return code;
}

codegen::Code code_for(const bundle::KernelMember& kernel, const Wanted& wanted, const GivenCode* given) {
  const bundle::KernelInfo& info = kernel.info;
  const std::string& what = wanted.configuration.passes;
  if (what == bundle::kGivenCode) {
    check_given(info, *given);
    return given->is_ptx ? of_ptx(info, given->bytes, wanted)
                         : of_cubin(info, given->bytes, "the code given by --code");
  }
  const bool is_cubin = info.code == bundle::kCubinFile;
  if (what == bundle::kRecordedPtx) {
    codegen::Code code = of_ptx(info, is_cubin ? kernel.ptx : kernel.code, wanted);
    if (!wanted.assembler) return code;
    if (auto found = objects::parameters_in_cubin(bytes_of(code.bytes), info.name, kAssembled)) {
      check_parameters(info, *found, kAssembled);
    }
    return code;
  }
  if (is_cubin) return of_cubin(info, kernel.code, fmt::format("the recorded code of kernel '{}'", info.demangled));
  return {kernel.code, "code.ptx", "", {}};
}

}  // namespace

void check_parameters(const bundle::KernelInfo& kernel, const objects::Parameters& found, const char* what) {
  const objects::Parameters recorded = parameters_of(kernel);
  if (found == recorded) return;
  throw Error::of("{} has other parameters for '{}' than were recorded: {}, in place of {}", what, kernel.demangled,
                  parameters_of(found), parameters_of(recorded));
}

objects::Parameters parameters_of(const bundle::KernelInfo& kernel) {
  objects::Parameters parameters;
  for (const bundle::Argument& argument : kernel.arguments) parameters.push_back({argument.offset, argument.size});
  return parameters;
}

std::string nvidia_target(const std::string& text) {
  std::string_view processor = text;
  if (processor.starts_with(kNvidia)) processor.remove_prefix(kNvidia.size());
  constexpr std::string_view kPrefix = "sm_";
  const std::string_view number = processor.substr(std::min(kPrefix.size(), processor.size()));
  const bool fits = processor.starts_with(kPrefix) && !number.empty() && number.size() <= 5 &&
                    std::ranges::all_of(number, [](char c) { return (c >= '0' && c <= '9') || c == 'a' || c == 'f'; });
  return fits ? std::string(kNvidia).append(processor) : std::string();
}

GivenCode given_code(const std::string& path) {
  GivenCode given;
  given.bytes = read_file(path, bundle::kMaxCodeSize);
  given.digest = digest_of(given.bytes);
  given.processor = objects::processor_of_cubin(bytes_of(given.bytes));
  if (!given.processor.empty()) return given;
  given.is_ptx = objects::is_ptx(given.bytes);
  if (!given.is_ptx) throw Error::of("'{}', given by --code, is neither a cubin nor PTX", path);
  given.processor = objects::processor_of_ptx(given.bytes);
  return given;
}

bool needs_ir(const bundle::KernelInfo& kernel, const Asked& asked) {
  const std::string& named = asked.configuration.target;
  const std::string target = named.empty() ? recorded_target(kernel) : nvidia_target(named);
  return target.empty() || first_given(asked, kNeedIr);
}

Wanted wanted_code(const bundle::KernelInfo& kernel, const Asked& asked, const GivenCode* given, Normaliser& normaliser,
                   const std::string& unliftable) {
  const std::string& named = asked.configuration.target;
  const std::string recorded = recorded_target(kernel);
  const std::string target = named.empty() ? recorded : nvidia_target(named);
  if (target.empty() && given) {
    throw Error::of("--code is for NVIDIA's GPUs, and kernel '{}' is to be compiled for {}", kernel.demangled,
                    named.empty() ? kernel.target : named);
  }
  if (target.empty()) {
    const std::string other = named.empty() ? named : codegen::target_named(named);
    // Which options of mneme-run ask for, with a target.
    std::string what = asked.name_of("target") + " " + named;
    for (const char* key : {"check_memory", "algebra", "checks"}) {
      if (asked.insisted.contains(key)) what = asked.name_of(key);
    }
    return refused(asked, other, without_ir(kernel, what, unliftable));
  }
  if (const std::string* key = first_given(asked, kNeedIr)) {
    if (given) throw Error::of("--code and {} exclude each other", asked.name_of(*key));
    return refused(asked, target, without_ir(kernel, asked.name_of(*key), unliftable));
  }
  const std::string* key = first_given(asked, kNeedPtx);
  const std::string needs_ptx = key                  ? asked.name_of(*key)
                                : target != recorded ? fmt::format("{} {}", asked.name_of("target"), named)
                                                     : std::string();
  Wanted wanted{{}, std::nullopt, asked.line};
  wanted.from_code = true;
  bool is_ptx = false;
  if (given) {
    wanted.configuration = launched_as(asked.configuration, target, bundle::kGivenCode);
    wanted.configuration.code = given->digest;
    is_ptx = given->is_ptx;
    if (!is_ptx && key) {
      return refused(asked, target, fmt::format("{} is for PTX, and --code gives a cubin", needs_ptx));
    }
    if (!is_ptx && !objects::runs_on(objects::cuda_processor(given->processor), objects::cuda_processor(target))) {
      return refused(asked, target,
                     fmt::format("kernel '{}': the code of --code is for {}, and does not run on {}", kernel.demangled,
                                 given->processor, target.substr(kNvidia.size())));
    }
  } else if (needs_ptx.empty()) {
    wanted.configuration = launched_as(asked.configuration, target, bundle::kAsRecorded);
  } else {
    if (!objects::has_ptx(kernel)) {
      Wanted none =
          refused(asked, target,
                  fmt::format("kernel '{}' has no PTX, which {} needs: the recording has only the code that ran on {}",
                              kernel.demangled, needs_ptx, recorded.substr(kNvidia.size())));
      none.configuration.passes = bundle::kRecordedPtx;
      return none;
    }
    wanted.configuration = launched_as(asked.configuration, target, bundle::kRecordedPtx);
    is_ptx = true;
  }
  normaliser.settle_code(asked, is_ptx, wanted);
  return wanted;
}

codegen::Code code_of(const bundle::KernelMember& kernel, const Wanted& wanted, const GivenCode* given) {
  if (!wanted.refused.empty()) throw Error(wanted.refused);
  codegen::Code code = code_for(kernel, wanted, given);
  // What the recorded kernel stores, whatever code runs in its place.
  if (kernel.info.stores) code.stores = *kernel.info.stores;
  return code;
}

}  // namespace mneme::compile
