#include "query/parser_text.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace culprit::query {
namespace {

// Words after which an operand begins, so that what stands before cannot be one.
constexpr std::array<std::string_view, 30> kBeforeOperand = {
    "SELECT", "DISTINCT", "ALL",   "WHERE", "AND",  "OR",    "NOT",    "ON",     "WHEN", "THEN",
    "ELSE",   "CASE",     "BY",    "IN",    "LIKE", "GLOB",  "REGEXP", "HAVING", "FROM", "JOIN",
    "AS",     "BETWEEN",  "LIMIT", "IS",    "WITH", "UNION", "EXCEPT", "VALUES", "SET",  "RETURN"};

// Words that end a table of a FROM clause and its alias.
constexpr std::array<std::string_view, 25> kAfterTable = {
    "ON",    "USING",       "JOIN",      "LEFT",      "RIGHT",  "FULL",  "INNER",
    "CROSS", "NATURAL",     "WHERE",     "GROUP",     "HAVING", "ORDER", "LIMIT",
    "UNION", "EXCEPT",      "INTERSECT", "WINDOW",    "OFFSET", "ASOF",  "QUALIFY",
    "SEMI",  "TABLESAMPLE", "ANTI",      "POSITIONAL"};

// Words that end a select list.
constexpr std::array<std::string_view, 12> kAfterSelectList = {
    "FROM",  "WHERE", "GROUP",  "HAVING",    "WINDOW",  "ORDER",
    "LIMIT", "UNION", "EXCEPT", "INTERSECT", "QUALIFY", "OFFSET"};

template <std::size_t N>
bool IsAny(const Token& token, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return token.Is(word); });
}

bool EndsOperand(const Token& token) {
  if (token.kind == TokenKind::kSymbol) return token.text == ")" || token.text == "]";
  return token.kind != TokenKind::kWord || !IsAny(token, kBeforeOperand);
}

bool Opens(const Token& token) {
  return token.IsSymbol("(") || token.IsSymbol("[") || token.IsSymbol("{");
}
bool Closes(const Token& token) {
  return token.IsSymbol(")") || token.IsSymbol("]") || token.IsSymbol("}");
}

// Behind the parenthesis that `open` is, or the end.
std::size_t Behind(const Tokens& tokens, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < tokens.size(); ++i) {
    if (Opens(tokens[i])) ++depth;
    if (Closes(tokens[i]) && --depth == 0) return i + 1;
  }
  return tokens.size();
}

// Behind "table", "schema.table", "(...)" or "f(...)" and its alias.
std::size_t BehindTable(const Tokens& tokens, std::size_t at) {
  const auto is_name = [&](std::size_t i) {
    return i < tokens.size() &&
           (tokens[i].kind == TokenKind::kQuoted ||
            (tokens[i].kind == TokenKind::kWord && !IsAny(tokens[i], kAfterTable)));
  };
  if (at < tokens.size() && tokens[at].Is("LATERAL")) ++at;
  if (at < tokens.size() && tokens[at].IsSymbol("(")) {
    at = Behind(tokens, at);
  } else {
    while (is_name(at)) {
      ++at;
      if (at >= tokens.size() || !tokens[at].IsSymbol(".")) break;
      ++at;
    }
    if (at < tokens.size() && tokens[at].IsSymbol("(")) at = Behind(tokens, at);
  }
  if (at < tokens.size() && tokens[at].Is("AS")) ++at;
  if (is_name(at)) ++at;
  if (at < tokens.size() && tokens[at].IsSymbol("(")) at = Behind(tokens, at);
  return at;
}

}  // namespace

ParserText::ParserText(Tokens statement) : tokens_(std::move(statement)) {
  const Tokens written = tokens_;
  Spell();
  Write();
  FindSelectLists(written);
}

