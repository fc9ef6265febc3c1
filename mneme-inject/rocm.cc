// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rocm.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/digest.h"
#include "base/error.h"
#include "base/process.h"
#include "view.h"

namespace mneme::inject {
namespace {

constexpr char kDistribution[] = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";
constexpr char kDefaultRocm[] = "/opt/rocm";

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool has_device_libraries(const std::string& rocm) { return !rocm.empty() && exists(rocm + "/amdgcn/bitcode"); }

// Those of AMD's processors that clang 19 compiles for and Mneme has code for; and their numbers in the libraries.
struct Processor {
  const char* name;
  int version;
};
constexpr Processor kProcessors[] = {
    {"900", 9000},           {"902", 9002},           {"904", 9004},         {"906", 9006},   {"908", 9008},
    {"909", 9009},           {"90a", 9010},           {"90c", 9012},         {"940", 9400},   {"941", 9401},
    {"942", 9402},           {"1010", 10100},         {"1011", 10101},       {"1012", 10102}, {"1013", 10103},
    {"1030", 10300},         {"1031", 10301},         {"1032", 10302},       {"1033", 10303}, {"1034", 10304},
    {"1035", 10305},         {"1036", 10306},         {"1100", 11000},       {"1101", 11001}, {"1102", 11002},
    {"1103", 11003},         {"1150", 11500},         {"1151", 11501},       {"1152", 11502}, {"9-generic", 9000},
    {"10-1-generic", 10100}, {"10-3-generic", 10300}, {"11-generic", 11003},
};

// A constant of the libraries, in a file of its own, of which the compiler takes the one that is asked for.
struct Constant {
  std::string asked;  // by an --offload-arch, or a version of code objects
  std::string file, name;
  int value = 0;
};

std::string asking(const std::string& code_object) { return "code object " + code_object; }

std::vector<Constant> constants() {
  std::vector<Constant> all = {{asking("6"), "oclc_abi_version_600.bc", "__oclc_ABI_version", 600}};
  for (const auto& [name, version] : kProcessors) {
    all.push_back(
        {std::string("gfx") + name, fmt::format("oclc_isa_version_{}.bc", name), "__oclc_ISA_version", version});
  }
  return all;
}

std::vector<Constant> lacking_in(const std::string& libraries) {
  std::vector<Constant> lacking = constants();
  std::erase_if(lacking, [&](const Constant& one) { return exists(libraries + "/" + one.file); });
  return lacking;
}

bool are_asked_for(const std::vector<Constant>& lacking, const Invocation& invocation) {
  std::vector<std::string> asked = {asking(invocation.code_object)};
  for (const std::string& processor : invocation.processors) {
    if (!processor.starts_with("gfx")) return !lacking.empty();  // "native": it is not known which
    asked.push_back(processor.substr(0, processor.find(':')));
  }
  return std::ranges::any_of(lacking,
                             [&](const Constant& one) { return std::ranges::find(asked, one.asked) != asked.end(); });
}

// As the libraries' own are. No pass may run: nothing here uses the constant, so they would drop it.
void make_file(const std::string& compiler, const Constant& constant, const std::string& libraries,
               const std::string& folder) {
  std::string text = fmt::format(
      "target triple = \"amdgcn-amd-amdhsa\"\n"
      "@{} = linkonce_odr protected local_unnamed_addr addrspace(4) constant i32 {}, align 4\n",
      constant.name, constant.value);
  std::string file = folder + "/" + constant.file;
  CommandResult result =
      run_command({compiler, "-x", "ir", "--target=amdgcn-amd-amdhsa", "-nogpulib", "-Xclang", "-disable-llvm-passes",
                   "-Wno-override-module", "-emit-llvm", "-c", "-", "-o", file},
                  text);
  if (result.status == 0 && exists(file)) return;
  throw Error::of("'{}' cannot make the '{}' that the device libraries in {} lack: {}", compiler, constant.file,
                  libraries, result.errors);
}

std::string key_of(const std::string& libraries) {
  struct stat about{};
  ::stat(libraries.c_str(), &about);  // changes when files come and go
  DigestStream stream;
  stream.add("with its constants" + libraries + '\0');  // once the files were made without
  stream.add(static_cast<uint64_t>(about.st_mtim.tv_sec));
  stream.add(std::string_view(MNEME_VERSION));
  return stream.finish().hex().substr(0, 16);
}

std::string completed(const std::string& libraries, const std::string& compiler) {
  return folder_of({"rocm-" + key_of(libraries), "the device libraries in " + libraries,
                    [&](const std::string& folder) {
                      link_entries(libraries, folder);
                      for (const Constant& one : lacking_in(libraries)) make_file(compiler, one, libraries, folder);
                    },
                    [&](const std::string& folder) { return exists(folder) && lacking_in(folder).empty(); }});
}

// Empty: clang looks elsewhere, or there are none.
std::string libraries_of(const Invocation& invocation) {
  // clang looks at the first of these that is given.
  std::string rocm = invocation.rocm_path;
  if (rocm.empty()) rocm = variable("ROCM_PATH");
  if (rocm.empty()) rocm = kDefaultRocm;
  if (has_device_libraries(rocm)) return rocm + "/amdgcn/bitcode";
  return exists(kDistribution) ? kDistribution : "";
}

}  // namespace

std::string device_libraries_to_name(const Invocation& invocation, const std::string& compiler) {
  if (invocation.names_device_libraries || !variable("HIP_DEVICE_LIB_PATH").empty()) return "";
  std::string libraries = libraries_of(invocation);
  if (libraries.empty()) return "";
  if (are_asked_for(lacking_in(libraries), invocation) && !resolve_program(compiler).empty()) {
    return completed(libraries, compiler);
  }
  return libraries == kDistribution ? libraries : "";
}

void drop_misleading_paths() {
  for (const char* name : {"ROCM_PATH", "HIP_PATH"}) {
    std::string path = variable(name);
    if (!path.empty() && !exists(path + "/share/hip/version") && !exists(path + "/bin/.hipVersion")) ::unsetenv(name);
  }
}

}  // namespace mneme::inject
