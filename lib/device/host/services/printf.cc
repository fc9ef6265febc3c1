// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/services/printf.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace mneme::device::host {
namespace {

constexpr int kWidest = 1 << 16;            // of a field; what is wider was not meant
constexpr size_t kLongestString = 1 << 20;  // that is read through a pointer

// One conversion specification: %[flags][width][.precision][length]letter. No destructor: touch_strings() may leave by
// a fault.
struct Conversion {
  enum Length { kInt, kChar, kShort, kLong };
  const char* end = nullptr;       // one past it
  std::string_view flags, size;    // as they stand there
  int width = -1, precision = -1;  // -1: not given
  bool width_follows = false, precision_follows = false;
  Length length = kInt;
  char letter = 0;  // 0: the format ends within it
};

int number(const char*& at, const char* end) {
  int value = 0;
  for (; at < end && *at >= '0' && *at <= '9'; ++at) value = std::min(value * 10 + (*at - '0'), kWidest);
  return value;
}

// `at` is behind the '%'.
Conversion parse(const char* at, const char* end) {
  Conversion c;
  const char* flags = at;
  while (at < end && std::strchr("-+ #0'", *at)) ++at;
  c.flags = {flags, static_cast<size_t>(at - flags)};
  if (at < end && *at == '*') {
    c.width_follows = true;
    ++at;
  } else if (at < end && *at >= '1' && *at <= '9') {
    c.width = number(at, end);
  }
  if (at < end && *at == '.') {
    ++at;
    c.precision_follows = at < end && *at == '*';
    if (c.precision_follows) {
      ++at;
    } else {
      c.precision = number(at, end);
    }
  }
  const char* size = at;
  for (; at < end && std::strchr("hljztqL", *at); ++at) {
    if (*at == 'h') {
      c.length = c.length == Conversion::kShort ? Conversion::kChar : Conversion::kShort;
    } else {
      c.length = Conversion::kLong;
    }
  }
  c.size = {size, static_cast<size_t>(at - size)};
  if (at < end) c.letter = *at++;
  c.end = at;
  return c;
}

int64_t as_signed(uint64_t word, Conversion::Length length) {
  switch (length) {
    case Conversion::kChar:
      return static_cast<int8_t>(word);
    case Conversion::kShort:
      return static_cast<int16_t>(word);
    case Conversion::kInt:
      return static_cast<int32_t>(word);
    case Conversion::kLong:
      break;
  }
  return static_cast<int64_t>(word);
}

uint64_t as_unsigned(uint64_t word, Conversion::Length length) {
  switch (length) {
    case Conversion::kChar:
      return static_cast<uint8_t>(word);
    case Conversion::kShort:
      return static_cast<uint16_t>(word);
    case Conversion::kInt:
      return static_cast<uint32_t>(word);
    case Conversion::kLong:
      break;
  }
  return word;
}

// The arguments, in turn.
class Arguments {
 public:
  explicit Arguments(const std::vector<PrintPart>& parts) : parts_(parts) {}
  const PrintPart* next() { return at_ < parts_.size() ? &parts_[at_++] : nullptr; }
  uint64_t word() {
    const PrintPart* part = next();
    return part && part->kind == PrintPart::kWord ? part->word : 0;
  }

