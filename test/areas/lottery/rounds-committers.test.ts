import { afterAll, beforeAll, expect, test } from '@jest/globals';
import bs58 from 'bs58';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { getKeys } from '#areas/lottery/routes/keys.ts';
import { postTransactionRetry } from '#areas/payouts/routes/operations.ts';
import { commitmentMemo, NO_PREVIOUS } from '#lib/draw/commitment.ts';
import { newSigner, type Signer } from '#platform/solana/primitives.ts';
import { memo } from '#platform/solana/tokens.ts';
import { startApi } from '#test/support/api.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { commitmentsOf, openRound } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { adminOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { SHORT_TIMES, verifyRound } from '#test/support/verify/verify-round.ts';
import type { Check } from '#tools/audit/check.ts';
import { draws } from '#tools/audit/checks/draws.ts';
import { roundChecks } from '#tools/audit/checks/rounds.ts';

let t: RewardsTest;
let worker: Awaited<ReturnType<typeof startWorker>>;
let api: Awaited<ReturnType<typeof startApi>>;
beforeAll(async () => {
  t = await startRoundsTest({ workers: false });
});
afterAll(async () => {
  await worker?.close();
  await api?.close();
  await t?.close();
});

async function frozenRound(): Promise<string> {
  const id = await openRound(t, 2);
  await t.app.tx((tx) => closeRound(tx, id));
  return id;
}

const transactionOf = async (round: string) =>
  (
    await sql<{ id: string; state: string; attempts: number; error: string | null }>(
      t.app,
      `select id::text, state, attempts, error->>'message' as error from chain_transactions where subject = $1`,
      [round],
    )
  )[0];
const untilManual = (round: string) => retryUntilPass(async () => expect(await transactionOf(round)).toMatchObject({ state: 'manual' }), 60_000);
const retry = async (round: string) => {
  const { id = '' } = (await transactionOf(round)) ?? {};
  return (await adminOf(t).ok(postTransactionRetry, { params: { id } })).body.state;
};

const UNKNOWN = ['0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1b'] as const;

/** Signs a commitment to an unknown round, as a thief of the key would. */
async function commitToUnknownRound(key: Signer, round: string, sequence: number, previous: string): Promise<void> {
  const hash = 'ab'.repeat(32);
  const commitment = { round, sequence, previous, entriesRoot: hash, count: 1, parametersHash: hash, chainHash: hash, beaconRound: 1 };
  const payer = await t.chain.fundWallet();
  const signature = await t.chain.send([memo(commitmentMemo(commitment), [key.publicKey])], [payer, key]);
  await retryUntilPass(async () => {
    const { value } = await t.chain.connection.getSignatureStatus(signature);
    expect([value?.confirmationStatus, value?.err]).toEqual(['finalized', null]);
  });
}

/** Runs one check of the audit. @returns its findings */
async function audited(check: Check | undefined): Promise<readonly string[]> {
  const scope = { days: 2, epochs: 2, rounds: 20, sample: 20, all: false };
  const { config, db, redis, chain, storage } = t.app;
  return (
    (await check?.run({ config, db, redis, chain, storage, scope, recheck: { attempts: 1, intervalMs: 0 } }))?.listed ?? ['the check does not exist']
  );
}

test('after the rotation of a stolen committer key, blocked rounds continue in the new key’s sequence and all rounds verify', async () => {
  const [old, present] = [t.chain.keys.committer, newSigner()];
  worker = await startWorker(t.env, t.clock);
  const first = await frozenRound();
  await untilState(t, first, 'finalized');

  // The second round's transaction is signed but never lands. Then the thief commits to an unknown round.
  const fault = await t.chain.control.fault({ kind: 'drop', methods: ['sendTransaction'], mentions: old.publicKey.toBase58() });
  const second = await frozenRound();
  await retryUntilPass(async () => expect(await transactionOf(second)).toMatchObject({ attempts: 1 }));
  await worker.close();
  await t.chain.control.advance(200);
  await fault.clear();
  await commitToUnknownRound(old, UNKNOWN[0], 2, (await commitmentsOf(t))[0]?.hash ?? '');
  worker = await startWorker(t.env, t.clock);
  await untilManual(second);
  expect(await retry(second)).toBe('queued');
  await untilManual(second);
  const third = await frozenRound();
  await retryUntilPass(async () =>
    expect(await transactionOf(third)).toMatchObject({ state: 'queued', error: `the commitment of round ${second} must be recorded first` }),
  );
  await worker.close();

  const env = { ...t.env, COMMITTER_KEY: bs58.encode(present.secretKey), COMMITTER_ADDRESS: present.publicKey.toBase58() };
  worker = await startWorker(env, t.clock);
  api = await startApi(env, t.clock);
  expect(await retry(second)).toBe('queued');
  await Promise.all([untilState(t, second, 'finalized', 60_000), untilState(t, third, 'finalized', 60_000)]);
  // Further commitments of the stolen key have no effect.
  await commitToUnknownRound(old, UNKNOWN[1], 2, NO_PREVIOUS.replace('0', 'f'));
  const last = await frozenRound();
  await untilState(t, last, 'finalized', 60_000);

  const numbers = await sql(t.app, 'select committer, sequence::int, previous = $1 as first from commitments order by slot', [NO_PREVIOUS]);
  const of = (key: Signer, sequence: number) => ({ committer: key.publicKey.toBase58(), sequence, first: sequence === 1 });
  expect(numbers).toEqual([of(old, 1), of(present, 1), of(present, 2), of(present, 3)]);
  const keys = await adminOf({ ...t, url: api.url }).ok(getKeys);
  expect(keys.body).toMatchObject({ committer: present.publicKey.toBase58(), formerCommitters: [old.publicKey.toBase58()] });

  const asked = ['--rpc', t.chain.localnet.url, '--beacon', `${t.chain.localnet.url}/beacon`, ...SHORT_TIMES];
  for (const id of [first, second, third, last]) {
    const { code, out, err } = await verifyRound(api.url, id, ...asked);
    expect([code, out, err]).toEqual([
      0,
      expect.stringMatching(/is verified: finalized\n$/),
      expect.stringMatching(/using \w+ \(former: \w+\) that \S+ reports/),
    ]);
  }
  const pinned = (key: Signer, id: string) => verifyRound(api.url, id, ...asked, '--committer', key.publicKey.toBase58());
  expect((await pinned(present, last)).code).toBe(0);
  expect(await pinned(present, first)).toMatchObject({ code: 1, err: expect.stringContaining('commitment.committer: is not') });
  // When only the old key is trusted, its second commitment with number 2 makes the verification fail.
  expect(await pinned(old, first)).toMatchObject({ code: 1, err: expect.stringContaining('sequence number 2 was used before') });

  expect(await audited(roundChecks.find(({ name }) => name === 'commitments'))).toEqual([]);
  expect(await audited(draws)).toEqual([]);
}, 240_000);