void ParserText::Spell() {
  const Tokens in = std::move(tokens_);
  tokens_.clear();
  if (!in.empty()) source_end_ = in.back().source + in.back().text.size();
  std::vector<std::size_t> join_ends;  // indexes in `in` before which ON TRUE goes
  std::size_t i = 0;
  const auto put = [&](std::string text, TokenKind kind, LikeKind like = LikeKind::kLike) {
    Token token = in[std::min(i, in.size() - 1)];
    token.text = std::move(text);
    token.kind = kind;
    token.space_before = true;
    tokens_.push_back(std::move(token));
    original_.push_back(i);
    like_.push_back(like);
  };
  const auto word = [&](std::string text, LikeKind like = LikeKind::kLike) {
    put(std::move(text), TokenKind::kWord, like);
  };
  const auto next_is = [&](std::size_t ahead, std::string_view upper) {
    return i + ahead < in.size() && in[i + ahead].Is(upper);
  };
  for (; i <= in.size(); ++i) {
    if (std::erase(join_ends, i) != 0) {
      word("ON");
      word("TRUE");
    }
    if (i == in.size()) break;
    const Token& token = in[i];
    const bool after_operand = i > 0 && EndsOperand(in[i - 1]);
    const bool infix = after_operand || (i > 1 && in[i - 1].Is("NOT") && EndsOperand(in[i - 2]));
    if (token.kind == TokenKind::kNumber && token.text.size() > 2 &&
        (token.text[1] == 'x' || token.text[1] == 'X')) {
      // As SQLite: 64 bits, the highest is the sign.
      const auto value = ParseInteger<std::uint64_t>(std::string_view(token.text).substr(2), 16);
      put(value ? std::to_string(static_cast<std::int64_t>(*value)) : token.text, token.kind);
      tokens_.back().space_before = token.space_before;
    } else if (token.kind == TokenKind::kQuoted && token.text.front() == '`') {
      put(QuoteName(token.Name()), token.kind);
      tokens_.back().space_before = token.space_before;
    } else if (token.Is("GLOB") && infix) {
      word("LIKE", LikeKind::kGlob);
    } else if (token.Is("REGEXP") && infix) {
      word("LIKE", LikeKind::kRegexp);
    } else if (token.Is("NOT") && next_is(1, "NULL") && after_operand) {
      word("NOTNULL");
      ++i;
    } else if (token.Is("IS") && i + 1 < in.size()) {
      const bool negated = next_is(1, "NOT");
      const std::size_t operand = negated ? 2 : 1;
      const bool plain = next_is(operand, "NULL") || next_is(operand, "TRUE") ||
                         next_is(operand, "FALSE") || next_is(operand, "UNKNOWN") ||
                         next_is(operand, "DISTINCT");
      word("IS");
      if (!plain) {
        word(negated ? "DISTINCT" : "NOT");
        word(negated ? "FROM" : "DISTINCT");
        if (!negated) word("FROM");
        i += negated ? 1 : 0;
      }
    } else if (token.Is("CHAR") && i + 1 < in.size() && in[i + 1].IsSymbol("(") && !after_operand &&
               !(i > 0 && (in[i - 1].Is("AS") || in[i - 1].IsSymbol("::")))) {
      put("\"chr\"", TokenKind::kQuoted);
    } else if (token.Is("INDEXED") && next_is(1, "BY")) {
      i += 2;
    } else if (token.Is("LIMIT")) {
      // LIMIT offset, count.
      std::size_t comma = i + 1;
      while (comma < in.size() && !in[comma].IsSymbol(",") && !Closes(in[comma])) {
        comma = Opens(in[comma]) ? Behind(in, comma) : comma + 1;
      }
      if (comma >= in.size() || !in[comma].IsSymbol(",")) {
        word(token.text);
        continue;
      }
      std::size_t end = comma + 1;
      while (end < in.size() && !Closes(in[end])) end = Opens(in[end]) ? Behind(in, end) : end + 1;
      const std::size_t limit = i;
      word("LIMIT");
      for (i = comma + 1; i < end; ++i) put(in[i].text, in[i].kind);
      i = limit;
      word("OFFSET");
      for (i = limit + 1; i < comma; ++i) put(in[i].text, in[i].kind);
      i = end - 1;
    } else {
      tokens_.push_back(token);
      original_.push_back(i);
      like_.push_back(LikeKind::kLike);
      const bool joins = token.Is("JOIN") && i > 0 && !in[i - 1].Is("CROSS") &&
                         !in[i - 1].Is("NATURAL") && !in[i - 1].Is("POSITIONAL") &&
                         !(i > 1 && in[i - 2].Is("NATURAL"));
      if (joins) {
        const std::size_t end = BehindTable(in, i + 1);
        if (end > i + 1 && !(end < in.size() && (in[end].Is("ON") || in[end].Is("USING")))) {
          join_ends.push_back(end);
        }
      }
    }
  }
}

