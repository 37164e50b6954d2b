import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Keypair } from '@solana/web3.js';
import { readFound } from '#areas/burns/found-burns.ts';
import { fillGaps, listNewest } from '#areas/burns/history.ts';
import { endEvent } from '#areas/burns/lifecycle.ts';
import type { BurnEventRow } from '#areas/burns/rows.ts';
import { ingestBurns } from '#areas/burns/watch.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { generator } from '#test/support/areas/board-model.ts';
import { sql } from '#test/support/areas/boards.ts';
import * as burns from '#test/support/areas/burns.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';

const { allFinal, burn, burnFor, burnMemo, crowd, effects, freshEvent, lookDeep, newBurner, readAgain, recorded, slotOf, watchUntilFinal } = burns;

let t: RewardsTest;
let event: BurnEventRow;
let burner: Keypair;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  burner = await newBurner(t);
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const amounts = async () => (await recorded(t.app, event)).map(({ amount }) => amount);
const unread = () => sql<{ signature: string }>(t.app, 'select signature from burn_transactions where read_at is null');
const known = () => sql<{ signature: string }>(t.app, 'select signature from burn_transactions order by 1');
const gaps = () => sql<{ before: string }>(t.app, 'select before from burn_gaps');
/** Every node's history begins later. */
const forget = async (before?: number) => void (await Promise.all((['first', 'second'] as const).map((node) => t.chain.control.purge(before, node))));

test('a gap of many pages is worked off, however often the watcher is killed in it, and meanwhile what is new counts', async () => {
  event = await freshEvent(t.app);
  const signatures = [await burnFor(t, burner, event, 1n)];
  await allFinal(t, signatures);
  // More in one slot than a page holds.
  await crowd(t, burner, 9);
  await crowd(t, burner, 9);
  signatures.push(await burnFor(t, burner, event, 2n));
  await allFinal(t, signatures);
  await listNewest(t.app, event.mint, 0, 4);
  expect(await unread()).toEqual([{ signature: signatures[1] }]);

  // The node is gone in the middle; then the process is.
  const down = await t.chain.control.fault({ kind: 'fail', methods: ['getSignaturesForAddress'] });
  await expect(ingestBurns(t.app)).rejects.toThrow('the chain cannot be asked');
  await down.clear();
  expect(await amounts()).toEqual(['2']);
  await fillGaps(t.app, event.mint, { limit: 4, most: 2 });
  expect(await gaps()).toHaveLength(1);
  signatures.push(await burnFor(t, burner, event, 3n));
  await allFinal(t, signatures);
  await listNewest(t.app, event.mint, 0, 4);
  const killed = await t.chain.control.fault({ kind: 'cut', methods: ['getTransaction'], times: 1 });
  await expect(readFound(t.app, event.mint)).rejects.toThrow('the chain cannot be asked');
  expect(await killed.hits()).toBe(1);
  await readAgain(t.app);
  await fillGaps(t.app, event.mint, { limit: 4 });
  expect(await gaps()).toEqual([]);
  await ingestBurns(t.app);
  expect(new Set(await amounts())).toEqual(new Set(['1', '2', '3']));
  expect(await effects(t.app, event)).toMatchObject({ burned: '6', burns: 3, told: { n: 3 } });
});

test('whatever is sent, asked, lost and read in whatever order, each burn is credited once', async () => {
  event = await freshEvent(t.app);
  const random = generator(Math.floor(Math.random() * 2 ** 31));
  const pick = (n: number) => random.int(0, n - 1);
  const sent: string[] = [];
  const steps = [
    async () => void sent.push(await burnFor(t, burner, event, BigInt(sent.length + 1))),
    async () => void (await crowd(t, burner, 1 + pick(5))),
    () => listNewest(t.app, event.mint, 0, 2 + pick(4)),
    () => fillGaps(t.app, event.mint, { limit: 1 + pick(4), most: 1 + pick(2) }),
    () => readFound(t.app, event.mint),
    () => lookDeep(t.app),
    () => t.chain.control.fault({ kind: pick(2) ? 'fail' : 'rateLimit', times: 1, methods: ['getSignaturesForAddress', 'getTransaction'] }),
  ];
  for (let i = 0; i < 60; i++) await steps[pick(steps.length)]?.().catch(() => undefined);
  await t.chain.control.clear();
  await allFinal(t, sent);
  await readAgain(t.app);
  await ingestBurns(t.app);
  expect((await recorded(t.app, event)).map(({ signature }) => signature).sort()).toEqual([...sent].sort());
  const burned = String((sent.length * (sent.length + 1)) / 2);
  expect(await effects(t.app, event)).toMatchObject({ burned, participants: 1, activities: { n: sent.length, sum: burned }, told: { last: burned } });
  expect(await gaps()).toEqual([]);
});

