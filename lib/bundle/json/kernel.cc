// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernel.json.
#include <bit>

#include "base/error.h"
#include "bundle/format.h"
#include "bundle/json/json.h"
#include "bundle/json/stores.h"

namespace mneme::bundle {
namespace {

void write_argument(json::Text& out, const Argument& argument) {
  out.open().add("offset", argument.offset).add("size", argument.size).add("kind", argument.kind);
  out.add("type", argument.type).open_array("padding");
  for (const ByteRange& range : argument.padding) {
    out.open().add("offset", range.offset).add("size", range.size).close();
  }
  out.close_array();
  if (!argument.name.empty()) out.add("name", argument.name);
  out.close();
}

Argument parse_argument(const json::Object& in, uint32_t argument_bytes) {
  constexpr std::string_view kKinds[] = {"pointer", "scalar", "struct"};
  Argument argument;
  argument.offset = in.number32("offset", argument_bytes);
  argument.size = in.number32("size", argument_bytes - argument.offset);
  argument.kind = kKinds[in.choice("kind", {kKinds[0], kKinds[1], kKinds[2]})];
  argument.type = in.text("type");
  argument.name = in.text_or("name", "");
  in.each("padding", [&](json::Object range) {
    uint32_t offset = range.number32("offset", argument.size);
    argument.padding.push_back({offset, range.number32("size", argument.size - offset)});
  });
  return argument;
}

void write_pointers(json::Text& out, const std::vector<Pointer>& pointers) {
  out.open_array("pointers");
  for (const Pointer& pointer : pointers) {
    out.open().open_array("at");
    for (const PointerPlace& place : pointer.at) {
      out.open();
      if (place.pointer >= 0) out.add("pointer", static_cast<uint64_t>(place.pointer));
      if (!place.symbol.empty()) out.add("symbol", place.symbol);
      if (place.offset < 0) {
        out.add("before", -static_cast<uint64_t>(place.offset));
      } else {
        out.add("offset", static_cast<uint64_t>(place.offset));
      }
      if (place.stride > 0) out.add("stride", place.stride);
      if (!place.arrays.empty()) {
        out.open_array("arrays");
        for (const Elements& array : place.arrays) {
          out.open().add("stride", array.stride).add("count", array.count).close();
        }
        out.close_array();
      }
      out.close();
    }
    out.close_array();
    if (pointer.polled) out.add("polled", true);
    if (pointer.number) out.add("number", true);
    out.close();
  }
  out.close_array();
}

PointerPlace parse_place(const json::Object& in) {
  constexpr uint64_t kFar = uint64_t{1} << 62;
  PointerPlace place;
  if (in.has("pointer")) place.pointer = static_cast<int64_t>(in.number("pointer", json::kMaxValues));
  place.symbol = in.text_or("symbol", "");
  if (place.pointer >= 0 && in.has("before")) {
    place.offset = -static_cast<int64_t>(in.number("before", kFar));
  } else {
    place.offset = static_cast<int64_t>(in.number("offset", kFar));
  }
  if (in.has("stride")) place.stride = in.number("stride", kFar);
  if (in.has("arrays")) {
    in.each("arrays", [&](json::Object array) {
      place.arrays.push_back({array.number("stride", kFar), array.number("count", kFar)});
    });
  }
  return place;
}

std::vector<Pointer> parse_pointers(const json::Object& in) {
  std::vector<Pointer> pointers;
  in.each("pointers", [&](json::Object object) {
    Pointer& pointer = pointers.emplace_back();
    object.each("at", [&](json::Object place) { pointer.at.push_back(parse_place(place)); });
    pointer.polled = object.has("polled") && object.boolean("polled");
    pointer.number = object.has("number") && object.boolean("number");
  });
  for (const Pointer& pointer : pointers) {
    for (const PointerPlace& place : pointer.at) {
      if (place.pointer >= std::ssize(pointers)) in.fail("pointers", "one lies behind another that is not there");
    }
  }
  return pointers;
}

constexpr std::string_view kLiftedFrom[] = {"ptx"};
constexpr std::string_view kHandleKinds[] = {"texture", "surface"};
constexpr uint32_t kHandleBytes = 8;

void write_handles(json::Text& out, const std::vector<Handle>& handles) {
  out.open_array("handles");
  for (const Handle& handle : handles) {
    out.open();
    if (handle.argument >= 0) out.add("argument", static_cast<uint64_t>(handle.argument));
    out.add("kind", kHandleKinds[handle.surface]).close();
  }
  out.close_array();
}

std::vector<Handle> parse_handles(const json::Object& in, uint32_t argument_bytes) {
  std::vector<Handle> handles;
  in.each("handles", [&](json::Object object) {
    Handle& handle = handles.emplace_back();
    if (object.has("argument")) {
      if (argument_bytes < kHandleBytes) object.fail("argument", "lies behind the arguments");
      handle.argument = static_cast<int64_t>(object.number("argument", argument_bytes - kHandleBytes));
    }
    handle.surface = object.choice("kind", {kHandleKinds[0], kHandleKinds[1]}) == 1;
  });
  return handles;
}

void parse_code(const json::Object& in, KernelInfo& info) {
  constexpr std::string_view kFiles[] = {kCubinFile, kPtxFile};
  info.code = kFiles[in.choice("code", {kFiles[0], kFiles[1]})];
  info.code_digest = in.digest("code_digest");
  if (!in.has("ptx")) return;
  if (info.code == kPtxFile) in.fail("ptx", "is there twice");
  info.ptx = in.digest("ptx");
}

// A file is compiled in a directory, by a compiler.
std::vector<std::string> parse_command(const json::Object& in) {
  constexpr size_t kFewest = 3;
  std::vector<std::string> command = in.texts("command");
  if (command.size() < kFewest) in.fail("command", "has no directory, compiler and file");
  for (const std::string& word : command) {
    if (word.find('\0') != std::string::npos) in.fail("command", "has a null character in it");
  }
  return command;
}

}  // namespace

std::string write(const KernelInfo& info) {
  json::Text out;
  out.open().add("id", info.id).add("name", info.name).add("demangled", info.demangled).add("target", info.target);
  out.add("wave_size", info.wave_size).add("argument_bytes", info.argument_bytes).open_array("arguments");
  for (const Argument& argument : info.arguments) write_argument(out, argument);
  out.close_array().open_array("globals");
  for (const Global& global : info.globals) {
    out.open().add("name", global.name).add("size", global.size).add("align", global.align);
    out.add("constant", global.constant).close();
  }
  out.close_array().add_all("functions", info.functions);
  if (!info.pointers.empty()) write_pointers(out, info.pointers);
  out.add("source", info.source);
  if (has_ir(info)) {
    out.add("bitcode", info.bitcode);
  } else {
    out.add("code", info.code).add("code_digest", info.code_digest);
    if (!info.ptx.empty()) out.add("ptx", info.ptx);
  }
  if (!info.function_addresses.empty()) out.add_all("function_addresses", info.function_addresses);
  if (!info.own_passes.empty()) out.add_all("own_passes", info.own_passes);
  if (!info.lifted.empty()) out.add("lifted", info.lifted);
  if (!info.handles.empty()) write_handles(out, info.handles);
  if (info.stores) json::add_stores(out, *info.stores);
  if (!info.command.empty()) out.add_all("command", info.command);
  if (!info.source_text.empty()) out.add("source_text", info.source_text);
  return out.close().sealed();
}

KernelInfo parse_kernel(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  json::refuse_wrong_seal(text, where);
  json::Object in(document);
  KernelInfo info;
  info.id = in.digest("id");
  info.name = in.text("name");
  info.demangled = in.text("demangled");
  info.target = in.text("target");
  info.wave_size = in.number32("wave_size", 1024);
  info.argument_bytes = in.number32("argument_bytes", json::kMaxArgumentBytes);
  in.each("arguments",
          [&](json::Object argument) { info.arguments.push_back(parse_argument(argument, info.argument_bytes)); });
  in.each("globals", [&](json::Object global) {
    info.globals.push_back(
        {global.text("name"), global.number("size"), global.number32("align"), global.boolean("constant")});
    if (!std::has_single_bit(info.globals.back().align)) global.fail("align", "is not a power of two");
  });
  info.functions = in.texts("functions");
  if (in.has("pointers")) info.pointers = parse_pointers(in);
  info.source = in.text("source");
  if (in.has("code")) {
    parse_code(in, info);
  } else {
    info.bitcode = in.digest_or_empty("bitcode");
  }
  if (in.has("function_addresses")) info.function_addresses = in.numbers("function_addresses");
  if (!info.function_addresses.empty() && info.function_addresses.size() != info.functions.size()) {
    in.fail("function_addresses", "has another length than 'functions'");
  }
  if (in.has("own_passes")) info.own_passes = in.texts("own_passes");
  if (in.has("lifted")) info.lifted = kLiftedFrom[in.choice("lifted", {kLiftedFrom[0]})];
  if (in.has("handles")) info.handles = parse_handles(in, info.argument_bytes);
  if (in.has("stores")) info.stores = json::parse_stores(in);
  if (in.has("command")) info.command = parse_command(in);
  if (in.has("source_text")) info.source_text = in.digest("source_text");
  return info;
}

std::vector<KernelFile> files_of(const KernelInfo& kernel) {
  if (has_ir(kernel)) return {{"kernel.bc", kernel.bitcode}};
  std::vector<KernelFile> files = {{kernel.code, kernel.code_digest}};
  if (!kernel.ptx.empty()) files.push_back({kPtxFile, kernel.ptx});
  return files;
}

Digest kernel_id(const Digest& code, std::string_view name) {
  DigestStream stream;
  stream.add(code.hex());
  stream.add(name);
  return stream.finish();
}

Digest kernel_id(const Digest& code, const std::vector<uint64_t>& function_addresses) {
  DigestStream stream;
  stream.add(code.hex());
  for (uint64_t address : function_addresses) stream.add(address);
  return stream.finish();
}

}  // namespace mneme::bundle
