// SPDX-License-Identifier: BSD-3-Clause
//
// Data access: reading and writing, contiguous and strided, blocking and not, collective and not are one path.
#include "api/adio/adio.hpp"
#include "comm/mpi_datatype.hpp"

namespace plenum::adio {

void set_bytes(ADIO_Status* status, std::int64_t bytes) {
  if (status == nullptr || status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, MPI_Count{bytes});
  PMPI_Status_set_cancelled(status, 0);
}

namespace {

enum class Form { contiguous, strided };
enum class Group { independent, collective };

// One access as the caller asked for it.
struct Ask {
  ADIO_File file;
  Direction direction;
  Group group;
  Form form;
  const void* buffer;
  MPI_Count count;        // bytes, or items of `datatype`
  MPI_Datatype datatype;  // only if strided
  int pointer_type;
  ADIO_Offset offset;
};

// The same as the core wants it.
struct Place {
  Position position;
  Memory memory;
};

// `offset` as the call counts it: bytes of the file, or bytes of the view.
Result<Position> position_at(const OpenFile& open, Form form, std::int64_t offset) {
  if (form == Form::contiguous) return Position{Position::Kind::absolute, offset};
  const std::int64_t etype_size = open.file->view().etype.size();
  if (etype_size <= 1) return Position{Position::Kind::in_view, offset};
  if (offset % etype_size != 0) {
    return Error{Code::Argument, "offset " + std::to_string(offset) + " is not a multiple of the etype's " +
                                     std::to_string(etype_size) + " bytes"};
  }
  return Position{Position::Kind::in_view, offset / etype_size};
}

// The position at the file pointer, which moves on by `bytes`.
Result<Position> position_at_pointer(OpenFile& open, Form form, std::int64_t bytes) {
  std::int64_t at = open.pointer.load();
  for (;;) {
    const Position position = PLENUM_TRY(position_at(open, form, at));
    std::int64_t next = 0;
    if (__builtin_add_overflow(at, bytes, &next)) return Error{Code::TooLarge, "the file pointer"};
    if (open.pointer.compare_exchange_weak(at, next)) return position;
  }
}

Result<Memory> memory_of(const Ask& ask) {
  void* const buffer = const_cast<void*>(ask.buffer);  // of a write, which only reads it
  if (ask.form == Form::strided) return Memory::of(buffer, ask.count, PLENUM_TRY(decode(ask.datatype)));
  if (ask.count < 0) return Error{Code::Count, "length " + std::to_string(ask.count) + " is negative"};
  return Memory::of(buffer, 1, Layout::bytes(ask.count));
}

// Where the access begins; the file pointer, if it is used, moves on by `bytes`.
Result<Position> position_of(OpenFile& open, const Ask& ask, std::int64_t bytes) {
  switch (ask.pointer_type) {
    case ADIO_EXPLICIT_OFFSET:
      return position_at(open, ask.form, ask.offset);
    case ADIO_INDIVIDUAL:
      return position_at_pointer(open, ask.form, bytes);
    default:
      return Error{Code::Argument, "file_ptr_type is " + std::to_string(ask.pointer_type)};
  }
}

Result<Place> place(OpenFile& open, const Ask& ask) {
  Memory memory = PLENUM_TRY(memory_of(ask));
  const Position position = PLENUM_TRY(position_of(open, ask, memory.layout.size()));
  return Place{position, std::move(memory)};
}

// What the ranks of a collective call give: one whose arguments are wrong gives the error, and then its position does
// not matter.
struct Part {
  Position position;
  Result<Memory> memory;
};

Part part_of(Result<Place> place) {
  if (!place.ok()) return {{}, std::move(place.error())};
  return {place.value().position, std::move(place.value().memory)};
}

// Of an independent call.
Error explain(const OpenFile& open, const Ask& ask, Error error) {
  return explain(open, ask.direction == Direction::read ? "read" : "write", std::move(error));
}

// What every storage can do at once needs no description of memory and file, and so costs no more than the device's
// call.
Result<std::int64_t> carry_out_contiguous(OpenFile& open, const Ask& ask) {
  Result<Position> at = position_of(open, ask, ask.count);
  if (!at.ok()) return explain(open, ask, std::move(at.error()));
  auto* const buffer = static_cast<std::byte*>(const_cast<void*>(ask.buffer));  // of a write, which only reads it
  return open.file->transfer_bytes(ask.direction, at.value(), {buffer, static_cast<std::size_t>(ask.count)});
}

Result<std::int64_t> carry_out(OpenFile& open, const Ask& ask) {
  if (ask.group == Group::independent && ask.form == Form::contiguous && ask.count > 0 && ask.buffer != nullptr) {
    return carry_out_contiguous(open, ask);
  }
  Result<Place> here = place(open, ask);
  if (ask.group == Group::collective) {
    Part part = part_of(std::move(here));
    return open.file->transfer_all(ask.direction, part.position, std::move(part.memory));
  }
  if (!here.ok()) return explain(open, ask, std::move(here.error()));
  return open.file->transfer(ask.direction, here.value().position, here.value().memory);
}

Result<std::unique_ptr<Request>> begin(OpenFile& open, const Ask& ask) {
  Result<Place> here = place(open, ask);
  if (ask.group == Group::collective) {
    Part part = part_of(std::move(here));
    return open.file->start_all(ask.direction, part.position, std::move(part.memory));
  }
  if (!here.ok()) return explain(open, ask, std::move(here.error()));
  return open.file->start(ask.direction, here.value().position, here.value().memory);
}

void transfer(const Ask& ask, ADIO_Status* status, int* error_code) {
  std::int64_t bytes = 0;
  entry(error_code, [&]() -> Status {
    const auto open = PLENUM_TRY(find_file(ask.file));
    bytes = PLENUM_TRY(carry_out(*open, ask));
    return {};
  });
  set_bytes(status, bytes);
}

void start(const Ask& ask, ADIO_Request* request, int* error_code) {
  entry(error_code, [&]() -> Status {
    if (request == nullptr) return Error{Code::Argument, "ADIO: null pointer for the request"};
    *request = ADIO_REQUEST_NULL;
    auto open = PLENUM_TRY(find_file(ask.file));
    auto under_way = std::make_shared<OpenRequest>();
    under_way->request = PLENUM_TRY(begin(*open, ask));
    under_way->file = std::move(open);
    *request = requests().add(std::move(under_way));
    return {};
  });
}

// ---- Test and wait

enum class Patience { test, wait };

bool has_ended(OpenRequest& request) {
  if (!request.ended) request.ended = request.request->poll();
  return request.ended;
}

int is_done(ADIO_Request handle) {
  bool done = true;
  entry(nullptr, [&]() -> Status {
    if (const auto request = requests().find(handle)) done = has_ended(*request);
    return {};
  });
  return done ? 1 : 0;
}

// Ends the request if it is complete, or waits until it is.
int complete(ADIO_Request handle, Patience patience, ADIO_Status* status, int* error_code) {
  set_bytes(status, 0);
  if (handle != ADIO_REQUEST_NULL && requests().find(handle) == nullptr) {
    report(MPI_ERR_REQUEST, "not a nonblocking ADIO access under way: it has been completed already", error_code);
    return 1;
  }
  bool done = true;
  entry(error_code, [&]() -> Status {
    const auto request = requests().find(handle);
    if (request == nullptr) return {};
    done = patience == Patience::wait || has_ended(*request);
    if (!done) return {};
    requests().take(handle);
    set_bytes(status, PLENUM_TRY(finish(*request)));
    return {};
  });
  return done ? 1 : 0;
}

}  // namespace
}  // namespace plenum::adio

