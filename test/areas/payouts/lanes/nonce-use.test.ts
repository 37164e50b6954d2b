import { expect, test } from '@jest/globals';
import { nonceUseOf, opensLane } from '#areas/payouts/lanes/unknown-transaction.ts';
import { payoutMemo } from '#lib/draw/payout.ts';
import type { FetchedTransaction, ParsedInstruction } from '#platform/solana/fetched-transaction.ts';
import { SYSTEM_PROGRAM } from '#platform/solana/system-program.ts';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { COMPUTE_BUDGET_PROGRAM } from '#platform/solana/transactions.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';

const [address, authority, mint, to] = [randomAddress(), randomAddress(), randomAddress(), randomAddress()];
const lane = { address, authority };

const system = (number: number, account = address): ParsedInstruction => ({
  program: SYSTEM_PROGRAM.toBase58(),
  accounts: [account],
  data: Buffer.from([number, 0, 0, 0]),
});
const advance = system(4);
const budget: ParsedInstruction = { program: COMPUTE_BUDGET_PROGRAM.toBase58(), accounts: [], data: Buffer.from([3]) };
const memo = (text: string): ParsedInstruction => ({ program: MEMO_PROGRAM.toBase58(), accounts: [], data: Buffer.from(text) });

/** Returns an instruction of the token program, 10 bytes long unless stated: number, amount 700 as u64, decimals. */
function token({ number = 12, length = 10, accounts = [randomAddress(), mint, to, authority] } = {}): ParsedInstruction {
  const data = Buffer.alloc(length);
  data.writeUInt8(number, 0);
  data.writeBigUInt64LE(700n, 1);
  return { program: TOKEN_PROGRAM.toBase58(), accounts, data };
}

const found = (instructions: ParsedInstruction[], changes: Partial<FetchedTransaction> = {}): FetchedTransaction => ({
  ...{ signature: 's', slot: 7, blockTime: null, blockhash: 'nonce', signers: [randomAddress(), authority], instructions },
  outcome: { failed: false, tokensBefore: [], tokensAfter: [], innerInstructions: [] },
  ...changes,
});
const useOf = (...instructions: ParsedInstruction[]) => nonceUseOf(lane, 's', found([advance, ...instructions]));

test('a transaction uses a nonce of a lane only if its first instruction advances the lane’s nonce and the lane’s authority signed it', () => {
  expect(nonceUseOf(lane, 's', found([advance]))).toMatchObject({ signature: 's', slot: 7, nonce: 'nonce' });
  expect(nonceUseOf(lane, 's', found([]))).toBeNull();
  expect(nonceUseOf(lane, 's', found([budget, advance]))).toBeNull();
  expect(nonceUseOf(lane, 's', found([system(4, randomAddress())]))).toBeNull();
  expect(nonceUseOf(lane, 's', found([system(5)]))).toBeNull();
  expect(nonceUseOf(lane, 's', found([advance], { signers: [randomAddress()] }))).toBeNull();
});

test('the transfers of a transaction on a lane are its TransferChecked instructions, with account, token and amount', () => {
  expect(useOf(token())?.transfers).toEqual([{ to, mint, amount: '700' }]);
  expect(useOf(token(), token())?.transfers).toHaveLength(2);
  for (const other of [
    token({ number: 3 }),
    token({ length: 9 }),
    token({ length: 11 }),
    token({ accounts: [to, mint] }),
    { ...token(), program: to },
  ])
    expect(useOf(other)?.transfers).toEqual([]);
});

test('the memo of a transaction on a lane is its first memo that names a batch', () => {
  const [batch, hash] = ['00000000-0000-4000-8000-000000000000', 'ab'.repeat(32)];
  const named = payoutMemo(batch, hash);
  expect(useOf(memo('hello'), memo(named))?.memo).toEqual({ batch, hash });
  expect(useOf(memo('hello'))?.memo).toBeNull();
  expect(useOf({ ...memo(named), program: TOKEN_PROGRAM.toBase58() })?.memo).toBeNull();
});

test('a transaction on a lane must be matched with payments unless it landed with an error or has only memos and compute budgets', () => {
  expect(useOf(token())?.harmless).toBeNull();
  expect(useOf(memo('hello'), budget)?.harmless).toBe('the transaction only advances the nonce');
  expect(useOf(memo('hello'), token({ number: 3 }))?.harmless).toBeNull();
  expect(useOf(budget, { ...budget, program: randomAddress() })?.harmless).toBeNull();
  const failed = { failed: true, tokensBefore: [], tokensAfter: [], innerInstructions: [] };
  expect(nonceUseOf(lane, 's', found([advance, token()], { outcome: failed }))?.harmless).toBe('the transaction landed with an error');
  expect(nonceUseOf(lane, 's', found([advance, token()], { outcome: null }))?.harmless).toBeNull();
});

test('a transaction opens a lane if it landed without an error and makes the lane’s account a nonce account', () => {
  expect(opensLane(lane, found([budget, system(6)]))).toBe(true);
  expect(opensLane(lane, found([system(6, randomAddress())]))).toBe(false);
  expect(opensLane(lane, found([advance]))).toBe(false);
  expect(opensLane(lane, found([system(6)], { outcome: null }))).toBe(false);
  expect(opensLane(lane, found([system(6)], { outcome: { failed: true, tokensBefore: [], tokensAfter: [], innerInstructions: [] } }))).toBe(false);
});
