// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUDA's driver interface: code that programs load at run time.
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "block_kernels.h"
#include "hostgpu/cuda/fat_binary.h"
#include "hostgpu/extensions.h"
#include "hostgpu/kernels/registration.h"

using namespace mneme::fake_cuda;
using mneme::hostgpu::Program;

namespace {

// The modules of what start-up code registered.
constexpr uintptr_t kRegistered = 1;
hipModule_t module_of(Program* program) {
  return reinterpret_cast<hipModule_t>(reinterpret_cast<uintptr_t>(program) | kRegistered);
}
Program* program_of(hipModule_t module) {
  auto number = reinterpret_cast<uintptr_t>(module);
  return number & kRegistered ? reinterpret_cast<Program*>(number & ~kRegistered) : nullptr;
}

std::mutex mutex;
struct Function {
  hipCtx_t context = nullptr;
  bool lost = false;
};
std::map<const void*, Function> functions;

// A variable whose name in PTX is that.
hipError_t find_global(void** address, size_t* size, hipModule_t module, const char* name) {
  constexpr std::string_view kDot = "_$_";
  std::string own = name;
  for (size_t at; (at = own.find(kDot)) != std::string::npos;) own.replace(at, kDot.size(), ".");
  Program* program = program_of(module);
  if (!program) return hipModuleGetGlobal(address, size, module, own.c_str());
  auto variable = program->on(mneme::hostgpu::current_device()).find_variable(own);
  if (!variable) return hipErrorNotFound;
  *address = variable->address;
  *size = variable->size;
  return hipSuccess;
}

}  // namespace

std::string mneme::fake_cuda::cubin_in_ptx(std::string_view text) {
  constexpr std::string_view kMark = "// fake-cubin ";
  if (!text.starts_with(kMark)) return {};
  text = text.substr(kMark.size(), text.find('\n') - kMark.size());
  std::string cubin;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    cubin += static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16));
  }
  return cubin;
}

bool mneme::fake_cuda::is_lost(const void* function) {
  std::lock_guard lock(mutex);
  const auto found = functions.find(function);
  return found != functions.end() && found->second.lost;
}

bool mneme::fake_cuda::is_of_module(const void* function) {
  std::lock_guard lock(mutex);
  return functions.contains(function);
}

void mneme::fake_cuda::lose_functions(hipCtx_t context) {
  std::lock_guard lock(mutex);
  for (auto& [function, known] : functions) known.lost = known.lost || !context || known.context == context;
}

extern "C" {

Result cuCtxGetCurrent(hipCtx_t* context);
int mneme_function_of_symbol(const void** kernel, const void* function);
int cudaGetFuncBySymbol(hipFunction_t* handle, const void* function) {
  const void* kernel = nullptr;
  int status = mneme_function_of_symbol(&kernel, function);
  if (status == 0) *handle = function_of_kernel(kernel);
  return status;
}

Result cuFuncGetModule(hipModule_t* module, hipFunction_t function) {
  if (is_of_module(as_hip(function))) return result(mneme_hostgpu_module_of(as_hip(function), module));
  *module = module_of(mneme::hostgpu::registered_function(as_hip(function)).program);
  return 0;
}

// Of a kernel of either kind, whose handles are alike here.
Result cuFuncGetParamInfo(hipFunction_t function, size_t index, size_t* offset, size_t* size) {
  const auto& known = mneme::hostgpu::registered_function(as_hip(function));
  const auto& arguments = known.program->on(0).kernel(known.name)->info().arguments;
  if (index >= arguments.size()) return kInvalidValue;
  *offset = arguments[index].offset;
  if (size) *size = arguments[index].size;
  return 0;
}
Result cuKernelGetParamInfo(hipFunction_t kernel, size_t index, size_t* offset, size_t* size) {
  return cuFuncGetParamInfo(kernel, index, offset, size);
}

Result cuModuleLoadData(hipModule_t* module, const void* image);
Result cuModuleLoad(hipModule_t* module, const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string image(std::istreambuf_iterator<char>(file), {});
  return cubin_in_ptx(image).empty() ? result(hipModuleLoad(module, path)) : cuModuleLoadData(module, image.c_str());
}
Result cuModuleLoadData(hipModule_t* module, const void* image) {
  if (std::string cubin = cubin_in_ptx(static_cast<const char*>(image)); !cubin.empty()) {
    return result(hipModuleLoadData(module, cubin.data()));
  }
  if (!is_block_image(image)) return result(hipModuleLoadData(module, image));
  *module = block_module();
  return 0;
}
Result cuModuleLoadDataEx(hipModule_t* module, const void* image, unsigned, int*, void**) {
  return cuModuleLoadData(module, image);
}
Result cuModuleLoadFatBinary(hipModule_t* module, const void* image) {
  return result(hipModuleLoadData(module, image));
}
Result cuModuleUnload(hipModule_t module) { return result(hipModuleUnload(module)); }
Result cuModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  if (is_block_module(module)) {
    *function = find_block_kernel(name);
    return *function ? 0 : kNotFound;
  }
  if (Program* program = program_of(module)) {
    const void* host = mneme::hostgpu::host_function_of(*program, name);
    *function = function_of_kernel(host);
    return host ? 0 : kNotFound;
  }
  hipError_t status = hipModuleGetFunction(function, module, name);
  hipCtx_t context = nullptr;
  cuCtxGetCurrent(&context);
  std::lock_guard lock(mutex);
  if (status == hipSuccess) functions[*function] = {context, false};
  return result(status);
}
Result cuModuleGetGlobal_v2(Address* address, size_t* size, hipModule_t module, const char* name) {
  void* found = nullptr;
  hipError_t status = find_global(&found, size, module, name);
  if (address) *address = reinterpret_cast<Address>(found);
  return result(status);
}

