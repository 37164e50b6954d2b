import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { canonicalize } from '#lib/canonical.ts';
import { membersHash, PayoutMember, payoutMemo } from '#lib/draw/payout.ts';
import { openChain } from '#packages/verify/src/chain.ts';
import { checkBatch, tokenAccount } from '#packages/verify/src/payouts.ts';
import { programDataAddress, readProgram } from '#packages/verify/src/program.ts';

/** Reads a file of test vectors. */
function vectors<Shape extends z.ZodType>(file: string, shape: Shape): z.output<Shape> {
  return shape.parse(JSON.parse(readFileSync(join(import.meta.dirname, '../../../docs/verification', file), 'utf8')));
}

const batch = vectors(
  'transactions.json',
  z.object({
    ...{ treasury: z.string(), batch: z.string(), memo: z.string(), members: z.array(PayoutMember) },
    transactions: z.array(z.object({ name: z.string(), valid: z.boolean(), answer: z.unknown() })),
  }),
);

/** Returns whether a transaction pays the members of the batch, as its reader sees it. */
async function pays(answer: unknown): Promise<boolean> {
  const transaction = await openChain(async () => answer).transaction('signature');
  if (transaction === null) throw new Error('there is no transaction');
  try {
    checkBatch('signature', transaction, batch.batch, batch.members, batch.treasury);
    return !transaction.failed;
  } catch {
    return false;
  }
}

test('the transactions of the test vectors pay their batch, or do not pay it, as the vectors say', async () => {
  expect(payoutMemo(batch.batch, membersHash(batch.members))).toBe(batch.memo);
  const found = await Promise.all(batch.transactions.map(async ({ name, answer }) => ({ name, valid: await pays(answer) })));
  expect(found).toEqual(batch.transactions.map(({ name, valid }) => ({ name, valid })));
});

const Bytes = z.string().transform((hex) => new Uint8Array(Buffer.from(hex, 'hex')));
const Account = z.object({ owner: z.string(), data: Bytes }).nullable();
const accounts = vectors(
  'accounts.json',
  z.object({
    tokenAccounts: z.array(z.object({ wallet: z.string(), mint: z.string(), address: z.string() })),
    deployed: z.object({
      ...{ program: z.string(), dataAddress: z.string() },
      cases: z.array(z.object({ name: z.string(), account: Account, dataAccount: Account, deployed: z.unknown() })),
    }),
  }),
);

test('the associated token accounts of the test vectors have their addresses', () => {
  for (const { wallet, mint, address } of accounts.tokenAccounts) expect(tokenAccount(wallet, mint)).toBe(address);
});

test('the program accounts of the test vectors are read as the vectors say', () => {
  const { program, dataAddress, cases } = accounts.deployed;
  expect(programDataAddress(program)).toBe(dataAddress);
  for (const { name, account, dataAccount, deployed } of cases) expect([name, readProgram(program, account, dataAccount)]).toEqual([name, deployed]);
});

const json = vectors(
  'json.json',
  z.object({
    numbers: z.array(z.object({ text: z.string(), integer: z.number().nullable() })),
    texts: z.array(z.object({ text: z.string(), canonical: z.string() })),
  }),
);

test('the numbers of the test vectors are the integers that the vectors name, and -0 is written as 0', () => {
  for (const { text, integer } of json.numbers) {
    const { data } = z.int().safeParse(JSON.parse(text));
    expect([text, data === undefined ? null : canonicalize(data)]).toEqual([text, integer === null ? null : String(integer)]);
  }
});

test('the JSON texts of the test vectors have their canonical text', () => {
  for (const { text, canonical } of json.texts) expect(canonicalize(JSON.parse(text))).toBe(canonical);
});
