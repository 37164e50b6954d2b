import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Keypair } from '@solana/web3.js';
import bs58 from 'bs58';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { getKeys } from '#areas/lottery/routes/keys.ts';
import { postTransactionRetry } from '#areas/payouts/routes/operations.ts';
import { commitmentMemo, NO_PREVIOUS } from '#lib/draw/commitment.ts';
import { memo } from '#platform/solana/tokens.ts';
import { startApi } from '#test/support/api.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { commitmentsOf, openRound } from '#test/support/areas/draws.ts';
import { eventually } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { adminOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { HASTE, verifyRound } from '#test/support/verify/verify-round.ts';
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
const untilManual = (round: string) => eventually(async () => expect(await transactionOf(round)).toMatchObject({ state: 'manual' }), 60_000);
const retry = async (round: string) => {
  const { id = '' } = (await transactionOf(round)) ?? {};
  return (await adminOf(t).ok(postTransactionRetry, { params: { id } })).body.state;
};

const UNKNOWN = ['0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1a', '0199b3a2-7c1e-7d44-9a57-2f1f5e0c9b1b'] as const;

/** Has a key commit to a round that nobody knows, as whoever stole it would. */
async function abuse(key: Keypair, round: string, sequence: number, previous: string): Promise<void> {
  const hash = 'ab'.repeat(32);
  const said = { round, sequence, previous, entriesRoot: hash, count: 1, parametersHash: hash, chainHash: hash, beaconRound: 1 };
  const payer = await t.chain.fundWallet();
  const signature = await t.chain.send([memo(commitmentMemo(said), [key.publicKey])], [payer, key]);
  await eventually(async () => {
    const { value } = await t.chain.connection.getSignatureStatus(signature);
    expect([value?.confirmationStatus, value?.err]).toEqual(['finalized', null]);
  });
}

/** What one of the audit's checks finds. */
async function audited(check: Check | undefined): Promise<readonly string[]> {
  const scope = { days: 2, epochs: 2, rounds: 20, sample: 20, all: false };
  const { config, db, redis, chain, storage } = t.app;
  return (await check?.run({ config, db, redis, chain, storage, scope, patience: { looks: 1, everyMs: 0 } }))?.listed ?? ['no such check'];
}

test('a committer’s key that was abused is rotated: rounds that were held up go on in the next key’s own sequence, and all of them verify', async () => {
  const [old, present] = [t.chain.keys.committer, Keypair.generate()];
  worker = await startWorker(t.env, t.clock);
  const first = await frozenRound();
  await untilState(t, first, 'finalized');

  // Of the second, an attempt is signed and never lands; then the key commits to something else.
  const fault = await t.chain.control.fault({ kind: 'drop', methods: ['sendTransaction'], mentions: old.publicKey.toBase58() });
  const second = await frozenRound();
  await eventually(async () => expect(await transactionOf(second)).toMatchObject({ attempts: 1 }));
  await worker.close();
  await t.chain.control.advance(200);
  await fault.clear();
  await abuse(old, UNKNOWN[0], 2, (await commitmentsOf(t))[0]?.hash ?? '');
  worker = await startWorker(t.env, t.clock);
  await untilManual(second);
  expect(await retry(second)).toBe('queued');
  await untilManual(second);
  const third = await frozenRound();
  await eventually(async () =>
    expect(await transactionOf(third)).toMatchObject({ state: 'queued', error: `the commitment of round ${second} comes first` }),
  );
  await worker.close();

  const env = { ...t.env, COMMITTER_KEY: bs58.encode(present.secretKey), COMMITTER_ADDRESS: present.publicKey.toBase58() };
  worker = await startWorker(env, t.clock);
  api = await startApi(env, t.clock);
  expect(await retry(second)).toBe('queued');
  await Promise.all([untilState(t, second, 'finalized', 60_000), untilState(t, third, 'finalized', 60_000)]);
  // Whoever has the old key may go on as long as he likes.
  await abuse(old, UNKNOWN[1], 2, NO_PREVIOUS.replace('0', 'f'));
  const last = await frozenRound();
  await untilState(t, last, 'finalized', 60_000);

  const numbers = await sql(t.app, 'select committer, sequence::int, previous = $1 as first from commitments order by slot', [NO_PREVIOUS]);
  const of = (key: Keypair, sequence: number) => ({ committer: key.publicKey.toBase58(), sequence, first: sequence === 1 });
  expect(numbers).toEqual([of(old, 1), of(present, 1), of(present, 2), of(present, 3)]);
  const keys = await adminOf({ ...t, url: api.url }).ok(getKeys);
  expect(keys.body).toMatchObject({ committer: present.publicKey.toBase58(), formerCommitters: [old.publicKey.toBase58()] });

  const asked = ['--rpc', t.chain.localnet.url, '--beacon', `${t.chain.localnet.url}/beacon`, ...HASTE];
  for (const id of [first, second, third, last]) {
    const { code, out, err } = await verifyRound(api.url, id, ...asked);
    expect([code, out, err]).toEqual([
      0,
      expect.stringMatching(/is what it says: finalized\n$/),
      expect.stringMatching(/ was before, is taken on the word of /),
    ]);
  }
  const pinned = (key: Keypair, id: string) => verifyRound(api.url, id, ...asked, '--committer', key.publicKey.toBase58());
  expect((await pinned(present, last)).code).toBe(0);
  expect(await pinned(present, first)).toMatchObject({ code: 1, err: expect.stringContaining('commitment.committer: is not') });
  // Alone, a key answers for all that it ever signed.
  expect(await pinned(old, first)).toMatchObject({ code: 1, err: expect.stringContaining('sequence number 2 was used before') });

  expect(await audited(roundChecks.find(({ name }) => name === 'commitments'))).toEqual([]);
  expect(await audited(draws)).toEqual([]);
}, 240_000);
