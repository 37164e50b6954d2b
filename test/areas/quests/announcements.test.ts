import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { announceDueQuests } from '#areas/quests';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { asAdmin } from '#test/support/areas/quests.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const TERMS = { title: 'Play', requirement: { type: 'plays', count: 1 }, points: 10 };
const create = (id: string, terms: object = {}, headers: Record<string, string> = {}) =>
  asAdmin(t, '/quests', { json: { id, ...TERMS, ...terms }, headers });
const patch = (id: string, json: object) => asAdmin(t, `/quests/${id}`, { method: 'PATCH', json });
const remove = (id: string) => asAdmin(t, `/quests/${id}`, { method: 'DELETE' });
const inMs = (ms: number) => new Date(t.clock.now().getTime() + ms).toISOString();
const eventsOf = async (id: string) =>
  (
    await sql<{ type: string; payload: { version?: number } }>(
      t.app,
      `select type, payload from outbox where type in ('quest_published', 'quest_changed', 'quest_withdrawn') and payload ->> 'questId' = $1 order by id`,
      [id],
    )
  ).map(({ type, payload: { version } }) => (version === undefined ? type : `${type} ${version}`));

test('a new quest is published once, with the fields that a client shows', async () => {
  for (let i = 0; i < 2; i++) expect((await create('fresh', {}, { 'Idempotency-Key': 'fresh' })).status).toBe(201);
  expect(await eventsOf('fresh')).toEqual(['quest_published 1']);
  expect(await sql(t.app, `select wallet, payload from outbox where type = 'quest_published' and payload ->> 'questId' = 'fresh'`)).toEqual([
    {
      wallet: null,
      payload: { questId: 'fresh', version: 1, title: 'Play', category: 'general', points: 10, task: false, repeat: 'once', burnEventId: null },
    },
  ]);
});

test('a change, a deactivation, an activation and a deletion are announced; a patch without effect and a refused request are not', async () => {
  await create('changing');
  await patch('changing', { points: 20 });
  await patch('changing', { points: 20 });
  await patch('changing', { points: -1 });
  await patch('changing', { active: false });
  await patch('changing', { points: 30 });
  await patch('changing', { active: true });
  expect((await remove('changing')).status).toBe(204);
  expect((await remove('changing')).status).toBe(404);
  expect(await eventsOf('changing')).toEqual(['quest_published 1', 'quest_changed 2', 'quest_withdrawn', 'quest_published 5', 'quest_withdrawn']);
});

test('a quest that was never listed is announced neither at its creation nor at its deletion', async () => {
  await create('hidden', { active: false });
  await remove('hidden');
  await announceDueQuests(t.app);
  expect(await eventsOf('hidden')).toEqual([]);
});

test('the begin and the end of the window are announced once, also by concurrent jobs', async () => {
  await create('scheduled', { window: { startsAt: inMs(60_000), endsAt: inMs(120_000) } });
  await announceDueQuests(t.app);
  expect(await eventsOf('scheduled')).toEqual([]);
  for (const expected of [['quest_published 1'], ['quest_published 1', 'quest_withdrawn']]) {
    await t.clock.set(new Date(t.clock.now().getTime() + 61_000));
    await Promise.all(Array.from({ length: 4 }, () => announceDueQuests(t.app)));
    expect(await eventsOf('scheduled')).toEqual(expected);
  }
});

test('the quests of the seed count as announced', async () => {
  await announceDueQuests(t.app);
  expect(await eventsOf('clip-upload')).toEqual([]);
});