 private:
  const std::vector<PrintPart>& parts_;
  size_t at_ = 1;
};

void take_widths(Conversion& c, Arguments& arguments) {
  auto take = [&] { return std::clamp(static_cast<int>(arguments.word()), -kWidest, kWidest); };
  if (c.width_follows) c.width = take();
  if (c.precision_follows) c.precision = std::max(take(), -1);
}

// `spec` without the letter, then `letter`; with the value.
template <typename T>
void print(std::string& out, const Conversion& c, const char* letter, T value) {
  std::string spec = "%";
  spec += c.flags;
  int width = c.width;
  if (width < -1 || (c.width_follows && width == -1)) {  // a negative width given as an argument is a flag
    spec += '-';
    width = -width;
  }
  if (width >= 0) spec += std::to_string(width);
  if (c.precision >= 0) spec += "." + std::to_string(c.precision);
  spec += letter;
  int size = std::snprintf(nullptr, 0, spec.c_str(), value);
  if (size <= 0) return;
  size_t before = out.size();
  out.resize(before + static_cast<size_t>(size) + 1);
  std::snprintf(out.data() + before, static_cast<size_t>(size) + 1, spec.c_str(), value);
  out.pop_back();
}

const char* pointer(uint64_t word) { return reinterpret_cast<const char*>(word); }

size_t longest(const Conversion& c) {
  return c.precision < 0 ? kLongestString : std::min(kLongestString, static_cast<size_t>(c.precision));
}

void print_string(std::string& out, const Conversion& c, const PrintPart* part) {
  if (part && part->kind == PrintPart::kText) return print(out, c, "s", part->text.c_str());
  if (part && part->kind == PrintPart::kWord && part->word) {
    const char* text = pointer(part->word);
    return print(out, c, "s", std::string(text, ::strnlen(text, longest(c))).c_str());
  }
  print(out, c, "s", part ? "(null)" : "");
}

void print_character(std::string& out, Conversion c, char value) {
  if (value) return print(out, c, "c", static_cast<int>(value));
  // A zero byte is printed too, but would end the text for snprintf's caller.
  c.precision = -1;
  size_t before = out.size();
  print(out, c, "c", 1);
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), '\1', '\0');
}

void convert(std::string& out, const Conversion& c, Arguments& arguments) {
  const char letter[] = {'l', 'l', c.letter, 0};
  switch (c.letter) {
    case 'd':
    case 'i':
      return print(out, c, letter, static_cast<long long>(as_signed(arguments.word(), c.length)));
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return print(out, c, letter, static_cast<unsigned long long>(as_unsigned(arguments.word(), c.length)));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return print(out, c, letter + 2, std::bit_cast<double>(arguments.word()));
    case 'p':
      return print(out, c, "p", static_cast<const void*>(pointer(arguments.word())));
    case 'c':
      return print_character(out, c, static_cast<char>(arguments.word()));
    case 's':
      return print_string(out, c, arguments.next());
    case 'n':
      arguments.next();
      return;
    default:
      return;
  }
}

bool is_conversion(char letter) { return letter && std::strchr("diuoxXfFeEgGaApcsn", letter); }

std::string_view format_of(const std::vector<PrintPart>& parts) {
  return parts.empty() ? std::string_view() : std::string_view(parts[0].text);
}

}  // namespace

void touch_strings(const std::vector<PrintPart>& parts) noexcept {
  std::string_view format = format_of(parts);
  const char* end = format.data() + format.size();
  Arguments arguments(parts);
  for (const char* at = format.data(); at < end;) {
    if (*at++ != '%') continue;
    Conversion c = parse(at, end);
    at = c.end;
    if (!is_conversion(c.letter)) continue;
    take_widths(c, arguments);
    const PrintPart* part = arguments.next();
    if (c.letter != 's' || !part || part->kind != PrintPart::kWord || !part->word) continue;
    [[maybe_unused]] volatile size_t size = ::strnlen(pointer(part->word), longest(c));
  }
}

std::string formatted(const std::vector<PrintPart>& parts) {
  std::string_view format = format_of(parts);
  const char* end = format.data() + format.size();
  Arguments arguments(parts);
  std::string out;
  for (const char* at = format.data(); at < end;) {
    const char* begin = at;
    if (*at++ != '%') {
      out += *begin;
      continue;
    }
    Conversion c = parse(at, end);
    at = c.end;
    if (is_conversion(c.letter)) {
      take_widths(c, arguments);
      convert(out, c, arguments);
    } else if (c.letter == '%') {
      out += '%';
    } else {
      out.append(begin, at);  // nothing that is known: as it stands
    }
  }
  return out;
}

uint32_t count_of_arguments(std::string_view format) {
  const char* end = format.data() + format.size();
  uint32_t count = 0;
  for (const char* at = format.data(); at < end;) {
    if (*at++ != '%') continue;
    Conversion c = parse(at, end);
    at = c.end;
    const bool known = c.size.empty() || c.size == "h" || c.size == "l" || c.size == "ll";
    if (!known || c.precision_follows || !is_conversion(c.letter) || c.letter == 'F' || c.letter == 'n') continue;
    count += c.width_follows ? 2 : 1;
  }
  return count;
}

}  // namespace mneme::device::host
