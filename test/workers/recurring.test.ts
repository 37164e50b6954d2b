import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jobs } from '#jobs/index.ts';
import { QUEUES } from '#jobs/queues.ts';
import { schedule } from '#jobs/schedule.ts';
import { startTestApp, startWorker, type TestApp } from '#test/support/app.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { serveQueues } from '#workers/worker-pool.ts';

let t: TestApp;
const queueOf = (name: string) => {
  const queue = t.app.queues.all.get(name);
  if (!queue) throw new Error(`no such queue: ${name}`);
  return queue;
};
const schedulersOf = async (name: string) => (await queueOf(name).getJobSchedulers(0, 99)).map(({ key, every }) => ({ key, every }));

beforeAll(async () => {
  t = await startTestApp({ workers: false });
});
afterAll(async () => await t.close());

test('a worker registers every recurring job, again when a registration is lost, and removes the scheduler of a former release', async () => {
  await queueOf('maintenance').upsertJobScheduler('expire', { every: 60_000 }, { name: 'expire', data: {} });
  await queueOf('points').upsertJobScheduler('refresh-boards', { every: 999_000 }, { name: 'refresh-boards', data: {} });
  const worker = await startWorker(t.env, t.clock);
  try {
    await retryUntilPass(async () => {
      const registered = (await Promise.all(QUEUES.map(schedulersOf))).flat();
      const wanted = Object.entries(schedule).map(([key, every]) => ({ key: jobs[key as keyof typeof jobs].name, every }));
      const byKey = (a: { key: string }, b: { key: string }) => a.key.localeCompare(b.key);
      expect(registered.sort(byKey)).toEqual(wanted.sort(byKey));
    });
    // Redis may lose a registration. The worker counts them every 10 s.
    await queueOf('points').removeJobScheduler('refresh-boards');
    await retryUntilPass(async () => expect(await schedulersOf('points')).toContainEqual({ key: 'refresh-boards', every: 30_000 }));
  } finally {
    await worker.close();
  }
});

test('a worker refuses to start when QUEUES names an unknown queue', async () => {
  await expect(serveQueues(t.app, ['scores', 'upkeep'])).rejects.toThrow('QUEUES names unknown queues: upkeep');
});
