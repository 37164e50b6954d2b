import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventReceipt, ScheduledThemeView } from '#areas/admin/schemas.ts';
import { applyDueThemes, beginDueEvents } from '#areas/arcade';
import { ArcadeState } from '#areas/events/schemas.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';
import { asAdmin } from '#test/support/areas/epochs.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(() => t.close());

const HOUR = 3_600_000;
const inHours = (hours: number) => new Date(t.clock.now().getTime() + hours * HOUR).toISOString();
const state = () => jsonOf(send(t, '/arcade/state'), ArcadeState);
const emitted = async (type: string) => (await sql(t.app, 'select from outbox where type = $1', [type])).length;
/** Runs the job of two workers at once. */
const runJobs = async () => {
  await Promise.all([applyDueThemes(t.app), applyDueThemes(t.app)]);
  await Promise.all([beginDueEvents(t.app), beginDueEvents(t.app)]);
};
const schedule = (patch: object, hours: number) => asAdmin(t, '/admin/theme/schedule', { json: { patch, startsAt: inHours(hours) } });

test('a scheduled event is active and broadcast, once, only from its start on', async () => {
  const event = await jsonOf(asAdmin(t, '/admin/event', { json: { name: 'parade', durationSec: 7_200, startsAt: inHours(1) } }), EventReceipt);
  await runJobs();
  expect([(await state()).activeEvents, await emitted('arcade_event')]).toEqual([[], 0]);
  expect(await (await asAdmin(t, '/admin/events')).json()).toEqual([event]);
  await t.clock.set(new Date(Date.parse(event.startsAt) + 1));
  await runJobs();
  expect([(await state()).activeEvents.map(({ id }) => id), await emitted('arcade_event')]).toEqual([[event.id], 1]);
  expect((await asAdmin(t, `/admin/events/${event.id}`, { method: 'DELETE' })).status).toBe(409);
  const cancelled = await jsonOf(asAdmin(t, '/admin/event', { json: { name: 'cancelled', startsAt: inHours(1) } }), EventReceipt);
  for (const status of [204, 404]) expect((await asAdmin(t, `/admin/events/${cancelled.id}`, { method: 'DELETE' })).status).toBe(status);
});

test('an event that ended while no worker ran is not broadcast', async () => {
  const before = await emitted('arcade_event');
  await asAdmin(t, '/admin/event', { json: { name: 'missed', durationSec: 60, startsAt: inHours(1) } });
  await t.clock.set(new Date(t.clock.now().getTime() + 2 * HOUR));
  await runJobs();
  expect(await emitted('arcade_event')).toBe(before);
});

test('scheduled changes of the theme are applied to the theme of their time, in order, once', async () => {
  const { themeVersion } = await state();
  const [late, early] = [await schedule({ font: 'late' }, 2), await schedule({ font: 'early', glow: true }, 1)];
  expect([late.status, early.status]).toEqual([201, 201]);
  const gone = await jsonOf(schedule({ font: 'cancelled' }, 1.5), ScheduledThemeView);
  for (const status of [204, 404]) expect((await asAdmin(t, `/admin/theme/schedule/${gone.id}`, { method: 'DELETE' })).status).toBe(status);
  await asAdmin(t, '/admin/theme', { json: { music: 'now' } });
  await runJobs();
  expect((await state()).themeVersion).toBe(themeVersion + 1);
  expect(await (await asAdmin(t, '/admin/theme/schedule')).json()).toMatchObject([
    { patch: { font: 'early' } },
    { patch: { font: 'late' }, by: 'admin-1', error: null },
  ]);
  await t.clock.set(new Date(t.clock.now().getTime() + 3 * HOUR));
  await runJobs();
  expect(await state()).toMatchObject({ themeVersion: themeVersion + 3, theme: { music: 'now', font: 'late', glow: true } });
  expect(await (await asAdmin(t, '/admin/theme/schedule')).json()).toEqual([]);
});

test('a scheduled change that makes the theme too large is kept with the reason, and later changes are applied', async () => {
  await schedule({ a: 'x'.repeat(40_000), b: 'x'.repeat(40_000) }, 1);
  await schedule({ font: 'after' }, 2);
  await t.clock.set(new Date(t.clock.now().getTime() + 3 * HOUR));
  await runJobs();
  expect((await state()).theme.font).toBe('after');
  expect(await (await asAdmin(t, '/admin/theme/schedule')).json()).toMatchObject([{ error: expect.stringMatching(/^the theme must be at most/) }]);
});
