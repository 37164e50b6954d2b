import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from '#test/support/areas/boards.ts';
import { asAdmin, DAY, epochOf, insertClosedDay, randomWallet, setRules, trigger } from '#test/support/areas/epochs.ts';
import { openEpoch, type RewardsTest, startRewardsTest, untilEpoch } from '#test/support/solana/claims.ts';
import { send } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRewardsTest();
  await setRules(t, { automatic: false });
});
afterAll(() => t.close());

const MEMO_PROGRAM = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr';
const MAX_TRANSACTION_BYTES = 1_232;

/** Returns the memos of the transaction that opened an epoch, its size in bytes and its compute units. */
async function openingOf(epoch: number) {
  const signature = (await epochOf(t, epoch)).commitSignature ?? '';
  const found = await t.chain.connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 });
  if (!found) throw new Error(`the transaction that opened epoch ${epoch} was not found`);
  const { message, signatures } = found.transaction;
  const memos = message.compiledInstructions
    .filter(({ programIdIndex }) => message.staticAccountKeys[programIdIndex]?.toBase58() === MEMO_PROGRAM)
    .map(({ data }) => Buffer.from(data).toString('utf8'));
  return { memos, bytes: 1 + 64 * signatures.length + message.serialize().length, units: found.meta?.computeUnitsConsumed ?? Infinity };
}

async function openComputed(epoch: number): Promise<string> {
  await insertClosedDay(t.app, epoch, [{ wallet: randomWallet(), points: 30 }]);
  expect((await trigger(t, epoch)).status).toBe(201);
  await untilEpoch(t, epoch, 'committed');
  const file = await (await send(t, `/api/rewards/epoch/${epoch}/points`)).text();
  return `coinop:epoch:${epoch}:points:${createHash('sha256').update(file).digest('hex')}:${Buffer.byteLength(file)}`;
}

test('the transaction that opens an epoch has one memo: the hash and the length of the points file', async () => {
  const expected = await openComputed(DAY);
  const { memos, bytes, units } = await openingOf(DAY);
  expect(memos).toEqual([expected]);
  expect(bytes).toBeLessThan(MAX_TRANSACTION_BYTES);
  expect(units).toBeLessThan(200_000);
});

test('the memo of an imported epoch says that it was imported', async () => {
  await asAdmin(t, '/api/rewards/epoch/import', { json: { epoch: DAY + 1, distribution: [{ wallet: randomWallet(), amount: '500' }] } });
  await untilEpoch(t, DAY + 1, 'committed');
  expect((await openingOf(DAY + 1)).memos).toEqual([`coinop:epoch:${DAY + 1}:import`]);
});

test('an epoch without a points file is opened without a memo', async () => {
  await openEpoch(t, DAY + 2, [[randomWallet(), 7n]]);
  expect((await openingOf(DAY + 2)).memos).toEqual([]);
});

test('after a restore, an epoch that is open on the chain gets back the points file that its memo names', async () => {
  const epoch = DAY + 3;
  await openComputed(epoch);
  const { commitSignature, pointsHash } = await epochOf(t, epoch);
  await sql(
    t.app,
    `delete from chain_attempts a using chain_transactions c where a.transaction_id = c.id and c.kind = 'epoch-root' and c.subject = $1`,
    [String(epoch)],
  );
  await sql(t.app, 'delete from epoch_accounts where epoch = $1', [epoch]);
  await sql(
    t.app,
    `update epochs set state = 'computed', commit_signature = null, committed_at = null, expires_at = null, points_hash = sha256('x'), points_bytes = 1
     where epoch = $1`,
    [epoch],
  );
  await sql(
    t.app,
    `update chain_transactions set state = 'queued', attempts = 0, signature = null, next_at = app_now() where kind = 'epoch-root' and subject = $1`,
    [String(epoch)],
  );
  await untilEpoch(t, epoch, 'committed');
  expect(await epochOf(t, epoch)).toMatchObject({ commitSignature, pointsHash });
  expect((await send(t, `/api/rewards/epoch/${epoch}/points`)).status).toBe(200);
});
