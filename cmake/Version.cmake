# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# mneme_version(file): a header with the version and the commit, for --version: "0.2.0 (3c981f6)". It is made anew when git
# notes a commit or a checkout. In an archive of `git archive` the commit stands in cmake/commit.txt.
#
# As a script: cmake -DSOURCE=… -DOUTPUT=… -DVERSION=… -P Version.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  file(READ ${SOURCE}/cmake/commit.txt commit)
  string(STRIP "${commit}" commit)
  if(commit MATCHES "Format")
    set(commit "")
    execute_process(COMMAND git rev-parse --short=7 HEAD WORKING_DIRECTORY ${SOURCE}
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
  set(text "${VERSION}")
  if(commit)
    string(APPEND text " (${commit})")
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define MNEME_VERSION_TEXT \"${text}\"\n")
  return()
endif()

function(mneme_version output)
  execute_process(COMMAND git rev-parse --git-path logs/HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  cmake_path(ABSOLUTE_PATH log BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(NOT EXISTS "${log}" OR IS_DIRECTORY "${log}")
    set(log "")
  endif()
  set(script ${PROJECT_SOURCE_DIR}/cmake/Version.cmake)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${output} -DVERSION=${PROJECT_VERSION} -P ${script}
    DEPENDS ${script} ${PROJECT_SOURCE_DIR}/cmake/commit.txt ${log} VERBATIM)
  add_custom_target(version_text DEPENDS ${output})  # which a source checked by itself includes
endfunction()
