// What the steps of a sweep's cell printed and were begun with (sections.h): read, or refused with
// a DataError.
#include <cstdint>

#include "fuzz/sections.h"
#include "fuzz/structured.h"
#include "protogcd/core/error.h"
#include "protogcd/sweep/cell_record.h"

PROTOGCD_MUTATED_BY(mutate_sections)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace protogcd;
  constexpr const char* kFiles[] = {"cell/train.json", "cell/train.command.json", "cell/train.out"};
  const fuzz::SectionFolder folder(data, size, kFiles);
  Cell cell;
  cell.steps.resize(1);
  cell.steps[0].name = "train";
  cell.steps[0].words = {"train", "--epochs", "3"};
  const CellRecord record(folder / "cell", cell);
  const auto attempt = [](const auto& read) {
    try {
      read();
    } catch (const DataError&) {
    } catch (const ModelFileError&) {  // of a later format
    } catch (const FileError&) {       // it is not there
    }
  };
  for (const char* pointer : {"/all", "/test/new", "/k"}) {
    SweepColumn column;
    column.percent = true;
    attempt([&] { record.number(column, pointer); });
    attempt([&] { record.beside(column, pointer); });
  }
  attempt([&] { record.epochs(); });
  attempt([&] { record.change(); });
  attempt([&] { record.seconds(); });
  attempt([&] { record.add_time(0, 1); });
  attempt([&] { record.finish(0); });
  if (record.next_step() == 1) record.forget_from(0);
  return 0;
}
