import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { checkTicket, refreshDenyList } from '#areas/lottery';
import { getExclusion, getTerms, postExclusion, postTerms } from '#areas/lottery/restrictions/routes.ts';
import { sql } from '#test/support/areas/boards.ts';
import { startRound } from '#test/support/areas/draws.ts';
import { startRoundsTest } from '#test/support/areas/rounds.ts';
import { newPayer, openRound, payFor, randomSignature, refundsOf, requestTicket, storedTickets, untilFinal } from '#test/support/areas/tickets.ts';
import { clientOf } from '#test/support/http/client.ts';
import type { RewardsTest } from '#test/support/solana/claims.ts';
import { createWallet, type SignedIn, signIn } from '#test/support/wallet.ts';

const TERMS = { version: '2026-11', url: 'https://arcade.example/terms' };
const DAY_MS = 86_400_000;

let t: RewardsTest;
let folder: string;
let creator: SignedIn;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'deny-list-'));
  const env = { DENY_LIST: join(folder, 'wallets.txt'), TERMS_VERSION: TERMS.version, TERMS_URL: TERMS.url };
  // Without workers, the tests decide when a payment is checked.
  t = await startRoundsTest({ workers: false, env });
  creator = await signIn(t);
});
afterAll(async () => {
  await t?.close();
  await rm(folder, { recursive: true });
});

const deny = async (...wallets: string[]) => {
  // A list has at least one wallet.
  await writeFile(join(folder, 'wallets.txt'), [createWallet().address, ...wallets].join('\n'));
  await refreshDenyList(t.app);
};
const accept = (by: SignedIn) => clientOf(t, by).ok(postTerms, { body: { version: TERMS.version } });
const exclude = async (by: SignedIn, days = 1) => (await clientOf(t, by).ok(postExclusion, { body: { days } })).body;
const errorOf = async (response: Response): Promise<[number, string]> => [response.status, ((await response.json()) as { error: string }).error];
/** Asks for a ticket without a payment. */
const ask = async (by: SignedIn, round: { id: string }) => await errorOf(await by.fetch(`/round/${round.id}/ticket`, { json: {} }));
const MAY_PAY = [400, 'transaction is required, because a ticket costs 1000'];
const isDenied = [403, 'denyList: the wallet is on the deny list of this service'];

test('while the configured deny list was never loaded, paid tickets are refused with 503, and free tickets are not', async () => {
  const [paid, free] = [await openRound(t, creator), await openRound(t, creator, { ticketPrice: '0' })];
  const player = await signIn(t);
  const unloaded = 'the deny list (DENY_LIST) is not loaded yet, try again';
  expect(await ask(player, paid)).toEqual([503, unloaded]);
  expect(await errorOf(await requestTicket(player, paid, randomSignature()))).toEqual([503, unloaded]);
  expect(await storedTickets(t, paid)).toEqual([]);
  expect((await player.fetch(`/round/${free.id}/ticket`, { json: {} })).status).toBe(201);
  // The file is missing, so this load fails.
  await refreshDenyList(t.app);
  expect(await ask(player, paid)).toEqual([503, unloaded]);
  await deny();
  await accept(player);
  expect(await ask(player, paid)).toEqual(MAY_PAY);
});

test('a wallet accepts the current terms before it pays for a ticket', async () => {
  const round = await openRound(t, creator);
  const player = await signIn(t);
  expect((await clientOf(t, player).ok(getTerms)).body).toEqual({ ...TERMS, acceptedAt: null });
  const error = `terms: the wallet must accept version ${TERMS.version} of the terms (${TERMS.url}) with POST /me/terms`;
  expect(await ask(player, round)).toEqual([403, error]);
  expect(await errorOf(await player.fetch('/me/terms', { json: { version: '2025-01' } }))).toEqual([
    ...[409, `version must be ${TERMS.version}, the current version of the terms`],
  ]);
  expect(await ask(player, round)).toEqual([403, error]);
  const { body } = await accept(player);
  expect(body).toEqual({ ...TERMS, acceptedAt: expect.any(String) });
  expect((await accept(player)).body).toEqual(body);
  expect(await ask(player, round)).toEqual(MAY_PAY);
});

test('a wallet on the deny list gets no paid ticket, and gets one after it left the list', async () => {
  const round = await openRound(t, creator);
  const player = await signIn(t);
  await accept(player);
  await deny(player.wallet);
  expect(await ask(player, round)).toEqual(isDenied);
  await deny();
  expect(await ask(player, round)).toEqual(MAY_PAY);
});

test('an exclusion must be at least a day, and names either its end or its days', async () => {
  const player = await signIn(t);
  const status = async (json: unknown) => (await player.fetch('/me/exclusion', { json })).status;
  expect(await status({})).toBe(400);
  expect(await status({ days: 0 })).toBe(400);
  expect(await status({ days: 1, until: '2200-01-01T00:00:00.000Z' })).toBe(400);
  expect(await status({ until: new Date(t.clock.now().getTime() + DAY_MS / 2).toISOString() })).toBe(400);
  expect(await status({ until: '2900-01-01T00:00:00.000Z' })).toBe(400);
  expect((await clientOf(t, player).ok(getExclusion)).body.until).toBeNull();
});

