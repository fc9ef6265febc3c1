// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "codegen/amdgpu/complaints.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cctype>
#include <mutex>

namespace mneme::codegen::amdgpu {
namespace {

constexpr size_t kLongest = 500;  // characters of a message

struct FirstError : llvm::DiagnosticHandler {
  explicit FirstError(std::string& text) : text_(text) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() != llvm::DS_Error) return true;  // clang said so when the application was built
    if (!text_.empty()) return true;
    llvm::raw_string_ostream stream(text_);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    return true;
  }

 private:
  std::string& text_;
};

// Takes the handler away, which what it writes to does not outlive.
struct Listening {
  Listening(llvm::LLVMContext& context, std::string& text) : context_(context) {
    context.setDiagnosticHandler(std::make_unique<FirstError>(text));
  }
  ~Listening() { context_.setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>()); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  llvm::LLVMContext& context_;
};

// LLVM calls it where there is no way on; it must not return.
[[noreturn]] void on_fatal_error(void*, const char* reason, bool) { throw Complaint(tidy(reason)); }

// "Cannot select: intrinsic %llvm.amdgcn.sdot4", "Cannot select: 0x55d0a1b2c3d0: f32 = FDOT2 …" and all that leads to
// it: the name of what is meant. Empty for other messages.
std::string without_instruction(const std::string& message) {
  if (!message.starts_with("Cannot select: ")) return {};
  for (const std::string& before : {std::string("intrinsic %"), std::string(" = ")}) {
    size_t at = message.find(before);
    if (at >= message.find('\n')) continue;
    at += before.size();
    return message.substr(at, std::min(message.find_first_of(" \n", at) - at, kLongest));
  }
  return {};
}

}  // namespace

std::string tidy(const std::string& message) {
  if (std::string name = without_instruction(message); !name.empty()) return "that GPU has no instruction for " + name;
  std::string text;
  for (size_t i = 0; i < message.size() && text.size() < kLongest; ++i) {
    if (message.compare(i, 2, "0x") == 0) {
      size_t end = i + 2;
      while (end < message.size() && std::isxdigit(static_cast<unsigned char>(message[end]))) ++end;
      if (end - i > 8) {  // no number of the kernel's
        if (message.compare(end, 2, ": ") == 0) end += 2;
        i = end - 1;
        continue;
      }
    }
    char c = message[i] == '\n' || message[i] == '\t' ? ' ' : message[i];
    if (c != ' ' || (!text.empty() && text.back() != ' ')) text += c;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

void with_complaints(llvm::LLVMContext& context, const std::function<void()>& body) {
  static std::mutex one_at_a_time;  // there is one handler a process
  std::lock_guard lock(one_at_a_time);
  std::string first;
  {
    Listening listening(context, first);
    llvm::ScopedFatalErrorHandler handler(on_fatal_error);
    body();
  }
  if (!first.empty()) throw Complaint(tidy(first));
}

}  // namespace mneme::codegen::amdgpu
