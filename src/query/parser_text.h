// A statement in SQLite's words as a text that DuckDB's parser takes, with the way back to the
// user's SQL. Changes spelling only (operators DuckDB writes otherwise); meaning is dialect.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "query/token.h"

namespace culprit::query {

// What a LIKE in the text really is: DuckDB's grammar has no infix for the others.
enum class LikeKind { kLike, kGlob, kRegexp };

class ParserText {
 public:
  // An item of a select list, [begin, end) in the text, and how the user wrote it.
  struct Item {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string written;
  };
  using SelectList = std::vector<Item>;

  explicit ParserText(Tokens statement);

  const std::string& text() const { return text_; }
  const Tokens& tokens() const { return tokens_; }

  // The token that covers or follows an offset in the text.
  const Token* TokenAt(std::size_t offset) const;
  // Where in the user's SQL an offset in the text comes from.
  std::size_t SourceOf(std::size_t offset) const;
  LikeKind LikeAt(std::size_t offset) const;
  // The innermost select list with an item at this offset; nothing when there is none.
  const SelectList* SelectListAt(std::size_t offset) const;

 private:
  void Spell();
  void Write();
  void FindSelectLists(const Tokens& written);

  Tokens tokens_;               // as spelled for DuckDB
  std::size_t source_end_ = 0;  // of the query's last token: words put in behind it have no place
  std::vector<std::size_t> original_;  // index of each in the statement as written
  std::vector<LikeKind> like_;         // beside tokens_
  std::vector<std::size_t> offsets_;   // of tokens_ in text_
  std::string text_;
  std::vector<SelectList> select_lists_;
};

}  // namespace culprit::query