// Runtimes load what start-up code registers with them.
Result cuLibraryLoadData(hipModule_t* library, const void* image, int*, void**, unsigned, int*, void**, unsigned) {
  const void* code = mneme::hostgpu::cuda::image_of(image);
  return code == image ? cuModuleLoadData(library, image) : result(hipModuleLoadData(library, code));
}
Result cuLibraryLoadFromFile(hipModule_t* library, const char* path, int*, void**, unsigned, int*, void**, unsigned) {
  return cuModuleLoad(library, path);
}
Result cuLibraryUnload(hipModule_t library) { return cuModuleUnload(library); }
Result cuLibraryGetKernel(hipFunction_t* kernel, hipModule_t library, const char* name) {
  return cuModuleGetFunction(kernel, library, name);
}
Result cuKernelGetFunction(hipFunction_t* function, hipFunction_t kernel) {
  *function = function_of_kernel(kernel);
  return 0;
}
// The driver's answers are the runtime's.
int cudaFuncGetName(const char** name, const void* function);
int cudaLibraryGetKernelCount(unsigned* count, hipModule_t library);
int cudaLibraryEnumerateKernels(hipFunction_t* kernels, unsigned room, hipModule_t library);
Result cuKernelGetName(const char** name, hipFunction_t kernel) { return cudaFuncGetName(name, kernel); }
Result cuFuncGetName(const char** name, hipFunction_t function) { return cudaFuncGetName(name, as_hip(function)); }
Result cuLibraryGetKernelCount(unsigned* count, hipModule_t library) {
  return cudaLibraryGetKernelCount(count, library);
}
Result cuLibraryEnumerateKernels(hipFunction_t* kernels, unsigned room, hipModule_t library) {
  return cudaLibraryEnumerateKernels(kernels, room, library);
}
Result cuModuleGetFunctionCount(unsigned* count, hipModule_t module) { return cuLibraryGetKernelCount(count, module); }
Result cuModuleEnumerateFunctions(hipFunction_t* functions, unsigned room, hipModule_t module) {
  return cuLibraryEnumerateKernels(functions, room, module);
}

Result cuLibraryGetGlobal(Address* address, size_t* size, hipModule_t library, const char* name) {
  return cuModuleGetGlobal_v2(address, size, library, name);
}

// As tables of NVIDIA's driver give functions to its libraries (cuGetExportTable), which no recorder sees.
Result cuFakeGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return cuModuleGetFunction(function, module, name);
}

}  // extern "C"
