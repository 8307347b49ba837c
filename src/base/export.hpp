// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What libplenum.so shows to the interfaces that live in libraries of their own. Everything else stays hidden.
#define PLENUM_API __attribute__((visibility("default")))
