import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readEntries } from '#areas/lottery/entries.ts';
import { advanceRound } from '#areas/lottery/lifecycle/advance.ts';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { getRound } from '#areas/lottery/routes/rounds.ts';
import type { Entry } from '#lib/draw/entry.ts';
import { RoundParameters } from '#lib/draw/parameters.ts';
import { sql } from '#test/support/areas/boards.ts';
import { eventsOf, openRound, prizesOf, storedRound, verified } from '#test/support/areas/draws.ts';
import { eventually } from '#test/support/areas/player.ts';
import { startRoundsTest, untilState } from '#test/support/areas/rounds.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { createWallet } from '#test/support/wallet.ts';

let t: RewardsTest;
beforeAll(async () => {
  t = await startRoundsTest();
});
afterAll(() => t?.close());
afterEach(() => t.chain.control.clear());

const shift = (ms: number) => t.clock.set(new Date(Date.now() + ms));

/** Opens and closes a round. */
async function frozenRound(entries = 3): Promise<string> {
  const id = await openRound(t, entries);
  await t.app.tx((tx) => closeRound(tx, id));
  return id;
}

/** What makes an entry, wherever it is. */
const contentOf = ({ wallet, numbers, source, messageId, at }: Entry) => ({ wallet, numbers, source, messageId, at });

/** The round that goes on for a void one, and that it has the same terms and the same entries. */
async function successorOf(id: string, reason: string): Promise<string> {
  const { successor } = await storedRound(t, id);
  if (successor === null) throw new Error(`round ${id} has no successor`);
  const read = async (round: string) => {
    const { body } = await clientOf(t).ok(getRound, { params: { id: round } });
    const [row] = await sql<{ parameters: unknown }>(t.app, 'select parameters from rounds where id = $1', [round]);
    return { body, parameters: RoundParameters.parse(row?.parameters), entries: (await readEntries(t.app.db, round)).map(contentOf) };
  };
  const [before, after] = [await read(id), await read(successor)];
  expect(before.body).toMatchObject({
    status: 'void',
    voidReason: reason,
    successor,
    predecessor: null,
    commitment: { beaconRound: expect.any(Number) },
  });
  expect(after.body).toMatchObject({ predecessor: id, title: before.body.title, prizes: before.body.prizes, opensAt: before.body.opensAt });
  expect(after.parameters).toEqual({ ...before.parameters, round: successor });
  expect(after.entries).toEqual(before.entries);
  expect(await prizesOf(t, id)).toEqual([]);
  expect(await eventsOf(t, id)).toEqual(expect.arrayContaining(['round_void']));
  expect((await verified(t, id)).void).toBe(reason);
  return successor;
}

test('a commitment whose block came too late makes the round void, and another goes on with its entries', async () => {
  // The record’s clock is behind: beacon rounds that it takes for future ones are known when the block is made.
  await shift(-60_000);
  const id = await frozenRound();
  await untilState(t, id, 'void');
  await shift(0);
  let successor = await successorOf(id, 'late-block');
  expect(await eventsOf(t, id)).toEqual(['round_started', 'round_closed', 'round_void']);
  // The successor may have been committed to before the clock was right.
  await eventually(async () => {
    const { state, successor: next } = await storedRound(t, successor);
    successor = next ?? successor;
    if (state !== 'finalized') throw new Error(`the successor is ${state}`);
  }, 60_000);
  const audit = await verified(t, successor);
  expect(audit.winners).toHaveLength(2);
  expect(await prizesOf(t, successor)).toMatchObject(audit.winners?.map(({ wallet }) => ({ wallet })) ?? []);
  expect((await eventsOf(t, successor)).slice(0, 3)).toEqual(['round_closed', 'round_committed', 'round_finalized']);
});

test('while the beacon is silent a round waits, is shown as overdue after an hour, and is drawn when the beacon speaks', async () => {
  await t.chain.control.beacon({ stopped: true });
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  const { beaconRound } = await storedRound(t, id);
  const overdue = async () => (await clientOf(t).ok(getRound, { params: { id } })).body.overdue;
  expect(await overdue()).toBe(false);
  await sql(t.app, `update rounds set beacon_due_at = app_now() - interval '61 minutes', look_at = app_now() where id = $1`, [id]);
  expect(await overdue()).toBe(true);
  await verified(t, id);
  await t.chain.control.beacon({ stopped: false });
  await untilState(t, id, 'finalized');
  expect(await storedRound(t, id)).toMatchObject({ beaconRound });
  await verified(t, id);
});

/** Changes an entry behind the record’s back. @returns what changes it back */
async function tamper(id: string): Promise<() => Promise<void>> {
  const write = async (wallet: string) => {
    await sql(t.app, 'alter table entries disable trigger entries_kept');
    await sql(t.app, 'update entries set wallet = $2 where round = $1 and index = 1', [id, wallet]);
    await sql(t.app, 'alter table entries enable trigger entries_kept');
  };
  const entry = (await readEntries(t.app.db, id))[1];
  await write(createWallet().address);
  return () => write(entry?.wallet ?? '');
}
const lookNow = (id: string) => sql(t.app, 'update rounds set look_at = app_now() where id = $1', [id]);

test('entries that are not those that were committed to are not drawn; once they are restored, they are', async () => {
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  const restore = await tamper(id);
  await eventually(async () => {
    const [row] = await sql<{ held: boolean }>(
      t.app,
      `select look_at > greatest(app_now(), beacon_due_at) + interval '10 seconds' as held from rounds where id = $1`,
      [id],
    );
    expect(row?.held).toBe(true);
  }, 30_000);
  expect((await storedRound(t, id)).state).toBe('committed');
  await restore();
  await lookNow(id);
  await untilState(t, id, 'finalized');
  await verified(t, id);
});

test('entries that nobody restores within a day make the round void', async () => {
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  await tamper(id);
  await sql(t.app, `update rounds set beacon_due_at = app_now() - interval '25 hours', look_at = app_now() where id = $1`, [id]);
  await untilState(t, id, 'void');
  const successor = await successorOf(id, 'entries-differ');
  await untilState(t, successor, 'finalized');
  await verified(t, successor);
});

test('a beacon round that cannot be had for a day makes the round void', async () => {
  await t.chain.control.beacon({ stopped: true });
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  await eventually(async () => {
    expect(await sql(t.app, 'select 1 from rounds where id = $1 and beacon_due_at < app_now()', [id])).toHaveLength(1);
  });
  await sql(t.app, `update rounds set beacon_due_at = beacon_due_at - interval '25 hours' where id = $1`, [id]);
  // One look that is in vain is not enough: it may be the network.
  await advanceRound(t.app, id);
  expect((await storedRound(t, id)).state).toBe('committed');
  await shift(120_000);
  await advanceRound(t.app, id);
  await untilState(t, id, 'void');
  await successorOf(id, 'no-beacon');
});
