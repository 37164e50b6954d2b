import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { SystemProgram } from '@solana/web3.js';
import { statement } from '#platform/db/sql.ts';
import { outflowLeft, type Priority, SOL, TOKEN_ACCOUNTS, type TransactionType } from '#platform/solana/submission/index.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { asOwner } from '#test/support/database.ts';
import { startTestChain, type TestChain } from '#test/support/solana/chain.ts';
import { newPayment, runOnce, runUntil, statesOf, submitPayments, type TestTransactionType, transferType } from '#test/support/solana/submission.ts';

const LIMIT = 1_000_000_000n;
/** Percentages of LIMIT that are reserved; 50 % are free for every class. */
const RESERVES = 'commitments:10,roots:10,payouts:20,claims:10';

let chain: TestChain;
let running: TestApp;
beforeAll(async () => {
  chain = await startTestChain();
  const env = {
    ...{ ...chain.env, LANDING_POLL_MS: '20', LANDING_RECHECK_MS: '60', LANDING_DEPTH_BLOCKS: '4' },
    ...{ DAILY_SOL_LIMIT: String(LIMIT), TOKEN_ACCOUNT_DAILY_BUDGET: '1000', DAILY_LIMIT_RESERVES: RESERVES },
  };
  running = await startTestApp({ workers: false, env });
}, 30_000);
afterAll(async () => {
  await running?.close();
  await chain?.close();
});
afterEach(async () => {
  await chain.control.clear();
  await asOwner(running.app, (tx) => tx.query(forgetSpending));
});

const forgetSpending = statement('test_forget_outflows', 'delete from chain_outflows');
const selectSol = statement<{ reserved: string }>(
  'test_reserved_sol',
  `select coalesce(sum(reserved), 0)::text as reserved from chain_outflows where asset = 'sol'`,
);
const reservedSol = async () => BigInt((await running.app.db.query(selectSol))[0]?.reserved ?? '0');
const spend = statement('test_spend', `insert into chain_outflows (day, asset, priority, reserved) values (app_day(), $1, $2, $3::numeric)`);
const spendAs = (priority: Priority, asset: string, amount: bigint) => running.app.tx((tx) => tx.query(spend, [asset, priority, String(amount)]));
const left = (priority: Priority, asset = SOL) => outflowLeft(running.app, asset, priority);
const selectNext = statement<{ delay: number; refusals: number; state: string }>(
  'test_next_attempt',
  `select extract(epoch from next_at - changed_at)::float8 * 1000 as delay, refusals, state from chain_transactions where subject = $1`,
);
const nextOf = async (subject: string) => (await running.app.db.query(selectNext, [subject]))[0];
const makeDue = statement('test_make_due_now', `update chain_transactions set next_at = app_now() where subject = $1`);

/** Creates a type whose transactions pass the simulation and fail on the chain, because the treasury spends its SOL before they land. */
function failingType(name: string, options: Parameters<typeof transferType>[1] = {}): TestTransactionType {
  const type = transferType(name, options);
  const compose: TransactionType['compose'] = async (app) => {
    await setTreasury(1_000_000_000);
    const { publicKey: treasury } = app.chain.key('treasury');
    const transfer = SystemProgram.transfer({ fromPubkey: treasury, toPubkey: app.chain.key('committer').publicKey, lamports: 900_000_000 });
    return { do: 'sign', feePayer: 'feePayer', signers: ['treasury'], instructions: [transfer], spends: [{ asset: SOL, amount: 5_000_000n }] };
  };
  return Object.assign(type, { compose });
}
const setTreasury = (lamports: number) =>
  chain.control.setAccounts([
    { address: chain.keys.treasury.publicKey.toBase58(), account: { lamports, owner: SystemProgram.programId.toBase58() } },
  ]);

/** Signs the next attempt of a subject and lets it fail on the chain. */
async function failOnce(type: TransactionType, subject: string): Promise<void> {
  const types = new Map([[type.name, type]]);
  await running.app.tx((tx) => tx.query(makeDue, [subject]));
  const before = (await nextOf(subject))?.refusals ?? 0;
  const late = await chain.control.fault({ kind: 'late', slots: 100, methods: ['sendTransaction'] });
  // A simulation that reads an older slot fails and is repeated.
  while ((await nextOf(subject))?.state === 'queued') await runOnce(running.app, types, [subject]);
  await setTreasury(1_000_000);
  await late.clear();
  // The attempt is finalized before another one is signed, because the row is not queued meanwhile.
  while (((await nextOf(subject))?.refusals ?? 0) === before) await runOnce(running.app, types, []);
}

test('a failed attempt keeps its fee and gives back the rents and transfers that it reserved', async () => {
  const type = failingType('failing');
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  await failOnce(type, subject);
  const fee = await reservedSol();
  expect(fee).toBeGreaterThanOrEqual(10_000n);
  expect(fee).toBeLessThan(20_000n);
});

