// Calls of other programs.
#pragma once
#include "input.h"

#define MAX_INVOKED 3

typedef struct {
  const Key *program; // one of the constants in programs.h
  const AccountInfo *accounts[MAX_INVOKED];
  AccountMeta metas[MAX_INVOKED];
  u64 accounts_len;
  const u8 *data;
  u64 data_len;
  const Signer *signer; // the seeds of a derived address that signs; null when none signs
} Call;

static Result invoke(const Call *call) {
  AccountInfo infos[MAX_INVOKED];
  for (u64 i = 0; i < call->accounts_len; i++) {
    infos[i] = *call->accounts[i];
    infos[i].data_len = *length(call->accounts[i]); // an earlier call may have changed the length
  }
  Instruction instruction = {call->program, call->metas, call->accounts_len, call->data, call->data_len};
  u64 failed = sol_invoke_signed_c(&instruction, infos, call->accounts_len, call->signer, call->signer ? 1 : 0);
  return failed ? RuntimeError : OK;
}