test('a node that is behind is not believed, and one that lost its history is asked again', async () => {
  event = await freshEvent(t.app);
  const first = await burnFor(t, burner, event, 1n);
  await watchUntilFinal(t, [first]);
  await t.chain.control.lag(300);
  await expect(ingestBurns(t.app)).rejects.toThrow('the chain cannot be asked');
  await t.chain.control.clear();

  // A gap whose signatures no node has stays open; what is new still counts.
  const lost = await burnFor(t, burner, event, 2n);
  await allFinal(t, [lost]);
  await crowd(t, burner, 6);
  await listNewest(t.app, event.mint, 0, 5);
  await forget((await slotOf(t, lost)) + 1);
  const next = await burnFor(t, burner, event, 3n);
  await watchUntilFinal(t, [next]);
  expect(await amounts()).toEqual(['1', '3']);
  expect(await gaps()).toHaveLength(1);
  // For a minute it is not asked for again.
  await t.chain.control.clear();
  await fillGaps(t.app, event.mint);
  expect(await gaps()).toHaveLength(1);
  await sql(t.app, 'update burn_gaps set next_at = app_now()');
  await fillGaps(t.app, event.mint);
  await readFound(t.app, event.mint);
  expect(await amounts()).toEqual(['1', '2', '3']);
  expect(await gaps()).toEqual([]);
});

test('a transaction that the node comes to know late is found when the newest part is listed once more', async () => {
  event = await freshEvent(t.app);
  const early = await burnFor(t, burner, event, 1n);
  await watchUntilFinal(t, [early]);
  await crowd(t, burner, 3);
  await crowd(t, burner, 3);
  await ingestBurns(t.app);
  // As if the first list had lacked it.
  await sql(t.app, 'delete from burn_transactions where signature = $1', [early]);
  const before = await effects(t.app, event);
  expect(before).toMatchObject({ burns: 1 });
  const look = async () => {
    await listNewest(t.app, event.mint, 0, 5);
    await fillGaps(t.app, event.mint);
    await readFound(t.app, event.mint);
  };
  await look();
  expect(await known()).not.toContainEqual({ signature: early });
  await lookDeep(t.app);
  await look();
  expect(await known()).toContainEqual({ signature: early });
  expect(await unread()).toEqual([]);
  // Read twice, credited once.
  expect(await effects(t.app, event)).toEqual(before);
});

test('a listed transaction that cannot be read is asked for until it can be', async () => {
  event = await freshEvent(t.app);
  const signature = await burnFor(t, burner, event, 1n);
  await allFinal(t, [signature]);
  await listNewest(t.app, event.mint, 0);
  await forget();
  await readFound(t.app, event.mint);
  expect(await unread()).toEqual([{ signature }]);
  await t.chain.control.clear();
  await readFound(t.app, event.mint);
  expect(await amounts()).toEqual([]);
  await readAgain(t.app);
  await readFound(t.app, event.mint);
  expect(await amounts()).toEqual(['1']);
});

test('what one provider has lost is asked of the other', async () => {
  event = await freshEvent(t.app);
  const signature = await burnFor(t, burner, event, 1n);
  await allFinal(t, [signature]);
  await crowd(t, burner, 4);
  await listNewest(t.app, event.mint, 0, 3);
  await t.chain.control.purge();
  await fillGaps(t.app, event.mint);
  expect(await unread()).toEqual([{ signature }]);
  await readFound(t.app, event.mint);
  expect(await amounts()).toEqual(['1']);
});

