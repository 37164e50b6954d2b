import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { readDraws } from '#areas/lottery/draws/account.ts';
import { readEntries } from '#areas/lottery/entries.ts';
import { entriesFileId } from '#areas/lottery/entries-file.ts';
import { advanceRound } from '#areas/lottery/lifecycle/advance.ts';
import { roundToCommit } from '#lib/draw/beacon-chain.ts';
import { entryLine } from '#lib/draw/entry.ts';
import { commitRound } from '#platform/solana/draws/index.ts';
import { startWorker } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import {
  addTickets,
  closeNow,
  commitmentsOf,
  endActive,
  eventsOf,
  landedOf,
  openLegacy,
  openRound,
  prizesOf,
  storedRound,
  verified,
} from '#test/support/areas/draws.ts';
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
  await closeNow(t, id);
  return id;
}

const attemptsOf = (id: string) =>
  sql<{ n: number; state: string; signature: string; bytes: Buffer }>(
    t.app,
    'select a.n, a.state, a.signature, a.bytes from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.subject = $1 order by a.n',
    [id],
  );

test('rounds that close concurrently are each committed and drawn once, although jobs run repeatedly', async () => {
  const rounds: string[] = [];
  for (let i = 0; i < 4; i++) rounds.push(await frozenRound());
  // When two jobs store the file of the entries at the same time, both may fail. On a busy machine, a job may get no connection to PostgreSQL in time. The
  // sweep repeats both.
  const advanceOrFail = (id: string) =>
    advanceRound(t.app, id).catch((error: unknown) =>
      expect(error).toMatchObject({ message: expect.stringMatching(/media storage|connection timeout/) }),
    );
  // Runs the job continually, in addition to the two worker pools.
  const advanceRepeatedly = async (id: string) => {
    while ((await storedRound(t, id)).state !== 'finalized') {
      await Promise.all([advanceOrFail(id), advanceOrFail(id), sleep(20)]);
    }
  };
  await Promise.all(rounds.map((id) => advanceRepeatedly(id)));
  const recorded = new Map((await commitmentsOf(t)).map((one) => [one.round, one]));
  for (const id of rounds) {
    const { commitment } = await verified(t, id);
    expect(recorded.get(id)).toMatchObject({ account: commitment?.account, leaf: commitment?.leaf, signature: expect.any(String) });
    // On a busy machine, an attempt can expire before it lands; the next one follows only then.
    const states = (await attemptsOf(id)).map(({ state }) => state);
    expect(states).toEqual([...states.slice(1).fill('expired'), 'finalized']);
    const once = ['round_started', 'round_closed', 'round_committed', 'round_finalized', 'winner_announced', 'winner_announced'];
    expect(await eventsOf(t, id)).toEqual(once);
    expect(await prizesOf(t, id)).toHaveLength(2);
  }
});

test('the list of entries is stored as a file before the commitment is signed', async () => {
  const id = await frozenRound(3);
  await untilState(t, id, 'committed');
  const entries = await readEntries(t.app.db, id);
  const text = entries.map((entry) => `${entryLine(entry)}\n`).join('');
  const { root } = await storedRound(t, id);
  const stream = await t.app.storage.open(entriesFileId(root ?? ''), { start: 0, end: Buffer.byteLength(text) - 1 });
  expect(Buffer.concat(await Array.fromAsync(stream)).toString()).toBe(text);
});

test('while the file of entries cannot be stored, nothing is committed', async () => {
  const storages = [t.app, second.app].map(({ storage }) => storage);
  const before = storages.map(({ draft }) => draft);
  for (const storage of storages)
    storage.draft = () => {
      throw new Error('the storage is full');
    };
  const id = await openRound(t, 2);
  await closeNow(t, id);
  await expect(advanceRound(t.app, id)).rejects.toThrow('the storage is full');
  expect(await attemptsOf(id)).toEqual([]);
  for (const [i, storage] of storages.entries()) storage.draft = before[i] ?? storage.draft;
  await untilState(t, id, 'finalized');
  await verified(t, id);
});

