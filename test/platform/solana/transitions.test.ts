import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { retry, type TransactionType } from '#platform/solana/submission/index.ts';
import { countWaiting } from '#platform/solana/submission/jobs.ts';
import { outflowLeft, reserveOutflows } from '#platform/solana/submission/outflows.ts';
import type { Priority } from '#platform/solana/submission/priorities.ts';
import { type PendingAttempt, selectPending, storedSpends } from '#platform/solana/submission/rows.ts';
import { applyTransitions, type Transition } from '#platform/solana/submission/transition.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { randomAddress } from '#test/support/areas/payout-rows.ts';
import { newPayment, submitPayments, transferType } from '#test/support/solana/submission.ts';

const REWARD = randomAddress();
const SPENDS = [
  { asset: 'sol', amount: 7n },
  { asset: REWARD, amount: 100n },
];

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({
    workers: false,
    env: { REWARD_MINT: REWARD, DAILY_SOL_LIMIT: '1000', DAILY_REWARD_LIMIT: '1000', DAILY_LIMIT_RESERVES: '' },
  });
});
afterAll(() => t.close());

/** Submits a transaction of a type. @returns its subject */
async function submitted(type: TransactionType): Promise<string> {
  const subject = newPayment();
  await submitPayments(t.app, type, [subject]);
  return subject;
}
/** Stores the next attempt of a transaction as sent, and reserves its spends. */
async function send(subject: string, fee: number | null = 2): Promise<void> {
  const [row] = await sql<{ n: number; priority: Priority }>(
    t.app,
    `update chain_transactions set state = 'live', attempts = attempts + 1 where subject = $1 returning attempts as n, priority`,
    [subject],
  );
  const day = await t.app.tx((tx) => reserveOutflows(t.app, tx, row?.priority ?? 'payouts', SPENDS));
  await sql(
    t.app,
    `insert into chain_attempts (transaction_id, n, state, signature, bytes, signers, last_valid_height, signed_slot, spends, spend_day, preamble, priority, fee, place)
     select id, attempts, 'sent', $2, '', '{}', 1, 1, $3::jsonb, $4, 0, priority, $5::int8,
       (select 1 + count(*) from chain_attempts where transaction_id = id and state in ('sent', 'confirmed')) from chain_transactions where subject = $1`,
    [subject, `attempt ${row?.n} of ${subject}`, storedSpends(SPENDS), day, fee],
  );
}
/** Returns the pending attempts of transactions. `subjects` may be followed by the number of an attempt. */
async function pendingOf(...subjects: string[]): Promise<PendingAttempt[]> {
  const pending = await Promise.all((['payouts', 'claims'] as const).map((priority) => t.app.db.query(selectPending, [100, priority, null])));
  return pending.flat().filter(({ subject, n }) => subjects.includes(subject) || subjects.includes(`${subject} ${n}`));
}
/** Applies the same state change to attempts. */
async function applyTo(type: TransactionType, to: Transition['to'], attempts: readonly PendingAttempt[]): Promise<Transition[]> {
  const error = to === 'failed' || to === 'dead' ? { name: 'Refused', message: 'a test', instruction: null, code: null } : null;
  return await applyTransitions(
    t.app,
    new Map([[type.name, type]]),
    attempts.map((attempt) => ({ attempt, to, slot: 9, error })),
  );
}
/** Applies the same state change to the pending attempts that `pendingOf` returns. */
const apply = async (type: TransactionType, to: Transition['to'], ...subjects: string[]) => await applyTo(type, to, await pendingOf(...subjects));
const transaction = async (subject: string) =>
  (
    await sql<{ state: string; refusals: number; signature: string | null; slot: number | null }>(
      t.app,
      'select state, refusals, signature, slot::float8 as slot from chain_transactions where subject = $1',
      [subject],
    )
  )[0];
const left = async () => [await outflowLeft(t.app, 'sol', 'payouts'), await outflowLeft(t.app, REWARD, 'payouts')];
/** Returns the changes of the remaining limits, SOL first, that a run causes. */
async function changeOfLimits(run: () => Promise<unknown>): Promise<bigint[]> {
  const before = await left();
  await run();
  return (await left()).map((now, i) => now - (before[i] ?? 0n));
}

test('a failed attempt keeps its fee reserved, and releases its other SOL and its tokens', async () => {
  const type = transferType('failing');
  const subject = await submitted(type);
  await send(subject);
  expect(await changeOfLimits(() => apply(type, 'failed', subject))).toEqual([5n, 100n]);
  expect(await transaction(subject)).toMatchObject({ state: 'queued', refusals: 1 });
  expect(type.hookCalls.failed).toEqual([]);
});

test('a failed attempt whose fee was not stored keeps all its SOL reserved', async () => {
  const type = transferType('failing without a fee');
  const subject = await submitted(type);
  await send(subject, null);
  expect(await changeOfLimits(() => apply(type, 'failed', subject))).toEqual([0n, 100n]);
});

test('an expired attempt releases all its spends, and a landed attempt none', async () => {
  const type = transferType('expiring');
  const [expired, landed] = [await submitted(type), await submitted(type)];
  await send(expired);
  await send(landed);
  expect(await changeOfLimits(() => apply(type, 'dead', expired))).toEqual([7n, 100n]);
  expect(await transaction(expired)).toMatchObject({ state: 'queued', refusals: 0 });
  expect(await changeOfLimits(() => apply(type, 'confirmed', landed))).toEqual([0n, 0n]);
  expect(await transaction(landed)).toMatchObject({ state: 'confirmed', signature: `attempt 1 of ${landed}`, slot: 9 });
  expect(await changeOfLimits(() => apply(type, 'finalized', landed))).toEqual([0n, 0n]);
  expect(await transaction(landed)).toMatchObject({ state: 'finalized', signature: `attempt 1 of ${landed}` });
  expect(type.hookCalls.finalized).toEqual([{ subject: landed, signature: `attempt 1 of ${landed}`, slot: 9 }]);
});