test('a transaction that nobody has had for a day is given up', async () => {
  event = await freshEvent(t.app);
  await sql(
    t.app,
    `insert into burn_transactions (signature, mint, slot, likely, found_at) values ($1, $2, 1, true, app_now() - interval '25 hours')`,
    ['1'.repeat(64), event.mint],
  );
  await readFound(t.app, event.mint);
  expect(await unread()).toEqual([]);
});

test('50 watchers at once, in several processes, credit each burn once', async () => {
  event = await freshEvent(t.app);
  await t.chain.control.pause();
  const { blockhash } = await t.chain.connection.getLatestBlockhash();
  const signatures = await Promise.all(
    Array.from({ length: 60 }, (_, i) => t.chain.send([burn(t, burner, BigInt(i + 1)), burnMemo(event)], [burner], blockhash)),
  );
  await t.chain.control.resume();
  await allFinal(t, signatures);
  const apps = await Promise.all(
    Array.from({ length: 4 }, () =>
      openContext(readConfig(t.env), 'test-worker', { clock: t.clock, timeouts: { sqlMs: 60_000, redisMs: 30_000, queueMs: 30_000 } }),
    ),
  );
  try {
    const watching = Array.from({ length: 50 }, async (_, i) => {
      const app = apps[i % apps.length] ?? t.app;
      await listNewest(app, event.mint, 0);
      await readFound(app, event.mint);
    });
    await Promise.all(watching);
    await readAgain(t.app);
    await ingestBurns(t.app);
  } finally {
    await Promise.all(apps.map((app) => app.close()));
  }
  const burned = String((60 * 61) / 2);
  expect(await effects(t.app, event)).toEqual({
    ...{ burned, participants: 1, referral: '0', game: '0', social: '0', burns: 60 },
    activities: { n: 60, sum: burned },
    told: { n: 60, last: burned },
  });
});

test('an event is final once the chain is read to minutes after its end, and then nothing is asked any more', async () => {
  event = await freshEvent(t.app);
  const signature = await burnFor(t, burner, event, 1n);
  await allFinal(t, [signature]);
  await endEvent(t.app, event.id);
  const isFinal = async () =>
    (await sql<{ final: boolean }>(t.app, 'select final_at is not null as final from burn_events where id = $1', [event.id]))[0]?.final;
  await ingestBurns(t.app);
  expect([await amounts(), await isFinal()]).toEqual([['1'], false]);
  await t.chain.control.setOffset(600_000);
  await t.chain.control.advance(10);
  // Something that was found is not read yet.
  await sql(t.app, `update burn_transactions set read_at = null, next_at = app_now() + interval '1 hour' where signature = $1`, [signature]);
  await ingestBurns(t.app);
  expect(await isFinal()).toBe(false);
  await readAgain(t.app);
  await sql(t.app, `insert into burn_gaps (mint, before, before_slot, floor, next_at) values ($1, $2, 1, 0, app_now() + interval '1 hour')`, [
    event.mint,
    signature,
  ]);
  await ingestBurns(t.app);
  expect(await isFinal()).toBe(false);
  await sql(t.app, 'delete from burn_gaps');
  await ingestBurns(t.app);
  expect([await amounts(), await isFinal()]).toEqual([['1'], true]);
  const calls = await t.chain.control.fault({ kind: 'delay', ms: 0 });
  await ingestBurns(t.app);
  expect(await calls.hits()).toBe(0);
});

test('after a week an event is final, whatever the chain says', async () => {
  event = await freshEvent(t.app);
  await endEvent(t.app, event.id);
  await t.chain.control.fault({ kind: 'fail' });
  await expect(ingestBurns(t.app)).rejects.toThrow('the chain cannot be asked');
  await sql(t.app, `update burn_events set activated_at = activated_at - interval '8 days', ends_at = ends_at - interval '8 days' where id = $1`, [
    event.id,
  ]);
  await expect(ingestBurns(t.app)).rejects.toThrow('the chain cannot be asked');
  expect(await sql(t.app, 'select 1 from burn_events where final_at is null and state = $1', ['ended'])).toEqual([]);
});

test('signatures that were read are forgotten after a day', async () => {
  await sql(t.app, `update burn_transactions set read_at = app_now() - interval '25 hours'`);
  await ingestBurns(t.app);
  expect(await known()).toEqual([]);
});
