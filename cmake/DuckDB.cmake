# DuckDB's shared library and C header, from the npm packages that tools/duckdb/package-lock.json pins.
# The program finds the library by $ORIGIN/../lib, in the build tree as in the installed one. RPATH and not
# RUNPATH, so that libraries beside it find one another, too.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(duckdb_arch arm64)
else()
  set(duckdb_arch x64)
endif()
set(duckdb_library "${CULPRIT_NPM_DIR}/@duckdb/node-bindings-linux-${duckdb_arch}/libduckdb.so")
set(duckdb_include "${CULPRIT_NPM_DIR}/duckdb/src/duckdb/src/include")
if(NOT EXISTS "${duckdb_library}" OR NOT EXISTS "${duckdb_include}/duckdb.h")
  message(FATAL_ERROR "DuckDB is not in ${CULPRIT_NPM_DIR}: run ./dev build, which fetches it")
endif()

# Only duckdb.h is copied out, so that no other header of that package can be included by mistake.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/duckdb")
file(COPY_FILE "${duckdb_include}/duckdb.h" "${CMAKE_BINARY_DIR}/duckdb/duckdb.h" ONLY_IF_DIFFERENT)
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
file(COPY_FILE "${duckdb_library}" "${CMAKE_BINARY_DIR}/lib/libduckdb.so" ONLY_IF_DIFFERENT)

# Not linked with: loading 60 MB costs a run 10 to 30 ms, also those that need no SQL. What is linked are
# jumps; src/tables/duckdb_library.cc loads the library and tells them where to go.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(duckdb_stubs "${CMAKE_BINARY_DIR}/duckdb/duckdb_stubs.c")
add_custom_command(OUTPUT "${duckdb_stubs}"
    COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tools/duckdb/make_stubs.py"
            "${CMAKE_BINARY_DIR}/duckdb/duckdb.h" "${duckdb_stubs}"
    DEPENDS "${CMAKE_SOURCE_DIR}/tools/duckdb/make_stubs.py" "${CMAKE_BINARY_DIR}/duckdb/duckdb.h" VERBATIM)
add_library(DuckDB STATIC "${duckdb_stubs}")
target_include_directories(DuckDB SYSTEM INTERFACE "${CMAKE_BINARY_DIR}/duckdb")
target_link_libraries(DuckDB INTERFACE ${CMAKE_DL_LIBS})
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_BUILD_RPATH "\$ORIGIN/../lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "\$ORIGIN/../lib")
add_link_options(-Wl,--disable-new-dtags)
