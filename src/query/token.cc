#include "query/token.h"

#include <algorithm>

namespace culprit::query {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// Bytes above ASCII belong to names, as in SQLite.
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c) || c == '$'; }
bool IsSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
char Upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Longest first.
constexpr std::string_view kSymbols[] = {
    "->>", "<=>", "!~~", "!~*", "~~~", "||", "<<", ">>", "<=", ">=", "==", "!=", "<>",
    "->",  "::",  ":=",  "//",  "**",  "=>", "~~", "~*", "!~", "^@", "&&", "@>", "<@"};

class Scanner {
 public:
  Scanner(std::string_view sql, TokenError* error) : sql_(sql), error_(error) {}

  Tokens Run() {
    while (SkipBlank()) {
      const std::size_t begin = at_;
      TokenKind kind = TokenKind::kSymbol;
      if (!Scan(kind)) break;
      tokens_.push_back({kind, std::string(sql_.substr(begin, at_ - begin)), begin, space_});
      space_ = false;
    }
    return std::move(tokens_);
  }

 private:
  char Peek(std::size_t ahead = 0) const {
    return at_ + ahead < sql_.size() ? sql_[at_ + ahead] : '\0';
  }

  void Fail(std::string what, std::size_t offset) {
    if (error_ != nullptr && error_->what.empty()) *error_ = {std::move(what), offset};
    at_ = sql_.size();
  }

  // To the next token; false at the end.
  bool SkipBlank() {
    while (at_ < sql_.size()) {
      if (IsSpace(sql_[at_])) {
        ++at_;
      } else if (Peek() == '-' && Peek(1) == '-') {
        at_ = std::min(sql_.find('\n', at_), sql_.size());
      } else if (Peek() == '/' && Peek(1) == '*') {
        const std::size_t end = sql_.find("*/", at_ + 2);
        if (end == std::string_view::npos) {
          Fail("comment without an end", at_);
        } else {
          at_ = end + 2;
        }
      } else {
        return true;
      }
      space_ = true;
    }
    return false;
  }

  bool Scan(TokenKind& kind) {
    const char c = Peek();
    if (c == '\'') return kind = TokenKind::kString, ScanQuoted('\'', "string");
    if (c == '"' || c == '`') return kind = TokenKind::kQuoted, ScanQuoted(c, "quoted name");
    if ((c == 'x' || c == 'X' || c == 'e' || c == 'E') && Peek(1) == '\'') {
      ++at_;
      kind = TokenKind::kString;
      return ScanQuoted('\'', "string");
    }
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      kind = TokenKind::kNumber;
      ScanNumber();
      return true;
    }
    if (IsNameStart(c)) {
      kind = TokenKind::kWord;
      while (at_ < sql_.size() && IsNamePart(sql_[at_])) ++at_;
      return true;
    }
    if (c == '$' && Peek(1) == '$') {
      const std::size_t end = sql_.find("$$", at_ + 2);
      if (end == std::string_view::npos) return Fail("string without an end", at_), false;
      at_ = end + 2;
      kind = TokenKind::kString;
      return true;
    }
    if (c == '?' || ((c == '$' || c == '@' || c == ':') && IsNamePart(Peek(1)))) {
      kind = TokenKind::kVariable;
      ++at_;
      while (at_ < sql_.size() && IsNamePart(sql_[at_])) ++at_;
      return true;
    }
    for (const std::string_view symbol : kSymbols) {
      if (sql_.substr(at_, symbol.size()) == symbol) return at_ += symbol.size(), true;
    }
    ++at_;
    return true;
  }

  // A doubled quote stands for itself.
  bool ScanQuoted(char quote, std::string_view what) {
    const std::size_t begin = at_++;
    while (at_ < sql_.size()) {
      if (sql_[at_++] != quote) continue;
      if (Peek() != quote) return true;
      ++at_;
    }
    Fail(std::string(what) + " without an end", begin);
    return false;
  }

  void ScanNumber() {
    if (Peek() == '0' && (Peek(1) == 'x' || Peek(1) == 'X')) {
      at_ += 2;
      while (IsNamePart(Peek())) ++at_;
      return;
    }
    const auto digits = [this] {
      while (IsDigit(Peek()) || (Peek() == '_' && IsDigit(Peek(1)))) ++at_;
    };
    digits();
    if (Peek() == '.') {
      ++at_;
      digits();
    }
    if (Peek() != 'e' && Peek() != 'E') return;
    const std::size_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
    if (!IsDigit(Peek(1 + sign))) return;
    at_ += 1 + sign;
    digits();
  }

  std::string_view sql_;
  TokenError* error_;
  std::size_t at_ = 0;
  bool space_ = false;
  Tokens tokens_;
};

std::string Quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) out += quote;
    out += c;
  }
  out += quote;
  return out;
}

}  // namespace

bool Token::Is(std::string_view upper_word) const {
  return kind == TokenKind::kWord &&
         std::equal(text.begin(), text.end(), upper_word.begin(), upper_word.end(),
                    [](char a, char b) { return Upper(a) == b; });
}

std::string Token::Name() const {
  if (kind != TokenKind::kQuoted) return text;
  const char quote = text.front();
  std::string name;
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    name += text[i];
    if (text[i] == quote) ++i;
  }
  return name;
}

Tokens Tokenize(std::string_view sql, TokenError* error) { return Scanner(sql, error).Run(); }

std::string Join(const Token* begin, const Token* end) {
  std::string out;
  for (const Token* token = begin; token != end; ++token) {
    if (token != begin && token->space_before) out += ' ';
    out += token->text;
  }
  return out;
}

std::string QuoteName(std::string_view name) { return Quoted(name, '"'); }
std::string QuoteText(std::string_view text) { return Quoted(text, '\''); }

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower;
}

}  // namespace culprit::query