using namespace plenum;
using namespace plenum::adio;

// The functions differ in nothing but their names and in what the columns of the table at the end say. Each line of it
// makes eight: contiguous and strided, blocking and nonblocking, with int and with MPI_Count.
#define PLENUM_ADIO_CONTIG(blocking, nonblocking, Buffer, Length, direction, group)                                    \
  void blocking(ADIO_File fd, Buffer buf, Length len, int file_ptr_type, ADIO_Offset offset, ADIO_Status* status,      \
                int* error_code) {                                                                                     \
    transfer({fd, direction, group, Form::contiguous, buf, len, MPI_BYTE, file_ptr_type, offset}, status, error_code); \
  }                                                                                                                    \
  void nonblocking(ADIO_File fd, Buffer buf, Length len, int file_ptr_type, ADIO_Offset offset, ADIO_Request* request, \
                   int* error_code) {                                                                                  \
    start({fd, direction, group, Form::contiguous, buf, len, MPI_BYTE, file_ptr_type, offset}, request, error_code);   \
  }

#define PLENUM_ADIO_STRIDED(blocking, nonblocking, Buffer, Length, direction, group)                                  \
  void blocking(ADIO_File fd, Buffer buf, Length count, MPI_Datatype datatype, int file_ptr_type, ADIO_Offset offset, \
                ADIO_Status* status, int* error_code) {                                                               \
    transfer({fd, direction, group, Form::strided, buf, count, datatype, file_ptr_type, offset}, status, error_code); \
  }                                                                                                                   \
  void nonblocking(ADIO_File fd, Buffer buf, Length count, MPI_Datatype datatype, int file_ptr_type,                  \
                   ADIO_Offset offset, ADIO_Request* request, int* error_code) {                                      \
    start({fd, direction, group, Form::strided, buf, count, datatype, file_ptr_type, offset}, request, error_code);   \
  }

