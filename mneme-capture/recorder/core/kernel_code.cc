// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "recorder/core/kernel_code.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "base/error.h"
#include "objects/cubin.h"
#include "objects/cuda_fatbin.h"
#include "objects/cuda_processor.h"
#include "objects/ptx_handles.h"

namespace mneme::record {
namespace {

constexpr char kWhere[] = "the application's device code";
constexpr uint64_t kWord = sizeof(uint64_t);
constexpr uint32_t kMostParameters = 1 << 16;  // bytes, more than any driver takes

// Those that are for the device, what fits best first. A cubin by itself was loaded, so it is what runs.
template <typename Fits>
std::vector<objects::DeviceCode*> fitting(Codes& codes, const Fits& fits) {
  std::multimap<std::pair<unsigned, bool>, objects::DeviceCode*, std::greater<>> found;
  for (objects::DeviceCode& code : codes) {
    const objects::CudaProcessor processor = objects::cuda_processor(code.target);
    if (code.target != objects::kCudaTriple && !fits(processor)) continue;
    found.emplace(std::pair(processor.number, processor.kind != 0), &code);
  }
  std::vector<objects::DeviceCode*> ordered;
  for (const auto& [processor, code] : found) ordered.push_back(code);
  return ordered;
}

std::vector<objects::DeviceCode*> cubins_for(Codes& cubins, const std::string& processor) {
  const objects::CudaProcessor device = objects::cuda_processor(processor);
  return fitting(cubins, [&](const objects::CudaProcessor& one) { return objects::runs_on(one, device); });
}

// The image of the first that has the kernel; empty: none has.
template <typename Has>
Bytes first_with(const std::vector<objects::DeviceCode*>& codes, const Has& has) {
  for (objects::DeviceCode* code : codes) {
    if (Bytes image = objects::image_of(*code); has(image)) return image;
  }
  return {};
}

bundle::Argument argument_of(const objects::Parameter& parameter) {
  bundle::Argument argument{parameter.offset, parameter.size, "scalar", {}, {}};
  switch (parameter.size) {
    case 1:
    case 2:
    case 4:
      argument.type = fmt::format("i{}", 8 * parameter.size);
      break;
    default:  // what is in it is not known
      argument.kind = "struct";
      argument.type = fmt::format("[{} x i8]", parameter.size);
  }
  return argument;
}

void add_arguments(bundle::KernelInfo& info, const std::optional<objects::Parameters>& parameters) {
  if (!parameters) throw Error("it carries no IR, and neither its code nor the driver says where its parameters lie");
  for (const objects::Parameter& parameter : *parameters) {
    const uint64_t end = uint64_t{parameter.offset} + parameter.size;
    if (parameter.offset < info.argument_bytes || end > kMostParameters) {
      throw Error("it carries no IR, and the parameters that its code says it has overlap");
    }
    info.argument_bytes = static_cast<uint32_t>(end);
    info.arguments.push_back(argument_of(parameter));
  }
}

// The assembler may have laid out parameters otherwise than the text does.
bool has_its_parameters(const bundle::KernelInfo& info, Bytes ptx) {
  const auto found = objects::parameters_in_ptx(text_of(ptx), info.name);
  return found && std::ranges::equal(*found, info.arguments, [](const auto& parameter, const auto& argument) {
           return parameter.offset == argument.offset && parameter.size == argument.size;
         });
}

// PTX tells which arguments are handles; a cubin, whether there are any.
void add_textures(bundle::KernelInfo& info, Bytes cubin, Bytes ptx) {
  std::optional<std::vector<bundle::Handle>> told;
  if (!ptx.empty() && has_its_parameters(info, ptx)) told = objects::handles_in_ptx(text_of(ptx), info.name);
  bool uses_any = false;
  if (told) {
    info.handles = std::move(*told);
    uses_any = !info.handles.empty();
  } else if (!cubin.empty()) {
    uses_any = objects::uses_textures_in_cubin(cubin, info.name, kWhere);
  } else {
    uses_any = objects::uses_textures_in_ptx(text_of(ptx));
  }
  if (uses_any) info.globals.push_back({bundle::kTextures, 0});
}

}  // namespace

std::vector<objects::DeviceCode*> by_preference(Codes& cubins, const std::string& processor) {
  std::vector<objects::DeviceCode*> all = cubins_for(cubins, processor);
  for (objects::DeviceCode& code : cubins) {
    if (std::ranges::find(all, &code) == all.end()) all.push_back(&code);
  }
  return all;
}

ChosenCode choose_code(const std::string& name, Codes& cubins, Codes& ptx, const std::string& processor) {
  const objects::CudaProcessor device = objects::cuda_processor(processor);
  const auto texts =
      fitting(ptx, [&](const objects::CudaProcessor& one) { return objects::compiles_for(one, device); });
  ChosenCode chosen;
  chosen.cubin =
      first_with(cubins_for(cubins, processor), [&](Bytes image) { return objects::has_kernel(image, name, kWhere); });
  try {
    chosen.ptx =
        first_with(texts, [&](Bytes image) { return objects::parameters_in_ptx(text_of(image), name).has_value(); });
  } catch (const Error&) {
    if (chosen.cubin.empty()) throw;  // else the driver has no use for what is damaged, either
  }
  return chosen;
}

KernelCode kernel_code(const std::string& name, const ChosenCode& chosen, const std::string& processor,
                       const AskForParameters& ask) {
  const auto& [cubin, text] = chosen;
  if (cubin.empty() && text.empty()) {
    throw Error::of("it carries no IR, and no code for {} was found in the application: build it with mneme-inject",
                    processor);
  }
  KernelCode found;
  bundle::KernelInfo& info = found.info;
  info.name = name;
  info.wave_size = 32;
  std::optional<objects::Parameters> parameters;
  std::string of_cubin;
  if (!cubin.empty()) {
    found.code = cubin;
    info.code = bundle::kCubinFile;
    of_cubin = objects::processor_of_cubin(found.code);
    parameters = objects::parameters_in_cubin(found.code, name, kWhere);
    info.globals = objects::variables_in_cubin(found.code, kWhere);
    // The heap's own state is where nobody can copy it.
    if (objects::calls_in_cubin(found.code, name, "malloc", kWhere)) info.globals.push_back({bundle::kDeviceHeap, 0});
  } else {
    found.code = text;
    info.code = bundle::kPtxFile;
    info.globals = objects::variables_in_ptx(text_of(found.code));
  }
  if (!parameters && !text.empty()) parameters = objects::parameters_in_ptx(text_of(text), name);
  add_arguments(info, parameters ? parameters : ask());
  add_textures(info, cubin, text);
  info.target = fmt::format("{}--{}", objects::kCudaTriple, of_cubin.empty() ? processor : of_cubin);
  info.code_digest = digest_of(found.code);
  info.id = bundle::kernel_id(info.code_digest, std::string_view(name));
  if (!cubin.empty() && !text.empty()) {
    found.ptx = text;
    info.ptx = digest_of(found.ptx);
  }
  return found;
}

void tell_pointers(bundle::KernelInfo& kernel, const objects::LaunchArguments& arguments,
                   const IsRecorded& is_recorded) {
  std::string bytes(kernel.argument_bytes, '\0');
  if (objects::gather_arguments(kernel, arguments, std::as_writable_bytes(std::span(bytes))) !=
      objects::Gathered::kAll) {
    return;
  }
  for (bundle::Argument& argument : kernel.arguments) {
    if (argument.size != kWord || argument.offset % kWord != 0) continue;
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + argument.offset, kWord);
    if (!is_recorded(word)) continue;
    argument.kind = "pointer";
    argument.type = "ptr";
  }
}

}  // namespace mneme::record
