import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { ComputeBudgetProgram, VersionedTransaction } from '@solana/web3.js';
import type { FaultRule } from '#dev/localnet/control/commands.ts';
import { statement } from '#platform/db/sql.ts';
import { pause, resume } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
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
let running: TestApp;

beforeAll(async () => {
  chain = await startTestChain();
  const env = {
    ...chain.env,
    LANDING_POLL_MS: '20',
    LANDING_RECHECK_MS: '60',
    LANDING_DEPTH_BLOCKS: '4',
    LANDING_MANUAL_AFTER_MS: '2000',
    DAILY_SOL_LIMIT: '5000000000',
  };
  running = await startTestApp({ workers: false, env });
}, 30_000);
afterAll(async () => {
  await running?.close();
  await chain?.close();
});
afterEach(() => chain.control.clear());

const attempts = statement<{ n: number; state: string; spends: unknown }>(
  'test_attempts',
  `select a.n, a.state, a.spends from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.subject = $1 order by a.n`,
);
const attemptsOf = async (subject: string) => (await running.app.db.query(attempts, [subject])).map(({ state }) => state);
const reserved = statement<{ reserved: string }>(
  'test_reserved',
  `select coalesce(sum(reserved), 0)::text as reserved from chain_outflows where asset = 'sol'`,
);
const reservedSol = async () => BigInt((await running.app.db.query(reserved))[0]?.reserved ?? '0');

const firstBytes = statement<{ bytes: Buffer }>(
  'test_first_bytes',
  'select a.bytes from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.subject = $1 and a.n = 1',
);

/** Returns the compute unit price that a transaction sets, millionths of a lamport; 0 without one. */
function computeUnitPrice(bytes: Buffer): bigint {
  const { message } = VersionedTransaction.deserialize(bytes);
  const SET_PRICE = 3;
  const found = message.compiledInstructions.find(
    ({ programIdIndex, data }) => message.staticAccountKeys[programIdIndex]?.equals(ComputeBudgetProgram.programId) && data[0] === SET_PRICE,
  );
  return found ? Buffer.from(found.data).readBigUInt64LE(1) : 0n;
}

test('a transaction that is submitted twice lands once and runs the finalized hook once', async () => {
  const type = transferType('plain');
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  await submitPayments(running.app, type, [subject]);
  await runUntil(running.app, type, [subject]);
  expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
  expect(type.hookCalls.finalized).toEqual([{ subject, signature: expect.any(String), slot: expect.any(Number) }]);
  expect(type.hookCalls.confirmed.length).toBeLessThanOrEqual(1);
  expect(await attemptsOf(subject)).toEqual(['finalized']);
});

test('a draft with urgency 2 pays 1.5² times the lowest priority price on an idle cluster', async () => {
  const priceOf = async (type: TestTransactionType) => {
    const subject = newPayment();
    await submitPayments(running.app, type, [subject]);
    await runUntil(running.app, type, [subject]);
    const [row] = await running.app.db.query(firstBytes, [subject]);
    return computeUnitPrice(row?.bytes ?? Buffer.alloc(0));
  };
  expect(await priceOf(transferType('not-urgent'))).toBe(1_000n);
  expect(await priceOf(transferType('urgent', { urgency: 2 }))).toBe(2_250n);
});

test('concurrent workers sign only one attempt per transaction', async () => {
  const type = transferType('crowd');
  const subjects = Array.from({ length: 10 }, () => newPayment());
  await submitPayments(running.app, type, subjects);
  const types = new Map([[type.name, type]]);
  await Promise.all(Array.from({ length: 4 }, () => runOnce(running.app, types, subjects)));
  await runUntil(running.app, type, subjects);
  for (const subject of subjects) {
    expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
    // On a stalled machine a blockhash may expire before the send; then the expired attempt is followed by another one.
    expect((await attemptsOf(subject)).filter((state) => state !== 'dead')).toEqual(['finalized']);
  }
});

/** Faults of the network and the RPC node; the names complete the test name. */
const FAULTS: Record<string, FaultRule> = {
  'is dropped once': { kind: 'drop', times: 1 },
  'is dropped five times': { kind: 'drop', times: 5 },
  'lands while the response is lost': { kind: 'loseReply', times: 1 },
  'lands while the node answers 500': { kind: 'loseReply', times: 1, status: 500 },
  'lands late': { kind: 'late', slots: 20, times: 1 },
  'lands in its last valid block': { kind: 'late', slots: 0, last: true, times: 1 },
  'lands in a block that a fork drops': { kind: 'fork', slots: 3, times: 1 },
  'meets the rate limit of a node': { kind: 'rateLimit', probability: 0.3, seed: 1, times: 12, retryAfter: 0 },
  'meets a node that fails': { kind: 'fail', status: 502, probability: 0.3, seed: 2, times: 12 },
  'meets a node that closes connections': { kind: 'cut', probability: 0.3, seed: 3, times: 12 },
  'meets a slow node': { kind: 'delay', ms: 80, times: 10 },
};

test.each(Object.entries(FAULTS))('a transaction that %s pays once', async (name, fault) => {
  const type = transferType(`fault ${name}`);
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  await chain.control.fault({ ...fault, ...(['drop', 'loseReply', 'late', 'fork'].includes(fault.kind) ? { methods: ['sendTransaction'] } : {}) });
  await runUntil(running.app, type, [subject], ['finalized'], 12_000);
  await chain.control.clear();
  expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
  expect(type.hookCalls.finalized.length).toBe(1);
});