test('a dropped commitment is signed again after it has expired, with the same leaf and a later beacon round', async () => {
  const committer = t.app.chain.address('committer').toBase58();
  const fault = await t.chain.control.fault({ kind: 'drop', methods: ['sendTransaction'], mentions: committer });
  const id = await frozenRound();
  await retryUntilPass(async () => expect((await attemptsOf(id)).length).toBeGreaterThan(1), 60_000);
  await fault.clear();
  await untilState(t, id, 'finalized', 60_000);
  const attempts = await attemptsOf(id);
  expect(attempts.map(({ state }) => state)).toEqual([...attempts.slice(1).map(() => 'dead'), 'finalized']);
  const { commitment } = await verified(t, id);
  // The instruction ends with the leaf and the beacon round.
  const leaf = Buffer.from(commitment?.leaf ?? '', 'hex');
  const beaconRounds = attempts.map(({ bytes }) => Number(bytes.readBigUInt64LE(bytes.indexOf(leaf) + leaf.length)));
  expect(beaconRounds).toEqual([...new Set(beaconRounds)].sort((a, b) => a - b));
  expect(beaconRounds.at(-1)).toBe(commitment?.beaconRound);
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

test('a database restored from an older backup adopts the commitment accounts of the chain and signs none again', async () => {
  await t.chain.control.beacon({ stopped: true });
  const [first, last] = [await frozenRound(), await frozenRound()];
  await Promise.all([untilState(t, first, 'committed'), untilState(t, last, 'committed')]);
  const before = await Promise.all([first, last].map((id) => landedOf(t.app, id)));
  await forget(last, first);
  await Promise.all([untilState(t, first, 'committed'), untilState(t, last, 'committed')]);
  expect(await Promise.all([first, last].map((id) => landedOf(t.app, id)))).toEqual(before);
  expect([...(await attemptsOf(first)), ...(await attemptsOf(last))]).toEqual([]);
  await t.chain.control.beacon({ stopped: false });
  await Promise.all([untilState(t, first, 'finalized'), untilState(t, last, 'finalized')]);
  await Promise.all([verified(t, first), verified(t, last)]);
});

test('a commitment account with another leaf stops its own round until an operator decides, and no other round', async () => {
  const id = await openRound(t, 2);
  const { program, address: draws, account } = await readDraws(t.app);
  const { feePayer, committer } = t.chain.keys;
  const beaconRound = roundToCommit({ period: account.period, genesisTime: account.genesis }, Date.now(), 5);
  const stray = { program, payer: feePayer.publicKey, committer: committer.publicKey, draws, roundId: id, leaf: 'ab'.repeat(32), beaconRound };
  await t.chain.send([commitRound(stray)], [feePayer, committer]);
  await retryUntilPass(async () => expect(await landedOf(t.app, id)).toMatchObject({ leaf: 'ab'.repeat(32) }));
  await closeNow(t, id);
  await retryUntilPass(async () => {
    expect(await sql(t.app, 'select state from chain_transactions where subject = $1', [id])).toEqual([{ state: 'manual' }]);
  });
  expect((await storedRound(t, id)).state).toBe('closing');
  const other = await frozenRound();
  await untilState(t, other, 'finalized');
  await verified(t, other);
});

test('a chat round is committed soon, although 60 legacy rounds were closed at the same time', async () => {
  const legacy = await Promise.all(Array.from({ length: 60 }, () => openLegacy(t, '0')));
  for (const id of legacy) await addTickets(t, id, 1);
  const id = await openRound(t, 2);
  await Promise.all(legacy.map((one) => closeNow(t, one)));
  await closeNow(t, id);
  await untilState(t, id, 'committed', 30_000);
  await verified(t, id);
  for (const one of legacy) await untilState(t, one, 'finalized', 120_000);
}, 240_000);
