import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { gameState } from '#areas/arcade/events.ts';
import { notification } from '#areas/social/events.ts';
import { statement } from '#platform/db/sql.ts';
import { purgeOutbox } from '#platform/events/outbox.ts';
import { eventStreamKey } from '#platform/events/redis-stream.ts';
import { startApi } from '#test/support/api.ts';
import { startTestApp, startWorker, type TestApp } from '#test/support/app.ts';
import { openEvents, type SseClient, type SseOptions } from '#test/support/http/sse.ts';
import { publishEvents } from '#workers/publish-events.ts';

let t: TestApp;
const closing: { close(): Promise<void> | void }[] = [];
const closeLater = <T extends { close(): Promise<void> | void }>(thing: T) => {
  closing.push(thing);
  return thing;
};
const open = async (options?: SseOptions) => {
  const client = closeLater(await openEvents(t, options));
  await client.until('the stream', () => client.comments.length > 0);
  return client;
};
const publish = () => closeLater(publishEvents(t.app));

beforeEach(async () => {
  t = await startTestApp({ workers: false });
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map((thing) => thing.close()));
  await t.close();
});

const notify = (...texts: string[]) =>
  t.app.tx(async (tx) => {
    for (const text of texts) tx.emit(notification, { text });
  });
const texts = (client: SseClient) => client.values('text', 'notification');

const insertRow = statement(`test_insert_row`, `insert into outbox (type, payload) values ('notification', jsonb_build_object('text', $1::text))`);
const numberRows = statement(
  'test_number_rows',
  `with numbered as (
     update outbox set publication = c.publication + n from (select id, row_number() over (order by id) as n from outbox where publication is null) as u, outbox_counter as c
     where outbox.id = u.id returning outbox.publication)
   update outbox_counter set publication = greatest(publication, (select max(publication) from numbered))`,
);
const countRows = statement<{ rows: number; numbered: number }>(
  'test_count_rows',
  'select count(*)::int as rows, count(publication)::int as numbered from outbox',
);
const forgetEvents = statement('test_forget_events', 'with gone as (delete from outbox) update outbox_counter set publication = 1, appended = 1');

test('with several publishers and writers, all subscribers see every event once and in one order, which keeps the order of each writer', async () => {
  publish();
  publish();
  closeLater(await startWorker({ ...t.env }));
  const subscribers = [await open(), await open(), await open({ query: 'categories=gameplay' })];
  const [first, second, gameplay] = subscribers;
  const writers = 12;
  const each = 25;
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let n = 0; n < each; n++) {
        await t.app.tx(async (tx) => {
          // Takes an id now, so that ids and commits have different orders.
          if (n % 3 === 0) await tx.query(insertRow, [`w${writer}:${n}`]);
          else tx.emit(notification, { text: `w${writer}:${n}` });
          tx.emit(gameState, { gameId: `w${writer}`, version: n });
          await sleep(Math.random() * 12);
        });
      }
    }),
  );
  await first?.count(2 * writers * each);
  await second?.count(2 * writers * each);
  await gameplay?.count(writers * each);
  expect(second?.messages).toEqual(first?.messages);
  expect(gameplay?.messages).toEqual(first?.messages.filter((message) => message.event === 'game_state'));
  for (let writer = 0; writer < writers; writer++) {
    const own = first?.messages.filter((m) => m.data.gameId === `w${writer}` || `${m.data.text}`.startsWith(`w${writer}:`)) ?? [];
    const expected = Array.from({ length: each }, (_, n) => n);
    expect(own.filter((m) => m.event === 'game_state').map((m) => m.data.version)).toEqual(expected);
    expect(own.filter((m) => m.event === 'notification').map((m) => m.data.text)).toEqual(expected.map((n) => `w${writer}:${n}`));
  }
}, 60_000);

test('an event that commits after later events were published is published too', async () => {
  publish();
  const client = await open();
  await t.app.tx(async (tx) => {
    await tx.query(insertRow, ['slow']);
    await notify('fast');
    await client.count(1);
  });
  await client.count(2);
  expect(texts(client)).toEqual(['fast', 'slow']);
});

test('events that a killed publisher numbered but did not publish are published once by the next publisher', async () => {
  const first = publish();
  const client = await open();
  await notify('1');
  await client.count(1);
  await first.close();
  await notify('2', '3');
  await t.app.tx((tx) => tx.query(numberRows));
  await notify('4');
  publish();
  publish();
  await client.count(4);
  await notify('5');
  await client.count(5);
  expect(texts(client)).toEqual(['1', '2', '3', '4', '5']);
});

