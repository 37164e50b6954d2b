import { expect, test } from '@jest/globals';
import { MessageV0, type VersionedTransactionResponse } from '@solana/web3.js';
import { advancesNonce, decodeTransaction, initializesNonce, memosOf } from '#platform/solana/fetched-transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { MEMO_PROGRAM } from '#platform/solana/tokens.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';

const [payer, signer, account, program, looked, readonly, mint] = Array.from({ length: 7 }, randomAddress) as [
  ...[string, string, string, string, string, string, string],
];
const keys = (...addresses: string[]) => addresses.map(parseAddress);
const balance = (accountIndex: number, amount: string, owner?: string) => ({
  ...{ accountIndex, mint, ...(owner === undefined ? {} : { owner }) },
  uiTokenAmount: { amount, decimals: 6, uiAmount: null },
});

/** Returns a response of an RPC node for a transaction with two signers and one instruction. The instruction names looked-up accounts too. */
function response(meta: Partial<NonNullable<VersionedTransactionResponse['meta']>> | null): VersionedTransactionResponse {
  const message = new MessageV0({
    header: { numRequiredSignatures: 2, numReadonlySignedAccounts: 0, numReadonlyUnsignedAccounts: 1 },
    staticAccountKeys: keys(payer, signer, account, program),
    recentBlockhash: 'a-blockhash',
    compiledInstructions: [{ programIdIndex: 3, accountKeyIndexes: [2, 4, 5, 9], data: Uint8Array.of(1, 2) }],
    addressTableLookups: [],
  });
  const base = { err: null, fee: 5_000, preBalances: [], postBalances: [], loadedAddresses: { writable: keys(looked), readonly: keys(readonly) } };
  return { slot: 9, blockTime: 77, transaction: { message, signatures: ['first', 'second'] }, meta: meta && { ...base, ...meta } };
}

test('a fetched transaction has the first signature, the signers, and the addresses of its instructions, also looked-up ones', () => {
  expect(decodeTransaction(response({}))).toMatchObject({
    ...{ signature: 'first', slot: 9, blockTime: 77, blockhash: 'a-blockhash', signers: [payer, signer] },
    instructions: [{ program, accounts: [account, looked, readonly, ''], data: Buffer.from([1, 2]) }],
    outcome: { failed: false, tokensBefore: [], tokensAfter: [], innerInstructions: [] },
  });
  const early = decodeTransaction({ ...response(null), blockTime: null });
  expect([early.outcome, early.blockTime, early.signature]).toEqual([null, null, 'first']);
});

test('the outcome of a fetched transaction has its error, its token balances before and after, and its inner instructions', () => {
  const { outcome } = decodeTransaction(
    response({
      err: 'AccountInUse',
      preTokenBalances: [balance(2, '10', payer)],
      postTokenBalances: [balance(4, '18446744073709551615')],
      innerInstructions: [{ index: 0, instructions: [{ programIdIndex: 3, accounts: [0], data: '2' }] }],
    }),
  );
  expect(outcome).toMatchObject({ failed: true });
  expect(outcome?.tokensBefore).toEqual([{ account, mint, owner: payer, amount: 10n }]);
  expect(outcome?.tokensAfter).toEqual([{ account: looked, mint, owner: null, amount: 2n ** 64n - 1n }]);
  // The RPC node encodes the data of inner instructions in base58: '2' is the byte 1.
  expect(outcome?.innerInstructions).toEqual([{ program, accounts: [payer], data: Buffer.from([1]) }]);
});

test('memos are the texts of the instructions of both versions of the memo program', () => {
  const memo = (of: string, text: string) => ({ program: of, accounts: [], data: Buffer.from(text) });
  const both = [memo(MEMO_PROGRAM.toBase58(), 'new'), memo(program, 'none'), memo('Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo', 'old')];
  expect(memosOf(both)).toEqual(['new', 'old']);
});

test('an instruction uses a nonce account only as an instruction of the system program with the right number and first account', () => {
  const instruction = { program: SYSTEM_PROGRAM.toBase58(), accounts: [account, payer], data: Buffer.from([4, 0, 0, 0]) };
  expect(advancesNonce(instruction, account)).toBe(true);
  for (const change of [{ program }, { accounts: [payer, account] }, { data: Buffer.from([4, 0, 0]) }, { data: Buffer.from([4, 1, 0, 0]) }])
    expect(advancesNonce({ ...instruction, ...change }, account)).toBe(false);
  expect(initializesNonce(instruction, account)).toBe(false);
  expect(initializesNonce({ ...instruction, data: Buffer.from([6, 0, 0, 0, 5]) }, account)).toBe(true);
});
