import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { z } from 'zod';
import { expire } from '../../jobs/upkeep.ts';
import { statement } from '../../src/db/sql.ts';
import { reply, route } from '../../src/http/route.ts';
import { startOperations } from '../../src/http/operations.ts';
import { answerOf, type Kit, startKit } from '../support/kit.ts';
import { openGate, type Gate } from '../support/gate.ts';
import { testRedisUrl } from '../support/database.ts';

const one = statement<{ one: number }>('test_one', 'select 1 as one');
const Done = { 200: z.object({}) };
const touch = (path: string, handler: Parameters<typeof route<'public', typeof Done>>[0]['handler']) =>
  route({ method: 'get', path, auth: 'public', summary: 'Touches a dependency', returns: Done, fails: [], handler });

const routes = [
  touch('/sql', async ({ app }) => {
    await app.db.query(one);
    return reply(200, {});
  }),
  touch('/tx', async ({ app }) => {
    await app.tx((tx) => tx.query(one));
    return reply(200, {});
  }),
  touch('/redis', async ({ app }) => {
    await app.redis.get('nothing');
    return reply(200, {});
  }),
  touch('/queue', async ({ app }) => {
    await app.queues.add([{ job: expire, payload: {} }]);
    return reply(200, {});
  }),
  touch('/nothing', async () => reply(200, {})),
];

const UNAVAILABLE = { status: 503, body: { error: 'a dependency of the service is not available, try again' } };
const CLOSED = { DATABASE_URL: 'postgresql://127.0.0.1:1/none', REDIS_URL: 'redis://127.0.0.1:1' };

/** Answers within two seconds with 503 and when to come back. */
async function expectUnavailable(url: string): Promise<void> {
  const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  expect(response.headers.get('Retry-After')).toBe('1');
  expect(await answerOf(response)).toEqual(UNAVAILABLE);
}

describePair('when PostgreSQL and Redis were never there', () => startKit(routes, { env: CLOSED }));

function describePair(when: string, start: () => Promise<Kit>): void {
  let kit: Kit;
  beforeAll(async () => {
    kit = await start();
  });
  afterAll(() => kit.close());
  for (const path of ['/sql', '/tx', '/redis', '/queue']) {
    test(`${when}, ${path} is 503 within two seconds`, () => expectUnavailable(`${kit.url}${path}`));
  }
}
