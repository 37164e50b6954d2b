import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { EntryProofView } from '#areas/lottery/results-schemas.ts';
import { entryLeaf, entryLine, verifyEntry } from '#lib/draw/entry.ts';
import { chatParameters, entriesOf } from '#test/lib/draw/rounds.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { type StoredRound, storeRound } from '#test/support/areas/stored-rounds.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

const ENTRIES = 100_000;
let t: TestApp;
let round: StoredRound;

beforeAll(async () => {
  t = await startTestApp({ workers: false });
  const parameters = chatParameters({ maxEntriesPerWallet: 1_000 });
  round = await storeRound(t.app, parameters, entriesOf(parameters, ENTRIES, 500, randomGenerator(93)));
});
afterAll(() => t.close());

const hashOf = (chunks: Iterable<string>) => {
  const hash = createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
};
async function received(path: string): Promise<string> {
  const { body } = await send(t, `/chat/round/${round.id}/${path}`);
  const hash = createHash('sha256');
  for await (const chunk of body ?? []) hash.update(chunk);
  return hash.digest('hex');
}

test('the files of a round with 100,000 entries are complete', async () => {
  expect(await received('entries?format=ndjson')).toBe(hashOf(round.entries.map((entry) => `${entryLine(entry)}\n`)));
  const entryHashes = round.entries.map((entry) => entryLeaf(round.id, entry));
  expect(await received('audit')).toBe(hashOf([JSON.stringify({ ...round.audit, entryHashes })]));
});

test('a proof among 100,000 entries reads 32 bytes of each level', async () => {
  const query = jest.spyOn(t.app.db, 'query');
  for (const index of [0, 1, 4_095, 65_536, 98_303, 98_304, ENTRIES - 1]) {
    query.mockClear();
    const shown = await jsonOf(send(t, `/chat/round/${round.id}/entries/${round.entryId(index)}/proof`), EntryProofView);
    expect(query).toHaveBeenCalledTimes(1);
    const { id: _id, ...entry } = shown.entry;
    expect([entry, shown.root]).toEqual([round.entries[index], round.audit.entries.root]);
    expect(verifyEntry(shown.root, round.id, entry, shown.proof)).toBe(true);
  }
  query.mockRestore();
});

/** Requests a file, reads its beginning, and then stops reading. */
async function stalled(path: string): Promise<IncomingMessage> {
  const [response] = (await once(get(`${t.url}/chat/round/${round.id}/${path}`), 'response')) as [IncomingMessage];
  await once(response, 'readable');
  response.read(1);
  return response;
}

test('a slow client stops the reading of further chunks, and a disconnected client ends it', async () => {
  const query = jest.spyOn(t.app.db, 'query');
  const asked = () => query.mock.calls.filter(([{ name }]) => name === 'select_entry_lines').length;
  const response = await stalled('entries?format=ndjson');
  let before = -1;
  // Waits until the buffers between the database and the client are full.
  await retryUntilPass(() => {
    const now = asked();
    const isStill = now === before;
    before = now;
    if (!isStill) throw new Error(`${now} chunks were read, and reading continues`);
  });
  expect(before).toBeLessThan(ENTRIES / 2_000);
  response.destroy();
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(asked()).toBeLessThanOrEqual(before + 1);
  query.mockRestore();
  // Only this client's response is aborted; the server still answers others.
  expect((await send(t, `/chat/round/${round.id}/entries/root`)).status).toBe(200);
});
