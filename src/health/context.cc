#include "health/context.h"

#include <cerrno>

namespace culprit::health {

bool Context::NeedFile(Readings& out, std::string_view path, std::string_view absent) const {
  const Text* text = after.texts.Find(path);
  if (text != nullptr && text->error_number == 0 && !text->text.empty()) return true;
  if (text == nullptr || text->error_number == ENOENT) {
    out.NotApplicable(absent.empty() ? std::string(path) + " does not exist on this kernel"
                                     : std::string(absent));
  } else if (text->error_number == 0) {
    out.Unknown(std::string(path) + " is empty");
  } else {
    out.Unknown(after.texts.Reason(path), after.texts.Denied(path) && !node.is_root);
  }
  return false;
}

double Context::HeldFor(const std::string& key, bool holds) const {
  if (held_since == nullptr) return holds ? seconds : 0;
  if (!holds) {
    held_since->erase(key);
    return 0;
  }
  const auto [at, first] = held_since->emplace(key, before.at);
  return node.live ? ToSeconds(after.at - at->second) : seconds;
}

std::optional<double> VmstatDelta(const Context& context, std::string_view name) {
  return Delta(kernel::FindValue(context.before.vmstat, name),
               kernel::FindValue(context.after.vmstat, name));
}

std::optional<std::uint64_t> MeminfoBytes(const Context& context, std::string_view name) {
  return kernel::FindValue(context.after.meminfo, name);
}

}  // namespace culprit::health
