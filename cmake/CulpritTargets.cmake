# One folder, one library, one test program: the shape of every stage (docs: ARCHITECTURE.md).

add_library(culprit_options INTERFACE)
target_compile_options(culprit_options INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                       $<$<BOOL:${CULPRIT_WERROR}>:-Werror>
                       # GCC 12 warns of overlaps inside std::string that cannot happen (GCC bug 105651).
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(CULPRIT_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=address,undefined)
endif()
if(CULPRIT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# culprit_library(NAME [DEPS ...]): library culprit_NAME of the *.cc in this folder and those below
# it, and, from its *_test.cc, the program NAME_test, run by ctest.
function(culprit_library name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "*.cc")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  add_library(culprit_${name} STATIC ${sources})
  target_include_directories(culprit_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src" "${CMAKE_BINARY_DIR}/src")
  target_link_libraries(culprit_${name} PUBLIC culprit_options ${ARG_DEPS})
  if(tests)
    culprit_test(${name}_test SOURCES ${tests} DEPS culprit_${name})
  endif()
endfunction()

# culprit_test(NAME SOURCES ... DEPS ...): a gtest program, one ctest entry. It finds the project by
# CULPRIT_SOURCE_DIR and the program by CULPRIT_PROGRAM.
function(culprit_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 ENVIRONMENT
      "CULPRIT_SOURCE_DIR=${CMAKE_SOURCE_DIR};CULPRIT_PROGRAM=${CMAKE_BINARY_DIR}/bin/culprit")
endfunction()

# culprit_embed(TARGET NAME stage/file SYMBOL kName NAMESPACE ns FILES ...): the files' text, in that
# order, as `extern const std::span<const culprit::EmbeddedFile> kName` (base/embedded_file.h), which
# the user declares. Made again when a file changes.
function(culprit_embed target)
  cmake_parse_arguments(ARG "" "NAME;SYMBOL;NAMESPACE" "FILES" ${ARGN})
  list(TRANSFORM ARG_FILES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set(output "${CMAKE_BINARY_DIR}/src/${ARG_NAME}.cc")
  add_custom_command(OUTPUT "${output}"
      COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DSYMBOL=${ARG_SYMBOL}" "-DNAMESPACE=${ARG_NAMESPACE}"
              "-DFILES=${ARG_FILES}" -P "${CMAKE_SOURCE_DIR}/cmake/Embed.cmake"
      DEPENDS ${ARG_FILES} "${CMAKE_SOURCE_DIR}/cmake/Embed.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${output}")
endfunction()
