// What the SVM gives a program: its types, its system calls, and the two of its accounts of which only the clock and the rent are read.
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long i64;
typedef _Bool bool;

_Static_assert(sizeof(u32) == 4 && sizeof(u64) == 8 && sizeof(void *) == 8, "a 64-bit machine");

// BPF passes five arguments, in registers; what needs more is put into its caller.
#define INLINED static inline __attribute__((always_inline))

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define OFFSET(type, field) __builtin_offsetof(type, field)

// An address, or a hash. Those that are compared by words lie at multiples of 8, as everything in the input does that is cast to one.
typedef union {
  u8 bytes[32];
  u64 words[4];
} Key;

// The C interface of sol_invoke_signed_c. The pointers must be those into the program's own input.
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
  u64 threshold; // a double, of which only two values are accepted: see system.h
  u8 burn_percent;
} Rent;

_Static_assert(sizeof(AccountInfo) == 56 && OFFSET(AccountInfo, is_signer) == 48, "layout of the runtime");
_Static_assert(sizeof(AccountMeta) == 16 && OFFSET(AccountMeta, is_signer) == 9, "layout of the runtime");
_Static_assert(sizeof(Instruction) == 40, "layout of the runtime");
_Static_assert(sizeof(Slice) == 16 && sizeof(Signer) == 16, "layout of the runtime");
_Static_assert(sizeof(Clock) == 40 && OFFSET(Clock, unix_timestamp) == 32, "layout of the clock sysvar");
_Static_assert(sizeof(Rent) == 24 && OFFSET(Rent, burn_percent) == 16, "layout of the rent sysvar");

// Each gives 0, or another number for what went wrong.
extern u64 sol_invoke_signed_c(const Instruction *, const AccountInfo *, u64 infos, const Signer *, u64 signers);
extern u64 sol_create_program_address(const Slice *seeds, u64 count, const Key *program, Key *address);
extern u64 sol_try_find_program_address(const Slice *seeds, u64 count, const Key *program, Key *address, u8 *bump);
extern u64 sol_sha256(const Slice *, u64 count, Key *hash);
extern u64 sol_get_clock_sysvar(Clock *);
extern u64 sol_get_rent_sysvar(Rent *);
