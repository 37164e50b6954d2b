import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rentSweep } from '#areas/rewards/chain/sweep-rents.ts';
import { signAndSend, submit } from '#platform/solana/submission/index.ts';
import { startTestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { FAST_SUBMISSION, type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { killableApp, runUntil } from '#test/support/solana/submission.ts';

const MIN = 5_000_000;

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false, env: { RENT_SWEEP_MIN: String(MIN) } });
});
afterAll(() => t?.close());

const balanceOf = (role: 'epochAuthority' | 'feePayer') => t.chain.connection.getBalance(t.chain.keys[role].publicKey, 'finalized');

/** Sets the balance of the epoch authority, lamports. */
async function setAuthority(lamports: number): Promise<void> {
  const system = '11111111111111111111111111111111';
  await t.chain.control.setAccounts([{ address: t.chain.keys.epochAuthority.publicKey.toBase58(), account: { lamports, owner: system } }]);
  await t.chain.control.advance(10);
}

test('the whole balance of the epoch authority goes to the fee payer, and a repeated transaction sends only what came back since', async () => {
  await setAuthority(7_000_000);
  const before = await balanceOf('feePayer');
  await t.app.tx((tx) => submit(tx, rentSweep, ['1']));
  await runUntil(t.app, rentSweep, ['1'], ['finalized']);
  expect(await balanceOf('epochAuthority')).toBe(0);
  expect((await balanceOf('feePayer')) - before).toBeGreaterThan(7_000_000 - 20_000);
  expect(await rentSweep.compose(t.app, '1')).toEqual({ do: 'done', signature: null, slot: null });
  // Only the fee counts against the daily limit, because the service keeps the SOL.
  const spent = await sql<{ asset: string; amount: string }>(
    t.app,
    `select s->>'asset' as asset, s->>'amount' as amount from chain_attempts a join chain_transactions c on c.id = a.transaction_id, jsonb_array_elements(a.spends) s
     where c.kind = 'rent-sweep'`,
  );
  expect(spent).toEqual([{ asset: 'sol', amount: expect.stringMatching(/^1\d{4}$/) }]);
});

test('a balance below the minimum stays, and so does a balance that is not finalized', async () => {
  await setAuthority(MIN - 1);
  expect(await rentSweep.compose(t.app, '1')).toMatchObject({ do: 'done' });
  await setAuthority(MIN);
  expect(await rentSweep.compose(t.app, '1')).toMatchObject({ do: 'sign' });
  await setAuthority(1_000);
  await t.chain.control.pause();
  await t.chain.fundWallet({ lamports: 100_000_000 }, t.chain.keys.epochAuthority);
  expect(await rentSweep.compose(t.app, '1')).toMatchObject({ do: 'done' });
  await t.chain.control.resume();
});

test.each([
  ['the fee payer', { EPOCH_AUTHORITY_KEY: 'FEE_PAYER_KEY' }],
  ['the treasury', { EPOCH_AUTHORITY_KEY: 'TREASURY_KEY' }],
  ['the committer', { EPOCH_AUTHORITY_KEY: 'COMMITTER_KEY' }],
])('nothing is sent when %s is the epoch authority', async (_name, { EPOCH_AUTHORITY_KEY: same }) => {
  const other = await startTestApp({ workers: false, env: { ...t.chain.env, ...FAST_SUBMISSION, EPOCH_AUTHORITY_KEY: t.chain.env[same] ?? '' } });
  try {
    expect(await rentSweep.compose(other.app, '1')).toEqual({ do: 'done', signature: null, slot: null });
  } finally {
    await other.close();
  }
});

test('a sweep whose worker is killed after any operation is completed by another worker, and the rents arrive once', async () => {
  const types = new Map([[rentSweep.name, rentSweep]]);
  for (let at = 1; at <= 40; at += 3) {
    await setAuthority(9_000_000);
    const subject = String(100 + at);
    await t.app.tx((tx) => submit(tx, rentSweep, [subject]));
    const [row] = await sql<{ id: string }>(t.app, `select id::text from chain_transactions where kind = 'rent-sweep' and subject = $1`, [subject]);
    const before = await balanceOf('feePayer');
    await signAndSend(killableApp(t.app, at, 'after').app, types, row?.id ?? '').catch(() => undefined);
    await runUntil(t.app, rentSweep, [subject], ['finalized']);
    const received = (await balanceOf('feePayer')) - before;
    expect({ at, left: await balanceOf('epochAuthority') }).toEqual({ at, left: 0 });
    expect(received).toBeLessThan(9_000_000);
    expect(received).toBeGreaterThan(9_000_000 - 50_000);
  }
}, 60_000);
