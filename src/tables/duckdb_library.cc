#include "tables/duckdb_library.h"

#include <dlfcn.h>

// Of the file that tools/duckdb/make_stubs.py writes: a jump for each function, and where they go.
extern "C" {
extern const unsigned culprit_duckdb_count;
extern void* culprit_duckdb_slots[];
extern const char* const culprit_duckdb_names[];
}

namespace culprit::tables {
namespace {

Status Load() {
  const auto failed = [](std::string what) {
    return Error{std::move(what),
                 "libduckdb.so belongs into lib/ beside bin/culprit; install culprit again"};
  };
  // Found by the program's RPATH. Never closed: it has threads of its own.
  void* library = dlopen("libduckdb.so", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return failed("cannot load DuckDB: " + std::string(reason == nullptr ? "?" : reason));
  }
  for (unsigned i = 0; i < culprit_duckdb_count; ++i) {
    culprit_duckdb_slots[i] = dlsym(library, culprit_duckdb_names[i]);
    if (culprit_duckdb_slots[i] == nullptr) {
      return failed("libduckdb.so is of another version: it has no " +
                    std::string(culprit_duckdb_names[i]));
    }
  }
  return {};
}

}  // namespace

Status LoadDuckDb() {
  static const Status status = Load();
  return status;
}

}  // namespace culprit::tables
