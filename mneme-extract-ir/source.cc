// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "source.h"

#include <cctype>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "bundle/json/json.h"
#include "cli/shell.h"
#include "cli/stage.h"
#include "objects/source.h"
#include "text.h"

namespace mneme::extract {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestName = 100;

std::string shown(const bundle::KernelInfo& kernel) {
  return printable(kernel.demangled.empty() ? kernel.name : kernel.demangled);
}

// "cd /app && clang++-19 -O3 a.hip"; empty: it is not known.
std::string command_line(const bundle::KernelInfo& kernel) {
  if (kernel.command.empty()) return {};
  return "cd " + cli::quoted({kernel.command.front()}) + " && " +
         cli::quoted({kernel.command.begin() + 1, kernel.command.end()});
}

// The last part of a path, which may come from a stranger.
std::string safe_name(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '-' && c != '+') c = '_';
  }
  if (name.size() > kLongestName) name.erase(0, name.size() - kLongestName);
  return name.empty() || name.front() == '.' || name.front() == '-' ? "file" + name : name;
}

void refuse_missing(const Kernels& kernels) {
  for (const bundle::KernelMember& kernel : kernels) {
    if (!kernel.info.source_text.empty()) continue;
    const std::string command = command_line(kernel.info);
    throw Error::of("kernel '{}' has no source: build the application with mneme-inject --embed-source{}",
                    shown(kernel.info), command.empty() ? "" : "; it was compiled by: " + printable(command));
  }
}

void refuse_several(const Kernels& kernels) {
  std::set<Digest> met;
  std::string lines;
  for (const bundle::KernelMember& kernel : kernels) {
    met.insert(kernel.info.source_text);
    lines += "\n  " + printable(kernel.info.source) + "  " + shown(kernel.info);
  }
  if (met.size() > 1) {
    throw Error::of("the kernels are of {} files; choose those of one with --kernel or --target:{}", met.size(), lines);
  }
}

}  // namespace

void write_source(const Found& found, const std::string& folder) {
  refuse_missing(found.kernels);
  refuse_several(found.kernels);
  const bundle::KernelInfo& kernel = found.kernels.front().info;
  const auto source = found.sources.find(kernel.source_text);
  if (source == found.sources.end()) throw Error::of("the source of kernel '{}' is not there", shown(kernel));
  const std::vector<objects::SourceFile> files =
      objects::unpack_source(source->second, "the source of kernel '" + shown(kernel) + "'");
  const fs::path to = fs::absolute(folder);
  if (fs::exists(to)) throw Error::of("'{}' is there already: name a new folder", folder);
  std::error_code error;
  fs::create_directories(to / "headers", error);
  if (error) throw Error::of("cannot make the folder '{}': {}", folder, error.message());
  bundle::json::Text overlay;
  overlay.open().add("version", uint64_t{0}).add("case-sensitive", "true");
  overlay.add("use-external-names", "false").add("overlay-relative", "true").open_array("roots");
  for (size_t i = 1; i < files.size(); ++i) {
    const std::string name = fmt::format("headers/{}-{}", i, safe_name(files[i].name));
    write_file(to / name, files[i].text);
    // Folders that -ffile-prefix-map made relative are as if they were in this one.
    overlay.open().add("type", "file").add("name", (to / files[i].name).lexically_normal().string());
    overlay.add("external-contents", name).close();
  }
  write_file(to / "overlay.json", overlay.close_array().close().text() + "\n");
  write_file(to / "command", command_line(kernel) + "\n");
  const std::string main = safe_name(files[0].name);
  write_file(to / main, files[0].text);
  cli::note(fmt::format("edit {}, then compile it: mneme-compile --source {}", (fs::path(folder) / main).string(),
                        cli::quoted({(fs::path(folder) / main).string()})));
}

}  // namespace mneme::extract
