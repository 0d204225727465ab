// Scenarios in which threads wait for the disk. Bytes are bounded by the size of the files, which
// are written over and over.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
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

Status PlayCheckpoint(Stage& stage, Truth& truth) {
  constexpr std::uint64_t kDataBytes = 64 * kMiB;
  constexpr std::uint64_t kPiece = 128 << 10;
  const std::uint64_t checkpoint_bytes = static_cast<std::uint64_t>(stage.scale()) * kMiB;
  Crew& crew = stage.crew();
  CULPRIT_ASSIGN(const std::string folder, stage.Folder(kDataBytes + checkpoint_bytes, true));
  IntervalLog* writes = stage.board().NewLog();
  IntervalLog* waits = stage.board().NewLog();
  CULPRIT_TRY(crew.Start({.name = "trainer", .act = [=](Actor& actor) {
                            const auto data = DiskFile::Make(actor, folder, 0, kDataBytes);
                            const auto log = DiskFile::Make(actor, folder, 1, kMiB);
                            if (data) data->Forget(0, kDataBytes);
                            actor.Begin();
                            std::uint64_t step = 0;
                            while (data && log && actor.Acting()) {
                              const std::uint64_t at = step * kPiece % kDataBytes;
                              actor.Blocked(
                                  Wait::kDisk,
                                  [&] {
                                    data->Read(at, kPiece);
                                    log->Write(step * 4096 % kMiB, 4096);
                                    log->Sync();
                                  },
                                  waits);
                              data->Forget(at, kPiece);
                              actor.Burn(Milliseconds(3));
                              actor.slot().work = static_cast<std::int64_t>(++step);
                            }
                          }}));
  CULPRIT_TRY(crew.Start({.name = "ckpt_writer", .act = [=](Actor& actor) {
                            const auto file = DiskFile::Make(actor, folder, 2, checkpoint_bytes);
                            actor.Begin();
                            while (file && actor.Acting()) {
                              actor.Sleep(Milliseconds(500));
                              const std::int64_t begin = MonotonicNs();
                              for (std::uint64_t at = 0; at < checkpoint_bytes && actor.Acting();
                                   at += 8 * kMiB) {
                                actor.Blocked(Wait::kDisk, [&] {
                                  file->Write(at, std::min(8 * kMiB, checkpoint_bytes - at));
                                  file->Sync();
                                });
                              }
                              writes->Add({begin, MonotonicNs(), -1, 1});
                              ++actor.slot().work;
                              actor.Sleep(Milliseconds(1'000));
                            }
                          }}));
  CULPRIT_TRY(stage.Run(truth));

  AddVictims(truth, crew.Named("trainer"));
  truth.culprit.kind = "disk";
  truth.culprit.parties = PartiesOf(crew.Named("ckpt_writer"));
  truth.culprit.device = DiskOf(folder);
  truth.culprit.share_of =
      "the trainer's window in which it was blocked on the disk while a checkpoint was written";
  truth.culprit.measured_by = kBlocked;
  SetShare(truth, OverlapNs(waits->All(), writes->All()));
  return {};
}

}  // namespace culprit::lab
