import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readDraws } from '#areas/lottery/draws/account.ts';
import { commitmentsPerTransaction } from '#areas/lottery/lifecycle/carry.ts';
import { pause, resume } from '#platform/solana/submission/index.ts';
import { sql } from '#test/support/areas/boards.ts';
import { addTickets, closeNow, commitmentsOf, landedOf, openLegacy, openRound, verified } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';

/** Number of commitments whose transaction has at most 1,232 bytes, with a fee payer that is not the committer. */
const CAPACITY = 8;

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest();
});
afterAll(() => t?.close());

/** Opens legacy rounds with a ticket each. */
async function legacyRounds(count: number, app = t.app): Promise<string[]> {
  const rounds: string[] = [];
  for (let i = 0; i < count; i++) {
    const id = await openLegacy({ app }, '0');
    await addTickets(t, id, 1);
    rounds.push(id);
  }
  return rounds;
}

/** Closes rounds while no commitment may be signed, so that their commitments wait at the same time. */
async function closeTogether(rounds: readonly string[]): Promise<void> {
  await t.app.tx((tx) => pause(tx, 'rounds', 'a test'));
  for (const id of rounds) await closeNow(t, id);
  await retryUntilPass(async () => {
    const [row] = await sql<{ n: number }>(
      t.app,
      `select count(*)::int as n from chain_transactions where subject = any($1::text[]) and error->>'name' = 'Paused'`,
      [rounds],
    );
    expect(row?.n).toBe(rounds.length);
  }, 60_000);
  await t.app.tx((tx) => resume(tx, 'rounds'));
}

/** Reads the attempts of rounds, each with the rounds that it commits and its size. */
async function attemptsOf(rounds: readonly string[]) {
  return await sql<{ rounds: string[]; priority: string; signature: string; size: number; state: string; lamports: string; fee: string }>(
    t.app,
    `select (select array_agg(c.subject order by c.subject) from chain_transactions c where c.id = t.id or c.id = any(a.carried)) as rounds,
       a.priority, a.signature, length(a.bytes) as size, a.state, a.fee::text as fee, (select s->>'amount' from jsonb_array_elements(a.spends) s) as lamports
     from chain_attempts a join chain_transactions t on t.id = a.transaction_id where t.subject = any($1::text[]) order by a.signed_at`,
    [rounds],
  );
}

test('the number of commitments per transaction follows from the maximum size of a transaction', async () => {
  expect(commitmentsPerTransaction(t.app, await readDraws(t.app))).toBe(CAPACITY);
});

test('commitments that wait at the same time share transactions, but those of operators and of wallets share none', async () => {
  const legacy = await legacyRounds(20);
  // Only one chat round is active at a time, and a closed one waits for its commitment.
  await t.app.tx((tx) => pause(tx, 'rounds', 'a test'));
  const chat: string[] = [];
  for (let i = 0; i < 3; i++) {
    const id = await openRound(t, 2);
    await closeNow(t, id);
    chat.push(id);
  }
  await closeTogether([...legacy, ...chat]);
  for (const id of [...legacy, ...chat]) await untilState(t, id, 'finalized', 60_000);

  const attempts = await attemptsOf([...legacy, ...chat]);
  const landed = attempts.filter(({ state }) => state === 'finalized');
  expect(landed.flatMap(({ rounds }) => rounds).sort()).toEqual([...legacy, ...chat].sort());
  expect(landed.length).toBeLessThan(10);
  const rent = BigInt(await t.app.chain.node.rentOf(120));
  for (const { rounds, priority, size, lamports, fee } of landed) {
    expect(rounds.length).toBeLessThanOrEqual(CAPACITY);
    expect(size).toBeLessThanOrEqual(1_232);
    expect(BigInt(lamports)).toBe(rent * BigInt(rounds.length) + BigInt(fee));
    expect(rounds.every((id) => chat.includes(id) === (priority === 'commitments'))).toBe(true);
  }
  const recorded = new Map((await commitmentsOf(t)).map((one) => [one.round, one]));
  for (const { rounds, signature } of landed) for (const id of rounds) expect(recorded.get(id)).toMatchObject({ signature });
  for (const id of [...legacy, ...chat]) await verified(t, id);
}, 180_000);

test('a round that waits alone is committed at once, by a transaction of its own', async () => {
  const [id = ''] = await legacyRounds(1);
  await closeNow(t, id);
  await untilState(t, id, 'committed');
  expect((await attemptsOf([id])).map(({ rounds }) => rounds)).toEqual([[id]]);
});

test('a round whose commitment the program refuses is left out, and the other rounds are committed together without it', async () => {
  // With this lead, the beacon round is later than the program accepts.
  const { config } = t.app;
  const late = { ...t.app, config: { ...config, chain: { ...config.chain, draws: { ...config.chain.draws, leadSec: 7_200 } } } };
  const [refused = ''] = await legacyRounds(1, late);
  const others = await legacyRounds(10);
  await closeTogether([refused, ...others]);
  for (const id of others) await untilState(t, id, 'committed', 60_000);
  for (const id of others) await verified(t, id);
  expect(await landedOf(t.app, refused)).toBeNull();
  expect((await attemptsOf([refused, ...others])).flatMap(({ rounds }) => rounds)).not.toContain(refused);
  const [row] = await sql<{ state: string; error: { name: string } }>(t.app, 'select state, error from chain_transactions where subject = $1', [
    refused,
  ]);
  expect(row).toMatchObject({ state: 'queued', error: { name: 'Refused' } });
}, 120_000);
