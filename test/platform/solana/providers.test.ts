import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { SystemProgram } from '@solana/web3.js';
import { pollPending, resume, type TransactionType } from '#platform/solana/submission/index.ts';
import { contradictionScope } from '#platform/solana/submission/pauses.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import {
  newPayment,
  openNonce,
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
  t = await startTestApp({ workers: false, env: { ...chain.env, LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '60', LANDING_DEPTH_BLOCKS: '4' } });
}, 30_000);
afterEach(() => chain.control.clear());
afterAll(async () => {
  await t?.close();
  await chain?.close();
});

const stateOf = async (subject: string) => (await statesOf(t.app, [subject])).get(subject);
const pauseOf = async (type: TransactionType) =>
  (await sql<{ reason: string }>(t.app, 'select reason from chain_pauses where scope = $1', [contradictionScope(type.name)]))[0]?.reason ?? null;
const typesOf = (type: TransactionType) => new Map([[type.name, type]]);
const signatureOf = async (subject: string) =>
  (
    await sql<{ signature: string }>(
      t.app,
      'select a.signature from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.subject = $1 order by a.n desc limit 1',
      [subject],
    )
  )[0]?.signature ?? '';

/** Signs and polls for a time. */
async function runFor(type: TestTransactionType, subjects: readonly string[], ms: number): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end; await sleep(20))
    await runOnce(t.app, typesOf(type), subjects).catch(() => undefined);
}

test.each([
  ['does not answer', () => chain.control.fault({ kind: 'cut', node: 'second' })],
  ['lags behind', () => chain.control.lag(400, 'second')],
  ['has no history', () => chain.control.purge(10_000_000, 'second')],
])('a finalized transaction waits while the second provider %s, and ends when it answers', async (name, start) => {
  const type = transferType(`waiting, ${name}`);
  const payment = newPayment();
  await start();
  await submitPayments(t.app, type, [payment]);
  await runFor(type, [payment], 900);
  expect(await stateOf(payment)).toBe('confirmed');
  expect(type.hookCalls.finalized).toEqual([]);
  expect(await receivedLamports(t.app, payment)).toBe(2_000_000);
  expect(await pauseOf(type)).toBeNull();
  await chain.control.clear();
  await runUntil(t.app, type, [payment], ['finalized']);
  expect(type.hookCalls.finalized).toHaveLength(1);
});

/** Gives the second provider a ledger of its own, in which the transactions of the service never land. */
async function dropAt(node: 'first' | 'second'): Promise<void> {
  await chain.control.split('apart');
  await chain.control.fault({ kind: 'drop', node });
}

/** Gives the second provider a ledger of its own, in which the fee payer has too few lamports for a payment. */
async function failAtSecond(): Promise<void> {
  await chain.control.split('apart');
  const account = { lamports: 1_500_000, owner: SystemProgram.programId.toBase58() };
  await chain.control.setAccounts([{ address: chain.keys.feePayer.publicKey.toBase58(), account }], 'second');
}

test.each([
  ['does not have', () => dropAt('second')],
  ['has another result of', failAtSecond],
] as const)('a second provider whose ledger %s a finalized transaction pauses its kind until an operator resumes it', async (name, start) => {
  const type = transferType(`contradicted, ${name}`);
  const [payment, later, other] = [newPayment(), newPayment(), newPayment()];
  await start();
  await submitPayments(t.app, type, [payment]);
  await runFor(type, [payment], 900);
  expect(await stateOf(payment)).toBe('confirmed');
  expect(await pauseOf(type)).toContain(await signatureOf(payment));

  // The kind stays paused when the providers agree again, and no other kind is paused.
  await chain.control.clear();
  await submitPayments(t.app, type, [later]);
  await runFor(type, [payment, later], 300);
  expect([await stateOf(payment), await stateOf(later)]).toEqual(['finalized', 'queued']);
  const free = transferType(`not contradicted, ${name}`);
  await submitPayments(t.app, free, [other]);
  await runUntil(t.app, free, [other], ['finalized']);

  expect(await t.app.tx((tx) => resume(tx, contradictionScope(type.name)))).toBe(true);
  await runUntil(t.app, type, [later], ['finalized']);
  expect([await receivedLamports(t.app, payment), await receivedLamports(t.app, later)]).toEqual([2_000_000, 2_000_000]);
  expect(type.hookCalls.finalized).toHaveLength(2);
});

test('a first provider without the transaction that landed at the second one pauses the kind, and nothing is signed again', async () => {
  const type = transferType('denied by the first');
  const payment = newPayment();
  await dropAt('first');
  await submitPayments(t.app, type, [payment]);
  await runFor(type, [payment], 900);
  expect(await pauseOf(type)).toContain(await signatureOf(payment));
  await chain.control.advance(300);
  await runFor(type, [payment], 500);
  expect(await sql(t.app, 'select max(n) as n from chain_attempts where signature = $1', [await signatureOf(payment)])).toEqual([{ n: 1 }]);
  await chain.control.clear();
  await t.app.tx((tx) => resume(tx, contradictionScope(type.name)));
  await runUntil(t.app, type, [payment], ['finalized']);
  expect(await receivedLamports(t.app, payment)).toBe(2_000_000);
});

test('an attempt with a nonce does not expire while the second provider states that it landed', async () => {
  const nonce = await openNonce(chain);
  const type = transferType('nonce, denied by the first', { nonce: () => nonce });
  type.nonceUser = async () => 'a transaction of a stranger';
  const payment = newPayment();
  await dropAt('first');
  await submitPayments(t.app, type, [payment]);
  await runFor(type, [payment], 900);
  expect(await stateOf(payment)).toBe('live');
  expect(await pauseOf(type)).toContain(await signatureOf(payment));
});

test('an effect that only the first provider shows does not end a transaction', async () => {
  const type = transferType('found done');
  let answers: ('done' | 'wait')[] = [];
  const seen: unknown[] = [];
  type.compose = async (app) => {
    seen.push(app.chain.node === t.app.chain.second ? 'second' : 'first');
    return (answers.shift() ?? 'done') === 'done'
      ? { do: 'done', signature: null, slot: null }
      : { do: 'wait', ms: 1, reason: 'the effect is not on the chain' };
  };
  const payment = newPayment();
  answers = ['done', 'wait', 'done', 'done'];
  await submitPayments(t.app, type, [payment]);
  await runOnce(t.app, typesOf(type), [payment]);
  expect([await stateOf(payment), seen]).toEqual(['queued', ['first', 'second']]);
  await sql(t.app, 'update chain_transactions set next_at = app_now() where subject = $1', [payment]);
  await runOnce(t.app, typesOf(type), [payment]);
  expect([await stateOf(payment), seen]).toEqual(['finalized', ['first', 'second', 'first', 'second']]);
  await pollPending(t.app, typesOf(type));
});
