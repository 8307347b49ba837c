// SPDX-License-Identifier: BSD-3-Clause
#include "api/mpiio/views.hpp"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "api/mpiio/error_handlers.hpp"
#include "api/mpiio/handles.hpp"
#include "api/mpiio/info.hpp"
#include "comm/mpi_datatype.hpp"

namespace plenum::mpiio {
namespace {

// A view as this rank asks for it: what the core needs, and what only MPI_File_get_view needs.
struct NewView {
  View view;
  KeptType etype;
  KeptType filetype;
};

Status check_datarep(const char* datarep) {
  if (datarep == nullptr) return Error{Code::Argument, "the data representation is a null pointer"};
  // "internal" may be any representation that this library reads back.
  if (std::string_view(datarep) == "native" || std::string_view(datarep) == "internal") return {};
  const bool known = std::string_view(datarep) == "external32";
  return Error{Code::UnsupportedDatarep, "data representation \"" + std::string(datarep) + "\" is not " +
                                             (known ? "supported yet" : "known") +
                                             ": only \"native\" and \"internal\" are"};
}

// MPI_DISPLACEMENT_CURRENT means where the shared file pointer is, for files that have no other. Until there is one it
// stands where the view begins.
Result<std::int64_t> displacement_of(const File& file, MPI_Offset displacement) {
  if (displacement != MPI_DISPLACEMENT_CURRENT) return std::int64_t{displacement};
  if (file.mode().sequential) return file.view().displacement;
  return Error{Code::Argument, "MPI_DISPLACEMENT_CURRENT goes only with MPI_MODE_SEQUENTIAL"};
}

Result<NewView> new_view(const File& file, const ViewArguments& arguments) {
  PLENUM_TRY(check_datarep(arguments.datarep));
  if (arguments.etype == MPI_DATATYPE_NULL) return Error{Code::Type, "the etype is MPI_DATATYPE_NULL"};
  if (arguments.filetype == MPI_DATATYPE_NULL) return Error{Code::Type, "the filetype is MPI_DATATYPE_NULL"};
  NewView made;
  made.view.displacement = PLENUM_TRY(displacement_of(file, arguments.displacement));
  made.view.etype = PLENUM_TRY(decode(arguments.etype));
  made.view.filetype = PLENUM_TRY(decode(arguments.filetype));
  made.etype = PLENUM_TRY(KeptType::of(arguments.etype));
  made.filetype = PLENUM_TRY(KeptType::of(arguments.filetype));
  return made;
}

Result<Whence> whence_of(int whence) {
  if (whence == MPI_SEEK_SET) return Whence::set;
  if (whence == MPI_SEEK_CUR) return Whence::current;
  if (whence == MPI_SEEK_END) return Whence::end;
  return Error{Code::Argument,
               "whence " + std::to_string(whence) + " is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END"};
}

}  // namespace

int set_view(const char* function, MPI_File handle, const ViewArguments& view, MPI_Info info) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    Result<NewView> mine = guarded([&] { return new_view(*open.file, view); });
    PLENUM_TRY(open.file->set_view(mine.ok() ? Result<View>(mine.value().view) : mine.error()));
    open.etype = std::move(mine.value().etype);
    open.filetype = std::move(mine.value().filetype);
    open.datarep = view.datarep;
    return take_over_hints(info, open);
  });
}

int get_view(const char* function, MPI_File handle, const ViewResults& view) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    *view.etype = PLENUM_TRY(open.etype.handle());
    *view.filetype = PLENUM_TRY(open.filetype.handle());
    *view.displacement = open.file->view().displacement;
    std::memcpy(view.datarep, open.datarep.c_str(), open.datarep.size() + 1);
    return {};
  });
}

int seek(const char* function, MPI_File handle, MPI_Offset offset, int whence) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    const Result<Whence> from = whence_of(whence);
    if (!from.ok()) return explained(open, from.error());
    return open.file->seek(offset, from.value());
  });
}

int get_position(const char* function, MPI_File handle, MPI_Offset* offset) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    *offset = open.file->position();
    return {};
  });
}

int get_byte_offset(const char* function, MPI_File handle, MPI_Offset offset, MPI_Offset* displacement) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    *displacement = PLENUM_TRY(open.file->byte_offset(offset));
    return {};
  });
}

int get_type_extent_as_count(const char* function, MPI_File handle, MPI_Datatype type, MPI_Count* extent) {
  return on_file(function, handle, [&](OpenFile& open) -> Status {
    if (type == MPI_DATATYPE_NULL) return explained(open, Error{Code::Type, "the datatype is MPI_DATATYPE_NULL"});
    MPI_Count lower_bound = 0;
    return check_mpi("MPI_Type_get_extent_x", PMPI_Type_get_extent_x(type, &lower_bound, extent));
  });
}

}  // namespace plenum::mpiio
