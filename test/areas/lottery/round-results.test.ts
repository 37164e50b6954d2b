import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EntryProofView, FinalizedView, PayoutsOfRound, RootView, WinnerView, WinningNumbersView } from '#areas/lottery/results-schemas.ts';
import { createPayments, type PaymentRequest } from '#areas/payouts';
import { parametersHash } from '#lib/draw/parameters.ts';
import { verifyWithMerkletreejs } from '#lib/merkle.ts';
import { naiveLeaf, naiveNumbers, naiveRoot, naiveSeed, naiveWinners } from '#test/lib/draw/naive.ts';
import { addressOf, chatParameters, entriesOf, legacyParameters, uuidOf } from '#test/lib/draw/rounds.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { sql } from '#test/support/areas/boards.ts';
import { type StoredRound, storeRound } from '#test/support/areas/stored-rounds.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
const random = randomGenerator(91);
const FOREVER = 'public, max-age=31536000, immutable';
const rounds: Record<string, StoredRound> = {};
const round = (name: string): StoredRound => {
  const found = rounds[name];
  if (!found) throw new Error(`there is no round ${name}`);
  return found;
};

/** Stores one round per state. The finalized rounds ended at different times. */
beforeAll(async () => {
  t = await startTestApp({ workers: false });
  const store = async (name: string, count: number, options: Parameters<typeof storeRound>[3], over = {}) => {
    const parameters = chatParameters({ round: uuidOf(name), ...over });
    rounds[name] = await storeRound(t.app, parameters, entriesOf(parameters, count, Math.max(1, Math.ceil(count / 2)), random), options);
  };
  await store('pending', 0, { state: 'pending' });
  await store('active', 12, { state: 'active' });
  await store('closing', 9, { state: 'closing', tree: false });
  await store('frozen', 9, { state: 'closing' });
  await store('committed', 21, { state: 'committed', sequence: 4 });
  await store('finalized', 77, { ago: 60, sequence: 1 });
  await store('older', 40, { ago: 600, sequence: 2 }, { picks: 2, range: 9 });
  await store('unlucky', 1, { ago: 3_600, sequence: 3 }, { picks: 1, range: 255, prizes: [{ amount: '7', mint: addressOf('reward') }] });
  await store('empty', 0, { state: 'void', voidReason: 'no-entries' });
  await store('late', 5, { state: 'void', voidReason: 'no-beacon', sequence: 5 });
  const legacy = legacyParameters({ round: uuidOf('tickets') });
  rounds.tickets = await storeRound(t.app, legacy, entriesOf(legacy, 11, 4, random), { sequence: 6 });
});
afterAll(() => t.close());

const get = (name: string, path: string, init?: RequestInit) => send(t, `/chat/round/${round(name).id}/${path}`, init);
const refusal = async (response: Promise<Response>) => {
  const { status, body } = await response.then(async (answer) => ({ status: answer.status, body: await answer.json() }));
  return [status, (body as { error: string }).error] as const;
};

test('the entries root and its algorithm are available when the entries are frozen', async () => {
  for (const name of ['frozen', 'committed', 'finalized', 'late']) {
    const answer = await get(name, 'entries/root');
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, FOREVER]);
    const { root, count, algorithm } = await jsonOf(answer, RootView);
    expect([root, count, algorithm.hash]).toEqual([naiveRoot(round(name).id, round(name).entries), round(name).entries.length, 'sha256']);
  }
  for (const [name, state] of [
    ['pending', 'is pending'],
    ['active', 'is active'],
    ['closing', 'is closing'],
    ['empty', 'is void (no-entries) and has no'],
  ] as const) {
    expect(await refusal(get(name, 'entries/root'))).toEqual([404, expect.stringContaining(state)]);
  }
});

test('the proof of every entry leads to the root, as verified by merkletreejs', async () => {
  for (const name of ['frozen', 'finalized', 'older', 'unlucky', 'late']) {
    const { id, entries, entryId } = round(name);
    const root = Buffer.from(naiveRoot(id, entries), 'hex');
    await Promise.all(
      entries.map(async (entry) => {
        const shown = await jsonOf(get(name, `entries/${entryId(entry.index)}/proof`), EntryProofView);
        expect(shown).toMatchObject({ entry: { ...entry, id: entryId(entry.index) }, index: entry.index, root: root.toString('hex') });
        expect(shown.leaf).toBe(naiveLeaf(id, entry).toString('hex'));
        const proof = shown.proof.map((sibling) => Buffer.from(sibling, 'hex'));
        expect(verifyWithMerkletreejs(root, naiveLeaf(id, entry), proof)).toBe(true);
      }),
    );
  }
});

