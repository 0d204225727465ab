#include "cli/verbs.h"

#include <array>

#include "cli/verb.h"

namespace culprit::cli {
namespace {

constexpr std::array kVerbs = {
    Verb{"help", "[VERB]\n--man | --markdown | --completion SHELL",
         "explain a verb, or list them all",
         "  culprit help record\n"
         "  source <(culprit help --completion bash)   # completion in this shell\n",
         DeclareHelp},
};

}  // namespace

std::span<const Verb> Verbs() { return kVerbs; }

}  // namespace culprit::cli
