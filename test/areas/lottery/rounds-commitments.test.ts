import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { advanceRound } from '#areas/lottery/lifecycle/advance.ts';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { type Commitment, commitmentMemo, parseMemo } from '#lib/draw/commitment.ts';
import { verifyHistory } from '#lib/draw/history.ts';
import { transferLamports } from '#platform/solana/system-program.ts';
import { memo } from '#platform/solana/tokens.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { commitmentsOf, endActive, eventsOf, openRound, prizesOf, storedRound, verified } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';

let t: RewardsTest;
let second: Awaited<ReturnType<typeof startWorker>>;
beforeAll(async () => {
  t = await startRoundsTest();
  // A second worker pool that serves all queues.
  second = await startWorker(t.env, t.clock);
});
afterAll(async () => {
  await second?.close();
  await t?.close();
});
beforeEach(() => endActive(t));
afterEach(() => t.chain.control.clear());

/** Opens a round, enters it and closes it. */
async function frozenRound(entries = 2): Promise<string> {
  const id = await openRound(t, entries);
  await t.app.tx((tx) => closeRound(tx, id));
  return id;
}

/** Reads all commitments of the committer's key from the chain, oldest first. */
async function onChain(): Promise<LandedCommitment[]> {
  const committer = t.app.chain.address('committer');
  const listed = (await t.chain.connection.getSignaturesForAddress(committer, {}, 'finalized')).reverse();
  const found: LandedCommitment[] = [];
  for (const { signature, slot } of listed) {
    const transaction = await t.chain.connection.getTransaction(signature, { commitment: 'finalized', maxSupportedTransactionVersion: 1 });
    const data = transaction?.transaction.message.compiledInstructions.at(-1)?.data ?? Buffer.alloc(0);
    const memo = Buffer.from(data).toString();
    // Skips the transaction that funded the key.
    if (!memo.startsWith('coinop/')) continue;
    found.push({ memo, committer: committer.toBase58(), signature, slot, blockhash: '', blockTime: '' });
  }
  return found;
}

const attemptsOf = (id: string) =>
  sql<{ n: number; state: string; signature: string; bytes: Buffer }>(
    t.app,
    'select a.n, a.state, a.signature, a.bytes from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.subject = $1 order by a.n',
    [id],
  );

/** Parses the commitment in a signed transaction. */
function commitmentIn(bytes: Buffer): Commitment {
  const text = bytes.toString('latin1');
  const found = parseMemo(text.slice(text.indexOf('coinop/commitment/')));
  if (!found) throw new Error('the transaction contains no commitment');
  return found;
}

test('commitments of rounds that close concurrently form one sequence without gaps, and each names the previous one', async () => {
  const rounds: string[] = [];
  for (let i = 0; i < 4; i++) rounds.push(await frozenRound());
  // Runs the job continually, in addition to the two worker pools.
  const advanceRepeatedly = async (id: string) => {
    while ((await storedRound(t, id)).state !== 'finalized') {
      await Promise.all([advanceRound(t.app, id), advanceRound(t.app, id), sleep(20)]);
    }
  };
  await Promise.all(rounds.map((id) => advanceRepeatedly(id)));
  const recorded = await commitmentsOf(t);
  expect(recorded.map(({ sequence }) => sequence)).toEqual(recorded.map((_, i) => i + 1));
  expect(recorded.slice(1).map(({ previous }) => previous)).toEqual(recorded.slice(0, -1).map(({ hash }) => hash));
  const landed = await onChain();
  expect(landed.map((one) => one.memo)).toEqual(recorded.map((one) => one.memo));
  const history = verifyHistory(landed);
  if (!history.ok) throw new Error(history.reason);
  for (const id of rounds) {
    expect((await verified(t, id)).commitment).toMatchObject({ signature: history.byRound.get(id)?.signature });
    expect(await attemptsOf(id)).toHaveLength(1);
    const once = ['round_started', 'round_closed', 'round_committed', 'round_finalized', 'winner_announced', 'winner_announced'];
    expect(await eventsOf(t, id)).toEqual(once);
    expect(await prizesOf(t, id)).toHaveLength(2);
  }
});

