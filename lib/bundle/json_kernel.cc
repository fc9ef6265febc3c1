// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// kernel.json and variant.json.
#include <bit>

#include "base/error.h"
#include "bundle/format.h"
#include "bundle/json.h"

namespace mneme::bundle {
namespace {

constexpr uint32_t kMaxArgumentBytes = 1 << 20;
constexpr std::string_view kAssemblers[] = {"ptxas", "nvjitlink"};
constexpr uint32_t kMaxRegisters = 255;  // of a thread, on every NVIDIA GPU
constexpr uint32_t kMaxBank = 31;

void write_argument(json::Text& out, const Argument& argument) {
  out.open().add("offset", argument.offset).add("size", argument.size).add("kind", argument.kind);
  out.add("type", argument.type).open_array("padding");
  for (const ByteRange& range : argument.padding) {
    out.open().add("offset", range.offset).add("size", range.size).close();
  }
  out.close_array().close();
}

Argument parse_argument(const json::Object& in, uint32_t argument_bytes) {
  constexpr std::string_view kKinds[] = {"pointer", "scalar", "struct"};
  Argument argument;
  argument.offset = in.number32("offset", argument_bytes);
  argument.size = in.number32("size", argument_bytes - argument.offset);
  argument.kind = kKinds[in.choice("kind", {kKinds[0], kKinds[1], kKinds[2]})];
  argument.type = in.text("type");
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
      out.close();
    }
    out.close_array();
    if (pointer.polled) out.add("polled", true);
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
  return place;
}

std::vector<Pointer> parse_pointers(const json::Object& in) {
  std::vector<Pointer> pointers;
  in.each("pointers", [&](json::Object object) {
    Pointer& pointer = pointers.emplace_back();
    object.each("at", [&](json::Object place) { pointer.at.push_back(parse_place(place)); });
    pointer.polled = object.has("polled") && object.boolean("polled");
  });
  for (const Pointer& pointer : pointers) {
    for (const PointerPlace& place : pointer.at) {
      if (place.pointer >= std::ssize(pointers)) in.fail("pointers", "one lies behind another that is not there");
    }
  }
  return pointers;
}

void write_configuration(json::Text& out, const Configuration& configuration) {
  out.add("target", configuration.target).add("passes", configuration.passes);
  out.add("codegen_opt", configuration.codegen_opt).add("form", configuration.form);
  out.add("fuse", configuration.fuse).add("ir", configuration.ir);
  if (configuration.check_memory) out.add("check_memory", true);
  if (configuration.baseline) out.add("baseline", true);
  if (configuration.assembler.empty()) return;
  out.add("assembler", configuration.assembler).add("ptxas_level", configuration.ptxas_level);
  if (configuration.max_registers) out.add("max_registers", configuration.max_registers);
}

Configuration read_configuration(const json::Object& in) {
  Configuration configuration;
  configuration.target = in.text("target");
  configuration.passes = in.text("passes");
  configuration.codegen_opt = static_cast<int>(in.number("codegen_opt", 3));
  configuration.form = in.text("form");
  configuration.fuse = in.boolean("fuse");
  configuration.ir = in.digest_or_empty("ir");
  configuration.check_memory = in.has("check_memory") && in.boolean("check_memory");
  configuration.baseline = in.has("baseline") && in.boolean("baseline");
  if (!in.has("assembler")) return configuration;
  configuration.assembler = kAssemblers[in.choice("assembler", {kAssemblers[0], kAssemblers[1]})];
  configuration.ptxas_level = static_cast<int>(in.number("ptxas_level", 3));
  if (in.has("max_registers")) configuration.max_registers = in.number32("max_registers", kMaxRegisters);
  return configuration;
}

// The name becomes a member's and perhaps a file's: no more than it must be is allowed.
void check_code_name(const json::Object& in, const std::string& name) {
  bool fits = name.starts_with("code.") && name.size() > 5 && name.size() <= 16;
  for (char c : name.substr(0, 16)) fits = fits && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.');
  if (!fits || name.find('.', 5) != std::string::npos) in.fail("code", "is not a file name such as code.so");
}

void write_store(json::Text& out, const StoreType& store) {
  out.open();
  if (store.argument >= 0) out.add("argument", static_cast<uint64_t>(store.argument));
  if (!store.symbol.empty()) out.add("symbol", store.symbol);
  out.add("type", store.type).close();
}

StoreType parse_store(const json::Object& in) {
  StoreType store;
  if (in.has("argument")) store.argument = static_cast<int64_t>(in.number("argument", kMaxArgumentBytes));
  store.symbol = in.text_or("symbol", "");
  store.type = in.text("type");
  return store;
}

void write_resources(json::Text& out, const Resources& resources) {
  out.open("resources").add("registers", resources.registers).add("stack", resources.stack);
  out.add("spill_stores", resources.spill_stores).add("spill_loads", resources.spill_loads);
  out.add("shared", resources.shared).open_array("constants");
  for (const ConstantBank& constant : resources.constants) {
    out.open().add("bank", constant.bank).add("bytes", constant.bytes).close();
  }
  out.close_array().close();
}

Resources parse_resources(const json::Object& in) {
  Resources resources;
  resources.registers = in.number32("registers", kMaxRegisters);
  resources.stack = in.number("stack");
  resources.spill_stores = in.number("spill_stores");
  resources.spill_loads = in.number("spill_loads");
  resources.shared = in.number("shared");
  in.each("constants", [&](json::Object constant) {
    resources.constants.push_back({constant.number32("bank", kMaxBank), constant.number("bytes")});
  });
  return resources;
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
  out.add("source", info.source).add("bitcode", info.bitcode);
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
  info.argument_bytes = in.number32("argument_bytes", kMaxArgumentBytes);
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
  info.bitcode = in.digest_or_empty("bitcode");
  return info;
}

std::string write(const Configuration& configuration) {
  json::Text out;
  out.open();
  write_configuration(out, configuration);
  return out.close().text();
}

Configuration parse_configuration(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  return read_configuration(json::Object(document));
}

Digest variant_id(const Digest& kernel, const Configuration& configuration) {
  DigestStream stream;
  stream.add(kernel.hex());
  stream.add(write(configuration));
  return stream.finish();
}

std::string write(const VariantInfo& info) {
  json::Text out;
  out.open().add("id", info.id).add("kernel", info.kernel).open("configuration");
  write_configuration(out, info.configuration);
  out.close().add("code", info.code).add("code_digest", info.code_digest).add("form", info.form);
  if (!info.stores.empty()) {
    out.open_array("stores");
    for (const StoreType& store : info.stores) write_store(out, store);
    out.close_array();
  }
  if (!info.assembled_by.empty()) out.add("assembled_by", info.assembled_by);
  if (info.resources) write_resources(out, *info.resources);
  return out.close().sealed();
}

VariantInfo parse_variant(std::string_view text, const std::string& where) {
  json::Document document(text, where);
  json::refuse_wrong_seal(text, where);
  json::Object in(document);
  VariantInfo info;
  info.id = in.digest("id");
  info.kernel = in.digest("kernel");
  in.object("configuration", [&](json::Object object) { info.configuration = read_configuration(object); });
  info.code = in.text("code");
  check_code_name(in, info.code);
  info.code_digest = in.digest("code_digest");
  info.form = in.text("form");
  if (in.has("stores")) {
    in.each("stores", [&](json::Object object) { info.stores.push_back(parse_store(object)); });
  }
  info.assembled_by = in.text_or("assembled_by", "");
  if (in.has("resources")) {
    in.object("resources", [&](json::Object object) { info.resources = parse_resources(object); });
  }
  return info;
}

}  // namespace mneme::bundle
