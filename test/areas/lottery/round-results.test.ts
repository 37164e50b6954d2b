import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EntryProofView, FinalizedView, PayoutsOfRound, RootView, WinnerView, WinningNumbersView } from '#areas/lottery/results-schemas.ts';
import { createPayments, type PaymentRequest } from '#areas/payouts';
import { PublishedPayouts } from '#lib/draw/payout.ts';
import { verifyWithMerkletreejs } from '#lib/merkle.ts';
import { naiveLeaf, naiveNumbers, naiveRoot, naiveSeed, naiveWinners } from '#test/lib/draw/naive.ts';
import { addressOf, chatParameters, entriesOf, legacyParameters, uuidOf } from '#test/lib/draw/rounds.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { sql } from '#test/support/areas/boards.ts';
import { storeBatch } from '#test/support/areas/payout-rows.ts';
import { type StoredRound, storeRound } from '#test/support/areas/stored-rounds.ts';
import { randomSignature } from '#test/support/areas/tickets.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { send } from '#test/support/wallet.ts';

let t: TestApp;
const random = randomGenerator(91);
const [ONE, TWO] = [randomSignature(), randomSignature()];
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
  await store('committed', 21, { state: 'committed' });
  await store('finalized', 77, { ago: 60 });
  await store('older', 40, { ago: 600 }, { picks: 2, range: 9 });
  await store('unlucky', 1, { ago: 3_600 }, { picks: 1, range: 255, prizes: [{ place: 1, amount: '7', mint: addressOf('reward') }] });
  await store('empty', 0, { state: 'void' });
  const legacy = legacyParameters({ round: uuidOf('tickets') });
  rounds.tickets = await storeRound(t.app, legacy, entriesOf(legacy, 11, 4, random));
});
afterAll(() => t.close());

const get = (name: string, path: string, init?: RequestInit) => send(t, `/chat/round/${round(name).id}/${path}`, init);
const refusal = async (response: Promise<Response>) => {
  const { status, body } = await response.then(async (answer) => ({ status: answer.status, body: await answer.json() }));
  return [status, (body as { error: string }).error] as const;
};

test('the entries root and its algorithm are available when the entries are frozen', async () => {
  for (const name of ['frozen', 'committed', 'finalized']) {
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
  for (const name of ['frozen', 'finalized', 'older', 'unlucky']) {
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
    const { id, parameters, audit } = round(name);
    const answer = await get(name, 'winning-numbers');
    expect(answer.headers.get('cache-control')).toBe(FOREVER);
    const { numbers, proof } = await jsonOf(answer, WinningNumbersView);
    expect(numbers).toEqual(audit.draw?.numbers);
    const { seedFrom, beacon, commitment } = proof;
    expect(seedFrom).toMatchObject({ round: id, leaf: audit.commitment?.leaf });
    const seed = naiveSeed(seedFrom.round, seedFrom.leaf, seedFrom.chainHash, seedFrom.beaconRound, beacon.signature, seedFrom.blockhash);
    expect(proof.seed).toBe(seed.toString('hex'));
    if (parameters.kind === 'chat') expect(proof.drawn).toEqual(naiveNumbers(seed, parameters.picks, parameters.range));
    expect(proof.draws).toEqual(audit.draw?.draws);
    const { account, slot, at } = audit.commitment ?? {};
    expect(commitment).toEqual({ account, slot, at });
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

test('payouts show the status of each prize’s payment, and the finalized transaction with all members of its batch', async () => {
  const { id, audit } = round('finalized');
  const winners = audit.winners ?? [];
  expect(winners.length).toBe(3);
  // Without rows in `payments` the payouts are pending.
  const before = await jsonOf(get('finalized', 'payouts'), PayoutsOfRound);
  expect([before.status, before.signatures, before.batches]).toEqual(['pending', [], []]);
  const debts = winners.map(({ place, wallet, prize }): PaymentRequest => {
    return { wallet, currency: 'reward', amount: BigInt(prize.amount), cause: { kind: 'prize', id: `${id}:${place}` } };
  });
  const other = { wallet: addressOf('somebody'), currency: 'reward', amount: 9n, cause: { kind: 'test', id: 'other' } } as const;
  const owed = (await t.app.tx((tx) => createPayments(t.app, tx, [...debts, other]))).map((payment) => payment.id);
  const [first = '', second = '', third = '', last = ''] = owed;
  const pay = async (ids: string[], signature: string) => {
    const batch = await storeBatch(t.app, ids);
    await sql(t.app, `update payout_batches set state = 'paid', signature = $2, closed_at = app_now() where id = $1`, [batch.id, signature]);
    await sql(t.app, `update payments set state = 'completed', signature = $2, completed_at = app_now() where id = any($1::uuid[])`, [
      ids,
      signature,
    ]);
    return batch.id;
  };
  const one = await pay([first], ONE);
  await sql(t.app, `update payments set state = 'confirmed', signature = 'not final' where id = $1`, [second]);
  const half = await jsonOf(get('finalized', 'payouts'), PayoutsOfRound);
  expect([half.status, half.signatures]).toEqual(['pending', [ONE]]);
  expect(half.payouts.map(({ status, signature, batch }) => [status, signature, batch])).toEqual([
    ['completed', ONE, one],
    ['confirmed', null, null],
    ['pending', null, null],
  ]);
  expect(half.payouts.map(({ paymentId }) => paymentId)).toEqual([first, second, third]);
  await sql(t.app, `update payments set state = 'pending', signature = null where id = $1`, [second]);
  await pay([third, last, second], TWO);
  const done = await jsonOf(get('finalized', 'payouts'), PayoutsOfRound);
  expect(done).toMatchObject({ round: id, status: 'completed', signatures: [ONE, TWO] });
  expect(done.payouts).toMatchObject(
    winners.map(({ place, wallet, prize }) => ({ place, wallet, ...prize, prize: { amount: prize.amount, mint: 'reward', address: prize.mint } })),
  );
  expect(done.payouts.every(({ completedAt }) => completedAt !== null)).toBe(true);
  const members = done.batches.find(({ members: list }) => list.length === 3)?.members;
  expect(members?.map(({ paymentId, round: own, place }) => [paymentId, own, place])).toEqual([
    [third, id, 3],
    [last, null, null],
    [second, id, 2],
  ]);
  expect(PublishedPayouts.safeParse(done).success).toBe(true);
  expect(await jsonOf(get('unlucky', 'payouts'), PayoutsOfRound)).toMatchObject({ status: 'none', payouts: [], signatures: [] });
});

test('before a round is finalized its results are 404, and the error names the round’s state', async () => {
  for (const path of ['winning-numbers', 'winners', 'payouts']) {
    for (const name of ['pending', 'active', 'closing', 'committed'])
      expect(await refusal(get(name, path))).toEqual([404, expect.stringContaining(`round ${round(name).id} is ${name}`)]);
    expect(await refusal(get('frozen', path))).toEqual([404, expect.stringContaining('is closing')]);
    expect(await refusal(get('empty', path))).toEqual([404, expect.stringContaining('is void (no-entries) and has no')]);
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
      title: 'A round',
    });
  }
  const page = await send(t, '/chat/round/recent-finalized?limit=1&offset=1');
  expect(page.headers.get('x-total-count')).toBe('3');
  expect((await jsonOf(page, FinalizedView.array())).map(({ id }) => id)).toEqual([round('older').id]);
  expect(await refusal(send(t, '/chat/round/recent-finalized?limit=0'))).toEqual([400, expect.stringContaining('limit')]);
});
