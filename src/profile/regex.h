// Regex: POSIX extended regular expressions as users type them. Texts with NUL bytes match up to
// it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace culprit::profile {

class Regex {
 public:
  // An Error says what is wrong with the expression.
  static Result<Regex> Compile(const std::string& expression);

  // Whether it matches anywhere in `text`.
  bool Matches(const std::string& text) const;

 private:
  struct State;
  explicit Regex(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace culprit::profile
