// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// variant.json.
#include "base/error.h"
#include "bundle/configuration.h"
#include "bundle/format.h"
#include "bundle/json/json.h"
#include "bundle/json/stores.h"

namespace mneme::bundle {
namespace {

constexpr uint32_t kMaxAmdRegisters = 512;  // of a thread, on every GPU of AMD's
constexpr uint32_t kMaxScalarRegisters = 256, kMaxWaveSize = 64, kMaxWaves = 64;
constexpr uint32_t kMaxBank = 31;

// The name becomes a member's and perhaps a file's: no more than it must be is allowed.
void check_code_name(const json::Object& in, const std::string& name) {
  bool fits = name.starts_with("code.") && name.size() > 5 && name.size() <= 16;
  for (char c : name.substr(0, 16)) fits = fits && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.');
  if (!fits || name.find('.', 5) != std::string::npos) in.fail("code", "is not a file name such as code.so");
}

void write_resources(json::Text& out, const Resources& resources) {
  out.open("resources").add("registers", resources.registers).add("stack", resources.stack);
  out.add("spill_stores", resources.spill_stores).add("spill_loads", resources.spill_loads);
  out.add("shared", resources.shared).open_array("constants");
  for (const ConstantBank& constant : resources.constants) {
    out.open().add("bank", constant.bank).add("bytes", constant.bytes).close();
  }
  out.close_array();
  if (const auto& amd = resources.amd) {
    out.open("amd").add("scalar_registers", amd->scalar_registers);
    out.add("accumulation_registers", amd->accumulation_registers).add("spilled_registers", amd->spilled_registers);
    out.add("spilled_scalar_registers", amd->spilled_scalar_registers).add("wave_size", amd->wave_size);
    out.add("occupancy", amd->occupancy).close();
  }
  out.close();
}

AmdResources parse_amd(const json::Object& in) {
  AmdResources amd;
  amd.scalar_registers = in.number32("scalar_registers", kMaxScalarRegisters);
  amd.accumulation_registers = in.number32("accumulation_registers", kMaxAmdRegisters);
  amd.spilled_registers = in.number32("spilled_registers", UINT32_MAX);
  amd.spilled_scalar_registers = in.number32("spilled_scalar_registers", UINT32_MAX);
  amd.wave_size = in.number32("wave_size", kMaxWaveSize);
  amd.occupancy = in.number32("occupancy", kMaxWaves);
  return amd;
}

Resources parse_resources(const json::Object& in) {
  Resources resources;
  if (in.has("amd")) in.object("amd", [&](json::Object amd) { resources.amd = parse_amd(amd); });
  resources.registers = in.number32("registers", resources.amd ? kMaxAmdRegisters : json::kMaxRegisters);
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

std::string write(const VariantInfo& info) {
  json::Text out;
  out.open().add("id", info.id).add("kernel", info.kernel).open("configuration");
  write_configuration(out, info.configuration);
  out.close();
  if (!info.failed.empty()) return out.add("failed", info.failed).close().sealed();
  out.add("code", info.code).add("code_digest", info.code_digest).add("form", info.form);
  if (!info.stores.empty()) json::add_stores(out, info.stores);
  if (!info.assembled_by.empty()) out.add("assembled_by", info.assembled_by);
  if (info.resources) write_resources(out, *info.resources);
  if (!info.replaced.empty()) out.add_all("replaced", info.replaced);
  if (!info.same_as.empty()) out.add("same_as", info.same_as);
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
  if (in.has("failed")) {
    info.failed = in.text("failed");
    if (info.failed.empty()) in.fail("failed", "gives no reason");
    return info;
  }
  info.code = in.text("code");
  check_code_name(in, info.code);
  info.code_digest = in.digest("code_digest");
  info.form = in.text("form");
  if (in.has("stores")) info.stores = json::parse_stores(in);
  info.assembled_by = in.text_or("assembled_by", "");
  if (in.has("resources")) {
    in.object("resources", [&](json::Object object) { info.resources = parse_resources(object); });
  }
  if (in.has("replaced")) info.replaced = in.texts("replaced");
  if (in.has("same_as")) info.same_as = in.digest("same_as");
  return info;
}

}  // namespace mneme::bundle
