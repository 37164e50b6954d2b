// Rent, and creating accounts at derived addresses.
#pragma once
#include "address.h"
#include "invoke.h"

// Instruction numbers of the system program; the first u32 of the instruction data.
#define SYSTEM_ASSIGN 1
#define SYSTEM_TRANSFER 2
#define SYSTEM_ALLOCATE 8

// Bytes that are added to the data of every account when the rent is computed.
#define ACCOUNT_OVERHEAD 128

// Bits of the two supported exemption thresholds, doubles: 2 (years, with a price per byte and year) and 1 (with a price per byte).
#define THRESHOLD_TWO 0x4000000000000000ul
#define THRESHOLD_ONE 0x3ff0000000000000ul

static Result rent_exempt_minimum(u64 size, u64 *lamports) {
  Rent rent;
  REQUIRE(sol_get_rent_sysvar(&rent) == 0, RuntimeError);
  REQUIRE(rent.threshold == THRESHOLD_TWO || rent.threshold == THRESHOLD_ONE, BadRent);
  u64 years = rent.threshold == THRESHOLD_TWO ? 2 : 1;
  // Rejects 0, because the runtime deletes an account without lamports, with its data, at the end of the transaction. Rejects prices above
  // 2^32 - 1, so that the product below does not overflow.
  REQUIRE(rent.lamports_per_byte_year > 0 && rent.lamports_per_byte_year <= ~0u, BadRent);
  *lamports = (ACCOUNT_OVERHEAD + size) * rent.lamports_per_byte_year * years;
  return OK;
}

// Creates an account of this program at a derived address. Precondition: `unused(account)`. `signer` holds the seeds with the bump.
// Does not use CreateAccount, which fails for an address that holds lamports: a stranger could block a known address by sending lamports.
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
