# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mneme_llvm_from_archives(target): takes LLVM from its archives instead of the shared library, with x86-64 as its only
# target. For a program that somebody waits for: to load and relocate the shared library, with all it has, takes as long
# as to compile a small kernel. Does nothing without lld, which does not mind the archives' order, without archives, and
# with sanitizers, which LLVM was not compiled with.
execute_process(COMMAND ${LLVM_CONFIG} --link-static --libs x86 passes irreader bitwriter codegen linker lto option
  OUTPUT_VARIABLE mneme_llvm_archives ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX MATCHALL "LLVM[A-Za-z0-9]+" mneme_llvm_archives "${mneme_llvm_archives}")
list(TRANSFORM mneme_llvm_archives REPLACE "(.+)" "${LLVM_LIBRARY_DIR}/lib\\1.a")
set(mneme_has_llvm_archives ON)
foreach(archive IN LISTS mneme_llvm_archives)
  if(NOT EXISTS ${archive})
    set(mneme_has_llvm_archives OFF)
  endif()
endforeach()
if(NOT mneme_llvm_archives OR NOT CMAKE_CXX_COMPILER_ID MATCHES Clang OR MNEME_SANITIZE)
  set(mneme_has_llvm_archives OFF)
endif()

# lld makes all of LLVM's targets known to it, and its link-time optimiser a plugin of Debian's: here they are nothing.
set(mneme_other_targets ${CMAKE_CURRENT_BINARY_DIR}/without_other_targets.cc)
set(functions "")
execute_process(COMMAND ${LLVM_CONFIG} --targets-built OUTPUT_VARIABLE targets OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE " " ";" targets "${targets}")
list(REMOVE_ITEM targets X86)
foreach(target IN LISTS targets)
  foreach(part TargetInfo Target TargetMC AsmParser AsmPrinter)
    string(APPEND functions "extern \"C\" void LLVMInitialize${target}${part}() {}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${mneme_other_targets} CONTENT "#include <llvm/Passes/PassPlugin.h>
${functions}llvm::PassPluginLibraryInfo getPollyPluginInfo() { return {}; }
")

function(mneme_llvm_from_archives target)
  if(NOT mneme_has_llvm_archives)
    return()
  endif()
  target_sources(${target} PRIVATE ${mneme_other_targets})
  set_target_properties(${target} PROPERTIES MNEME_LLVM_ARCHIVES ON POSITION_INDEPENDENT_CODE OFF)
  # Nothing to relocate, and no library that the archives would need for what is not used.
  target_link_options(${target} PRIVATE -no-pie -Wl,--gc-sections -Wl,--as-needed)
endfunction()