test('a transaction that is composed again after failures ends as failed after its fourth failure on the chain, expiries not counted', async () => {
  const type = transferType('refused');
  const subject = await submitted(type);
  for (const to of ['failed', 'dead', 'failed', 'dead', 'failed', 'dead'] as const) {
    await send(subject);
    await apply(type, to, subject);
    expect((await transaction(subject))?.state).toBe('queued');
  }
  await send(subject);
  await apply(type, 'failed', subject);
  expect(await transaction(subject)).toMatchObject({ state: 'failed', refusals: 4 });
  expect(type.hookCalls.failed).toEqual([{ subject, signature: `attempt 7 of ${subject}`, error: expect.objectContaining({ name: 'Refused' }) }]);
});

test.each<[string, 'failed' | 'dead', number | null, 'at once' | 'later']>([
  ['a failure of a type without a delay', 'failed', null, 'at once'],
  ['a failure of a type with a delay of 0', 'failed', 0, 'at once'],
  ['a failure of a type with a delay of a minute', 'failed', 60_000, 'later'],
  ['an expiry of a type without a delay', 'dead', null, 'at once'],
  ['an expiry of a type with a delay of a minute', 'dead', 60_000, 'at once'],
])('after %s a transaction is signed again (%s, %j ms) %s', async (what, to, delayMs, when) => {
  const type = transferType(what, delayMs === null ? {} : { failureDelayMs: () => delayMs });
  const subject = await submitted(type);
  await send(subject);
  await t.app.queues.all.get('sign-payouts')?.drain();
  await apply(type, to, subject);
  expect(await countWaiting(t.app.queues, 'payouts')).toBe(when === 'at once' ? 1 : 0);
  const [row] = await sql(t.app, 'select next_at <= app_now() as due from chain_transactions where subject = $1', [subject]);
  expect(row).toEqual({ due: when === 'at once' });
});

test('a fork that drops an attempt retracts the transaction only if this attempt has confirmed it', async () => {
  const type = { ...transferType('forked', { priority: 'claims' }), maxLive: 2 } as const;
  const subject = await submitted(type);
  await send(subject);
  await send(subject);
  for (const n of [1, 2]) expect(await apply(type, 'confirmed', `${subject} ${n}`)).toHaveLength(1);
  await apply(type, 'sent', `${subject} 1`);
  expect(await transaction(subject)).toMatchObject({ state: 'confirmed', signature: `attempt 2 of ${subject}` });
  expect(type.hookCalls.retracted).toEqual([]);
  await apply(type, 'sent', `${subject} 2`);
  expect((await transaction(subject))?.state).toBe('live');
  expect(type.hookCalls.retracted).toEqual([subject]);
});

test('of two attempts of a transaction that expire, one that another process has settled is not applied again', async () => {
  const type = { ...transferType('settled', { priority: 'claims' }), maxLive: 2 } as const;
  const subject = await submitted(type);
  await send(subject);
  await send(subject);
  const pending = await pendingOf(subject);
  await apply(type, 'dead', `${subject} 1`);
  expect((await transaction(subject))?.state).toBe('live');
  const applied = await applyTo(type, 'dead', pending);
  expect(applied.map(({ attempt }) => attempt.n)).toEqual([2]);
  expect((await transaction(subject))?.state).toBe('queued');
});

test.each(['failed', 'dead'] as const)('a transaction that is not composed again ends with its first attempt, if this attempt is %s', async (to) => {
  const type = transferType(`over ${to}`, { afterFailure: 'over' });
  const subject = await submitted(type);
  await send(subject);
  await apply(type, to, subject);
  expect((await transaction(subject))?.state).toBe('failed');
  expect(type.hookCalls.failed.map((failure) => failure.subject)).toEqual([subject]);
});

test('of two processes that apply the same state change, one applies it and runs the hook', async () => {
  const type = transferType('twice');
  const subjects = [await submitted(type), await submitted(type), await submitted(type)];
  for (const subject of subjects) await send(subject);
  const applied = await Promise.all([apply(type, 'finalized', ...subjects), apply(type, 'finalized', ...subjects)]);
  expect(applied.flat()).toHaveLength(3);
  expect(type.hookCalls.finalized.map(({ subject }) => subject).sort()).toEqual([...subjects].sort());
});

test('a failed transaction is retried only for its type, and not while an attempt may land', async () => {
  const [type, other] = [transferType('retried'), transferType('not retried')];
  const [failed, pending, finalized, foreign] = [await submitted(type), await submitted(type), await submitted(type), await submitted(other)];
  await sql(t.app, `update chain_transactions set state = 'failed', tries = 3, refusals = 4 where subject = any($1::text[])`, [[failed, foreign]]);
  await send(pending);
  await sql(t.app, `update chain_transactions set state = 'failed' where subject = $1`, [pending]);
  await sql(t.app, `update chain_transactions set state = 'finalized' where subject = $1`, [finalized]);
  expect(await t.app.tx((tx) => retry(tx, type, [failed, pending, finalized, foreign, 'unknown']))).toBe(1);
  const states = await Promise.all([failed, pending, finalized, foreign].map(async (subject) => (await transaction(subject))?.state));
  expect(states).toEqual(['queued', 'failed', 'finalized', 'failed']);
  expect(await sql(t.app, 'select tries, refusals, error, next_at <= app_now() as due from chain_transactions where subject = $1', [failed])).toEqual(
    [{ tries: 0, refusals: 0, error: null, due: true }],
  );
  expect(await t.app.tx((tx) => retry(tx, type, [failed]))).toBe(0);
});
