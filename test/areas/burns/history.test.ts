import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readFoundBurns } from '#areas/burns/found-burns.ts';
import { fillGaps, listNewest } from '#areas/burns/history.ts';
import { ingestBurns } from '#areas/burns/ingest.ts';
import { endEvent } from '#areas/burns/lifecycle.ts';
import type { BurnEventRow } from '#areas/burns/rows.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import type { Signer } from '#platform/solana/primitives.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { sql } from '#test/support/areas/boards.ts';
import * as burns from '#test/support/areas/burns.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';

const {
  waitUntilFinal,
  burn,
  burnFor,
  burnMemo,
  fillSlot,
  readEffects,
  activateNewEvent,
  scheduleRelist,
  newBurner,
  retryReads,
  readBurns,
  slotOf,
  ingestFinal,
} = burns;

let t: RewardsTest;
let event: BurnEventRow;
let burner: Signer;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  burner = await newBurner(t);
});
afterEach(() => t.chain.control.clear());
afterAll(() => t.close());

const amounts = async () => (await readBurns(t.app, event)).map(({ amount }) => amount);
const unread = () => sql<{ signature: string }>(t.app, 'select signature from burn_transactions where read_at is null');
const known = () => sql<{ signature: string }>(t.app, 'select signature from burn_transactions order by 1');
const gaps = () => sql<{ before: string }>(t.app, 'select before from burn_gaps');
/** Deletes the history of both RPC nodes before a slot. */
const forget = async (before?: number) => void (await Promise.all((['first', 'second'] as const).map((node) => t.chain.control.purge(before, node))));

test('a gap of many pages is filled in spite of crashes, and new burns count meanwhile', async () => {
  event = await activateNewEvent(t.app);
  const signatures = [await burnFor(t, burner, event, 1n)];
  await waitUntilFinal(t, signatures);
  // One slot contains more transactions than a page.
  await fillSlot(t, burner, 9);
  await fillSlot(t, burner, 9);
  signatures.push(await burnFor(t, burner, event, 2n));
  await waitUntilFinal(t, signatures);
  await listNewest(t.app, event.mint, 0, 4);
  expect(await unread()).toEqual([{ signature: signatures[1] }]);

  // First the RPC node fails during the listing, then the process is killed.
  const down = await t.chain.control.fault({ kind: 'fail', methods: ['getSignaturesForAddress'] });
  await expect(ingestBurns(t.app)).rejects.toThrow('the RPC node does not answer');
  await down.clear();
  expect(await amounts()).toEqual(['2']);
  await fillGaps(t.app, event.mint, { limit: 4, maxPages: 2 });
  expect(await gaps()).toHaveLength(1);
  signatures.push(await burnFor(t, burner, event, 3n));
  await waitUntilFinal(t, signatures);
  await listNewest(t.app, event.mint, 0, 4);
  const killed = await t.chain.control.fault({ kind: 'cut', methods: ['getTransaction'], times: 1 });
  await expect(readFoundBurns(t.app, event.mint)).rejects.toThrow('the RPC node does not answer');
  expect(await killed.hits()).toBe(1);
  await retryReads(t.app);
  await fillGaps(t.app, event.mint, { limit: 4 });
  expect(await gaps()).toEqual([]);
  await ingestBurns(t.app);
  expect(new Set(await amounts())).toEqual(new Set(['1', '2', '3']));
  expect(await readEffects(t.app, event)).toMatchObject({ burned: '6', burns: 3, events: { n: 3 } });
});