test('an attempt that never lands is marked dead after its blockhash expired, and a new attempt is signed', async () => {
  const type = transferType('expired');
  const subject = newPayment();
  const before = await reservedSol();
  await submitPayments(running.app, type, [subject]);
  const drop = await chain.control.fault({ kind: 'drop' });
  const types = new Map([[type.name, type]]);
  while ((await attemptsOf(subject)).length < 2) await runOnce(running.app, types, [subject]);
  await drop.clear();
  await runUntil(running.app, type, [subject], ['finalized']);
  const states = await attemptsOf(subject);
  expect(states.slice(0, -1).every((state) => state === 'dead')).toBe(true);
  expect(states.at(-1)).toBe('finalized');
  expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
  // The outflow reserved by the dead attempt is released.
  expect(Number((await reservedSol()) - before)).toBeLessThan(2_100_000);
});

test('a lagging node does not cause an attempt to be marked dead', async () => {
  const type = transferType('lagging');
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  const types = new Map([[type.name, type]]);
  await chain.control.lag(400);
  while ((await attemptsOf(subject)).length === 0) await runOnce(running.app, types, [subject]).catch(() => undefined);
  await chain.control.advance(400);
  for (let i = 0; i < 20; i++) await runOnce(running.app, types, [subject]).catch(() => undefined);
  expect(await attemptsOf(subject)).not.toContain('dead');
  await chain.control.clear();
  await runUntil(running.app, type, [subject], ['finalized']);
  expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
});

test('a transaction is manual when the node’s history is too short, and still becomes finalized when its status appears', async () => {
  const type = transferType('purged');
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  const late = await chain.control.fault({ kind: 'loseReply', methods: ['sendTransaction'] });
  const types = new Map([[type.name, type]]);
  while ((await attemptsOf(subject)).length === 0) await runOnce(running.app, types, [subject]);
  await chain.control.advance(200);
  await chain.control.purge();
  await runUntil(running.app, type, [subject], ['manual', 'finalized'], 10_000);
  expect(await attemptsOf(subject)).toHaveLength(1);
  await late.clear();
  await chain.control.clear();
  await runUntil(running.app, type, [subject], ['finalized']);
  expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
});

test('an attempt is not marked dead when the second RPC node disagrees', async () => {
  const type = transferType('second opinion');
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  const types = new Map([[type.name, type]]);
  // The first node drops the transaction; the second node lags behind.
  await chain.control.lag(400, 'second');
  const drop = await chain.control.fault({ kind: 'drop', node: 'first' });
  while ((await attemptsOf(subject)).length === 0) await runOnce(running.app, types, [subject]);
  await chain.control.advance(200);
  for (let i = 0; i < 30; i++) await runOnce(running.app, types, [subject]);
  expect(await attemptsOf(subject)).not.toContain('dead');
  await drop.clear();
  await chain.control.clear();
  await runUntil(running.app, type, [subject], ['finalized']);
  expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
});

test('a transaction fails without an attempt after the maximum number of failed simulations', async () => {
  const type = transferType('refused');
  const subject = newPayment(4_000_000_000_000_000);
  await submitPayments(running.app, type, [subject]);
  await running.app.tx((tx) => tx.query(statement('test_tries', `update chain_transactions set tries = 11 where subject = $1`), [subject]));
  await runUntil(running.app, type, [subject], ['failed']);
  expect(await attemptsOf(subject)).toEqual([]);
  expect(type.hookCalls.failed).toEqual([{ subject, signature: null, error: expect.objectContaining({ instruction: 0, code: 1 }) }]);
});

test('a payment beyond the daily limit waits and is made on the next day', async () => {
  const type = transferType('breaker');
  const [first, second] = [newPayment(2_500_000_000), newPayment(2_500_000_000)];
  await chain.fundWallet({ lamports: 10_000_000_000 }, chain.keys.feePayer);
  await submitPayments(running.app, type, [first, second]);
  const types = new Map([[type.name, type]]);
  await runUntil(running.app, type, [first], ['finalized', 'queued']);
  for (let i = 0; i < 20; i++) await runOnce(running.app, types, [first, second]);
  const states = await statesOf(running.app, [first, second]);
  expect([...states.values()].sort()).toEqual(['finalized', 'queued']);
  await running.clock.set(new Date(running.clock.now().getTime() + 86_400_000));
  await runUntil(running.app, type, [first, second], ['finalized']);
  expect([await receivedLamports(running.app, first), await receivedLamports(running.app, second)]).toEqual([2_500_000_000, 2_500_000_000]);
});

test('a paused scope signs nothing until it is resumed', async () => {
  const type = transferType('paused');
  const subject = newPayment();
  await running.app.tx((tx) => pause(tx, type.scope, 'paused by a test'));
  await submitPayments(running.app, type, [subject]);
  const types = new Map([[type.name, type]]);
  for (let i = 0; i < 5; i++) await runOnce(running.app, types, [subject]);
  expect(await attemptsOf(subject)).toEqual([]);
  expect(await running.app.tx((tx) => resume(tx, type.scope))).toBe(true);
  await running.clock.set(new Date(running.clock.now().getTime() + 60_000));
  await runUntil(running.app, type, [subject], ['finalized']);
  expect(await receivedLamports(running.app, subject)).toBe(2_000_000);
});
