// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bundle/adding.h"

namespace mneme::bundle {
namespace {

template <typename Member>
void add_json(Writer& writer, const std::string& name, const Member& member) {
  writer.add(name, member.text.empty() ? write(member.info) : member.text);
}

}  // namespace

void add_code(Writer& writer, const Digest& digest, std::string_view code) {
  const std::string name = code_name(digest);
  if (!writer.has(name)) writer.add(name, code);
}

void add(Writer& writer, const KernelMember& kernel) {
  const KernelInfo& info = kernel.info;
  if (!has_ir(info)) {
    for (const KernelFile& file : files_of(info)) add_code(writer, file.digest, contents_of(kernel, file));
  }
  if (!info.source_text.empty()) add_code(writer, info.source_text, kernel.source);
  add_json(writer, kernel_json_name(info.id), kernel);
  if (has_ir(info)) writer.add(kernel_bitcode_name(info.id), kernel.bitcode);
}

void add(Writer& writer, const VariantMember& variant) {
  const VariantInfo& info = variant.info;
  const std::string& made_of = info.configuration.passes;
  const bool by_digest = info.has_code_member() &&
                         (made_of == kAsRecorded || made_of == kRecordedPtx || writer.has(code_name(info.code_digest)));
  if (by_digest) add_code(writer, info.code_digest, variant.code);
  add_json(writer, variant_json_name(info.kernel, info.id), variant);
  if (info.has_code_member() && !by_digest) {
    writer.add(variant_code_name(info.kernel, info.id, info.code), variant.code);
  }
}

}  // namespace mneme::bundle