test('a proof is 404 before the freeze and for an entry of another round', async () => {
  const entry = (name: string, index = 0) => `entries/${round(name).entryId(index)}/proof`;
  expect(await refusal(get('active', entry('active')))).toEqual([404, expect.stringContaining('is active')]);
  expect(await refusal(get('closing', entry('closing')))).toEqual([404, expect.stringContaining('is closing')]);
  expect(await refusal(get('finalized', entry('older')))).toEqual([404, expect.stringContaining(`has no entry ${round('older').entryId(0)}`)]);
  expect(await refusal(get('finalized', `entries/${uuidOf('nothing')}/proof`))).toEqual([404, expect.stringContaining('has no entry')]);
  expect(await refusal(get('finalized', 'entries/5/proof'))).toEqual([404, expect.stringContaining('entryId')]);
});

test('the winning numbers can be recomputed from the seed, and the seed from published values', async () => {
  for (const name of ['finalized', 'older', 'unlucky']) {
    const { id, parameters, audit, entries } = round(name);
    const answer = await get(name, 'winning-numbers');
    expect(answer.headers.get('cache-control')).toBe(FOREVER);
    const { numbers, proof } = await jsonOf(answer, WinningNumbersView);
    expect(numbers).toEqual(audit.draw?.numbers);
    const { seedFrom, beacon, commitment } = proof;
    expect(seedFrom).toMatchObject({ round: id, entriesRoot: naiveRoot(id, entries), parametersHash: parametersHash(parameters) });
    const { entriesRoot: root, ...from } = seedFrom;
    const seed = naiveSeed({ ...from, root, sequence: 0, count: 0, previous: '' }, beacon.signature, seedFrom.blockhash);
    expect(proof.seed).toBe(seed.toString('hex'));
    if (parameters.kind === 'chat') expect(proof.drawn).toEqual(naiveNumbers(seed, parameters.picks, parameters.range));
    expect(proof.draws).toEqual(audit.draw?.draws);
    expect(commitment).toMatchObject({ memo: audit.commitment?.memo, signature: audit.commitment?.signature, slot: audit.commitment?.slot });
  }
});

test('winners are listed by place with their prize and entry', async () => {
  for (const name of ['finalized', 'older', 'unlucky']) {
    const { parameters, entries, audit, entryId } = round(name);
    const winners = await jsonOf(get(name, 'winners'), WinnerView.array());
    const seed = Buffer.from(audit.draw?.seed ?? '', 'hex');
    expect(winners.map(({ entryIndex }) => entryIndex)).toEqual(naiveWinners(seed, parameters, entries));
    expect(winners.map(({ entryIndex, entryId: own }) => own === entryId(entryIndex))).toEqual(winners.map(() => true));
    const due = (audit.winners ?? []).map(({ place, wallet, index, matches, prize }) => ({
      ...{ place, wallet, entryIndex: index, matches },
      prize: { amount: prize.amount, mint: 'reward', address: prize.mint },
    }));
    expect(winners).toMatchObject(due);
  }
  expect(await jsonOf(get('unlucky', 'winners'), WinnerView.array())).toEqual([]);
});

