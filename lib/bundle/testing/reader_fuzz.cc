// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libFuzzer's way into the reader: whatever the bytes, it gives what it gives or throws Error, within its memory limit,
// and what it passes on is a sound archive. Mutations mostly go into a member, with the archive and the seals mended
// around them: behind checksums and digests is where the faults would be.
#include <cstdlib>
#include <random>

#include "base/error.h"
#include "bundle/names.h"
#include "bundle/testing/bad_bundle.h"
#include "bundle/testing/ranks.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace mneme::bundle {
namespace {

constexpr uint64_t kMemoryLimit = 64 << 20;

void read_through(Reader& reader) {
  while (auto item = reader.next()) {
    auto* instance = std::get_if<InstanceMember>(&*item);
    if (!instance) continue;
    // What was given has to be there.
    for (const State* state : {&instance->prologue, &instance->epilogue}) {
      for (const BlockReference& block : state->blocks) {
        if (digest_of(reader.block(block.digest)) != block.digest) std::abort();
      }
    }
  }
}

void decode(Bytes bytes) {
  Fd file = memory_file("bundle", bytes);
  Reader reader(file.get(), "the bundle", Memory::kDecode);
  reader.set_memory_limit(kMemoryLimit);
  read_through(reader);
}

void pass_on(Bytes bytes) {
  Fd file = memory_file("bundle", bytes), copy = memory_file("copy");
  Reader reader(file.get(), "the bundle", Memory::kPass);
  Writer writer(copy.get(), "the copy");
  writer.add(std::string(kBundleMember), write(reader.info()));
  reader.copy_to(&writer);
  while (reader.next()) {
  }
  writer.finish();
  ::lseek(copy.get(), 0, SEEK_SET);
  Reader again(copy.get(), "the copy", Memory::kPass);
  while (again.next()) {
  }
  if (again.truncated()) std::abort();
}

bool is_sound(const std::string& bundle) {
  try {
    Fd file = memory_file("bundle", bytes_of(bundle));
    Reader reader(file.get(), "the bundle", Memory::kDecode);
    reader.set_memory_limit(kMemoryLimit);
    read_through(reader);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Beside a sound bundle of another rank: what is passed on is a sound archive, in which all is there that instances
// cite. What packs hold is not looked at, so it is as sound as the bytes are.
void merge(Bytes bytes) {
  static const std::string kSound = rank_bundle({{1, 3, 1, 2}});
  const std::string bundle(text_of(bytes));
  const std::vector<std::string> bundles = {kSound, bundle, bundle};
  const std::string merged = passed_on(bundles, {}, 0, kMemoryLimit);
  [&]() noexcept {
    Contents contents = read_bundle(merged, Memory::kPacks);
    if (contents.truncated || contents.instances.size() < 2) std::abort();
  }();
  if (is_sound(bundle) && !is_sound(passed_on(bundles, {}, 4, kMemoryLimit))) std::abort();
}

void seal(std::string& json) {
  size_t end = json.rfind(",\"digest\":\"");
  std::string body = json.substr(0, end == std::string::npos ? json.find_last_of('}') : end);
  json = body + ",\"digest\":\"" + digest_of(body).hex() + "\"}";
}

// An instance or a choice whose contents were changed gets the hash, and so the name, of what it now is.
void mend_instance(TarMember& member) {
  InstanceInfo info = parse_instance(member.contents, member.name);
  info.id = instance_id(info);
  member.name = instance_name(info.kernel, info.id);
  member.contents = write(info);
}

void mend_choice(TarMember& member) {
  Choice info = parse_choice(member.contents, member.name);
  info.id = choice_id(info);
  member.name = choice_name(info.kernel, info.id);
  member.contents = write(info);
}

void mend(TarMember& member) {
  try {
    const MemberKind kind = parse_name(member.name).kind;
    if (kind == MemberKind::kInstance) mend_instance(member);
    if (kind == MemberKind::kChoice) mend_choice(member);
  } catch (const Error&) {
    return;  // it is none any more, which is worth trying too
  }
}

void mutate(TarMember& member, size_t room) {
  size_t size = member.contents.size();
  member.contents.resize(size + room);
  auto* data = reinterpret_cast<uint8_t*>(member.contents.data());
  member.contents.resize(LLVMFuzzerMutate(data, size, size + room));
  if (member.name.ends_with(".json")) seal(member.contents);
  mend(member);
}

// The archive with something changed in it; empty where it is none.
std::string mutate(std::string_view tar, std::minstd_rand& random) {
  std::vector<TarMember> members = members_of(tar);
  if (members.empty() || random() % 4 == 0) return {};
  size_t chosen = random() % members.size();
  if (random() % 8 == 0) {
    std::swap(members[chosen], members[random() % members.size()]);
  } else if (random() % 8 == 0) {
    members.erase(members.begin() + static_cast<long>(chosen));
  } else {
    mutate(members[chosen], 256);
  }
  return tar_of(members);
}

void try_way(void (*way)(Bytes), Bytes bytes) {
  try {
    way(bytes);
  } catch (const Error&) {
    return;  // a right answer to most inputs
  }
}

}  // namespace
}  // namespace mneme::bundle

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  mneme::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  mneme::bundle::try_way(&mneme::bundle::decode, bytes);
  mneme::bundle::try_way(&mneme::bundle::pass_on, bytes);
  mneme::bundle::try_way(&mneme::bundle::merge, bytes);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  std::string tar = mneme::bundle::mutate({reinterpret_cast<const char*>(data), size}, random);
  if (tar.empty() || tar.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(tar.begin(), tar.end(), data);
  return tar.size();
}
