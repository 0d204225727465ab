// LoadedTrace: a trace of a test in tables, and rows of it as text. Not part of the program.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file.h"
#include "load/load.h"
#include "tables/database.h"
#include "tables/schema.h"

namespace culprit::load {

// A file that is there as long as the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) {
    const char* directory = std::getenv("TMPDIR");
    path_ = std::string(directory == nullptr ? "/tmp" : directory) + "/culprit-test-XXXXXX";
    const UniqueFd fd(mkstemp(path_.data()));
    EXPECT_TRUE(fd.valid());
    EXPECT_TRUE(WriteAll(fd.get(), bytes, path_).ok());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class LoadedTrace {
 public:
  explicit LoadedTrace(std::string_view bytes, unsigned groups = kCore) : LoadedTrace() {
    const TemporaryFile file(bytes);
    Load(file.path(), groups);
  }
  static LoadedTrace OfFile(const std::string& path, unsigned groups = kCore) {
    LoadedTrace loaded;
    loaded.Load(path, groups);
    return loaded;
  }

  const LoadSummary& summary() const { return summary_; }
  tables::Database& database() { return database_; }

  // The rows of a query: values parted by "|", a line each; NULL as "NULL".
  std::string Rows(std::string_view sql) {
    auto connection = database_.Connect();
    EXPECT_TRUE(connection.ok());
    auto result = connection->Query(sql);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    if (!result.ok()) return "";
    std::string text;
    for (;;) {
      const auto more = result->Next();
      EXPECT_TRUE(more.ok());
      if (!more.ok() || !*more) return text;
      for (std::size_t row = 0; row < result->chunk_rows(); ++row) {
        for (std::size_t column = 0; column < result->column_count(); ++column) {
          if (column > 0) text += '|';
          result->AppendText(column, row, text);
        }
        text += '\n';
      }
    }
  }

 private:
  LoadedTrace() : database_(tables::Database::OpenInMemory().value()) {}
  void Load(const std::string& path, unsigned groups) {
    auto connection = database_.Connect();
    EXPECT_TRUE(connection.ok());
    EXPECT_TRUE(tables::CreateSchema(*connection).ok());
    LoadOptions options;
    options.threads = 2;
    options.groups = groups;
    auto summary = LoadTrace(path, database_, options);
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().ToString());
    if (summary.ok()) summary_ = *summary;
  }

  tables::Database database_;
  LoadSummary summary_;
};

}  // namespace culprit::load
