# DuckDB's shared library and C header, from the npm packages that tools/duckdb/package-lock.json pins.
# The program finds the library by $ORIGIN/../lib, in the build tree as in the installed one.
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

add_library(DuckDB SHARED IMPORTED)
set_target_properties(DuckDB PROPERTIES
    IMPORTED_LOCATION "${CMAKE_BINARY_DIR}/lib/libduckdb.so"
    IMPORTED_NO_SONAME ON
    INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_BINARY_DIR}/duckdb")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_BUILD_RPATH "\$ORIGIN/../lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "\$ORIGIN/../lib")
