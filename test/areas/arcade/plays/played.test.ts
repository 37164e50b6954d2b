import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findWalletsThatPlayed } from '#areas/arcade';
import { newId } from '#lib/ids.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { createWallet } from '#test/support/wallet.ts';

const DAY_MS = 86_400_000;
const AT = Date.parse('2037-05-05T23:59:59.500Z');
/** The time of the row has microseconds, but windows have milliseconds. */
const INSTANT = `timestamptz '2037-05-05T23:59:59.5004Z'`;
const DAY = Math.floor(AT / DAY_MS);

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const insertScore = (status: string, batch: number | null) => (id: string, wallet: string) =>
  sql(
    t.app,
    `insert into scores (id, wallet, game_id, game_version, body_hash, score, normalized, points, personal_best, status, mode, day, at, batch)
     values ($1, $2, 'a-game', 1, '', 1, 1, 0, false, $3, 'regular', ${DAY}, ${INSTANT}, $4)`,
    [id, wallet, status, batch],
  );
const insertActivity = (kind: string) => (id: string, wallet: string) =>
  sql(
    t.app,
    `insert into activities (source_id, kind, wallet, day, at, batch, cause_day) values ($1, $3, $2, ${DAY}, ${INSTANT}, 1, cause_day($3, $1))`,
    [id, wallet, kind],
  );
const insertPlay = (id: string, wallet: string) =>
  sql(t.app, `insert into plays (id, wallet, game_id, started_at) values ($1, $2, 'a-game', ${INSTANT})`, [id, wallet]);

/** Returns the results for five windows around the time of one row: exactly its millisecond, after it, before it, around it, and around it for another wallet. */
async function findAround(insert: (id: string, wallet: string) => Promise<unknown>): Promise<number[]> {
  const [wallet, other] = [createWallet().address, createWallet().address];
  await insert(newId(), wallet);
  const windows = [
    { wallet, since: AT, until: AT + 1 },
    { wallet, since: AT + 1, until: AT + DAY_MS },
    { wallet, since: AT - DAY_MS, until: AT },
    { wallet, since: AT - 3 * DAY_MS, until: AT + 3 * DAY_MS },
    { wallet: other, since: AT - DAY_MS, until: AT + DAY_MS },
  ];
  return [...(await findWalletsThatPlayed(t.app.db, windows))].sort();
}

test.each([
  ['a play', insertPlay],
  ['a score that was accepted at once', insertScore('accepted', 1)],
  ['a voided score that was accepted at once', insertScore('voided', 1)],
  ['an activity of an accepted score', insertActivity('score')],
  ['an activity of a play of an earlier release', insertActivity('play')],
])('%s is found in a window that includes its begin and excludes its end', async (_, insert) => {
  expect(await findAround(insert)).toEqual([0, 3]);
});

test.each([
  ['a held score', insertScore('held', null)],
  ['a link of an account', insertActivity('link')],
])('%s is no play', async (_, insert) => {
  expect(await findAround(insert)).toEqual([]);
});
