// The interface of the SVM: types, system calls, and the clock and rent sysvars.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long i64;
typedef _Bool bool;

_Static_assert(sizeof(u32) == 4 && sizeof(u64) == 8 && sizeof(void *) == 8, "a 64-bit machine");

// BPF passes at most five arguments, in registers. Functions with more arguments must be inlined.
#define INLINED static inline __attribute__((always_inline))

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OFFSET(type, field) __builtin_offsetof(type, field)

// An address or a hash. Keys that are compared by words must be 8-byte aligned; the keys of the input are.
typedef union {
  u8 bytes[32];
  u64 words[4];
} Key;

// Argument of sol_invoke_signed_c. The pointers must point into the input of the program.
typedef struct {
  Key *key;
  u64 *lamports;
  u64 data_len;
  u8 *data;
  Key *owner;
  u64 rent_epoch;
  bool is_signer, is_writable, executable;
} AccountInfo;

typedef struct {
  const Key *key;
  bool is_writable, is_signer;
} AccountMeta;

typedef struct {
  const Key *program;
  const AccountMeta *accounts;
  u64 accounts_len;
  const u8 *data;
  u64 data_len;
} Instruction;

typedef struct {
  const u8 *at;
  u64 len;
} Slice;

typedef struct {
  const Slice *seeds;
  u64 len;
} Signer;

typedef struct {
  u64 slot;
  i64 epoch_start;
  u64 epoch, leader_schedule_epoch;
  i64 unix_timestamp;
} Clock;

typedef struct {
  u64 lamports_per_byte_year;
  u64 threshold; // the bits of a double; system.h accepts two values
  u8 burn_percent;
} Rent;

_Static_assert(sizeof(AccountInfo) == 56 && OFFSET(AccountInfo, is_signer) == 48, "layout of the runtime");
_Static_assert(sizeof(AccountMeta) == 16 && OFFSET(AccountMeta, is_signer) == 9, "layout of the runtime");
_Static_assert(sizeof(Instruction) == 40, "layout of the runtime");
_Static_assert(sizeof(Slice) == 16 && sizeof(Signer) == 16, "layout of the runtime");
_Static_assert(sizeof(Clock) == 40 && OFFSET(Clock, unix_timestamp) == 32, "layout of the clock sysvar");
_Static_assert(sizeof(Rent) == 24 && OFFSET(Rent, burn_percent) == 16, "layout of the rent sysvar");

// Each system call returns 0, or an error code.
extern u64 sol_invoke_signed_c(const Instruction *, const AccountInfo *, u64 infos, const Signer *, u64 signers);
extern u64 sol_create_program_address(const Slice *seeds, u64 count, const Key *program, Key *address);
extern u64 sol_try_find_program_address(const Slice *seeds, u64 count, const Key *program, Key *address, u8 *bump);
extern u64 sol_sha256(const Slice *, u64 count, Key *hash);
extern u64 sol_get_clock_sysvar(Clock *);
extern u64 sol_get_rent_sysvar(Rent *);