test('payouts show the status and the transaction of each prize’s payment', async () => {
  const { id, audit } = round('finalized');
  const winners = audit.winners ?? [];
  expect(winners.length).toBe(3);
  // Without rows in `payments` the payouts are pending.
  const before = await jsonOf(get('finalized', 'payouts'), PayoutsOfRound);
  expect([before.status, before.signatures]).toEqual(['pending', []]);
  const debts = winners.map(({ place, wallet, prize }): PaymentRequest => {
    return { wallet, currency: 'reward', amount: BigInt(prize.amount), cause: { kind: 'prize', id: `${id}:${place}` } };
  });
  const owed = await t.app.tx((tx) => createPayments(t.app, tx, debts));
  const pay = (ids: string[], state: string, signature: string | null) =>
    sql(t.app, `update payments set state = $2, signature = $3, completed_at = case $2 when 'completed' then app_now() end where id = any($1)`, [
      ...[ids, state, signature],
    ]);
  const [first, ...others] = owed.map((payment) => payment.id);
  await pay([first ?? ''], 'completed', addressOf('one'));
  const half = await jsonOf(get('finalized', 'payouts'), PayoutsOfRound);
  expect([half.status, half.signatures]).toEqual(['pending', [addressOf('one')]]);
  expect(half.payouts.map(({ status }) => status)).toEqual(['completed', 'pending', 'pending']);
  expect(half.payouts.map(({ paymentId }) => paymentId)).toEqual(owed.map((payment) => payment.id));
  await pay(others, 'completed', addressOf('two'));
  const done = await jsonOf(get('finalized', 'payouts'), PayoutsOfRound);
  expect(done).toMatchObject({ round: id, status: 'completed', signatures: [addressOf('one'), addressOf('two')] });
  expect(done.payouts).toMatchObject(
    winners.map(({ place, wallet, prize }) => ({ place, wallet, prize: { amount: prize.amount, mint: 'reward', address: prize.mint } })),
  );
  expect(done.payouts.every(({ completedAt }) => completedAt !== null)).toBe(true);
  expect(await jsonOf(get('unlucky', 'payouts'), PayoutsOfRound)).toMatchObject({ status: 'none', payouts: [], signatures: [] });
});

test('before a round is finalized its results are 404, and the error names the round’s state', async () => {
  for (const path of ['winning-numbers', 'winners', 'payouts']) {
    for (const name of ['pending', 'active', 'closing', 'committed'])
      expect(await refusal(get(name, path))).toEqual([404, expect.stringContaining(`round ${round(name).id} is ${name}`)]);
    expect(await refusal(get('frozen', path))).toEqual([404, expect.stringContaining('is closing')]);
    expect(await refusal(get('late', path))).toEqual([404, expect.stringContaining('is void (no-beacon) and has no')]);
  }
});

test('an unknown round, a round of the other kind and a malformed id are 404', async () => {
  const entry = uuidOf('an entry');
  for (const path of [
    'entries',
    'entries?format=ndjson',
    'entries/root',
    `entries/${entry}/proof`,
    'audit',
    'winning-numbers',
    'winners',
    'payouts',
  ]) {
    for (const id of [uuidOf('nobody knows'), round('tickets').id]) {
      expect(await refusal(send(t, `/chat/round/${id}/${path}`))).toEqual([404, `there is no chat round ${id}`]);
    }
    expect(await refusal(send(t, `/chat/round/${round('finalized').id.toUpperCase()}/${path}`))).toEqual([
      404,
      'no such resource: id must be a UUID in lower case',
    ]);
  }
  for (const path of ['entries', 'entries?format=ndjson', 'audit']) {
    for (const id of [uuidOf('nobody knows'), round('finalized').id]) {
      expect(await refusal(send(t, `/round/${id}/${path}`))).toEqual([404, `there is no legacy round ${id}`]);
    }
    expect(await refusal(send(t, `/round/17/${path}`))).toEqual([404, 'no such resource: id must be a UUID in lower case']);
  }
});

test('finalized rounds are listed newest first, page by page', async () => {
  const answer = await send(t, '/chat/round/recent-finalized');
  expect(answer.headers.get('x-total-count')).toBe('3');
  const listed = await jsonOf(answer, FinalizedView.array());
  expect(listed.map(({ id }) => id)).toEqual(['finalized', 'older', 'unlucky'].map((name) => round(name).id));
  for (const [i, name] of ['finalized', 'older', 'unlucky'].entries()) {
    const { audit, entries } = round(name);
    expect(listed[i]).toMatchObject({
      numbers: audit.draw?.numbers,
      entries: entries.length,
      winners: audit.winners?.length,
      sequence: audit.commitment?.sequence,
      title: 'A round',
    });
  }
  const page = await send(t, '/chat/round/recent-finalized?limit=1&offset=1');
  expect(page.headers.get('x-total-count')).toBe('3');
  expect((await jsonOf(page, FinalizedView.array())).map(({ id }) => id)).toEqual([round('older').id]);
  expect(await refusal(send(t, '/chat/round/recent-finalized?limit=0'))).toEqual([400, expect.stringContaining('limit')]);
});