test('a finalized attempt keeps all that it spent', async () => {
  const type = transferType('landing');
  const subject = newPayment(3_000_000);
  await submitPayments(running.app, type, [subject]);
  await runUntil(running.app, type, [subject], ['finalized']);
  expect(await reservedSol()).toBeGreaterThanOrEqual(3_005_000n);
  expect(await reservedSol()).toBeLessThan(3_020_000n);
});

test('a class can spend the rest of a limit, but not the unspent reserves of other classes', async () => {
  expect([await left('claims'), await left('payouts'), await left('roots'), await left('commitments')]).toEqual([
    (LIMIT * 60n) / 100n,
    (LIMIT * 70n) / 100n,
    (LIMIT * 60n) / 100n,
    (LIMIT * 60n) / 100n,
  ]);
  await spendAs('claims', SOL, (LIMIT * 60n) / 100n);
  expect([await left('claims'), await left('payouts'), await left('roots'), await left('commitments')]).toEqual([
    0n,
    (LIMIT * 20n) / 100n,
    (LIMIT * 10n) / 100n,
    (LIMIT * 10n) / 100n,
  ]);
  await spendAs('payouts', SOL, (LIMIT * 15n) / 100n);
  expect([await left('payouts'), await left('roots')]).toEqual([(LIMIT * 5n) / 100n, (LIMIT * 10n) / 100n]);
});

test('claims cannot use up the budget of payouts for token accounts, and payouts cannot use up that of claims', async () => {
  expect([await left('claims', TOKEN_ACCOUNTS), await left('payouts', TOKEN_ACCOUNTS)]).toEqual([800n, 900n]);
  await spendAs('claims', TOKEN_ACCOUNTS, 800n);
  expect([await left('claims', TOKEN_ACCOUNTS), await left('payouts', TOKEN_ACCOUNTS)]).toEqual([0n, 200n]);
});

test('also the last base unit of a reserve belongs to its class', async () => {
  await spendAs('payouts', TOKEN_ACCOUNTS, 199n);
  expect([await left('claims', TOKEN_ACCOUNTS), await left('payouts', TOKEN_ACCOUNTS)]).toEqual([800n, 701n]);
});

test('a claim waits without a request to the RPC node while the limit of claims is used up, and a commitment is sent', async () => {
  await spendAs('claims', SOL, (LIMIT * 60n) / 100n);
  const claims = transferType('strangers', { priority: 'claims' });
  const commitments = transferType('ours', { priority: 'commitments' });
  const [waiting, sent] = [newPayment(), newPayment()];
  let composed = 0;
  const { compose } = claims;
  Object.assign(claims, {
    compose: async (...args: Parameters<TransactionType['compose']>) => {
      composed++;
      return await compose(...args);
    },
  });
  await submitPayments(running.app, claims, [waiting]);
  await submitPayments(running.app, commitments, [sent]);
  const types = new Map<string, TransactionType>([claims, commitments].map((type) => [type.name, type]));
  await runOnce(running.app, types, [waiting, sent]);
  await runUntil(running.app, commitments, [sent], ['finalized']);
  expect([(await statesOf(running.app, [waiting])).get(waiting), composed]).toEqual(['queued', 0]);
  const delay = (await nextOf(waiting))?.delay ?? 0;
  expect(delay).toBeGreaterThanOrEqual(29_000);
  expect(delay).toBeLessThanOrEqual(61_000);
});

test('two attempts that are signed at the same time cannot spend the same rest of a limit', async () => {
  await spendAs('claims', SOL, (LIMIT * 60n) / 100n - 5_000_000n);
  const type = transferType('racing', { priority: 'claims' });
  const subjects = [newPayment(3_000_000), newPayment(3_000_000), newPayment(3_000_000)];
  await submitPayments(running.app, type, subjects);
  await runOnce(running.app, new Map([[type.name, type]]), subjects);
  expect([...(await statesOf(running.app, subjects)).values()].filter((state) => state === 'queued')).toHaveLength(2);
});

test('each failure of a transaction makes the delay before its next attempt longer', async () => {
  const type = failingType('delayed', { priority: 'claims', failureDelayMs: (failures) => failures * 10_000 });
  const subject = newPayment();
  await submitPayments(running.app, type, [subject]);
  for (const failures of [1, 2]) {
    await failOnce(type, subject);
    expect(await nextOf(subject)).toEqual({ state: 'queued', refusals: failures, delay: expect.closeTo(failures * 10_000, -2) });
  }
  await failOnce(type, subject);
  await failOnce(type, subject);
  expect(await nextOf(subject)).toEqual({ state: 'failed', refusals: 4, delay: expect.closeTo(40_000, -2) });
});
