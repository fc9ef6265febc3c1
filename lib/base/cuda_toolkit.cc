// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/cuda_toolkit.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/file.h"
#include "base/process.h"

namespace mneme {
namespace {

namespace fs = std::filesystem;

constexpr char kInstallations[] = "/usr/local";  // of cuda-13.0 and the like
constexpr char kNewest[] = "/usr/local/cuda";
constexpr char kDebian[] = "/usr/lib/cuda";
constexpr char kArch[] = "/opt/cuda";

int version_in(const fs::path& header) {
  std::ifstream file(header);
  for (std::string line; std::getline(file, line);) {
    int version = 0;
    if (std::sscanf(line.c_str(), "#define CUDA_VERSION %d", &version) == 1) return version;
  }
  return 0;
}

std::optional<CudaToolkit> toolkit_in(const fs::path& folder) {
  if (folder.empty() || !file_exists(folder / "nvvm/libdevice")) return std::nullopt;
  int version = version_in(folder / "include/cuda.h");
  if (version == 0) return std::nullopt;
  return CudaToolkit{fs::absolute(folder).lexically_normal().string(), version};
}

std::optional<CudaToolkit> newest_installed() {
  std::optional<CudaToolkit> newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(kInstallations, error)) {
    if (!entry.path().filename().string().starts_with("cuda-")) continue;
    auto toolkit = toolkit_in(entry.path());
    if (toolkit && (!newest || toolkit->version > newest->version)) newest = toolkit;
  }
  return newest;
}

}  // namespace

std::optional<CudaToolkit> find_cuda_toolkit(const std::string& named) {
  if (!named.empty()) return toolkit_in(named);
  for (const char* name : {"CUDA_PATH", "CUDA_HOME"}) {
    const char* value = std::getenv(name);
    if (auto toolkit = toolkit_in(value ? value : "")) return toolkit;
  }
  if (auto toolkit = toolkit_in(kNewest)) return toolkit;
  if (auto toolkit = newest_installed()) return toolkit;
  for (const char* folder : {kDebian, kArch}) {
    if (auto toolkit = toolkit_in(folder)) return toolkit;
  }
  std::string nvcc = resolve_program("nvcc");
  return nvcc.empty() ? std::nullopt : toolkit_in(fs::path(nvcc).parent_path().parent_path());
}

std::string runtime_library_folder(const CudaToolkit& toolkit) {
  for (const char* folder : {"lib64", "targets/x86_64-linux/lib", "lib"}) {
    fs::path path = fs::path(toolkit.path) / folder;
    if (file_exists(path / "libcudart.so")) return path.string();
  }
  return {};
}

}  // namespace mneme