test('each burn is credited once, for a random order of burns, failures, listings and reads', async () => {
  event = await activateNewEvent(t.app);
  const random = randomGenerator(Math.floor(Math.random() * 2 ** 31));
  const pick = (n: number) => random.int(0, n - 1);
  const sent: string[] = [];
  const steps = [
    async () => void sent.push(await burnFor(t, burner, event, BigInt(sent.length + 1))),
    async () => void (await fillSlot(t, burner, 1 + pick(5))),
    () => listNewest(t.app, event.mint, 0, 2 + pick(4)),
    () => fillGaps(t.app, event.mint, { limit: 1 + pick(4), maxPages: 1 + pick(2) }),
    () => readFoundBurns(t.app, event.mint),
    () => scheduleRelist(t.app),
    () => t.chain.control.fault({ kind: pick(2) ? 'fail' : 'rateLimit', times: 1, methods: ['getSignaturesForAddress', 'getTransaction'] }),
  ];
  for (let i = 0; i < 60; i++) await steps[pick(steps.length)]?.().catch(() => undefined);
  await t.chain.control.clear();
  await waitUntilFinal(t, sent);
  await retryReads(t.app);
  await ingestBurns(t.app);
  expect((await readBurns(t.app, event)).map(({ signature }) => signature).sort()).toEqual([...sent].sort());
  const burned = String((sent.length * (sent.length + 1)) / 2);
  expect(await readEffects(t.app, event)).toMatchObject({
    burned,
    participants: 1,
    activities: { n: sent.length, sum: burned },
    events: { last: burned },
  });
  expect(await gaps()).toEqual([]);
});

test('a lagging RPC node is refused, and a gap without history is retried', async () => {
  event = await activateNewEvent(t.app);
  const first = await burnFor(t, burner, event, 1n);
  await ingestFinal(t, [first]);
  await t.chain.control.lag(300);
  await expect(ingestBurns(t.app)).rejects.toThrow('the RPC node does not answer');
  await t.chain.control.clear();

  // A gap stays open when no RPC node has its transactions, and new burns still count.
  const lost = await burnFor(t, burner, event, 2n);
  await waitUntilFinal(t, [lost]);
  await fillSlot(t, burner, 6);
  await listNewest(t.app, event.mint, 0, 5);
  await forget((await slotOf(t, lost)) + 1);
  const next = await burnFor(t, burner, event, 3n);
  await ingestFinal(t, [next]);
  expect(await amounts()).toEqual(['1', '3']);
  expect(await gaps()).toHaveLength(1);
  // The gap is not retried within a minute.
  await t.chain.control.clear();
  await fillGaps(t.app, event.mint);
  expect(await gaps()).toHaveLength(1);
  await sql(t.app, 'update burn_gaps set next_at = app_now()');
  await fillGaps(t.app, event.mint);
  await readFoundBurns(t.app, event.mint);
  expect(await amounts()).toEqual(['1', '2', '3']);
  expect(await gaps()).toEqual([]);
});

test('a transaction that the RPC node indexes late is found when the newest part is listed again', async () => {
  event = await activateNewEvent(t.app);
  const early = await burnFor(t, burner, event, 1n);
  await ingestFinal(t, [early]);
  await fillSlot(t, burner, 3);
  await fillSlot(t, burner, 3);
  await ingestBurns(t.app);
  // Simulates a first list without this transaction.
  await sql(t.app, 'delete from burn_transactions where signature = $1', [early]);
  const before = await readEffects(t.app, event);
  expect(before).toMatchObject({ burns: 1 });
  const look = async () => {
    await listNewest(t.app, event.mint, 0, 5);
    await fillGaps(t.app, event.mint);
    await readFoundBurns(t.app, event.mint);
  };
  await look();
  expect(await known()).not.toContainEqual({ signature: early });
  await scheduleRelist(t.app);
  await look();
  expect(await known()).toContainEqual({ signature: early });
  expect(await unread()).toEqual([]);
  // The transactions are read twice and credited once.
  expect(await readEffects(t.app, event)).toEqual(before);
});

test('a listed transaction is retried until it can be read', async () => {
  event = await activateNewEvent(t.app);
  const signature = await burnFor(t, burner, event, 1n);
  await waitUntilFinal(t, [signature]);
  await listNewest(t.app, event.mint, 0);
  await forget();
  await readFoundBurns(t.app, event.mint);
  expect(await unread()).toEqual([{ signature }]);
  await t.chain.control.clear();
  await readFoundBurns(t.app, event.mint);
  expect(await amounts()).toEqual([]);
  await retryReads(t.app);
  await readFoundBurns(t.app, event.mint);
  expect(await amounts()).toEqual(['1']);
});

