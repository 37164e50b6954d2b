import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { getAudit } from '#areas/admin/audit.ts';
import { getTransactions, postTransactionRetry } from '#areas/payouts/routes/operations.ts';
import type { TransactionType } from '#platform/solana/submission/transactions.ts';
import { pause, resume } from '#platform/solana/submission/transactions.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { adminOf } from '#test/support/http/client.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { ask, drive, newPayment, paid, statesOf, type TestKind, transfers, turn } from '#test/support/solana/submission.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  const landing = { LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '60', LANDING_DEPTH_BLOCKS: '4', LANDING_MANUAL_AFTER_MS: '300' };
  t = await startTestApp({ workers: false, env: { ...chain.env, ...landing } });
}, 30_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

const idOf = async (subject: string) =>
  (await sql<{ id: string }>(t.app, 'select id::text from chain_transactions where subject = $1', [subject]))[0]?.id ?? '';
const retry = async (subject: string) => await adminOf(t).call(postTransactionRetry, { params: { id: await idOf(subject) } });

/** A kind that composing sets aside for as long as there is a cause. */
function stoppable(name: string): { kind: TestKind; cause: { reason: string | null } } {
  const plain = transfers(name);
  const cause: { reason: string | null } = { reason: 'only a person can tell' };
  const compose: TransactionType['compose'] = async (app, subject) =>
    cause.reason === null ? await plain.compose(app, subject) : { do: 'manual', reason: cause.reason };
  return { kind: { ...plain, compose }, cause };
}

test('what composing has set aside is composed again: as long as its cause stands, it is set aside again', async () => {
  const { kind, cause } = stoppable('caused');
  const payment = newPayment();
  await ask(t.app, kind, [payment]);
  await drive(t.app, kind, [payment], ['manual']);
  expect((await retry(payment)).body).toMatchObject({ kind: 'caused', subject: payment, state: 'queued', attempts: 0, error: null });
  await drive(t.app, kind, [payment], ['manual']);
  cause.reason = null;
  expect((await retry(payment)).status).toBe(200);
  await drive(t.app, kind, [payment], ['finalized']);
  expect(await paid(t.app, payment)).toBe(2_000_000);
  expect(await retry(payment)).toMatchObject({
    status: 409,
    body: { error: 'the transaction is finalized: only what was set aside is tried again' },
  });
  const audited = (await adminOf(t).ok(getAudit)).body.filter(({ path }) => path.endsWith('/retry'));
  expect(audited).toHaveLength(3);
});

test('what waits to be composed waits, however often it is asked for', async () => {
  const { kind } = stoppable('waiting-to-be-composed');
  const payment = newPayment();
  await ask(t.app, kind, [payment]);
  await drive(t.app, kind, [payment], ['manual']);
  const both = await Promise.all([retry(payment), retry(payment)]);
  expect([...both, await retry(payment)].map(({ status }) => status)).toEqual([200, 200, 200]);
  await t.app.tx((tx) => pause(tx, kind.scope, 'a test'));
  await turn(t.app, new Map([[kind.name, kind]]), [payment]);
  expect((await retry(payment)).body).toMatchObject({ state: 'queued', error: { name: 'Paused' } });
  await t.app.tx((tx) => resume(tx, kind.scope));
  await drive(t.app, kind, [payment], ['manual']);
});

test('an attempt that is dead does not stand in the way, and what it was to pay is paid once', async () => {
  const { kind, cause } = stoppable('dead-before');
  cause.reason = null;
  const payment = newPayment();
  const fault = await chain.control.fault({ kind: 'drop', methods: ['sendTransaction'] });
  await ask(t.app, kind, [payment]);
  await drive(t.app, kind, [payment], ['live']);
  cause.reason = 'only a person can tell';
  await drive(t.app, kind, [payment], ['manual'], 30_000);
  await fault.clear();
  cause.reason = null;
  expect((await retry(payment)).body).toMatchObject({ state: 'queued', attempts: 1 });
  await drive(t.app, kind, [payment], ['finalized']);
  expect(await paid(t.app, payment)).toBe(2_000_000);
});

test('what may have landed is not composed again: the refusal says which attempt, and what is missing to tell', async () => {
  const kind = transfers('unclear');
  const payment = newPayment();
  const fault = await chain.control.fault({ kind: 'drop', methods: ['sendTransaction'] });
  await ask(t.app, kind, [payment]);
  await drive(t.app, kind, [payment], ['live']);
  // The node's history does not reach back to the signing.
  await chain.control.purge();
  await drive(t.app, kind, [payment], ['manual'], 30_000);
  const { status, body } = await retry(payment);
  expect([status, body]).toEqual([
    409,
    {
      error: expect.stringMatching(
        /^the transaction may have landed: attempt \w{80,90} is sent, and not proven dead: .*the history does not reach back/,
      ),
    },
  ]);
  const listed = (await adminOf(t).ok(getTransactions)).body.find(({ subject }) => subject === payment);
  expect(body).toMatchObject({ error: expect.stringContaining(listed?.signature ?? 'none') });
  await fault.clear();
  // It is followed all the same.
  await chain.control.clear();
  await drive(t.app, kind, [payment], ['finalized'], 30_000);
  expect(await paid(t.app, payment)).toBe(2_000_000);
});

test('what is over, or there is none of, is not tried again', async () => {
  const error = { name: 'No', message: 'it cannot be', instruction: null, code: null };
  const kind: TransactionType = { ...transfers('over'), compose: async () => ({ do: 'fail', error }) };
  const payment = newPayment();
  await ask(t.app, kind, [payment]);
  await drive(t.app, kind, [payment], ['failed']);
  expect(await retry(payment)).toMatchObject({ status: 409, body: { error: 'the transaction is failed: only what was set aside is tried again' } });
  expect((await statesOf(t.app, [payment])).get(payment)).toBe('failed');
  expect((await adminOf(t).call(postTransactionRetry, { params: { id: randomUUID() } })).status).toBe(404);
  expect((await adminOf(t, 'wrong-token-0123456789').call(postTransactionRetry, { params: { id: await idOf(payment) } })).status).toBe(403);
});
