import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { drawCommitment } from '#areas/lottery';
import { readDraws } from '#areas/lottery/draws/account.ts';
import { CLOCK, clockTime } from '#areas/lottery/draws/clock.ts';
import { advanceRound } from '#areas/lottery/lifecycle/advance.ts';
import { leafOf } from '#areas/lottery/lifecycle/commitments.ts';
import { isClosed } from '#areas/lottery/lifecycle/rows.ts';
import { readRound } from '#areas/lottery/rows.ts';
import { roundToCommit } from '#lib/draw/beacon-chain.ts';
import type { App } from '#platform/app.ts';
import { commitRound } from '#platform/solana/draws/index.ts';
import { addTickets, closeNow, openLegacy } from '#test/support/areas/draws.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';

let t: RewardsTest;
beforeAll(async () => {
  // No worker submits a commitment, so that only the tests do.
  t = await startRoundsTest({ workers: false });
});
afterAll(() => t?.close());
afterEach(() => t.chain.control.clear());

/** Stores a round that is ready to be committed. @returns its id */
async function frozen(): Promise<string> {
  const id = await openLegacy(t, '0');
  await addTickets(t, id, 1);
  await closeNow(t, id);
  await advanceRound(t.app, id);
  return id;
}

test('a commitment is signed while the clock of the cluster differs from the clock of the database by at most 10 s', async () => {
  const id = await frozen();
  await t.chain.control.pause();
  const { accounts } = await t.app.chain.node.accounts([CLOCK], 'confirmed');
  const cluster = clockTime(accounts[0] ?? null);
  /** Composes the commitment while the database states a time. */
  const composeAt = async (now: number) => {
    const query: App['db']['query'] = async (statement, values) => {
      const rows = await t.app.db.query(statement, values);
      return statement.name === 'read_clock_ms' ? rows.map((row) => ({ ...row, now })) : rows;
    };
    return (await drawCommitment.compose({ ...t.app, db: { ...t.app.db, query } }, id)).do;
  };
  const differences = [-10_001, -10_000, 10_000, 10_001];
  expect(await Promise.all(differences.map((ms) => composeAt(cluster + ms)))).toEqual(['wait', 'sign', 'sign', 'wait']);
});

test('a commitment account that exists already is used when it is finalized', async () => {
  const id = await frozen();
  const round = await readRound(t.app.db, id);
  if (!round || !isClosed(round)) throw new Error('the round is not closed');
  const { program, address: draws, account } = await readDraws(t.app);
  const { feePayer, committer } = t.chain.keys;
  const beaconRound = roundToCommit({ period: account.period, genesisTime: account.genesis }, Date.now(), 5);
  const keys = { program, payer: feePayer.publicKey, committer: committer.publicKey, draws };
  await t.chain.control.pause();
  await t.chain.send([commitRound({ ...keys, roundId: id, leaf: leafOf(round), beaconRound })], [feePayer, committer]);
  await t.chain.control.advance(3);
  expect(await drawCommitment.compose(t.app, id)).toMatchObject({ do: 'wait', reason: expect.stringMatching(/ is not finalized yet$/) });
  await t.chain.control.advance(20);
  expect(await drawCommitment.compose(t.app, id)).toEqual({ do: 'done', signature: null, slot: expect.any(Number) });
});