test('after Redis is restored from an older dump, the publisher appends the missing events', async () => {
  publish();
  const key = eventStreamKey(t.app.config);
  const client = await open();
  await notify('1', '2');
  await client.count(2);
  const dump = await t.app.redis.dumpBuffer(key);
  await notify('3');
  await notify('4');
  await client.count(4);
  const { lastEventId } = client;
  await t.app.redis.restore(key, 0, dump, 'REPLACE');
  await notify('5');
  await client.count(5);
  expect(texts(client)).toEqual(['1', '2', '3', '4', '5']);
  const old = await open({ lastEventId: client.messages[1]?.id ?? '' });
  await old.count(3);
  expect(texts(old)).toEqual(['3', '4', '5']);
  const recent = await open({ lastEventId });
  await recent.count(1);
  expect(texts(recent)).toEqual(['5']);
});

test('after Redis lost the stream, a new one begins, and open and returning clients get a reset', async () => {
  publish();
  const client = await open();
  await notify('1');
  await client.count(1);
  const [before] = client.messages;
  await t.app.redis.unlink(eventStreamKey(t.app.config));
  await client.count(2);
  await notify('2');
  await client.count(3);
  expect(client.types).toEqual(['notification', 'reset', 'notification']);
  expect(texts(client)).toEqual(['1', '2']);
  const old = await open({ lastEventId: before?.id ?? '' });
  await old.count(1);
  expect(old.types).toEqual(['reset']);
  const known = await open({ lastEventId: client.messages[1]?.id ?? '' });
  await known.count(1);
  expect(texts(known)).toEqual(['2']);
});

test('after a restore from a dump that is older than the outbox, a new stream begins with a reset', async () => {
  publish();
  const key = eventStreamKey(t.app.config);
  const client = await open();
  await notify('1');
  await client.count(1);
  const dump = await t.app.redis.dumpBuffer(key);
  for (const n of [2, 3, 4]) {
    await notify(`${n}`);
    await client.count(n);
  }
  await t.clock.set(new Date(t.clock.now().getTime() + 2 * 3_600_000));
  await t.app.tx(purgeOutbox);
  await t.app.redis.restore(key, 0, dump, 'REPLACE');
  await notify('5');
  await client.until('a reset', () => client.types.includes('reset'));
  await notify('6');
  await client.until('the last', () => texts(client).includes('6'));
  expect(texts(client)).toEqual(['1', '2', '3', '4', '5', '6'].filter((text) => texts(client).includes(text)));
  expect(client.types.slice(0, 5)).toEqual(['notification', 'notification', 'notification', 'notification', 'reset']);
});

test('after the database is restored from an older backup, clients get a reset', async () => {
  publish();
  const client = await open();
  for (let i = 0; i < 5; i++) {
    await notify(`${i}`);
    await client.count(i + 1);
  }
  await t.app.tx((tx) => tx.query(forgetEvents));
  await client.until('a reset', () => client.types.includes('reset'));
  await notify('again');
  await client.count(7);
  expect(client.types.slice(5)).toEqual(['reset', 'notification']);
});

test('published rows are purged after an hour, and unpublished rows stay', async () => {
  const publisher = publish();
  const client = await open();
  for (let i = 0; i < 4; i++) {
    await notify(`${i}`);
    await client.count(i + 1);
  }
  await publisher.close();
  await notify('numbered');
  await t.app.tx((tx) => tx.query(numberRows));
  await notify('unnumbered');
  expect(await t.app.tx(purgeOutbox)).toBe(false);
  expect(await t.app.db.query(countRows)).toEqual([{ rows: 6, numbered: 5 }]);
  await t.clock.set(new Date(t.clock.now().getTime() + 61 * 60_000));
  await t.app.tx(purgeOutbox);
  const [left] = await t.app.db.query(countRows);
  expect(left?.rows).toBeLessThanOrEqual(3);
  publish();
  await client.count(6);
  expect(texts(client)).toEqual(['0', '1', '2', '3', 'numbered', 'unnumbered']);
});

test('a clock that is set back does not delay events', async () => {
  publish();
  const client = await open();
  await notify('now');
  await client.count(1);
  await t.clock.set(new Date(t.clock.now().getTime() - 86_400_000));
  await notify('yesterday');
  await client.count(2);
  expect(Date.parse(`${client.messages[1]?.data.at}`)).toBeLessThan(Date.parse(`${client.messages[0]?.data.at}`));
});

test('a client whose missed events were trimmed gets a reset, also from another process', async () => {
  publish();
  const client = await open();
  for (let i = 0; i < 3; i++) {
    await notify(`${i}`);
    await client.count(i + 1);
  }
  await t.app.redis.xtrim(eventStreamKey(t.app.config), 'MAXLEN', 1);
  const other = closeLater(await startApi(t.env, t.clock));
  const old = closeLater(await openEvents(other, { lastEventId: client.messages[0]?.id ?? '' }));
  const newest = closeLater(await openEvents(other, { lastEventId: client.messages[2]?.id ?? '' }));
  await old.count(1);
  expect(old.types).toEqual(['reset']);
  await notify('3');
  await newest.count(1);
  await old.count(2);
  expect(texts(newest)).toEqual(['3']);
  expect(texts(old)).toEqual(['3']);
});