#define PLENUM_ADIO_ACCESS(Verb, Iverb, suffix, Buffer, direction, group)                                             \
  PLENUM_ADIO_CONTIG(ADIO_##Verb##Contig##suffix, ADIO_##Iverb##Contig##suffix, Buffer, int, direction, group)        \
  PLENUM_ADIO_CONTIG(ADIO_##Verb##Contig##suffix##_c, ADIO_##Iverb##Contig##suffix##_c, Buffer, MPI_Count, direction, \
                     group)                                                                                           \
  PLENUM_ADIO_STRIDED(ADIO_##Verb##Strided##suffix, ADIO_##Iverb##Strided##suffix, Buffer, int, direction, group)     \
  PLENUM_ADIO_STRIDED(ADIO_##Verb##Strided##suffix##_c, ADIO_##Iverb##Strided##suffix##_c, Buffer, MPI_Count,         \
                      direction, group)

PLENUM_ADIO_ACCESS(Read, Iread, , void*, Direction::read, Group::independent)
PLENUM_ADIO_ACCESS(Read, Iread, Coll, void*, Direction::read, Group::collective)
PLENUM_ADIO_ACCESS(Write, Iwrite, , const void*, Direction::write, Group::independent)
PLENUM_ADIO_ACCESS(Write, Iwrite, Coll, const void*, Direction::write, Group::collective)

int ADIO_ReadDone(ADIO_Request request) { return is_done(request); }
int ADIO_WriteDone(ADIO_Request request) { return is_done(request); }

int ADIO_ReadIcomplete(ADIO_Request request, ADIO_Status* status, int* error_code) {
  return complete(request, Patience::test, status, error_code);
}
int ADIO_WriteIcomplete(ADIO_Request request, ADIO_Status* status, int* error_code) {
  return complete(request, Patience::test, status, error_code);
}

void ADIO_ReadComplete(ADIO_Request request, ADIO_Status* status, int* error_code) {
  complete(request, Patience::wait, status, error_code);
}
void ADIO_WriteComplete(ADIO_Request request, ADIO_Status* status, int* error_code) {
  complete(request, Patience::wait, status, error_code);
}

MPI_Count ADIO_Bytes(const ADIO_Status* status) {
  if (status == nullptr || status == MPI_STATUS_IGNORE) return 0;
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
  return bytes == MPI_UNDEFINED ? 0 : bytes;
}
