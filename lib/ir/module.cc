// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/module.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Verifier.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"

namespace mneme::ir {
namespace {

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

std::unique_ptr<llvm::Module> load_module(llvm::LLVMContext& context, std::string_view ir, const std::string& where) {
  // A copy: the text parser needs a terminating zero, which a view does not promise.
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(ir.data(), ir.size()), where);
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module = llvm::parseIR(*buffer, diagnostic, context);
  if (!module) {
    throw Error::of("{} is not LLVM IR that this version reads: {}{}", where,
                    diagnostic.getLineNo() > 0 ? fmt::format("line {}: ", diagnostic.getLineNo()) : "",
                    one_line(diagnostic.getMessage().str()));
  }
  verify_module(*module, where);
  return module;
}

std::string print_module(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

std::string write_bitcode(const llvm::Module& module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  return bytes;
}

void verify_module(const llvm::Module& module, const std::string& what) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(module, &stream)) throw Error::of("{} is not valid IR: {}", what, one_line(message));
}

}  // namespace mneme::ir
