import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import type { TransactionType } from '#platform/solana/submission/index.ts';
import { enqueueDue, subjectsBySignature, submissionStatuses } from '#platform/solana/submission/index.ts';
import { countWaiting } from '#platform/solana/submission/jobs.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { newPayment, receivedLamports, runOnce, runUntil, statesOf, submitPayments, transferType } from '#test/support/solana/submission.ts';

let chain: TestChain;
let running: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  running = await startTestApp({ workers: false, env: { ...chain.env, LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '60', LANDING_DEPTH_BLOCKS: '4' } });
}, 30_000);
afterAll(async () => {
  await running?.close();
  await chain?.close();
});

const selectTries = statement<{ tries: number; error: { message: string } | null; delay: number }>(
  'test_transaction_tries',
  'select tries, error, extract(epoch from next_at - app_now())::float8 * 1000 as delay from chain_transactions where subject = $1',
);
const triesOf = async (subject: string) => (await running.app.db.query(selectTries, [subject]))[0];
const count = statement<{ attempts: number; reserved: string }>(
  'test_attempts_and_reserved',
  `select (select count(*)::int from chain_attempts) as attempts, (select coalesce(sum(reserved), 0)::text from chain_outflows) as reserved`,
);
const makeDue = statement('test_make_due', `update chain_transactions set next_at = app_now() where subject = $1`);

test('writes of the signed hook commit with the attempt, and an error of the hook rolls the attempt back', async () => {
  const signed: string[] = [];
  let rejects = true;
  const plain = transferType('signed');
  const type: typeof plain = Object.assign(plain, {
    async signed(_tx, attempts) {
      if (rejects) throw fail(409, 'not now');
      signed.push(...attempts.map(({ signature }) => signature));
      expect(attempts.map(({ subject, draft }) => [subject, draft.feePayer])).toEqual([[payment, 'feePayer']]);
    },
  } satisfies Pick<TransactionType, 'signed'>);
  const payment = newPayment();
  await submitPayments(running.app, type, [payment]);
  const before = await running.app.db.query(count);
  await runOnce(running.app, new Map([[type.name, type]]), [payment]);
  expect(await running.app.db.query(count)).toEqual(before);
  expect(await triesOf(payment)).toMatchObject({ tries: 1, error: { message: 'not now' } });
  rejects = false;
  await runUntil(running.app, type, [payment]);
  expect(await receivedLamports(running.app, payment)).toBe(2_000_000);
  expect(type.hookCalls.finalized).toEqual([{ subject: payment, signature: signed[0], slot: expect.any(Number) }]);
  expect(await subjectsBySignature(running.app.db, type, [...signed, 'another'])).toEqual(new Map([[signed[0], payment]]));
  expect(await submissionStatuses(running.app.db, type, [payment, 'another'])).toEqual([{ subject: payment, state: 'finalized', live: true }]);
});

test('waiting does not count as a failed simulation, and the twelfth failed simulation ends the transaction', async () => {
  let waiting = true;
  const plain = transferType('waiting');
  const type: TransactionType = {
    ...plain,
    compose: async (app, subject) => (waiting ? { do: 'wait', ms: 0, reason: 'not yet' } : await plain.compose(app, subject)),
  };
  // More lamports than the fee payer has, so that the simulation fails.
  const subject = newPayment(4_000_000_000_000_000);
  const types = new Map([[type.name, type]]);
  await submitPayments(running.app, type, [subject]);
  for (let i = 0; i < 15; i++) await runOnce(running.app, types, [subject]);
  expect(await triesOf(subject)).toMatchObject({ tries: 0, error: { message: 'not yet' } });
  waiting = false;
  for (let i = 1; i < 12; i++) {
    await runOnce(running.app, types, [subject]);
    expect(await triesOf(subject)).toMatchObject({ tries: i });
    // The delay doubles up to a minute.
    const delay = Math.min(60_000, 500 * 2 ** (i - 1));
    expect((await triesOf(subject))?.delay).toBeLessThanOrEqual(delay);
    expect((await triesOf(subject))?.delay).toBeGreaterThan(delay * 0.8 - 350);
    await running.app.tx((tx) => tx.query(makeDue, [subject]));
  }
  await runOnce(running.app, types, [subject]);
  expect([...(await statesOf(running.app, [subject])).values()]).toEqual(['failed']);
});

test('the worker that composed a transaction which waits briefly enqueues its signing again, without a search for due rows', async () => {
  let waiting = true;
  const type: TransactionType = {
    ...transferType('brief-wait'),
    compose: async () => (waiting ? { do: 'wait', ms: 30, reason: 'not yet' } : { do: 'done', signature: null, slot: null }),
  };
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  const queue = running.app.queues.all.get('sign-payouts');
  await queue?.drain();
  expect(await countWaiting(running.app.queues, type.priority)).toBe(0);
  await runOnce(running.app, new Map([[type.name, type]]), [subject]);
  await retryUntilPass(async () => expect(await countWaiting(running.app.queues, type.priority)).toBe(1));
  expect((await triesOf(subject))?.delay).toBeLessThanOrEqual(0);
  waiting = false;
  await runOnce(running.app, new Map([[type.name, type]]), [subject]);
  expect([...(await statesOf(running.app, [subject])).values()]).toEqual(['finalized']);
});

test('a transaction whose effect is on the chain already ends as finalized, and of two workers that find this out, one runs the hook', async () => {
  const plain = transferType('done');
  const landed = { signature: 'a-signature', slot: 9 };
  const type: typeof plain = { ...plain, compose: async () => ({ do: 'done', ...landed }) };
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  const types = new Map([[type.name, type]]);
  await Promise.all([runOnce(running.app, types, [subject]), runOnce(running.app, types, [subject])]);
  expect((await statesOf(running.app, [subject])).get(subject)).toBe('finalized');
  expect(plain.hookCalls.finalized).toEqual([{ subject, ...landed }]);
});

test('a due transaction whose job is lost is enqueued again, and the time until the next due one of the class is known', async () => {
  const type = transferType('due');
  expect(await enqueueDue(running.app, 'payouts')).toBeNull();
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  const jobs = running.app.queues.all.get('sign-payouts');
  await jobs?.drain();
  expect(await enqueueDue(running.app, 'payouts')).toBeLessThanOrEqual(0);
  expect(await countWaiting(running.app.queues, 'payouts')).toBe(1);
  await running.app.tx((tx) => tx.query(postponeOneMinute, [subject]));
  await jobs?.drain();
  const ms = await enqueueDue(running.app, 'payouts');
  expect(ms).toBeGreaterThan(59_000);
  expect(ms).toBeLessThanOrEqual(60_000);
  expect(await countWaiting(running.app.queues, 'payouts')).toBe(0);
});
const postponeOneMinute = statement('test_postpone', `update chain_transactions set next_at = app_now() + interval '1 minute' where subject = $1`);
