import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readEntries } from '#areas/lottery/entries.ts';
import { advanceRound } from '#areas/lottery/lifecycle/advance.ts';
import { closeRound } from '#areas/lottery/lifecycle/freeze.ts';
import { getRound } from '#areas/lottery/routes/rounds.ts';
import type { Entry } from '#lib/draw/entry.ts';
import { RoundParameters } from '#lib/draw/parameters.ts';
import { sql } from '#test/support/areas/boards.ts';
import { eventsOf, openRound, prizesOf, storedRound, verified } from '#test/support/areas/draws.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
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

/** Opens a round, enters it and closes it. */
async function frozenRound(entries = 3): Promise<string> {
  const id = await openRound(t, entries);
  await t.app.tx((tx) => closeRound(tx, id));
  return id;
}

/** Returns the fields of an entry that its successor must share. */
const contentOf = ({ wallet, numbers, source, messageId, at }: Entry) => ({ wallet, numbers, source, messageId, at });

/** Asserts that a void round has a successor with the same terms and entries. @returns the successor's id */
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

test('a commitment whose block came too late makes the round void, and a successor takes over its entries', async () => {
  // The database's clock is 60 s behind, so the chosen beacon round is already published when the block is made.
  await shift(-60_000);
  const id = await frozenRound();
  await untilState(t, id, 'void');
  await shift(0);
  let successor = await successorOf(id, 'late-block');
  expect(await eventsOf(t, id)).toEqual(['round_started', 'round_closed', 'round_void']);
  // The successor may also become void, if it was committed before the clock was corrected.
  await retryUntilPass(async () => {
    const { state, successor: next } = await storedRound(t, successor);
    successor = next ?? successor;
    if (state !== 'finalized') throw new Error(`the successor is ${state}`);
  }, 60_000);
  const audit = await verified(t, successor);
  expect(audit.winners).toHaveLength(2);
  expect(await prizesOf(t, successor)).toMatchObject(audit.winners?.map(({ wallet }) => ({ wallet })) ?? []);
  expect((await eventsOf(t, successor)).slice(0, 3)).toEqual(['round_closed', 'round_committed', 'round_finalized']);
});

test('while the beacon is unavailable a round waits; it is overdue after an hour and is drawn when the beacon returns', async () => {
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

/** Changes a stored entry despite the trigger that forbids it. @returns a function that restores the entry */
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
const makeDue = (id: string) => sql(t.app, 'update rounds set look_at = app_now() where id = $1', [id]);

test('a round whose entries differ from the committed ones is not drawn until they are restored', async () => {
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  const restore = await tamper(id);
  await retryUntilPass(async () => {
    const [row] = await sql<{ held: boolean }>(
      t.app,
      `select look_at > greatest(app_now(), beacon_due_at) + interval '10 seconds' as held from rounds where id = $1`,
      [id],
    );
    expect(row?.held).toBe(true);
  }, 30_000);
  expect((await storedRound(t, id)).state).toBe('committed');
  await restore();
  await makeDue(id);
  await untilState(t, id, 'finalized');
  await verified(t, id);
});

test('a round whose entries are not restored within a day becomes void', async () => {
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  await tamper(id);
  await sql(t.app, `update rounds set beacon_due_at = app_now() - interval '25 hours', look_at = app_now() where id = $1`, [id]);
  await untilState(t, id, 'void');
  const successor = await successorOf(id, 'entries-differ');
  await untilState(t, successor, 'finalized');
  await verified(t, successor);
});

test('a round becomes void when its beacon round is unavailable for a day', async () => {
  await t.chain.control.beacon({ stopped: true });
  const id = await frozenRound();
  await untilState(t, id, 'committed');
  await retryUntilPass(async () => {
    expect(await sql(t.app, 'select 1 from rounds where id = $1 and beacon_due_at < app_now()', [id])).toHaveLength(1);
  });
  await sql(t.app, `update rounds set beacon_due_at = beacon_due_at - interval '25 hours' where id = $1`, [id]);
  // One failed read is not enough, because the cause may be this process's network.
  await advanceRound(t.app, id);
  expect((await storedRound(t, id)).state).toBe('committed');
  await shift(120_000);
  await advanceRound(t.app, id);
  await untilState(t, id, 'void');
  await successorOf(id, 'no-beacon');
});
