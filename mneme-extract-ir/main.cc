// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mneme-extract-ir: writes the IR of kernels, from a bundle or straight from an executable.
#include <unistd.h>

#include <filesystem>

#include "kernels.h"
#include "objects/lifted_kernels.h"
#include "source.h"
#include "text.h"

using namespace mneme;

namespace {

struct Request {
  bool list = false;
  bool text = false;
  std::string output;
  std::string target;
  std::string source;

  bool to_standard_output() const { return output.empty() || output == "-"; }
  bool to_folder() const { return output.ends_with('/') || std::filesystem::is_directory(output); }
};

std::string shown(const bundle::KernelInfo& kernel) {
  return extract::printable(kernel.demangled.empty() ? kernel.name : kernel.demangled);
}

// One line a kernel, separated by tabs: hash, name, size of the bitcode in bytes ("-": it has none), target.
std::string listing(const extract::Kernels& kernels) {
  std::string lines;
  for (const bundle::KernelMember& kernel : kernels) {
    const bundle::KernelInfo& info = kernel.info;
    const std::string size = has_ir(info) ? std::to_string(kernel.bitcode.size()) : "-";
    lines += fmt::format("{}\t{}\t{}\t{}\n", info.id.hex(), shown(info), size, extract::printable(info.target));
  }
  return lines;
}

std::string ir_of(const bundle::KernelMember& kernel, const Request& request) {
  return request.text ? extract::disassemble(kernel.bitcode, "kernel '" + shown(kernel.info) + "'") : kernel.bitcode;
}

void write_one(std::string_view contents, const Request& request) {
  if (!request.to_standard_output()) return write_file(request.output, contents);
  write_all(STDOUT_FILENO, bytes_of(contents), "standard output");
  Fd(STDOUT_FILENO).close_checked("standard output");
}

void write_folder(const extract::Kernels& kernels, const Request& request) {
  std::error_code error;
  std::filesystem::create_directories(request.output, error);
  if (error) throw Error::of("cannot make the folder '{}': {}", request.output, error.message());
  for (const auto& kernel : kernels) {
    const bundle::KernelInfo& info = kernel.info;
    std::string stem = extract::file_stem(info.demangled.empty() ? info.name : info.demangled, info.id.hex());
    write_file(std::filesystem::path(request.output) / (stem + (request.text ? ".ll" : ".bc")), ir_of(kernel, request));
  }
}

void refuse_several(const extract::Kernels& kernels) {
  std::string names;
  for (const auto& kernel : kernels) names += "\n  " + kernel.info.id.hex() + "  " + shown(kernel.info);
  throw Error::of(
      "{} kernels are selected; choose one with --kernel, --instance or --target, or write all to a folder with -o "
      "DIR/:{}",
      kernels.size(), names);
}

// Those that have IR to be written, or PTX that it is made of. Throws Error where none has.
extract::Kernels with_ir(const extract::Kernels& kernels) {
  extract::Kernels found;
  std::string lacking;
  for (const bundle::KernelMember& kernel : kernels) {
    const std::string& ptx = kernel.info.code == bundle::kPtxFile ? kernel.code : kernel.ptx;
    std::string why;
    if (has_ir(kernel.info)) {
      found.push_back(kernel);
    } else if (ptx.empty()) {
      why =
          "the application was not built with mneme-inject, so the recording has only the code that ran; "
          "mneme-restore --dump writes it";
    } else {
      try {
        found.push_back(kernel);
        found.back().bitcode = objects::lift_kernel(bytes_of(ptx), kernel.info.name).bitcode;
      } catch (const Error& error) {
        found.pop_back();
        why = fmt::format("none can be made of its PTX: {}", error.what());
      }
    }
    if (!why.empty() && lacking.empty()) lacking = fmt::format("kernel '{}' has no IR: {}", shown(kernel.info), why);
  }
  if (found.empty()) throw Error(lacking);
  if (!lacking.empty()) cli::warn(lacking);
  return found;
}

void write(const extract::Kernels& all, const Request& request) {
  if (request.list) return write_one(listing(all), request);
  const extract::Kernels kernels = with_ir(all);
  if (!request.to_standard_output() && request.to_folder()) return write_folder(kernels, request);
  if (kernels.size() > 1) refuse_several(kernels);
  if (request.to_standard_output() && !request.text && ::isatty(STDOUT_FILENO)) {
    throw Error("bitcode is not written to a terminal; use -S for text, -o FILE, or pipe it into the next tool");
  }
  write_one(ir_of(kernels.front(), request), request);
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("mneme-extract-ir", [&]() -> Exit {
    Request request;
    cli::Input input;
    cli::Selection selection;
    cli::Options options("mneme-extract-ir", "Writes the IR of kernels, from a bundle or an executable.");
    selection.add_options(options);
    options.value("--target", request.target, "TEXT", "only kernels for a target that contains TEXT, such as gfx90a");
    options.group("Output");
    options.flag("--list", request.list, "list the kernels instead: hash, name, size in bytes, target");
    options.flag("-S", request.text, "write LLVM assembly instead of bitcode");
    options.value("-o,--output", request.output, "PATH",
                  "write to this file, or, one file a kernel, to this folder (DIR/)");
    options.value("--source", request.source, "DIR",
                  "write the source instead, for mneme-compile --source: the compiled file, the headers that it "
                  "includes and the command, into the new folder DIR");
    input.add_options(options);
    options.parse(argc, argv);
    if (!request.source.empty() && (request.list || request.text || !request.output.empty())) {
      throw Error("--source excludes --list, -S and -o: it writes no IR");
    }
    selection.check();
    input.open();
    if (!request.to_standard_output()) cli::check_is_no_input(request.output);

    extract::Found found = extract::find_kernels(input, selection, request.target);
    if (!request.source.empty()) {
      extract::write_source(found, request.source);
    } else {
      write(found.kernels, request);
    }
    if (!found.truncation.empty()) throw Error(found.truncation + "; what came before the cut was written");
    return Exit::kSuccess;
  });
}
