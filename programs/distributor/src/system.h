// Rent, and making accounts at derived addresses.
#pragma once
#include "address.h"
#include "invoke.h"

// The system program's instructions, by their number in its interface; each begins with that as a u32.
#define SYSTEM_ASSIGN 1
#define SYSTEM_TRANSFER 2
#define SYSTEM_ALLOCATE 8

// Bytes that every account is charged for beside its data.
#define ACCOUNT_OVERHEAD 128

// The two exemption thresholds there are, as doubles: 2 years of a price per byte and year, or 1 of a price per byte.
#define THRESHOLD_TWO 0x4000000000000000ul
#define THRESHOLD_ONE 0x3ff0000000000000ul

static Result rent_exempt_minimum(u64 size, u64 *lamports) {
  Rent rent;
  REQUIRE(sol_get_rent_sysvar(&rent) == 0, RuntimeError);
  REQUIRE(rent.threshold == THRESHOLD_TWO || rent.threshold == THRESHOLD_ONE, BadRent);
  u64 years = rent.threshold == THRESHOLD_TWO ? 2 : 1;
  // Not 0, because an account without lamports is gone when the transaction ends, and what it said with it; and no more than what the
  // product below has room for.
  REQUIRE(rent.lamports_per_byte_year > 0 && rent.lamports_per_byte_year <= ~0u, BadRent);
  *lamports = (ACCOUNT_OVERHEAD + size) * rent.lamports_per_byte_year * years;
  return OK;
}

// Makes an account of this program at a derived address where nothing is yet (`unused`). `signer` are its seeds with the bump.
// Not by CreateAccount, which refuses an address that holds lamports: anybody can send some to an address that is known beforehand.
static Result create_account(const AccountInfo *payer, const AccountInfo *account, u64 size, const Key *program, const Signer *signer) {
  u64 lamports;
  TRY(rent_exempt_minimum(size, &lamports));

  if (*account->lamports < lamports) {
    struct __attribute__((packed)) { u32 kind; u64 lamports; } data = {SYSTEM_TRANSFER, lamports - *account->lamports};
    _Static_assert(sizeof(data) == 12, "layout of the system program");
    TRY(invoke(&(Call){&SYSTEM_PROGRAM, {payer, account}, {{payer->key, 1, 1}, {account->key, 1, 0}}, 2, (u8 *)&data, sizeof(data), 0}));
  }

  struct __attribute__((packed)) { u32 kind; u64 space; } allocate = {SYSTEM_ALLOCATE, size};
  _Static_assert(sizeof(allocate) == 12, "layout of the system program");
  TRY(invoke(&(Call){&SYSTEM_PROGRAM, {account}, {{account->key, 1, 1}}, 1, (u8 *)&allocate, sizeof(allocate), signer}));

  struct __attribute__((packed)) { u32 kind; Key owner; } assign = {SYSTEM_ASSIGN, *program};
  _Static_assert(sizeof(assign) == 36, "layout of the system program");
  TRY(invoke(&(Call){&SYSTEM_PROGRAM, {account}, {{account->key, 1, 1}}, 1, (u8 *)&assign, sizeof(assign), signer}));

  REQUIRE(owned_by(account, program) && *length(account) == size, RuntimeError);
  return OK;
}