/** Checks the payments of a round, as the job does, and returns its tickets with their refunds. */
async function decided(round: { id: string }) {
  for (const { id, signature } of await storedTickets(t, round)) {
    await untilFinal(t, signature ?? '');
    await checkTicket(t.app, id);
  }
  const tickets = await storedTickets(t, round);
  return await Promise.all(
    tickets.map(async ({ state, reason, signature }) => [state, reason, (await refundsOf(t, signature ?? '')).map(({ amount }) => amount)]),
  );
}
const later = { Prefer: 'respond-async' };

test('a wallet that pays although it is refused gets 403 and a refund with the reason', async () => {
  const round = await openRound(t, creator);
  const payer = await newPayer(t);
  const error = `terms: the wallet must accept version ${TERMS.version} of the terms (${TERMS.url}) with POST /me/terms`;
  expect(await errorOf(await requestTicket(payer, round, await payFor(t, payer, round)))).toEqual([403, error]);
  expect(await decided(round)).toEqual([['refused', error, ['1000']]]);
});

test('a wallet that is denied, or excludes itself, between its request and the payment gets a refund with the reason', async () => {
  const round = await openRound(t, creator);
  const [denied, excluded, honest] = [await newPayer(t), await newPayer(t), await newPayer(t)];
  for (const payer of [denied, excluded, honest]) {
    await accept(payer);
    expect((await requestTicket(payer, round, await payFor(t, payer, round), later)).status).toBe(202);
  }
  await deny(denied.wallet);
  const { until } = await exclude(excluded);
  expect(await decided(round)).toEqual([
    ['refused', isDenied[1], ['1000']],
    ['refused', `exclusion: the wallet excluded itself until ${until}`, ['1000']],
    ['confirmed', null, []],
  ]);
  const [{ signature } = { signature: null }] = await storedTickets(t, round);
  expect(await errorOf(await requestTicket(denied, round, signature ?? ''))).toEqual(isDenied);
});

test('chat rounds with prizes in stablecoin refuse denied and self-excluded wallets, and other chat rounds do not', async () => {
  const [denied, excluded, other] = [await signIn(t), await signIn(t), await signIn(t)];
  await deny(denied.wallet);
  const { until } = await exclude(excluded);
  const say = async (by: SignedIn) => {
    const response = await by.fetch('/chat/message', { json: { text: '!enter 1' } });
    return response.status < 300 ? 'entered' : ((await response.json()) as { error: string }).error;
  };
  const { id } = await startRound(t, { prizes: [{ amount: '1000', mint: 'usdc' }], durationSec: 600 });
  expect([await say(denied), await say(excluded), await say(other)]).toEqual([
    ...[isDenied[1], `exclusion: the wallet excluded itself until ${until}`, 'entered'],
  ]);
  const end = `update rounds set state = 'void', void_reason = 'no-entries', closed = '{}', closed_at = app_now(), ended_at = app_now() where id = $1`;
  await sql(t.app, end, [id]);
  await startRound(t, { prizes: [{ amount: '1000', mint: 'reward' }], durationSec: 600 });
  expect([await say(denied), await say(excluded)]).toEqual(['entered', 'entered']);
});

test('a self-exclusion refuses paid tickets until its end, can be prolonged, and cannot be shortened', async () => {
  const round = await openRound(t, creator, { closesAt: new Date(t.clock.now().getTime() + 10 * DAY_MS).toISOString() });
  const key = createWallet();
  const player = await signIn(t, key);
  await accept(player);
  expect((await clientOf(t, player).ok(getExclusion)).body).toEqual({ excluded: false, since: null, until: null });
  const first = await exclude(player, 2);
  expect(Date.parse(first.until ?? '') - Date.parse(first.since ?? '')).toBe(2 * DAY_MS);
  expect(await ask(player, round)).toEqual([403, `exclusion: the wallet excluded itself until ${first.until}`]);

  const later = new Date(Date.parse(first.until ?? '') + DAY_MS).toISOString();
  const { body: prolonged } = await clientOf(t, player).ok(postExclusion, { body: { until: later } });
  expect(prolonged).toEqual({ excluded: true, since: first.since, until: later });
  expect((await clientOf(t, player).ok(postExclusion, { body: { until: later } })).body).toEqual(prolonged);
  expect(await errorOf(await player.fetch('/me/exclusion', { json: { until: first.until } }))).toEqual([
    ...[409, `until must not be before ${later}, because an exclusion can only be prolonged`],
  ]);
  expect((await clientOf(t, player).ok(getExclusion)).body).toEqual(prolonged);

  await t.clock.set(new Date(Date.parse(later) + 1_000));
  const same = await signIn(t, key);
  expect((await clientOf(t, same).ok(getExclusion)).body).toEqual({ ...prolonged, excluded: false });
  expect(await ask(same, round)).toEqual(MAY_PAY);
  const second = await exclude(same);
  expect(Date.parse(second.since ?? '')).toBeGreaterThan(Date.parse(later));
});
