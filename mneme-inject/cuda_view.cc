// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda_view.h"

#include <sys/stat.h>

#include <filesystem>

#include "base/digest.h"
#include "base/error.h"
#include "base/file.h"
#include "base/process.h"
#include "view.h"

namespace mneme::inject {
namespace {

namespace fs = std::filesystem;

constexpr int kNewestKnown = 12059;  // to clang 19: any 12.5

// Whether its fatbinary no longer takes the options that clang 19 gives it.
bool has_new_fatbinary(const CudaToolkit& toolkit) {
  fs::path program = fs::path(toolkit.path) / "bin/fatbinary";
  if (toolkit.version <= kNewestKnown || !file_exists(program)) return false;
  std::string help = run_command({program.string(), "--help"}).output;
  return help.find("--image3 ") != std::string::npos && help.find("--image ") == std::string::npos;
}

// Runs in place of a program of the toolkit; its own becomes toolkit-NAME beside it.
struct Wrapper {
  std::string name;
  std::string part;
};

std::string key_of(const CudaToolkit& toolkit, const std::vector<Wrapper>& wrappers) {
  struct stat about{};
  ::stat((toolkit.path + "/bin").c_str(), &about);  // changes when programs come and go
  DigestStream stream;
  stream.add(toolkit.path + '\0');
  stream.add(static_cast<uint64_t>(toolkit.version));
  stream.add(static_cast<uint64_t>(about.st_mtim.tv_sec));
  for (const Wrapper& wrapper : wrappers) stream.add(wrapper.part + '\0');
  stream.add(std::string_view(MNEME_VERSION));
  return stream.finish().hex().substr(0, 16);
}

void make_links(const fs::path& view, const fs::path& toolkit, const std::vector<Wrapper>& wrappers) {
  link_entries(toolkit, view);
  fs::remove(view / "bin");
  fs::create_directory(view / "bin");
  link_entries(toolkit / "bin", view / "bin");
  for (const Wrapper& wrapper : wrappers) {
    fs::rename(view / "bin" / wrapper.name, view / "bin" / ("toolkit-" + wrapper.name));
    fs::create_symlink(wrapper.part, view / "bin" / wrapper.name);
  }
}

bool is_whole(const fs::path& view, const std::vector<Wrapper>& wrappers) {
  for (const Wrapper& wrapper : wrappers) {
    if (!file_exists(view / "bin" / ("toolkit-" + wrapper.name)) || !file_exists(view / "bin" / wrapper.name))
      return false;
  }
  return file_exists(view);
}

}  // namespace

std::string cuda_path(const CudaToolkit& toolkit) {
  // --print-flags gives the folder of links to whoever asks, and so it may be named here.
  if (file_exists(toolkit.path + "/bin/toolkit-ptxas")) return toolkit.path;
  std::vector<Wrapper> wrappers;
  for (const char* name : {"ptxas", "nvlink"}) {
    bool there = file_exists(toolkit.path + "/bin/" + name);
    if (there) wrappers.push_back({name, installed_part(fmt::format("cuda/{}", name))});
  }
  if (has_new_fatbinary(toolkit)) wrappers.push_back({"fatbinary", installed_part("cuda/fatbinary")});
  return folder_of({"cuda-" + key_of(toolkit, wrappers), "the CUDA toolkit",
                    [&](const std::string& folder) { make_links(folder, toolkit.path, wrappers); },
                    [&](const std::string& folder) { return is_whole(folder, wrappers); }});
}

std::vector<std::string> cuda_compile_flags(const CudaToolkit& toolkit, bool headers) {
  std::vector<std::string> flags;
  if (toolkit.version > kNewestKnown) flags.push_back("-Wno-unknown-cuda-version");
  if (!headers) return flags;
  auto add = [&](const fs::path& folder) { flags.insert(flags.end(), {"-isystem", folder.string()}); };
  add(fs::path(installed_part("cuda/include/__clang_cuda_intrinsics.h")).parent_path());
  // By their own names, not by those of links, in what the compiler says they depend on. The system's folder has a
  // place in the order that it must keep.
  fs::path include = fs::path(toolkit.path) / "include";
  std::error_code ignored;
  if (fs::canonical(include, ignored) != "/usr/include") add(include);
  if (file_exists(include / "cccl")) add(include / "cccl");
  return flags;
}

}  // namespace mneme::inject
