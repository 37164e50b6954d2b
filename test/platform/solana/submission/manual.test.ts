import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { getAudit } from '#areas/admin/routes/audit.ts';
import { AuditEntry } from '#areas/admin/schemas.ts';
import { getTransactions, postTransactionRetry } from '#areas/payouts/routes/operations.ts';
import type { TransactionType } from '#platform/solana/submission/index.ts';
import { pause, resume } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { adminOf } from '#test/support/http/client.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import {
  newPayment,
  receivedLamports,
  runOnce,
  runUntil,
  statesOf,
  submitPayments,
  type TestTransactionType,
  transferType,
} from '#test/support/solana/submission.ts';

let chain: TestChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  const submission = { LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '60', LANDING_DEPTH_BLOCKS: '4', LANDING_MANUAL_AFTER_MS: '300' };
  t = await startTestApp({ workers: false, env: { ...chain.env, ...submission } });
}, 30_000);
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

const idOf = async (subject: string) =>
  (await sql<{ id: string }>(t.app, 'select id::text from chain_transactions where subject = $1', [subject]))[0]?.id ?? '';
const retry = async (subject: string) => await adminOf(t).call(postTransactionRetry, { params: { id: await idOf(subject) } });

/** A type whose transactions go to state `manual` while `cause.reason` is set. */
function manualType(name: string): { type: TestTransactionType; cause: { reason: string | null } } {
  const plain = transferType(name);
  const cause: { reason: string | null } = { reason: 'an operator must decide' };
  const compose: TransactionType['compose'] = async (app, subject) =>
    cause.reason === null ? await plain.compose(app, subject) : { do: 'manual', reason: cause.reason };
  return { type: { ...plain, compose }, cause };
}

test('a retried transaction is composed again, and is manual again while the cause remains', async () => {
  const { type, cause } = manualType('caused');
  const payment = newPayment();
  await submitPayments(t.app, type, [payment]);
  await runUntil(t.app, type, [payment], ['manual']);
  expect((await retry(payment)).body).toMatchObject({ kind: 'caused', subject: payment, state: 'queued', attempts: 0, error: null });
  await runUntil(t.app, type, [payment], ['manual']);
  cause.reason = null;
  expect((await retry(payment)).status).toBe(200);
  await runUntil(t.app, type, [payment], ['finalized']);
  expect(await receivedLamports(t.app, payment)).toBe(2_000_000);
  expect(await retry(payment)).toMatchObject({
    status: 409,
    body: { error: 'the transaction is finalized: only a transaction in state manual can be retried' },
  });
  const audited = z
    .array(AuditEntry)
    .parse(await (await adminOf(t).ok(getAudit)).body.json())
    .filter(({ path }) => path.endsWith('/retry'));
  expect(audited).toHaveLength(3);
});

test('repeated retries of a queued transaction succeed and change nothing', async () => {
  const { type } = manualType('waiting-to-be-composed');
  const payment = newPayment();
  await submitPayments(t.app, type, [payment]);
  await runUntil(t.app, type, [payment], ['manual']);
  const both = await Promise.all([retry(payment), retry(payment)]);
  expect([...both, await retry(payment)].map(({ status }) => status)).toEqual([200, 200, 200]);
  await t.app.tx((tx) => pause(tx, type.scope, 'a test'));
  await runOnce(t.app, new Map([[type.name, type]]), [payment]);
  expect((await retry(payment)).body).toMatchObject({ state: 'queued', error: { name: 'Paused' } });
  const resumed = () => t.app.tx((tx) => resume(tx, type.scope));
  expect([await resumed(), await resumed()]).toEqual([true, false]);
  await runUntil(t.app, type, [payment], ['manual']);
});

test('a manual transaction whose only attempt expired is retried and pays once', async () => {
  const { type, cause } = manualType('dead-before');
  cause.reason = null;
  const payment = newPayment();
  const fault = await chain.control.fault({ kind: 'drop', methods: ['sendTransaction'] });
  await submitPayments(t.app, type, [payment]);
  await runUntil(t.app, type, [payment], ['live']);
  cause.reason = 'an operator must decide';
  await runUntil(t.app, type, [payment], ['manual'], 30_000);
  await fault.clear();
  cause.reason = null;
  expect((await retry(payment)).body).toMatchObject({ state: 'queued', attempts: 1 });
  await runUntil(t.app, type, [payment], ['finalized']);
  expect(await receivedLamports(t.app, payment)).toBe(2_000_000);
});

test('a transaction that may have landed is not retried: the error names the attempt and the missing evidence', async () => {
  const type = transferType('unclear');
  const payment = newPayment();
  const fault = await chain.control.fault({ kind: 'drop', methods: ['sendTransaction'] });
  await submitPayments(t.app, type, [payment]);
  await runUntil(t.app, type, [payment], ['live']);
  // Deletes the node's history, so that the expiry cannot be proven.
  await chain.control.purge();
  await runUntil(t.app, type, [payment], ['manual'], 30_000);
  const { status, body } = await retry(payment);
  expect([status, body]).toEqual([
    409,
    {
      error: expect.stringMatching(
        /^the transaction may have landed: attempt \w{80,90} is sent and not proven expired: .*the node’s history starts after the signing/,
      ),
    },
  ]);
  const listed = (await adminOf(t).ok(getTransactions)).body.find(({ subject }) => subject === payment);
  expect(body).toMatchObject({ error: expect.stringContaining(listed?.signature ?? 'none') });
  await fault.clear();
  // Polling continues for a manual transaction.
  await chain.control.clear();
  await runUntil(t.app, type, [payment], ['finalized'], 30_000);
  expect(await receivedLamports(t.app, payment)).toBe(2_000_000);
});

test('a failed transaction and an unknown id are not retried', async () => {
  const error = { name: 'No', message: 'it cannot be', instruction: null, code: null };
  const type: TransactionType = { ...transferType('over'), compose: async () => ({ do: 'fail', error }) };
  const payment = newPayment();
  await submitPayments(t.app, type, [payment]);
  await runUntil(t.app, type, [payment], ['failed']);
  expect(await retry(payment)).toMatchObject({
    status: 409,
    body: { error: 'the transaction is failed: only a transaction in state manual can be retried' },
  });
  expect((await statesOf(t.app, [payment])).get(payment)).toBe('failed');
  expect((await adminOf(t).call(postTransactionRetry, { params: { id: randomUUID() } })).status).toBe(404);
  expect((await adminOf(t, 'wrong-token-0123456789').call(postTransactionRetry, { params: { id: await idOf(payment) } })).status).toBe(403);
});
