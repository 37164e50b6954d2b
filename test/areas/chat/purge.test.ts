import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { purgeChat } from '#areas/chat';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { sql } from '#test/support/areas/boards.ts';

let t: TestApp;
const texts = async () => (await sql<{ text: string }>(t.app, 'select text from chat_messages order by seq')).map(({ text }) => text);

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  await sql(
    t.app,
    `insert into chat_messages (id, source, wallet, text, entry, at)
     select gen_random_uuid(), 'chat', 'wallet', text, case when text like '%entry%' then gen_random_uuid() end, app_now() - make_interval(days => days)
     from (values ('old', 31), ('old entry', 31), ('new', 29)) m(text, days)`,
  );
});
afterAll(() => t?.close());

test('chat messages older than the given days are deleted, and messages that made entries of rounds are kept', async () => {
  expect(await t.app.tx((tx) => purgeChat(tx, 30))).toBe(false);
  expect(await texts()).toEqual(['old entry', 'new']);
});

test('0 days keep all chat messages', async () => {
  await t.app.tx((tx) => purgeChat(tx, 0));
  expect(await texts()).toEqual(['old entry', 'new']);
});
