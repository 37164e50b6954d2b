import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readNonceAfter, readOwnAttempts } from '#areas/payouts/lanes/own-attempts.ts';
import type { App } from '#platform/app.ts';
import { nonceAfter } from '#platform/solana/system-program.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

interface StoredAttempt {
  readonly kind?: string;
  readonly subject?: string;
  readonly state?: string;
  readonly slot?: number | null;
  readonly account?: string | null;
  readonly nonce?: string | null;
}

/** Stores a transaction with one attempt. @returns the signature of the attempt */
async function storeAttempt({ kind = 'payout-batch', subject, state = 'finalized', slot = 5, account, nonce }: StoredAttempt): Promise<string> {
  const signature = randomSignature();
  await sql(
    t.app,
    `with added as (insert into chain_transactions (kind, subject, state) values ($1, $2, 'live') returning id)
     insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, preamble, nonce_account, nonce, last_valid_height, signed_slot,
       slot, spends, spend_day)
     select id, 1, $3, $4, '', '{}', 1, $5, $6, case when $6::text is null then 9 end, 1, $7::int8, '[]', 1 from added`,
    [kind, subject ?? signature, state, signature, account ?? null, nonce ?? null, slot],
  );
  return signature;
}

const readOf = (lane: number, address: string, nonce: string | null) =>
  readOwnAttempts(t.app.db, { lane, address, nonce } as Parameters<typeof readOwnAttempts>[1]);

test('the opening of a lane without a stored nonce is the finalized transaction that opened the account of this lane', async () => {
  const address = randomAddress();
  const opening = { kind: 'open-payout-lane', subject: `7:${address}` };
  await storeAttempt({ ...opening, subject: `7:${randomAddress()}` });
  await storeAttempt({ ...opening, subject: `8:${address}` });
  await storeAttempt({ ...opening, kind: 'close-payout-lane' });
  await storeAttempt({});
  expect(await readOf(7, address, null)).toEqual({ landed: null, pending: false });
  await storeAttempt({ ...opening, state: 'sent', slot: null });
  expect(await readOf(7, address, null)).toEqual({ landed: null, pending: false });
});

test('the finalized opening of a lane is returned with its slot', async () => {
  const address = randomAddress();
  const signature = await storeAttempt({ kind: 'open-payout-lane', subject: `7:${address}`, slot: 41 });
  expect(await readOf(7, address, null)).toEqual({ landed: { signature, slot: 41 }, pending: false });
});

test('a lane’s nonce was used by the finalized or failed attempt with this account and nonce, and other attempts are pending or dead', async () => {
  for (const [state, slot, expected] of [
    ['signed', null, 'pending'],
    ['sent', null, 'pending'],
    ['confirmed', 6, 'pending'],
    ['finalized', 6, 'landed'],
    ['failed', 6, 'landed'],
    ['dead', null, 'none'],
  ] as const) {
    const [account, nonce] = [randomAddress(), randomAddress()];
    await storeAttempt({ account, nonce: randomAddress() });
    await storeAttempt({ account: randomAddress(), nonce });
    const signature = await storeAttempt({ account, nonce, state, slot });
    const landed = expected === 'landed' ? { signature, slot: 6 } : null;
    expect({ state, ...(await readOf(1, account, nonce)) }).toEqual({ state, landed, pending: expected === 'pending' });
  }
});

test('the nonce after a transaction comes from the first RPC node that has its block', async () => {
  const [first, second] = [randomAddress(), randomAddress()];
  const node = (blockhash: string | null) => ({ previousBlockhash: async () => blockhash });
  const read = (chain: object) => readNonceAfter({ chain } as App, 7);
  expect(await read({ node: node(first), second: node(second) })).toBe(nonceAfter(first));
  expect(await read({ node: node(null), second: node(second) })).toBe(nonceAfter(second));
  expect(await read({ node: node(null), second: null })).toBeNull();
});
