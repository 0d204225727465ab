#include "query/printf.h"

#include <string>
#include <string_view>

#include "query/tree.h"

namespace culprit::query {

using namespace tree;

namespace {

struct Spec {
  std::string flags;      // of "-+ 0#"
  std::string width;      // digits
  std::string precision;  // with its dot
  char conversion = 0;
  bool commas = false;  // a flag of SQLite: 1,234,567
};

// Behind the '%'. Lengths (l, ll, h) mean nothing here.
Spec Parse(std::string_view format, std::size_t& at) {
  Spec spec;
  const auto peek = [&] { return at < format.size() ? format[at] : '\0'; };
  const auto digits = [&](std::string& out) {
    while (peek() >= '0' && peek() <= '9') out += format[at++];
  };
  for (; std::string_view("-+ 0#,!").find(peek()) != std::string_view::npos && peek() != '\0';
       ++at) {
    if (peek() == ',') spec.commas = true;
    if (peek() != ',' && peek() != '!') spec.flags += peek();
  }
  digits(spec.width);
  if (peek() == '.') {
    spec.precision = ".";
    ++at;
    digits(spec.precision);
  }
  while (peek() == 'l' || peek() == 'h') ++at;
  spec.conversion = peek();
  if (at < format.size()) ++at;
  return spec;
}

Json Formatted(const Spec& spec, char conversion, Json value, std::uint64_t place) {
  const std::string format = "%" + spec.flags + spec.width + spec.precision + conversion;
  return Call("printf", {Text(format), std::move(value)}, place);
}

Json WholeNumber(Json value, Type type, std::uint64_t place) {
  if (type == Type::kReal) value = Call("trunc", {std::move(value)}, place);
  const bool is_text = type == Type::kText || type == Type::kEnum;
  if (is_text) value = Cast(std::move(value), "VARCHAR");
  return Coalesce(Cast(std::move(value), "BIGINT", is_text), Integer(0));
}

}  // namespace

std::optional<Json> RewritePrintf(std::vector<Json> arguments, const std::vector<Type>& types,
                                  std::uint64_t place) {
  if (arguments.empty()) return std::nullopt;
  const auto constant = TextOf(arguments[0]);
  if (!constant) return std::nullopt;
  const std::string_view format = *constant;
  Json::array_t pieces;
  std::string literal;
  std::size_t next = 1;
  for (std::size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      literal += format[at++];
      continue;
    }
    ++at;
    const Spec spec = Parse(format, at);
    if (spec.conversion == '%') {
      literal += '%';
      continue;
    }
    if (!literal.empty()) pieces.push_back(Text(literal));
    literal.clear();
    const bool given = next < arguments.size();
    Json value = given ? std::move(arguments[next]) : Null();
    const Type type = given ? types[next] : Type::kNull;
    ++next;
    switch (spec.conversion) {
      case 'd':
      case 'i':
      case 'u': {
        Json number = WholeNumber(std::move(value), type, place);
        if (spec.commas) {
          pieces.push_back(Call("format", {Text("{:,}"), std::move(number)}, place));
        } else {
          pieces.push_back(Formatted(spec, 'd', std::move(number), place));
        }
        break;
      }
      case 'x':
      case 'X':
      case 'o':
        pieces.push_back(
            Formatted(spec, spec.conversion, WholeNumber(std::move(value), type, place), place));
        break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G': {
        Json number =
            Coalesce(Cast(std::move(value), "DOUBLE", IsText(type)), Cast(Text("0"), "DOUBLE"));
        pieces.push_back(Formatted(spec, spec.conversion, std::move(number), place));
        break;
      }
      case 's':
      case 'z':
      case 'c':
      case 'q': {
        Json text = Coalesce(Cast(std::move(value), "VARCHAR"), Text(""));
        if (spec.conversion == 'c') text = Call("left", {std::move(text), Integer(1)}, place);
        if (spec.conversion == 'q')
          text = Call("replace", {std::move(text), Text("'"), Text("''")}, place);
        if (!spec.precision.empty()) {
          const std::string length = spec.precision.size() > 1 ? spec.precision.substr(1) : "0";
          text = Call("left", {std::move(text), Cast(Text(length), "BIGINT")}, place);
        }
        if (!spec.width.empty()) {
          Spec plain = spec;
          plain.precision.clear();
          text = Formatted(plain, 's', std::move(text), place);
        }
        pieces.push_back(std::move(text));
        break;
      }
      default:
        return std::nullopt;
    }
  }
  if (!literal.empty() || pieces.empty()) pieces.push_back(Text(literal));
  return Call("concat", std::move(pieces), place);
}

}  // namespace culprit::query
