// Tokens of SQL as SQLite and DuckDB share them, each with its place in the text it came from.
// Knows no grammar: what a statement is and what it means is statement.h and dialect.h.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace culprit::query {

enum class TokenKind {
  kWord,      // name or keyword, not quoted
  kQuoted,    // "name", also written `name`
  kString,    // 'text', also E'..' and X'..' and $$text$$ of DuckDB
  kNumber,    // 12, 1.5, 1e9, 0xff
  kVariable,  // $name, :name, @name, ?
  kSymbol,    // operators, one token each: <= || -> ; and parentheses
};

struct Token {
  TokenKind kind = TokenKind::kSymbol;
  std::string text;        // as written; rewriting changes it
  std::size_t source = 0;  // where it begins in the user's SQL; in a macro's body: the call
  bool space_before = false;

  // Whether it is this word, in either case, not quoted. `word` is upper case.
  bool Is(std::string_view upper_word) const;
  bool IsSymbol(std::string_view symbol) const {
    return kind == TokenKind::kSymbol && text == symbol;
  }
  // The name that a word or a quoted word stands for.
  std::string Name() const;
};

using Tokens = std::vector<Token>;

// What is wrong with the text, and where: a string or comment without an end.
struct TokenError {
  std::string what;
  std::size_t offset = 0;
};

// Comments are dropped. On an error the tokens before it stand.
Tokens Tokenize(std::string_view sql, TokenError* error = nullptr);

// The text of tokens, one blank where there was any.
std::string Join(const Token* begin, const Token* end);
inline std::string Join(const Tokens& tokens) {
  return Join(tokens.data(), tokens.data() + tokens.size());
}

// `name` as a quoted identifier, `text` as a string, for SQL that we write.
std::string QuoteName(std::string_view name);
std::string QuoteText(std::string_view text);

bool EqualsIgnoreCase(std::string_view a, std::string_view b);
std::string ToLower(std::string_view text);

}  // namespace culprit::query
