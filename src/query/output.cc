#include "query/output.h"

#include "base/file.h"

namespace culprit::query {

Status Output::Finish() {
  if (text_.empty()) return {};
  const auto status = WriteAll(fd_, text_, name_);
  text_.clear();
  return status;
}

}  // namespace culprit::query
