import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { fail } from '#lib/errors.ts';
import { statement } from '#platform/db/sql.ts';
import type { TransactionType } from '#platform/solana/submission/transactions.ts';
import { enqueueDue, standingOf, subjectsOf } from '#platform/solana/submission/transactions.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { ask, drive, newPayment, paid, statesOf, transfers, turn } from '#test/support/solana/submission.ts';

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

const selectTries = statement<{ tries: number; error: { message: string } | null }>(
  'test_transaction_tries',
  'select tries, error from chain_transactions where subject = $1',
);
const triesOf = async (subject: string) => (await running.app.db.query(selectTries, [subject]))[0];
const count = statement<{ attempts: number; reserved: string }>(
  'test_attempts_and_reserved',
  `select (select count(*)::int from chain_attempts) as attempts, (select coalesce(sum(reserved), 0)::text from chain_outflows) as reserved`,
);
const hurry = statement('test_hurry_landing', `update chain_transactions set next_at = app_now() where subject = $1`);

test('what a kind keeps when it signs is in the commit of the attempt, and what it refuses leaves nothing', async () => {
  const signed: string[] = [];
  let refusing = true;
  const plain = transfers('signed');
  const kind: typeof plain = Object.assign(plain, {
    async signed(_tx, { subject, signature, draft }) {
      if (refusing) throw fail(409, 'not now');
      signed.push(signature);
      expect([subject, draft.feePayer]).toEqual([payment, 'feePayer']);
    },
  } satisfies Pick<TransactionType, 'signed'>);
  const payment = newPayment();
  await ask(running.app, kind, [payment]);
  const before = await running.app.db.query(count);
  await turn(running.app, new Map([[kind.name, kind]]), [payment]);
  expect(await running.app.db.query(count)).toEqual(before);
  expect(await triesOf(payment)).toMatchObject({ tries: 1, error: { message: 'not now' } });
  refusing = false;
  await drive(running.app, kind, [payment]);
  expect(await paid(running.app, payment)).toBe(2_000_000);
  expect(kind.books.finalized).toEqual([{ subject: payment, signature: signed[0], slot: expect.any(Number) }]);
  expect(await subjectsOf(running.app.db, kind, [...signed, 'another'])).toEqual(new Map([[signed[0], payment]]));
  expect(await standingOf(running.app.db, kind, [payment, 'another'])).toEqual([{ subject: payment, state: 'finalized', live: true }]);
});

test('waiting, however long, does not use up the tries of refusals', async () => {
  let waiting = true;
  const plain = transfers('waiting');
  const kind: TransactionType = {
    ...plain,
    compose: async (app, subject) => (waiting ? { do: 'wait', ms: 0, reason: 'not yet' } : await plain.compose(app, subject)),
  };
  // More than there is: the simulation refuses.
  const subject = newPayment(4_000_000_000_000_000);
  const kinds = new Map([[kind.name, kind]]);
  await ask(running.app, kind, [subject]);
  for (let i = 0; i < 15; i++) await turn(running.app, kinds, [subject]);
  expect(await triesOf(subject)).toMatchObject({ tries: 0, error: { message: 'not yet' } });
  waiting = false;
  for (let i = 1; i < 12; i++) {
    await turn(running.app, kinds, [subject]);
    expect(await triesOf(subject)).toMatchObject({ tries: i });
    await running.app.tx((tx) => tx.query(hurry, [subject]));
  }
  await turn(running.app, kinds, [subject]);
  expect([...(await statesOf(running.app, [subject])).values()]).toEqual(['failed']);
});

test('whoever rings for what is due is told when the next one is', async () => {
  const kind = transfers('due');
  expect(await enqueueDue(running.app)).toBeNull();
  const subject = newPayment();
  await ask(running.app, kind, [subject]);
  expect(await enqueueDue(running.app)).toBeLessThanOrEqual(0);
  await running.app.tx((tx) => tx.query(later, [subject]));
  const ms = await enqueueDue(running.app);
  expect(ms).toBeGreaterThan(59_000);
  expect(ms).toBeLessThanOrEqual(60_000);
});
const later = statement('test_later', `update chain_transactions set next_at = app_now() + interval '1 minute' where subject = $1`);
