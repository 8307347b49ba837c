// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace plenum::cost {

// What things cost on a common machine with its files in the page cache [seconds, or seconds per byte]. Only the ratios
// matter: they decide which strategy an access gets.
inline constexpr double kDeviceCall = 1.2e-6;   // a small pread or pwrite
inline constexpr double kDeviceByte = 0.25e-9;  // and every byte of it
inline constexpr double kCopyByte = 0.12e-9;
inline constexpr double kPiece = 5e-9;  // walking one run of a layout and copying a few bytes
inline constexpr double kMessage = 3e-6;
inline constexpr double kMessageByte = 0.2e-9;
inline constexpr double kCollective = 15e-6;  // a small reduction or barrier

}  // namespace plenum::cost
