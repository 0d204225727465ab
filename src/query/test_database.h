// For tests in query/: a database in memory, and statements run on it through the dialect.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "query/catalog.h"
#include "query/dialect.h"
#include "tables/database.h"

namespace culprit::query {

class TestDatabase {
 public:
  explicit TestDatabase(std::string_view script)
      : database_(Take(tables::Database::OpenInMemory({.threads = 2}))),
        connection_(Take(database_.Connect())),
        questions_(Take(database_.Connect())),
        catalog_(questions_),
        dialect_(Take(Dialect::Open(questions_, catalog_))) {
    for (tables::Connection* connection : {&connection_, &questions_}) {
      const Status set = connection->Execute(kDialectSettings);
      EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.error().what);
    }
    const Status made = connection_.Execute(script);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().what);
  }

  // "name|name\nvalue|value", NULL as nothing; "error: ..." when it fails.
  std::string Rows(std::string_view sql) {
    translation_ = dialect_.Statement(Tokenize(sql));
    if (translation_.error) return "error: " + translation_.error->message;
    auto result = connection_.Query(translation_.sql);
    catalog_.Forget();
    if (!result.ok()) return "error: " + connection_.last_error().message;
    return Text(*result);
  }

  static std::string Text(tables::QueryResult& result) {
    std::string text;
    for (std::size_t c = 0; c < result.column_count(); ++c) {
      text += (c == 0 ? "" : "|") + std::string(result.name(c));
    }
    while (true) {
      const Result<bool> more = result.Next();
      if (!more.ok()) return "error: " + more.error().what;
      if (!*more) return text;
      for (std::size_t row = 0; row < result.chunk_rows(); ++row) {
        for (std::size_t c = 0; c < result.column_count(); ++c) {
          text += c == 0 ? "\n" : "|";
          if (!result.IsNull(c, row)) result.AppendText(c, row, text);
        }
      }
    }
  }

  // Where the last Error lies in the SQL that was given.
  std::optional<std::size_t> ErrorOffset() {
    if (translation_.error) return translation_.error->offset;
    const auto& offset = connection_.last_error().offset;
    return offset ? dialect_.SourceOffset(translation_, *offset) : std::nullopt;
  }

  const Translation& translation() const { return translation_; }
  tables::Connection& connection() { return connection_; }
  Dialect& dialect() { return dialect_; }
  Catalog& catalog() { return catalog_; }

 private:
  template <class T>
  static T Take(Result<T> result) {
    CULPRIT_CHECK(result.ok());
    return std::move(result).value();
  }

  tables::Database database_;
  tables::Connection connection_;
  tables::Connection questions_;
  Catalog catalog_;
  Dialect dialect_;
  Translation translation_;
};

}  // namespace culprit::query
