import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { arcadeEvent } from '#areas/arcade/events.ts';
import { notification } from '#areas/social/events.ts';
import { publishTick } from '#platform/events/publisher.ts';
import { eventStreamKey } from '#platform/events/redis-stream.ts';
import { startTestApp } from '#test/support/app.ts';
import { testRedisSocket } from '#test/support/database.ts';
import { openEvents } from '#test/support/http/sse.ts';
import { openTcpProxy } from '#test/support/servers/tcp-proxy.ts';
import { publishEvents } from '#workers/publish-events.ts';

test('during an outage of Redis new streams get 503 and open streams stay open, and afterwards they continue without a gap', async () => {
  const redis = await openTcpProxy(testRedisSocket());
  const t = await startTestApp({ workers: false, env: { REDIS_URL: `redis://127.0.0.1:${redis.port}` } });
  const publisher = publishEvents(t.app);
  const notify = (text: string) => t.app.tx(async (tx) => tx.emit(notification, { text }));
  const client = await openEvents(t);
  try {
    await notify('before');
    await client.count(1);
    await redis.shut();
    let refused = await fetch(`${t.url}/events`);
    while (refused.status === 200) {
      await refused.body?.cancel();
      refused = await fetch(`${t.url}/events`);
    }
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).not.toBeNull();
    await notify('meanwhile');
    expect(client.isOpen).toBe(true);
    await redis.open();
    await client.count(2);
    await notify('after');
    await client.count(3);
    expect(client.values('text')).toEqual(['before', 'meanwhile', 'after']);
    const resumed = await client.reconnect({ lastEventId: client.messages[0]?.id ?? '' });
    await resumed.count(2);
    resumed.close();
    expect(resumed.values('text')).toEqual(['meanwhile', 'after']);
  } finally {
    client.close();
    await redis.open();
    await publisher.close();
    await t.close();
    await redis.close();
  }
});

test('a client that is replaying when Redis loses the end of the stream gets a reset', async () => {
  const t = await startTestApp({ workers: false });
  const key = eventStreamKey(t.app.config);
  const [startsAt, endsAt] = [new Date(0).toISOString(), new Date(1).toISOString()];
  const publish = async (count: number, payload: string) => {
    const one = (n: number) => ({ id: `event-${n}`, name: 'An event', startsAt, endsAt, payload });
    await t.app.tx(async (tx) =>
      tx.emitAll(
        arcadeEvent,
        Array.from({ length: count }, (_, n) => one(n)),
      ),
    );
    for (let again: number | null = 0; again !== null; again = await publishTick(t.app)) await sleep(again);
  };
  // Exceeds the socket buffers of a client that does not read.
  const long = 'x'.repeat(20_000);
  const first = await openEvents(t);
  try {
    await publish(1, 'a place to come back to');
    await first.count(1);
    await publish(10, long);
    const before = await t.app.redis.dumpBuffer(key);
    await publish(340, long);
    await first.count(351);
    const late = await openEvents(t, { lastEventId: first.messages[0]?.id ?? '', paused: true });
    await t.app.redis.restore(key, 0, before ?? '', 'REPLACE');
    await first.until('a reset', () => first.types.includes('reset'));
    late.resume();
    await late.until('a reset', () => late.types.includes('reset'));
    const places = late.messages.filter(({ event }) => event !== 'reset').map(({ id }) => Number(id.split(/[:-]/)[1]));
    expect(places.length).toBeGreaterThan(11);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    late.close();
  } finally {
    first.close();
    await t.close();
  }
}, 60_000);
