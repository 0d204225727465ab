#include "query/print_format.h"

#include <algorithm>

#include "base/text.h"

namespace culprit::query {
namespace {

// Constants that stay names in format texts, since they are no enumerators that the kernel exports.
struct Constant {
  std::string_view name;
  std::int64_t value;
};
constexpr Constant kConstants[] = {
    {"NULL", 0},
    {"true", 1},
    {"false", 0},
    {"IOPRIO_CLASS_NONE", 0},
    {"IOPRIO_CLASS_RT", 1},
    {"IOPRIO_CLASS_BE", 2},
    {"IOPRIO_CLASS_IDLE", 3},
    {"IOPRIO_CLASS_INVALID", 7},
    {"HRTIMER_MODE_ABS", 0},
    {"HRTIMER_MODE_REL", 1},
    {"HRTIMER_MODE_PINNED", 2},
    {"HRTIMER_MODE_SOFT", 4},
    {"HRTIMER_MODE_HARD", 8},
    {"HRTIMER_MODE_ABS_PINNED", 2},
    {"HRTIMER_MODE_REL_PINNED", 3},
    {"HRTIMER_MODE_ABS_SOFT", 4},
    {"HRTIMER_MODE_REL_SOFT", 5},
    {"HRTIMER_MODE_ABS_PINNED_SOFT", 6},
    {"HRTIMER_MODE_REL_PINNED_SOFT", 7},
    {"HRTIMER_MODE_ABS_HARD", 8},
    {"HRTIMER_MODE_REL_HARD", 9},
    {"HRTIMER_MODE_ABS_PINNED_HARD", 10},
    {"HRTIMER_MODE_REL_PINNED_HARD", 11},
};

// By precedence, the loosest first; operators of one row bind equally.
constexpr std::string_view kBinary[][4] = {
    {"||"},       {"&&"},     {"|"},          {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};

constexpr int kDeepest = 200;
constexpr std::size_t kMostNodes = 20'000;

bool IsNameStart(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsTypeWord(std::string_view word) {
  constexpr std::string_view kWords[] = {"unsigned", "signed", "int",    "long",  "short",
                                         "char",     "void",   "struct", "const", "bool",
                                         "enum",     "size_t", "ssize_t"};
  return std::ranges::find(kWords, word) != std::end(kWords) || word.ends_with("_t") ||
         word == "u8" || word == "u16" || word == "u32" || word == "u64" || word == "s8" ||
         word == "s16" || word == "s32" || word == "s64" || word.starts_with("__u") ||
         word.starts_with("__s") || word.starts_with("__le") || word.starts_with("__be");
}

}  // namespace

class PrintFormatParser {
 public:
  PrintFormatParser(std::string_view text, PrintFormat& out) : text_(text), out_(out) {}

  bool Run() {
    if (!String(out_.text_)) return false;
    while (Take(",")) {
      const auto node = Expression(0);
      if (!node.has_value()) return false;
      out_.args_.push_back(*node);
    }
    Blanks();
    return at_ == text_.size() && out_.nodes_.size() < kMostNodes;
  }

 private:
  using Op = PrintFormat::Op;
  using Node = PrintFormat::Node;
  using Index = std::optional<std::size_t>;

  std::size_t Add(Op op, std::string text = {}, std::vector<std::size_t> kids = {},
                  std::int64_t number = 0) {
    out_.nodes_.push_back({op, number, std::move(text), std::move(kids)});
    return out_.nodes_.size() - 1;
  }

  void Blanks() { at_ = std::min(text_.find_first_not_of(" \t\n", at_), text_.size()); }
  char Peek() {
    Blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Take(std::string_view token) {
    Blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  std::string_view Name() {
    Blanks();
    const std::size_t begin = at_;
    if (at_ < text_.size() && IsNameStart(text_[at_])) {
      while (at_ < text_.size() && (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

  // One or more literals in a row.
  bool String(std::string& out) {
    bool found = false;
    while (Peek() == '"') {
      found = true;
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] != '\\' || at_ + 1 >= text_.size()) {
          out += text_[at_];
          continue;
        }
        const char c = text_[++at_];
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      }
      if (at_ >= text_.size()) return false;
      ++at_;
    }
    return found;
  }

  Index Expression(int depth) {
    if (depth > kDeepest || out_.nodes_.size() >= kMostNodes) return std::nullopt;
    const Index condition = Binary(0, depth + 1);
    if (!condition.has_value() || !Take("?")) return condition;
    const Index yes = Expression(depth + 1);
    if (!yes.has_value() || !Take(":")) return std::nullopt;
    const Index no = Expression(depth + 1);
    if (!no.has_value()) return std::nullopt;
    return Add(Op::kCondition, {}, {*condition, *yes, *no});
  }

  Index Binary(std::size_t level, int depth) {
    if (level == std::size(kBinary)) return Unary(depth);
    Index left = Binary(level + 1, depth);
    while (left.has_value()) {
      const std::string_view op = BinaryOperator(level);
      if (op.empty()) return left;
      const Index right = Binary(level + 1, depth);
      if (!right.has_value()) return std::nullopt;
      left = Add(Op::kBinary, std::string(op), {*left, *right});
    }
    return left;
  }

  std::string_view BinaryOperator(std::size_t level) {
    Blanks();
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view op : kBinary[level]) {
      if (op.empty() || !rest.starts_with(op)) continue;
      // "&" is not the beginning of "&&", "<" not that of "<<" ...
      const char next = rest.size() > op.size() ? rest[op.size()] : '\0';
      if (op.size() == 1 && (next == op[0] || (next == '=' && (op == "<" || op == ">")))) {
        if (op == "&" || op == "|" || op == "<" || op == ">") continue;
      }
      at_ += op.size();
      return op;
    }
    return {};
  }

  Index Unary(int depth) {
    if (depth > kDeepest) return std::nullopt;
    for (const std::string_view op : {"!", "~", "-", "+"}) {
      if (!Take(op)) continue;
      const Index kid = Unary(depth + 1);
      if (!kid.has_value()) return std::nullopt;
      return Add(Op::kUnary, std::string(op), {*kid});
    }
    if (Take("*") || Take("&")) {  // memory
      if (!Unary(depth + 1).has_value()) return std::nullopt;
      return Add(Op::kUnknown);
    }
    if (Peek() == '(') {
      if (const auto type = CastType(); !type.empty()) {
        const Index kid = Unary(depth + 1);
        if (!kid.has_value()) return std::nullopt;
        return Add(Op::kUnary, std::string(type), {*kid});
      }
    }
    return Postfix(depth);
  }

  // "(unsigned long)" with its parentheses; empty and nothing read when it is no cast.
  std::string_view CastType() {
    const std::size_t close = text_.find(')', at_);
    if (close == std::string_view::npos) return {};
    const std::string_view inside = TrimBlanks(text_.substr(at_ + 1, close - at_ - 1));
    if (inside.empty() || !IsNameStart(inside.front()) ||
        inside.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ *") !=
            std::string_view::npos) {
      return {};
    }
    if (!IsTypeWord(inside.substr(0, inside.find_first_of(" *"))) && inside.back() != '*') {
      return {};
    }
    const std::string_view type = text_.substr(at_, close + 1 - at_);
    at_ = close + 1;
    return type;
  }

  Index Postfix(int depth) {
    Index node = Primary(depth);
    while (node.has_value()) {
      if (Peek() == '[') {
        ++at_;
        const Index index = Expression(depth + 1);
        if (!index.has_value() || !Take("]")) return std::nullopt;
        const bool is_field = out_.nodes_[*node].op == Op::kField;
        std::string name = out_.nodes_[*node].text;
        node = is_field ? Add(Op::kElement, std::move(name), {*index}) : Add(Op::kUnknown);
      } else if (Take("->") || (Peek() == '.' && Take("."))) {
        if (Name().empty()) return std::nullopt;
        node = Add(Op::kUnknown);
      } else {
        return node;
      }
    }
    return node;
  }

  Index Number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (IsNameStart(text_[at_]) || IsDigit(text_[at_]))) ++at_;
    std::string_view digits = text_.substr(begin, at_ - begin);
    while (!digits.empty() &&
           std::string_view("uUlL").find(digits.back()) != std::string_view::npos) {
      digits.remove_suffix(1);
    }
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits.front() == '0') {
      base = 8;
    }
    const auto value = ParseInteger<std::uint64_t>(digits, base);
    if (!value.has_value()) return std::nullopt;
    return Add(Op::kNumber, {}, {}, static_cast<std::int64_t>(*value));
  }

  Index Primary(int depth) {
    const char c = Peek();
    if (c == '(') {
      ++at_;
      const Index inside = Expression(depth + 1);
      return inside.has_value() && Take(")") ? inside : std::nullopt;
    }
    if (c == '"') {
      std::string text;
      if (!String(text)) return std::nullopt;
      return Add(Op::kText, std::move(text));
    }
    if (c == '\'' && at_ + 2 < text_.size() && text_[at_ + 2] == '\'') {
      at_ += 3;
      return Add(Op::kNumber, {}, {}, text_[at_ - 2]);
    }
    if (IsDigit(c)) return Number();
    if (c == '{') return Braces();
    const std::string_view name = Name();
    if (name.empty()) return std::nullopt;
    if (name == "REC" && Take("->")) return Add(Op::kField, std::string(Name()));
    if (Peek() == '(') return Call(name, depth);
    const auto constant = std::ranges::find(kConstants, name, &Constant::name);
    return constant == std::end(kConstants) ? Add(Op::kUnknown)
                                            : Add(Op::kNumber, {}, {}, constant->value);
  }

  // Something in braces that is no pair of a table.
  Index Braces() {
    int open = 0;
    do {
      if (at_ >= text_.size()) return std::nullopt;
      if (text_[at_] == '{') ++open;
      if (text_[at_] == '}') --open;
      ++at_;
    } while (open > 0);
    return Add(Op::kUnknown);
  }

  Index Call(std::string_view name, int depth) {
    if (!Take("(")) return std::nullopt;
    const bool is_symbolic = name.starts_with("__print_symbolic");
    const bool is_flags = name.starts_with("__print_flags");
    std::vector<std::size_t> kids;
    while (Peek() != ')') {
      if (Peek() == '{' && (is_symbolic || is_flags)) {
        ++at_;
        const Index key = Expression(depth + 1);
        if (!key.has_value() || !Take(",")) return std::nullopt;
        const Index text = Expression(depth + 1);
        if (!text.has_value() || !Take("}")) return std::nullopt;
        kids.push_back(*key);
        kids.push_back(*text);
      } else {
        if (Peek() == '\0') return std::nullopt;
        const Index kid = Expression(depth + 1);
        if (!kid.has_value()) return std::nullopt;
        kids.push_back(*kid);
      }
      if (!Take(",") && Peek() != ')') return std::nullopt;
    }
    ++at_;
    if (is_symbolic && !kids.empty()) return Add(Op::kSymbolic, {}, std::move(kids));
    if (is_flags && kids.size() >= 2) return Add(Op::kFlags, {}, std::move(kids));
    // Their argument is the name of a field, which was read as an unknown name.
    if (name == "__get_str" || name == "__get_rel_str" || name == "__get_dynamic_array" ||
        name == "__get_cpumask" || name == "__get_bitmask") {
      return FieldOfCall();
    }
    return Add(Op::kUnknown);
  }

  // The name between the parentheses that were just read.
  Index FieldOfCall() {
    const std::size_t open = text_.rfind('(', at_ - 1);
    return Add(Op::kField, std::string(TrimBlanks(text_.substr(open + 1, at_ - open - 2))));
  }

  std::string_view text_;
  PrintFormat& out_;
  std::size_t at_ = 0;
};

Result<PrintFormat> PrintFormat::Parse(std::string_view format_text) {
  constexpr std::string_view kPrint = "print fmt: ";
  constexpr std::string_view kField = "field:";
  const std::size_t begin = format_text.find(kPrint);
  if (begin == std::string_view::npos) return Error{"no print fmt", ""};
  PrintFormat format;
  for (std::string_view line : SplitLines(format_text.substr(0, begin))) {
    line = TrimBlanks(line);
    if (!line.starts_with(kField)) continue;
    line = line.substr(kField.size(), line.find(';') - kField.size());
    constexpr std::string_view kDev = "dev_t ";
    if (line.starts_with(kDev)) format.devs_.emplace_back(TrimBlanks(line.substr(kDev.size())));
  }
  if (!PrintFormatParser(format_text.substr(begin + kPrint.size()), format).Run()) {
    return Error{"print fmt is not understood", ""};
  }
  return format;
}

}  // namespace culprit::query
