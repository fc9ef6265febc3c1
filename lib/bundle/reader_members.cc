// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/error.h"
#include "base/pipeline.h"
#include "bundle/adding.h"
#include "bundle/json/json.h"
#include "bundle/launch.h"
#include "bundle/reader_implementation.h"

namespace mneme::bundle {
namespace {

constexpr uint64_t kHeldBack = 64 << 20;  // bytes of a member that is copied only once it is there in full

void refuse_unless(bool right, const std::string& member, const char* what) {
  if (!right) throw Error::of("{} is damaged: {}", member, what);
}

bool launches_as_said(const Choice& choice, const Configuration& configuration) {
  try {
    return launch_of(choice, configuration) == choice.launch;
  } catch (const Error&) {
    return false;
  }
}

std::string KernelMember::* place_of(const KernelInfo& kernel, const KernelFile& file) {
  if (has_ir(kernel)) return &KernelMember::bitcode;
  return file.name == kernel.code ? &KernelMember::code : &KernelMember::ptx;
}

}  // namespace

const std::string& contents_of(const KernelMember& kernel, const KernelFile& file) {
  return kernel.*place_of(kernel.info, file);
}

void Reader::Implementation::open() {
  std::optional<Member> member = archive.next();
  if (!member && is_pipe(fd)) throw Reported();
  if (!member) throw Error::of("{} is an empty tar archive, not a bundle", name);
  if (member->name != kBundleMember) {
    throw Error::of("{} is a tar archive but not a bundle: it starts with '{}', not with {}", name, shown(member->name),
                    kBundleMember);
  }
  note_name(*member, MemberKind::kBundle);
  std::string text = text_of_member(*member, kMaxJsonSize);
  // A newer version need not be sealed as this one is: the version is looked at before.
  info = parse_bundle(text, member->name);
  refuse_unless(json::check_seal(text) == json::Seal::kRight, member->name, "its digest is missing");
}

std::optional<Item> Reader::Implementation::next() {
  for (;;) {
    std::optional<Member> member = archive.next();
    if (!member) return std::nullopt;
    MemberName parsed = parse_name(member->name);
    note_name(*member, parsed.kind);
    if (summary_seen) throw Error::of("{} comes after {}, which ends a bundle", member->name, kSummaryMember);
    if (std::optional<Item> item = take(*member, parsed)) return item;
  }
}

void Reader::Implementation::note_name(const Member& member, MemberKind kind) {
  if (names.insert(digest_of(member.name)).second || may_recur(kind)) return;
  throw Error::of("{} is in the bundle twice", shown(member.name));
}

std::optional<Item> Reader::Implementation::take(const Member& member, const MemberName& parsed) {
  switch (parsed.kind) {
    case MemberKind::kCode:
      take_code(member, parsed.digests[0]);
      return std::nullopt;
    case MemberKind::kKernelJson:
      return take_kernel(member, parsed);
    case MemberKind::kVariantJson:
      return take_variant(member, parsed);
    case MemberKind::kInstance:
      return take_instance(member, parsed);
    case MemberKind::kRun:
      return take_run(member, parsed);
    case MemberKind::kChoice:
      return take_choice(member, parsed);
    case MemberKind::kSummary:
      return take_summary(member);
    case MemberKind::kPack:
    case MemberKind::kRaw:
    case MemberKind::kState:
      return take_memory(member, parsed);
    case MemberKind::kKeep:
      if (info.memory == "kept") return take_memory(member, parsed);
      break;
    case MemberKind::kKernelFile:
    case MemberKind::kVariantCode:
      throw Error::of("{} does not follow the json member that describes it", member.name);
    case MemberKind::kBundle:
      throw Error::of("{} is in the bundle twice", member.name);
    case MemberKind::kOther:
      break;
  }
  copy_through(member, MemberKind::kOther);
  return OtherMember{member.name};
}

std::string Reader::Implementation::text_of_member(const Member& member, uint64_t limit) {
  if (member.size > limit) {
    throw Error::of("{} claims {} bytes; such a member has at most {}", member.name, member.size, limit);
  }
  std::string text;
  while (std::optional<Piece> piece = archive.piece()) text += mneme::text_of(piece->bytes);
  return text;
}

std::string Reader::Implementation::json_of_member(const Member& member) {
  std::string text = text_of_member(member, kMaxJsonSize);
  // What is wrong with the json itself is the better message, so the seal only has to be there.
  if (json::check_seal(text) == json::Seal::kAbsent) {
    json::Document valid(text, member.name);
    throw Error::of("{} is damaged: its digest is missing", member.name);
  }
  return text;
}

void Reader::Implementation::copy_text(const std::string& member, std::string_view contents) {
  if (writer) writer->add(member, contents);
}

void Reader::Implementation::skip() {
  while (archive.piece()) {
  }
}

void Reader::Implementation::copy_through(const Member& member, MemberKind kind) {
  Writer* to = kind == MemberKind::kOther && others_writer ? others_writer : writer;
  if (!to) return skip();
  auto begin = [&] {
    if (kind == MemberKind::kPack) {
      to->begin_pack(member.size);
    } else {
      to->begin(member.name, member.size);
    }
  };
  // Held back, where it was read to, until all of it is there: half a member must not get into a sound archive. Only
  // raw and unknown members are ever larger than what is held; a cut leaves those filled up with zeros, and a raw one
  // is then cited by nobody.
  std::vector<Piece> pieces;
  bool begun = false;
  auto pass_on = [&] {
    if (!begun) begin();
    begun = true;
    for (const Piece& piece : pieces) to->append(piece.bytes);
    pieces.clear();
  };
  uint64_t got = 0;
  try {
    while (std::optional<Piece> piece = archive.piece()) {
      got += piece->bytes.size();
      pieces.push_back(std::move(*piece));
      if (member.size > kHeldBack && (begun || got > kHeldBack)) pass_on();
    }
    pass_on();
  } catch (const Truncation&) {
    static const std::vector<std::byte> kZeros(kBlockSize);
    if (begun) {
      pass_on();
      for (uint64_t left = member.size - got; left > 0;) {
        size_t part = std::min<uint64_t>(left, kZeros.size());
        to->append(Bytes(kZeros).first(part));
        left -= part;
      }
    }
    throw;
  }
}

Reader::Implementation::Member Reader::Implementation::expect(const std::string& expected, const std::string& after) {
  std::optional<Member> member = archive.next();
  if (!member || member->name != expected) {
    throw Error::of("{} is followed by '{}', not by {}", after, member ? shown(member->name) : "the bundle's end",
                    expected);
  }
  note_name(*member, parse_name(member->name).kind);
  return *member;
}

void Reader::Implementation::take_code(const Member& member, const Digest& digest) {
  if (member.size > memory_limit - std::min(memory_limit, code_bytes)) {
    throw Error::of("{} and the code before it need more than the {} bytes of memory that there are", member.name,
                    memory_limit);
  }
  std::string contents = text_of_member(member, kMaxCodeSize);
  refuse_unless(digest_of(contents) == digest, member.name, "its contents do not have its digest");
  if (writer && !writer->has(member.name)) copy_text(member.name, contents);
  if (const auto [known, fresh] = codes.try_emplace(digest, std::move(contents)); fresh) code_bytes += member.size;
}

Item Reader::Implementation::take_kernel(const Member& json, const MemberName& parsed) {
  std::string text = json_of_member(json);
  KernelMember kernel{parse_kernel(text, json.name), {}};
  refuse_unless(kernel.info.id == parsed.digests[0], json.name, "it describes another kernel than its name says");
  if (const Digest& source = kernel.info.source_text; !source.empty()) {
    auto known = codes.find(source);
    refuse_unless(known != codes.end(), json.name, "its source did not come before it");
    kernel.source = known->second;
  }
  std::string before = json.name + (has_ir(kernel.info) ? "" : ", whose code did not come before it,");
  for (const KernelFile& file : files_of(kernel.info)) {
    if (auto code = codes.find(file.digest); !has_ir(kernel.info) && code != codes.end()) {
      kernel.*place_of(kernel.info, file) = code->second;
      continue;
    }
    Member member = expect(kernel_file_name(kernel.info.id, file.name), before);
    std::string& contents = kernel.*place_of(kernel.info, file);
    contents = text_of_member(member, kMaxCodeSize);
    refuse_unless(digest_of(contents) == file.digest, member.name, "its digest is not the recorded one");
    before = member.name;
  }
  kernels[kernel.info.id] = kernel.info.argument_bytes;
  kernel.text = std::move(text);
  if (writer && !writer->has(json.name)) add(*writer, kernel);
  return kernel;
}

Item Reader::Implementation::take_variant(const Member& json, const MemberName& parsed) {
  std::string text = json_of_member(json);
  VariantMember variant{parse_variant(text, json.name), {}};
  const VariantInfo& info = variant.info;
  refuse_unless(info.kernel == parsed.digests[0] && info.id == parsed.digests[1], json.name,
                "it describes another variant than its name says");
  refuse_unless(kernels.contains(info.kernel), json.name, "its kernel did not come before it");
  refuse_unless(!info.configuration.baseline || info.has_code_member(), json.name,
                "it is the recorded code, but has no code");
  if (info.has_code_member()) {
    if (auto known = codes.find(info.code_digest); known != codes.end()) {
      variant.code = known->second;
    } else {
      Member code = expect(variant_code_name(info.kernel, info.id, info.code), json.name);
      variant.code = text_of_member(code, kMaxCodeSize);
      refuse_unless(digest_of(variant.code) == info.code_digest, code.name, "its digest is not the recorded one");
    }
    if (!info.configuration.baseline) holders[info.id] = {info.kernel, info.code_digest};
  } else if (info.failed.empty()) {
    auto holder = holders.find(info.same_as);
    refuse_unless(holder != holders.end() && holder->second.kernel == info.kernel, json.name,
                  "the variant whose code it says to have did not come before it with code");
    refuse_unless(holder->second.code == info.code_digest, json.name,
                  "the variant whose code it says to have has other code");
  }
  if (info.failed.empty() && !info.configuration.baseline && !info.configuration.check_memory &&
      !info.configuration.algebra) {
    eligible[info.id] = {info.kernel, info.configuration};
  }
  variant.text = std::move(text);
  copy_variant(variant, json.name);
  return variant;
}

void Reader::Implementation::copy_variant(VariantMember variant, const std::string& name) {
  if (!writer) return;
  if (writer->has(name)) return left_out.keep(std::move(variant));
  left_out.make_whole(variant);
  add(*writer, variant);
}

Item Reader::Implementation::take_instance(const Member& member, const MemberName& parsed) {
  std::string text = json_of_member(member);
  InstanceMember instance{parse_instance(text, member.name), {}, {}};
  const InstanceInfo& in = instance.info;
  refuse_unless(in.kernel == parsed.digests[0] && in.id == parsed.digests[1], member.name,
                "it describes another instance than its name says");
  refuse_unless(instance_id(in) == in.id, member.name, "its contents do not have its hash");
  auto kernel = kernels.find(in.kernel);
  refuse_unless(kernel != kernels.end(), member.name, "its kernel did not come before it");
  refuse_unless(kernel->second == in.arguments.size(), member.name, "its arguments are not of its kernel's size");
  if (decodes() || gives_packs()) {
    decoder.settle();
    instance.prologue = take_state(in.prologue, in, "prologue");
    instance.epilogue = take_state(in.epilogue, in, "epilogue");
    check_blocks(instance.prologue, in);
    check_blocks(instance.epilogue, in);
    if (leaving) leaving();
    state_texts.clear();
    raw.clear();
    states.clear();
    states[in.prologue] = instance.prologue;
    states[in.epilogue] = instance.epilogue;
    // From here on the next instance may cite what this one cites, and nothing else that came so far, unless the bundle
    // says what.
    if (info.memory != "kept") keep_only(in_hand());
  }
  copy_text(member.name, text);
  instance.text = std::move(text);
  return instance;
}

Item Reader::Implementation::take_run(const Member& member, const MemberName& parsed) {
  std::string text = json_of_member(member);
  RunMember run{parse_run(text, member.name)};
  const auto& [kernel, instance, variant] = parsed.digests;
  refuse_unless(run.info.kernel == kernel && run.info.instance == instance && run.info.variant == variant, member.name,
                "it describes another run than its name says");
  refuse_unless(names.contains(digest_of(instance_name(kernel, instance))), member.name,
                "its instance did not come before it");
  refuse_unless(names.contains(digest_of(variant_json_name(kernel, variant))), member.name,
                "its variant did not come before it");
  if (writer && !writer->has(member.name)) {
    if (!copy_memory) store_run_blocks(run.info);
    copy_text(member.name, text);
  }
  run.text = std::move(text);
  return run;
}

Item Reader::Implementation::take_choice(const Member& member, const MemberName& parsed) {
  std::string text = json_of_member(member);
  ChoiceMember choice{parse_choice(text, member.name)};
  const Choice& in = choice.info;
  refuse_unless(in.kernel == parsed.digests[0] && in.id == parsed.digests[1], member.name,
                "it describes another choice than its name says");
  refuse_unless(choice_id(in) == in.id, member.name, "its key does not have its hash");
  auto kernel = kernels.find(in.kernel);
  refuse_unless(kernel != kernels.end(), member.name, "its kernel did not come before it");
  refuse_unless(in.guards.empty() || in.guards.back().offset + in.guards.back().bytes.size() <= kernel->second,
                member.name, "its guards are not of its kernel's arguments");
  auto variant = eligible.find(in.variant);
  refuse_unless(variant != eligible.end() && variant->second.kernel == in.kernel, member.name,
                "no variant of its kernel that may be chosen came before it");
  const Configuration& configuration = variant->second.configuration;
  refuse_unless(configuration.target == in.target, member.name, "its variant is for another target");
  refuse_unless(launches_as_said(in, configuration), member.name, "its variant's configuration says another launch");
  if (writer && !writer->has(member.name)) copy_text(member.name, text);
  choice.text = std::move(text);
  return choice;
}

Item Reader::Implementation::take_summary(const Member& member) {
  Summary summary = parse_summary(json_of_member(member), member.name);
  summary_seen = true;
  return summary;
}

}  // namespace mneme::bundle
