#include "analysis/victim_names_table.h"

#include <array>

namespace culprit::analysis {
namespace {

constexpr auto kMain = VictimRole::kMain;
constexpr auto kWorker = VictimRole::kWorker;
constexpr auto kThread = VictimRole::kThread;

// comm is cut at 15 characters: longer names end in '*'.
constexpr std::array kNames = {
    VictimName{"pt_main_thread", kMain, "PyTorch: the thread that launches the kernels"},
    VictimName{"pt_data_worker", kWorker, "PyTorch: a DataLoader worker"},
    VictimName{"pt_data_pin", kWorker, "PyTorch: copies batches into pinned memory"},
    VictimName{"pt_autograd_*", kThread, "PyTorch: backward pass"},
    VictimName{"pt_nccl_*", kThread, "PyTorch: NCCL watchdog and heartbeat"},
    VictimName{"pt_elastic*", kThread, "PyTorch: torchrun's agent"},
    VictimName{"DataLoader*", kWorker, "data loader"},
    VictimName{"data_loader*", kWorker, "data loader"},
    VictimName{"dataloader*", kWorker, "data loader"},
    VictimName{"loader*", kWorker, "data loader"},
    VictimName{"dali*", kWorker, "NVIDIA DALI pipeline"},
    VictimName{"tf_data_*", kWorker, "tf.data pipeline"},
    VictimName{"tf_*", kThread, "TensorFlow"},
    VictimName{"jax*", kMain, "JAX"},
    VictimName{"trainer*", kMain, "trainer"},
    VictimName{"train*", kMain, "trainer"},
    VictimName{"torchrun", kThread, "torchrun"},
    VictimName{"deepspeed*", kMain, "DeepSpeed"},
    VictimName{"accelerate*", kMain, "Accelerate"},
    VictimName{"megatron*", kMain, "Megatron"},
    VictimName{"VLLM*", kMain, "vLLM"},
    VictimName{"vllm*", kMain, "vLLM"},
    VictimName{"sglang*", kMain, "SGLang"},
    VictimName{"trtllm*", kMain, "TensorRT-LLM"},
    VictimName{"tritonserver", kMain, "Triton Inference Server"},
    VictimName{"text-generation*", kMain, "Text Generation Inference"},
    VictimName{"ollama*", kMain, "Ollama"},
    VictimName{"llama-*", kMain, "llama.cpp"},
    VictimName{"ray::*", kWorker, "Ray worker"},
    VictimName{"nccl*", kThread, "NCCL"},
    VictimName{"NCCL*", kThread, "NCCL"},
    VictimName{"cuda-EvtHandlr", kThread, "CUDA's event handler"},
    VictimName{"cuda0*", kThread, "CUDA"},
    VictimName{"python", kMain, "Python"},
    VictimName{"python[0-9]*", kMain, "Python"},
};

bool InClass(std::string_view members, char c) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i + 2 < members.size() && members[i + 1] == '-') {
      if (members[i] <= c && c <= members[i + 2]) return true;
      i += 2;
    } else if (members[i] == c) {
      return true;
    }
  }
  return false;
}

// One element of the glob at `g` against `c`; `next` is where the glob goes on.
bool MatchesOne(std::string_view glob, std::size_t g, char c, std::size_t& next) {
  next = g + 1;
  if (glob[g] == '?') return true;
  if (glob[g] == '[') {
    const std::size_t close = glob.find(']', g + 2);
    if (close != glob.npos) {
      next = close + 1;
      const bool is_not = glob[g + 1] == '!' || glob[g + 1] == '^';
      const std::size_t begin = g + 1 + (is_not ? 1 : 0);
      return InClass(glob.substr(begin, close - begin), c) != is_not;
    }
  }
  return glob[g] == c;
}

}  // namespace

std::span<const VictimName> VictimNames() { return kNames; }

const VictimName* FindVictimName(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  for (const VictimName& row : kNames) {
    if (GlobMatches(row.glob, name) || GlobMatches(row.glob, last)) return &row;
  }
  return nullptr;
}

// Linear but for the last star, to which it goes back.
bool GlobMatches(std::string_view glob, std::string_view text) {
  std::size_t g = 0, t = 0, star = glob.npos, star_text = 0;
  while (t < text.size()) {
    std::size_t next = 0;
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
    } else if (g < glob.size() && MatchesOne(glob, g, text[t], next)) {
      g = next;
      ++t;
    } else if (star != glob.npos) {
      g = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

}  // namespace culprit::analysis
