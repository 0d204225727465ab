// Scenarios in which threads wait for the disk. Bytes are bounded by the size of the files, which
// are written over and over.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include "lab/disk_file.h"
#include "lab/scenes.h"

namespace culprit::lab {
namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr const char* kBlocked =
    "CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID and schedstat around each call";

}  // namespace

Status PlayIo(Stage& stage, Truth& truth) {
  constexpr std::uint64_t kFileBytes = 16 * kMiB;
  Crew& crew = stage.crew();
  const auto writers = static_cast<std::uint64_t>(stage.scale());
  CULPRIT_ASSIGN(const std::string folder, stage.Folder((writers + 1) * kFileBytes, true));
  for (std::uint64_t i = 0; i < writers; ++i) {
    CULPRIT_TRY(crew.Start({.name = "io_writer", .act = [=](Actor& actor) {
                              const auto file = DiskFile::Make(actor, folder, i, kFileBytes);
                              actor.Begin();
                              for (std::uint64_t at = 0; file && actor.Acting(); at += 4 * kMiB) {
                                actor.Blocked(Wait::kDisk, [&] {
                                  file->Write(at % kFileBytes, 4 * kMiB);
                                  file->Sync();
                                });
                                ++actor.slot().work;
                              }
                            }}));
  }
  CULPRIT_TRY(crew.Start({.name = "io_victim", .act = [=](Actor& actor) {
                            const auto file = DiskFile::Make(actor, folder, writers, kMiB);
                            actor.Begin();
                            for (std::uint64_t at = 0; file && actor.Acting(); at += 4096) {
                              actor.Blocked(Wait::kDisk, [&] {
                                file->Write(at % kMiB, 4096);
                                file->Sync();
                              });
                              actor.Burn(Milliseconds(1));
                              ++actor.slot().work;
                            }
                          }}));
  CULPRIT_TRY(stage.Run(truth));

  const auto victims = crew.Named("io_victim");
  AddVictims(truth, victims);
  truth.culprit.kind = "disk";
  truth.culprit.parties = PartiesOf(crew.Named("io_writer"));
  truth.culprit.device = DiskOf(folder);
  truth.culprit.share_of = "the victim's window in which it was blocked in write and fsync";
  truth.culprit.measured_by = kBlocked;
  SetShare(truth, SumOf(victims, Wait::kDisk));
  return {};
}

Status PlayRead(Stage& stage, Truth& truth) {
  constexpr std::uint64_t kFileBytes = 64 * kMiB;
  constexpr std::uint64_t kPiece = 256 << 10;
  Crew& crew = stage.crew();
  const auto readers = static_cast<std::uint64_t>(stage.scale());
  const std::uint64_t seed = stage.options().seed;
  CULPRIT_ASSIGN(const std::string folder, stage.Folder(readers * kFileBytes, true));
  for (std::uint64_t i = 0; i < readers; ++i) {
    CULPRIT_TRY(crew.Start({.name = "read_worker", .act = [=](Actor& actor) {
                              const auto file = DiskFile::Make(actor, folder, i, kFileBytes);
                              std::mt19937_64 random(seed + i);
                              if (file) file->Forget(0, kFileBytes);
                              actor.Begin();
                              while (file && actor.Acting()) {
                                const std::uint64_t at = random() % (kFileBytes / kPiece) * kPiece;
                                actor.Blocked(Wait::kDisk, [&] { file->Read(at, kPiece); });
                                file->Forget(at, kPiece);
                                ++actor.slot().work;
                              }
                            }}));
  }
  CULPRIT_TRY(stage.Run(truth));

  const auto victims = crew.Named("read_worker");
  AddVictims(truth, victims);
  truth.culprit.kind = "disk";
  truth.culprit.device = DiskOf(folder);
  truth.culprit.share_of = "the readers' windows in which they were blocked in read";
  truth.culprit.measured_by = kBlocked;
  truth.notes.push_back("the readers wait for their own cold reads: there is nobody else to blame");
  SetShare(truth, SumOf(victims, Wait::kDisk));
  return {};
}

}  // namespace culprit::lab
