import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { outflowLeft, type TransactionType } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { PATIENCE } from '#test/support/patience.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { attemptsOf, GUARDED_LAMPORTS, guardedLamports, guardedType, runWithFurther, wrongOutflows } from '#test/support/solana/guarded.ts';
import { newPayment, statesOf, submitPayments, transferType } from '#test/support/solana/submission.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  const landing = { LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '60', LANDING_DEPTH_BLOCKS: '4', LANDING_RAISE_SLOTS: '20' };
  t = await startTestApp({ workers: false, env: { ...chain.env, ...landing } });
}, 30_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
});
beforeEach(async () => {
  await chain.control.pause();
  // The blockhash with which a transaction is signed is cached for one second.
  await sleep(1_100);
});
afterEach(() => chain.control.clear());

let seeds = 0;
const newSubject = () => `guarded ${++seeds}`;
const stateOf = async (subject: string) => (await statesOf(t.app, [subject])).get(subject);
const live = async (subject: string) => (await attemptsOf(t.app, subject)).filter(({ state }) => ['signed', 'sent', 'confirmed'].includes(state));

/** Runs workers while `isGoing` returns true, one slot per turn. Makes postponed further attempts due at once. */
async function runWhile(type: TransactionType, subject: string, isGoing: () => Promise<boolean>): Promise<void> {
  const types = new Map([[type.name, type]]);
  const end = performance.now() + PATIENCE * 30_000;
  while (await isGoing()) {
    if (performance.now() > end) throw new Error(`still ${JSON.stringify(await attemptsOf(t.app, subject))}`);
    await t.app.tx((tx) => tx.query({ text: `update chain_transactions set next_at = app_now() where subject = $1 and state = 'live'` }, [subject]));
    await runWithFurther(t.app, types, [subject]);
    await chain.control.advance(1);
    await sleep(10);
  }
}
const untilSettled = (type: TransactionType, subject: string) =>
  runWhile(type, subject, async () => (await live(subject)).length > 0 || (await stateOf(subject)) !== 'finalized');

test('a transaction that does not land gets up to three live attempts, each with a higher price, and reserves its costs once', async () => {
  const type = guardedType('raised');
  const subject = newSubject();
  await submitPayments(t.app, type, [subject]);
  const before = await outflowLeft(t.app, 'sol', 'claims');
  const dropped = await chain.control.fault({ kind: 'drop' });
  await runWhile(type, subject, async () => (await live(subject)).length < 3);
  const three = await attemptsOf(t.app, subject);
  expect(three.map(({ place }) => place)).toEqual([1, 2, 3]);
  expect(three.map(({ price }) => price)).toEqual([1_000, 1_500, 2_250]);
  const fees = three.reduce((sum, { fee }) => sum + fee, 0);
  expect(before - (await outflowLeft(t.app, 'sol', 'claims'))).toBe(BigInt(GUARDED_LAMPORTS + fees));
  // The slots pass, and there is no fourth attempt while three are live.
  const types = new Map([[type.name, type]]);
  await chain.control.advance(30);
  for (let i = 0; i < 5; i++) await runWithFurther(t.app, types, [subject]);
  expect((await live(subject)).length).toBeLessThanOrEqual(3);
  await dropped.clear();
  await untilSettled(type, subject);
  expect(await guardedLamports(t.app, subject)).toBe(GUARDED_LAMPORTS);
  expect(type.hookCalls.finalized).toHaveLength(1);
  expect(type.hookCalls.failed).toEqual([]);
  expect(await wrongOutflows(t.app)).toEqual([]);
}, 90_000);

test('an attempt that lands after another one fails on the chain and costs its fee, and the transaction stays finalized', async () => {
  const type = guardedType('both land');
  const subject = newSubject();
  await submitPayments(t.app, type, [subject]);
  const before = await outflowLeft(t.app, 'sol', 'claims');
  await chain.control.fault({ kind: 'late', slots: 110, times: 1 });
  const dropped = await chain.control.fault({ kind: 'drop' });
  await runWhile(type, subject, async () => (await live(subject)).length < 2);
  const signature = (await attemptsOf(t.app, subject))[0]?.signature ?? '';
  await chain.control.fault({ kind: 'drop', signature });
  await dropped.clear();
  await untilSettled(type, subject);
  const ended = await attemptsOf(t.app, subject);
  expect(ended.map(({ state }) => state).sort()).toEqual(['failed', 'finalized']);
  expect(await stateOf(subject)).toBe('finalized');
  expect(type.hookCalls.failed).toEqual([]);
  expect(type.hookCalls.finalized).toHaveLength(1);
  expect(await guardedLamports(t.app, subject)).toBe(GUARDED_LAMPORTS);
  const fees = ended.reduce((sum, { fee }) => sum + fee, 0);
  expect(before - (await outflowLeft(t.app, 'sol', 'claims'))).toBe(BigInt(GUARDED_LAMPORTS + fees));
  expect(await wrongOutflows(t.app)).toEqual([]);
}, 90_000);

test('a transaction without an account that guards it has one live attempt', async () => {
  const type = transferType('unguarded');
  const subject = newPayment();
  await submitPayments(t.app, type, [subject]);
  await chain.control.fault({ kind: 'drop' });
  const types = new Map([[type.name, type]]);
  for (let i = 0; i < 5; i++) {
    await runWithFurther(t.app, types, [subject]);
    await chain.control.advance(20);
  }
  expect((await attemptsOf(t.app, subject)).length).toBe(1);
}, 20_000);

test('the database refuses a second live attempt of a payout, and a fourth one of any transaction', async () => {
  const insert = (id: string, n: number, place: number, priority: string) =>
    t.app.tx((tx) =>
      tx.query(
        {
          text: `insert into chain_attempts (transaction_id, n, signature, bytes, signers, last_valid_height, signed_slot, spends, spend_day, preamble, place, priority)
             values ($1, $2, $3, '', '{}', 1, 1, '[]', 0, 0, $4, $5)`,
        },
        [id, n, `${id} ${n}`, place, priority],
      ),
    );
  const [payout, claim] = [newPayment(), newSubject()];
  await submitPayments(t.app, transferType('database payout'), [payout]);
  await submitPayments(t.app, guardedType('database claim'), [claim]);
  const idOf = async (subject: string) =>
    (await t.app.db.query<{ id: string }>({ text: 'select id::text from chain_transactions where subject = $1' }, [subject]))[0]?.id ?? '';
  await insert(await idOf(payout), 1, 1, 'payouts');
  await expect(insert(await idOf(payout), 2, 2, 'payouts')).rejects.toThrow(/check/);
  await expect(insert(await idOf(payout), 2, 1, 'payouts')).rejects.toThrow(/chain_attempts_live/);
  for (const n of [1, 2, 3]) await insert(await idOf(claim), n, n, 'claims');
  await expect(insert(await idOf(claim), 4, 4, 'claims')).rejects.toThrow(/check/);
  await t.app.tx((tx) => tx.query({ text: `update chain_attempts set state = 'dead' where signers = '{}'` }));
});