test('a transaction that the first RPC node has lost is read from the second', async () => {
  event = await activateNewEvent(t.app);
  const signature = await burnFor(t, burner, event, 1n);
  await waitUntilFinal(t, [signature]);
  await fillSlot(t, burner, 4);
  await listNewest(t.app, event.mint, 0, 3);
  await t.chain.control.purge();
  await fillGaps(t.app, event.mint);
  expect(await unread()).toEqual([{ signature }]);
  await readFoundBurns(t.app, event.mint);
  expect(await amounts()).toEqual(['1']);
});

test('a transaction that no RPC node has for a day is skipped', async () => {
  event = await activateNewEvent(t.app);
  await sql(
    t.app,
    `insert into burn_transactions (signature, mint, slot, likely, found_at) values ($1, $2, 1, true, app_now() - interval '25 hours')`,
    ['1'.repeat(64), event.mint],
  );
  await readFoundBurns(t.app, event.mint);
  expect(await unread()).toEqual([]);
});

test('50 concurrent runs in several processes credit each burn once', async () => {
  event = await activateNewEvent(t.app);
  await t.chain.control.pause();
  const { blockhash } = await t.chain.connection.getLatestBlockhash();
  const signatures = await Promise.all(
    Array.from({ length: 60 }, (_, i) => t.chain.send([burn(t, burner, BigInt(i + 1)), burnMemo(event)], [burner], blockhash)),
  );
  await t.chain.control.resume();
  await waitUntilFinal(t, signatures);
  const apps = await Promise.all(
    Array.from({ length: 4 }, () =>
      openContext(readConfig(t.env), 'test-worker', { clock: t.clock, timeouts: { sqlMs: 60_000, redisMs: 30_000, queueMs: 30_000 } }),
    ),
  );
  try {
    const watching = Array.from({ length: 50 }, async (_, i) => {
      const app = apps[i % apps.length] ?? t.app;
      await listNewest(app, event.mint, 0);
      await readFoundBurns(app, event.mint);
    });
    await Promise.all(watching);
    await retryReads(t.app);
    await ingestBurns(t.app);
  } finally {
    await Promise.all(apps.map((app) => app.close()));
  }
  const burned = String((60 * 61) / 2);
  expect(await readEffects(t.app, event)).toEqual({
    ...{ burned, participants: 1, referral: '0', game: '0', social: '0', burns: 60 },
    activities: { n: 60, sum: burned },
    events: { n: 60, last: burned },
  });
});

test('an event is final when the chain is read to 5 minutes after its end, and then no request is sent', async () => {
  event = await activateNewEvent(t.app);
  const signature = await burnFor(t, burner, event, 1n);
  await waitUntilFinal(t, [signature]);
  await endEvent(t.app, event.id);
  const isFinal = async () =>
    (await sql<{ final: boolean }>(t.app, 'select final_at is not null as final from burn_events where id = $1', [event.id]))[0]?.final;
  await ingestBurns(t.app);
  expect([await amounts(), await isFinal()]).toEqual([['1'], false]);
  await t.chain.control.setOffset(600_000);
  await t.chain.control.advance(10);
  // A found transaction is not read yet.
  await sql(t.app, `update burn_transactions set read_at = null, next_at = app_now() + interval '1 hour' where signature = $1`, [signature]);
  await ingestBurns(t.app);
  expect(await isFinal()).toBe(false);
  await retryReads(t.app);
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

test('an ended event is final after a week, even if the RPC node fails', async () => {
  event = await activateNewEvent(t.app);
  await endEvent(t.app, event.id);
  await t.chain.control.fault({ kind: 'fail' });
  await expect(ingestBurns(t.app)).rejects.toThrow('the RPC node does not answer');
  await sql(t.app, `update burn_events set activated_at = activated_at - interval '8 days', ends_at = ends_at - interval '8 days' where id = $1`, [
    event.id,
  ]);
  await expect(ingestBurns(t.app)).rejects.toThrow('the RPC node does not answer');
  expect(await sql(t.app, 'select 1 from burn_events where final_at is null and state = $1', ['ended'])).toEqual([]);
});

test('signatures that were read are deleted after a day', async () => {
  await sql(t.app, `update burn_transactions set read_at = app_now() - interval '25 hours'`);
  await ingestBurns(t.app);
  expect(await known()).toEqual([]);
});