void ParserText::Write() {
  for (const Token& token : tokens_) {
    if (!text_.empty() && token.space_before) text_ += ' ';
    offsets_.push_back(text_.size());
    text_ += token.text;
  }
}

void ParserText::FindSelectLists(const Tokens& written) {
  for (std::size_t select = 0; select < tokens_.size(); ++select) {
    if (!tokens_[select].Is("SELECT")) continue;
    std::size_t at = select + 1;
    if (at < tokens_.size() && (tokens_[at].Is("DISTINCT") || tokens_[at].Is("ALL"))) ++at;
    SelectList list;
    while (at < tokens_.size()) {
      const std::size_t begin = at;
      while (at < tokens_.size() && !Closes(tokens_[at]) && !tokens_[at].IsSymbol(",") &&
             !(IsAny(tokens_[at], kAfterSelectList) && !tokens_[at - 1].Is("DISTINCT"))) {
        at = Opens(tokens_[at]) ? Behind(tokens_, at) : at + 1;
      }
      if (at == begin) break;
      // LIMIT a, b turns the order of its tokens around.
      const std::size_t first = std::min(original_[begin], original_[at - 1]);
      const std::size_t last =
          std::min(std::max(original_[begin], original_[at - 1]), written.size() - 1);
      list.push_back(
          {offsets_[begin], offsets_[at - 1] + tokens_[at - 1].text.size(),
           query::Join(written.data() + std::min(first, last), written.data() + last + 1)});
      if (at >= tokens_.size() || !tokens_[at].IsSymbol(",")) break;
      ++at;
    }
    if (!list.empty()) select_lists_.push_back(std::move(list));
  }
}

const Token* ParserText::TokenAt(std::size_t offset) const {
  auto it = std::upper_bound(offsets_.begin(), offsets_.end(), offset);
  if (it == offsets_.begin()) return nullptr;
  const auto index = static_cast<std::size_t>(it - offsets_.begin()) - 1;
  if (offset < offsets_[index] + tokens_[index].text.size()) return &tokens_[index];
  return index + 1 < tokens_.size() ? &tokens_[index + 1] : nullptr;
}

std::size_t ParserText::SourceOf(std::size_t offset) const {
  const Token* token = TokenAt(offset);
  if (token != nullptr) return token->source;
  return source_end_;
}

LikeKind ParserText::LikeAt(std::size_t offset) const {
  const Token* token = TokenAt(offset);
  if (token == nullptr) return LikeKind::kLike;
  auto index = static_cast<std::size_t>(token - tokens_.data());
  if (token->Is("NOT") && index + 1 < tokens_.size()) ++index;
  return like_[index];
}

const ParserText::SelectList* ParserText::SelectListAt(std::size_t offset) const {
  const SelectList* best = nullptr;
  for (const SelectList& list : select_lists_) {
    const bool inside = std::any_of(list.begin(), list.end(), [&](const Item& item) {
      return offset >= item.begin && offset < item.end;
    });
    // Lists are in the order of their SELECT, so a later one that holds the offset lies deeper.
    if (inside) best = &list;
  }
  return best;
}

}  // namespace culprit::query