test('a dropped commitment is signed again after it has expired, with only the beacon round changed', async () => {
  const committer = t.app.chain.address('committer').toBase58();
  const fault = await t.chain.control.fault({ kind: 'drop', methods: ['sendTransaction'], mentions: committer });
  const id = await frozenRound();
  await retryUntilPass(async () => expect((await attemptsOf(id)).length).toBeGreaterThan(1), 60_000);
  await fault.clear();
  await untilState(t, id, 'finalized', 60_000);
  const attempts = await attemptsOf(id);
  expect(attempts.map(({ state }) => state)).toEqual([...attempts.slice(1).map(() => 'dead'), 'finalized']);
  const signed = attempts.map(({ bytes }) => commitmentIn(bytes));
  expect(new Set(signed.map(({ beaconRound: _beaconRound, ...same }) => JSON.stringify(same))).size).toBe(1);
  const beaconRounds = signed.map(({ beaconRound }) => beaconRound);
  expect(beaconRounds).toEqual([...new Set(beaconRounds)].sort((a, b) => a - b));
  await verified(t, id);
  expect(verifyHistory(await onChain()).ok).toBe(true);
});

/** Deletes the commitments of rounds from the database, as after a restore from an older backup. */
async function forget(...ids: string[]): Promise<void> {
  await sql(t.app, 'delete from chain_attempts where transaction_id in (select id from chain_transactions where subject = any($1::text[]))', [ids]);
  await sql(t.app, 'delete from chain_transactions where subject = any($1::text[])', [ids]);
  await sql(t.app, 'delete from commitments where round = any($1::uuid[])', [ids]);
  await sql(
    t.app,
    `update rounds set state = 'closing', beacon_round = null, beacon_due_at = null, committed_at = null, look_at = app_now() where id = any($1::uuid[])`,
    [ids],
  );
}

test('a database restored from an older backup adopts its commitments from the chain and signs none again', async () => {
  await t.chain.control.beacon({ stopped: true });
  const [first, last] = [await frozenRound(), await frozenRound()];
  await Promise.all([untilState(t, first, 'committed'), untilState(t, last, 'committed')]);
  const before = { recorded: await commitmentsOf(t), landed: await onChain() };
  await forget(last, first);
  await Promise.all([untilState(t, first, 'committed'), untilState(t, last, 'committed')]);
  expect(await commitmentsOf(t)).toEqual(before.recorded);
  expect(await onChain()).toEqual(before.landed);
  expect([...(await attemptsOf(first)), ...(await attemptsOf(last))]).toEqual([]);
  await t.chain.control.beacon({ stopped: false });
  await Promise.all([untilState(t, first, 'finalized'), untilState(t, last, 'finalized')]);
  await Promise.all([verified(t, first), verified(t, last)]);
});

const UNKNOWN = '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a';

/** Returns a plausible next commitment memo for a round. */
async function nextFor(round: string): Promise<string> {
  const last = (await commitmentsOf(t)).at(-1);
  const hash = 'ab'.repeat(32);
  return commitmentMemo({
    ...{ sequence: (last?.sequence ?? 0) + 1, round, previous: last?.hash ?? '' },
    ...{ entriesRoot: hash, count: 1, parametersHash: hash, chainHash: hash, beaconRound: 1 },
  });
}

test('a memo like a commitment that a stranger signed is ignored, although the transaction names the committer', async () => {
  const stranger = await t.chain.fundWallet();
  const gift = transferLamports(stranger.publicKey, t.app.chain.address('committer'), 1_000_000);
  const own = memo(await nextFor(UNKNOWN), [stranger.publicKey]);
  const signature = await t.chain.send([gift, own], [stranger]);
  await retryUntilPass(async () => {
    const { value } = await t.chain.connection.getSignatureStatus(signature);
    expect([value?.confirmationStatus, value?.err]).toEqual(['finalized', null]);
  });
  const id = await frozenRound();
  await untilState(t, id, 'finalized');
  await verified(t, id);
});

test('a commitment of the committer’s key to an unknown round stops all commitments until an operator decides', async () => {
  const { committer } = t.chain.keys;
  const payer = await t.chain.fundWallet();
  const landed = (await onChain()).length;
  await t.chain.send([memo(await nextFor(UNKNOWN), [committer.publicKey])], [payer, committer]);
  await retryUntilPass(async () => expect(await onChain()).toHaveLength(landed + 1));
  const id = await frozenRound();
  await retryUntilPass(async () => {
    expect(await sql(t.app, 'select state from chain_transactions where subject = $1', [id])).toEqual([{ state: 'manual' }]);
  });
  expect((await storedRound(t, id)).state).toBe('closing');
  expect(await attemptsOf(id)).toEqual([]);
  await verified(t, id);
});
