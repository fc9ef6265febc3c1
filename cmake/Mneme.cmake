# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The project's own build rules: mneme_library, mneme_tool, mneme_test, mneme_llvm.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
set(Boost_USE_STATIC_LIBS ON)
find_package(Boost REQUIRED COMPONENTS context)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)

include(${CMAKE_CURRENT_LIST_DIR}/Standalone.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/OwnHeap.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/AmdgpuKernels.cmake)

add_library(mneme_options INTERFACE)
target_compile_options(mneme_options INTERFACE -Wall -Wextra -Wpedantic)
# Failed assertions name files of the source tree, not of the machine that built it.
target_compile_options(mneme_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)

  target_link_options(mneme_options INTERFACE -fuse-ld=lld)
endif()
if(MNEME_WERROR)
  target_compile_options(mneme_options INTERFACE -Werror)
endif()
if(MNEME_SANITIZE)
  target_compile_options(mneme_options INTERFACE -fsanitize=address,undefined -fno-omit-frame-pointer)
  target_link_options(mneme_options INTERFACE -fsanitize=address,undefined)
endif()
target_include_directories(mneme_options INTERFACE ${PROJECT_SOURCE_DIR}/lib)
target_compile_definitions(mneme_options INTERFACE MNEME_VERSION="${PROJECT_VERSION}")

# LLVM 19's headers and shared library, as system headers: their warnings are not ours.
find_program(LLVM_CONFIG NAMES llvm-config-19 REQUIRED)
execute_process(COMMAND ${LLVM_CONFIG} --includedir OUTPUT_VARIABLE LLVM_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND ${LLVM_CONFIG} --libdir OUTPUT_VARIABLE LLVM_LIBRARY_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
add_library(mneme_llvm_headers INTERFACE)
target_include_directories(mneme_llvm_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIR})
target_compile_definitions(mneme_llvm_headers INTERFACE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
target_compile_options(mneme_llvm_headers INTERFACE -fno-rtti)
add_library(mneme_llvm INTERFACE)
include(${CMAKE_CURRENT_LIST_DIR}/LlvmArchives.cmake)
target_link_libraries(mneme_llvm INTERFACE mneme_llvm_headers
  "$<IF:$<BOOL:$<TARGET_PROPERTY:MNEME_LLVM_ARCHIVES>>,${mneme_llvm_archives},${LLVM_LIBRARY_DIR}/libLLVM-19.so>")

# Of a CUDA toolkit, which nothing needs to build: some tests compare what we declare with its headers.
find_path(CUDA_INCLUDE_DIR cuda_runtime_api.h HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
find_program(MNEME_PTXAS ptxas HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)
find_program(MNEME_FATBINARY fatbinary HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin)

include(${CMAKE_CURRENT_LIST_DIR}/Precompiled.cmake)

# mneme_library(bundle [LLVM] SOURCES a.cc b.cc LINK mneme_base …): static library mneme_bundle. With LLVM: its sources
# include LLVM's headers.
function(mneme_library name)
  cmake_parse_arguments(ARG "LLVM" "" "SOURCES;LINK" ${ARGN})
  add_library(mneme_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(mneme_${name} PUBLIC ${ARG_LINK} PRIVATE mneme_options)
  target_include_directories(mneme_${name} PUBLIC ${PROJECT_SOURCE_DIR}/lib)
  list(LENGTH ARG_SOURCES files)
  if(ARG_LLVM)
    mneme_precompiled(mneme_${name} llvm)
  elseif(files GREATER 1)
    mneme_precompiled(mneme_${name} plain)
  endif()
endfunction()

# mneme_tool(mneme-run [LLVM] SOURCES main.cc LINK …): an executable, installed with its manual page <tool>.1.
function(mneme_tool name)
  cmake_parse_arguments(ARG "LLVM" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE mneme_options ${ARG_LINK})
  if(ARG_LLVM)
    mneme_precompiled(${name} llvm)
  else()
    mneme_precompiled(${name} plain)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${name}.1)
    install(FILES ${name}.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
endfunction()

# mneme_part(target [folder]): a shared object or helper program in lib/mneme[/folder], built and installed.
function(mneme_part target)
  set(folder ${MNEME_PARTS_DIR}/${ARGV1})
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${folder} RUNTIME_OUTPUT_DIRECTORY ${folder})
  install(TARGETS ${target}
    LIBRARY DESTINATION lib/mneme/${ARGV1} NAMELINK_SKIP
    RUNTIME DESTINATION lib/mneme/${ARGV1})
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/Tests.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/Version.cmake)
