import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { readFoundBurns } from '#areas/burns/found-burns.ts';
import { listNewest } from '#areas/burns/history.ts';
import { ingestBurns } from '#areas/burns/ingest.ts';
import { endEvent } from '#areas/burns/lifecycle.ts';
import type { BurnEventRow } from '#areas/burns/rows.ts';
import { BurnEventView } from '#areas/burns/schemas.ts';
import { readConfig } from '#config';
import { openContext } from '#context';
import { type Instruction, newSigner, type Signer } from '#platform/solana/primitives.ts';
import { createAssociatedTokenAccount, memo, mintTo, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { ADMIN_TOKEN, startWorker } from '#test/support/app.ts';
import { registerGame } from '#test/support/areas/arcade.ts';
import { sql } from '#test/support/areas/boards.ts';
import * as burns from '#test/support/areas/burns.ts';
import { statusAndBody } from '#test/support/areas/epochs.ts';
import { retryUntilPass } from '#test/support/areas/player.ts';
import { asAdmin, makeQuest, ownQuest } from '#test/support/areas/quests.ts';
import { bindTo, join } from '#test/support/areas/referrals.ts';
import { newPayer, untilFinal } from '#test/support/areas/tickets.ts';
import { jsonOf } from '#test/support/http/json.ts';
import { openEvents } from '#test/support/http/sse.ts';
import { type RewardsTest, startRewardsTest } from '#test/support/solana/claims.ts';
import { send as ask } from '#test/support/wallet.ts';

const {
  tokenAccountOf,
  waitUntilFinal,
  burn,
  burnFor,
  burnMemo,
  readEffects,
  activateNewEvent,
  openTokenAccount,
  newBurner,
  readBurns,
  tokenInstruction,
  ingestFinal,
} = burns;

let t: RewardsTest;
let event: BurnEventRow;
let burner: Signer;
beforeAll(async () => {
  t = await startRewardsTest({ workers: false });
  burner = await newBurner(t);
});
afterEach(() => t.chain.control.clear());
/** Started by the last test only. The other tests call `ingestBurns` themselves. */
let worker: Awaited<ReturnType<typeof startWorker>> | undefined;
afterAll(async () => {
  await worker?.close();
  await t.close();
});

const send = (instructions: readonly Instruction[], signers: readonly [Signer, ...Signer[]] = [burner]) => t.chain.send(instructions, signers);
const amounts = async () => (await readBurns(t.app, event)).map(({ amount }) => amount);
const unread = () => sql<{ signature: string }>(t.app, 'select signature from burn_transactions where read_at is null');

test('without an open event, no request is sent to the RPC node', async () => {
  const fault = await t.chain.control.fault({ kind: 'fail' });
  await ingestBurns(t.app);
  expect(await fault.hits()).toBe(0);
});

test('both burn instructions, in both transaction versions and from newly opened accounts, count for the owner of the tokens', async () => {
  event = await activateNewEvent(t.app);
  const fresh = newSigner();
  const { mintAuthority, rewardMint } = t.chain.keys;
  const opened = [
    createAssociatedTokenAccount(burner.publicKey, fresh.publicKey, rewardMint.publicKey),
    mintTo(rewardMint.publicKey, tokenAccountOf(t, fresh), mintAuthority.publicKey, 9n),
  ];
  const signatures = [
    await burnFor(t, burner, event, 1n),
    await send([
      tokenInstruction(burns.BURN, 2n, [tokenAccountOf(t, burner), rewardMint.publicKey, burner.publicKey], burner),
      burnMemo(event, 'social'),
    ]),
    await t.chain.sendVersioned([burnMemo(event), burn(t, burner, 3n)], burner),
    await send([...opened, burn(t, fresh, 9n), burnMemo(event, 'referral')], [burner, mintAuthority, fresh]),
    // A memo without the prefix `burn:` is ignored.
    await send([memo('for grandma'), burn(t, burner, 4n), burn(t, burner, 0n), burn(t, burner, 5n), burnMemo(event)]),
  ];
  await ingestFinal(t, signatures);
  const me = burner.publicKey.toBase58();
  const row = (i: number, amount: string, named: string, index = 0, wallet = me) => ({
    signature: signatures[i],
    index,
    wallet,
    amount,
    named,
    source: null,
  });
  expect(new Set(await readBurns(t.app, event))).toEqual(
    new Set([
      row(0, '1', 'game'),
      row(1, '2', 'social'),
      row(2, '3', 'game', 1),
      row(3, '9', 'referral', 2, fresh.publicKey.toBase58()),
      ...[row(4, '4', 'game', 1), row(4, '5', 'game', 3)],
    ]),
  );
  expect(await readEffects(t.app, event)).toMatchObject({
    burned: '24',
    participants: 2,
    activities: { n: 6, sum: '24' },
    events: { n: 6, last: '24' },
  });
});

test('a transaction that only resembles a burn for the event does not count, and is read once', async () => {
  event = await activateNewEvent(t.app);
  const delegate = await newBurner(t);
  const { mintAuthority, rewardMint, usdcMint } = t.chain.keys;
  await t.chain.fundWallet({ usdc: 100n }, burner);
  const [right, five, own] = [burnMemo(event), burn(t, burner, 5n), tokenAccountOf(t, burner)];
  const transfer = tokenInstruction(3, 5n, [own, tokenAccountOf(t, delegate), burner.publicKey], burner);
  const approve = tokenInstruction(4, 50n, [own, delegate.publicKey, burner.publicKey], burner);
  const burnDelegated = tokenInstruction(burns.BURN, 5n, [own, rewardMint.publicKey, delegate.publicKey], delegate);
  // A multisig account of the token program: one of its owners signs, and the multisig account itself does not.
  const several = newSigner();
  const data = Buffer.concat([Buffer.from([1, 1, 1]), burner.publicKey.toBytes(), Buffer.alloc(320)]).toString('base64');
  const account = { lamports: 10_000_000, owner: TOKEN_PROGRAM.toBase58(), data };
  await t.chain.control.setAccounts([{ address: several.publicKey.toBase58(), account }]);
  const openShared = createAssociatedTokenAccount(burner.publicKey, several.publicKey, rewardMint.publicKey);
  const fillShared = mintTo(rewardMint.publicKey, tokenAccountOf(t, several), mintAuthority.publicKey, 9n);
  const burnShared = tokenInstruction(
    burns.BURN,
    5n,
    [tokenAccountOf(t, several), rewardMint.publicKey, several.publicKey, burner.publicKey],
    burner,
  );
  const forged: (readonly [string, readonly Instruction[], Signer[]?])[] = [
    ['a transfer', [transfer, openTokenAccount(t, burner), right]],
    ['a failed one', [burn(t, burner, 10n ** 18n), right]],
    ['another mint', [burn(t, burner, 5n, usdcMint.publicKey), openTokenAccount(t, burner), right]],
    ['a delegate', [approve, burnDelegated, right], [delegate]],
    ['several signers', [openShared, fillShared, burnShared, right], [mintAuthority]],
    ['no memo', [five]],
    ['two memos', [five, right, burnMemo(event, 'social')]],
    ['the same memo twice', [five, right, right]],
    ['another event as well', [five, right, burnMemo({ id: crypto.randomUUID() })]],
    ...['burn', '', 'Game', 'game ', 'game:game'].map((source) => [`the source ${source}`, [five, burnMemo(event, source)]] as const),
    ['no event', [five, burnMemo({ id: crypto.randomUUID() })]],
    ['words around', [five, memo(`see burn:${event.id}:game`)]],
    ['nothing', [burn(t, burner, 0n), right]],
  ];
  const sent = new Map<string, string>();
  for (const [what, instructions, others = []] of forged) sent.set(await send(instructions, [burner, ...others]), what);
  await waitUntilFinal(t, [...sent.keys()]);
  const { value: statuses } = await t.chain.connection.getSignatureStatuses([...sent.keys()], { searchTransactionHistory: true });
  expect([...sent.values()].filter((_, i) => statuses[i]?.err !== null)).toEqual(['a failed one']);
  const honest = await burnFor(t, burner, event, 7n);
  await ingestFinal(t, [...sent.keys(), honest]);
  expect((await readBurns(t.app, event)).map(({ signature, amount }) => [sent.get(signature), amount])).toEqual([[undefined, '7']]);
  expect(await unread()).toEqual([]);
  // A transaction that failed or names no event is not stored.
  const stored = new Set(
    (await sql<{ signature: string }>(t.app, 'select signature from burn_transactions')).map(({ signature }) => sent.get(signature)),
  );
  for (const what of ['no memo', 'no event', 'a failed one']) expect(stored).not.toContain(what);
  const reads = await t.chain.control.fault({ kind: 'delay', ms: 0, methods: ['getTransaction'] });
  await burns.scheduleRelist(t.app);
  await ingestBurns(t.app);
  expect(await reads.hits()).toBe(0);
});

test('a burn counts, and its source counts when it was valid at the time of the burn', async () => {
  event = await activateNewEvent(t.app);
  const [one, two, three, four] = await Promise.all(Array.from({ length: 4 }, () => newBurner(t)));
  if (!one || !two || !three || !four) throw new Error('a test wallet is missing');
  const [a, b, c] = [one, two, three].map(({ publicKey }) => publicKey.toBase58()) as [string, string, string];
  for (const wallet of [a, b]) await join(t.app, wallet);
  await bindTo(t.app, a, b);
  const act = (wallet: string, hours: number, kind: string) =>
    sql(
      t.app,
      `insert into activities (kind, source_id, wallet, game_id, day, at, batch, cause_day)
       select $2, gen_random_uuid()::text, $1, 'alpha', floor(extract(epoch from at) / 86400)::int, at, 0, 0 from (select app_now() - make_interval(mins => $3) as at) t`,
      [wallet, kind, hours * 60],
    );
  await Promise.all([act(a, 23.9, 'play'), act(b, 24.1, 'play'), act(b, 1, 'clip'), act(c, 1, 'score')]);
  const link = (wallet: string, at: string) =>
    sql(
      t.app,
      `insert into linked_accounts (platform, account_id, handle, wallet, linked_at) values ('x', $1::text, 'h', $1::text, app_now() + $2::interval)`,
      [wallet, at],
    );
  await Promise.all([link(a, '-1 hour'), link(b, '1 hour')]);
  const signatures: string[] = [];
  for (const source of ['referral', 'game', 'social'] as const) {
    for (const keys of [one, two, three, four]) signatures.push(await burnFor(t, keys, event, 10n, source));
  }
  await ingestFinal(t, signatures);
  const held = (await readBurns(t.app, event)).flatMap(({ wallet, source }) => (source === null ? [] : [`${wallet} ${source}`]));
  expect(held.sort()).toEqual([`${b} referral`, `${a} game`, `${c} game`, `${a} social`].sort());
  expect(await readEffects(t.app, event)).toMatchObject({ burned: '120', participants: 4, referral: '10', game: '20', social: '10', burns: 12 });
});

test('burns count by block time, even when they are read after the end', async () => {
  event = await activateNewEvent(t.app);
  const signatures = [await burnFor(t, burner, event, 1n)];
  await endEvent(t.app, event.id);
  await waitUntilFinal(t, signatures);
  const at = await t.chain.connection.getBlockTime(await burns.slotOf(t, signatures[0] ?? ''));
  // Sets the end of the event to this time.
  const end = (seconds: number) =>
    sql(t.app, 'update burn_events set activated_at = to_timestamp($2 - 100), ends_at = to_timestamp($2) where id = $1', [event.id, seconds]);
  await end(at ?? 0);
  await ingestBurns(t.app);
  expect(await amounts()).toEqual([]);
  expect(await unread()).toEqual([]);

  event = await activateNewEvent(t.app);
  const second = await burnFor(t, burner, event, 2n);
  await endEvent(t.app, event.id);
  await waitUntilFinal(t, [second]);
  await end(((await t.chain.connection.getBlockTime(await burns.slotOf(t, second))) ?? 0) + 1);
  await ingestBurns(t.app);
  expect(await amounts()).toEqual(['2']);
});

test('burns are found on an RPC node that returns no memos', async () => {
  event = await activateNewEvent(t.app);
  const signature = await burnFor(t, burner, event, 1n);
  await waitUntilFinal(t, [signature]);
  const { node } = t.app.chain;
  const fresh = await openContext(readConfig(t.env), 'test-worker', { clock: t.clock });
  try {
    // Simulates the response of a node without memos, because the localnet cannot.
    fresh.chain.node.history = async (...args) => (await node.history(...args)).map((one) => ({ ...one, memo: null }));
    await listNewest(fresh, event.mint, 0);
    expect(await unread()).toContainEqual({ signature });
    await readFoundBurns(fresh, event.mint);
  } finally {
    await fresh.close();
  }
  expect(await amounts()).toEqual(['1']);
});

test('workers credit a burn, send its event and complete the quest, also for a burn made while no worker ran', async () => {
  await burns.endActive(t.app);
  worker = await startWorker(t.env, t.clock);
  await registerGame(t.url, ADMIN_TOKEN, 'burner-game');
  const me = await newPayer(t);
  const { id } = await jsonOf(me.fetch('/events/burn', { json: { title: 'The great bonfire', durationSec: 3_600 } }), BurnEventView);
  expect((await me.fetch(`/events/burn/${id}/activate`, { method: 'POST' })).status).toBe(200);
  const quest = await makeQuest(t, { requirement: { type: 'burned', amount: '600' }, burnEventId: id });
  expect(await statusAndBody(ask(t, `/events/burn/${id}/quests`))).toMatchObject([200, [{ id: quest }]]);
  const stream = await openEvents(t, { query: 'categories=system' });

  expect((await me.fetch('/game/burner-game/play', { method: 'POST' })).status).toBe(201);
  const first = await burnFor(t, me.keys, { id }, 500n);
  const rank = async () => (await statusAndBody(me.fetch(`/events/burn/${id}/rank`)))[1];
  const none = { referral: '0', game: '0', social: '0' };
  await retryUntilPass(
    async () => expect(await rank()).toEqual({ rank: 1, burned: '500', percentile: 100, bySource: { ...none, game: '500' } }),
    30_000,
  );
  await retryUntilPass(
    async () => expect(await ownQuest(me, quest)).toMatchObject({ completed: false, progress: [{ have: '500', need: '600' }] }),
    30_000,
  );

  await worker.close();
  const second = await burnFor(t, me.keys, { id }, 100n, 'social');
  await untilFinal(t, second);
  worker = await startWorker(t.env, t.clock);
  await retryUntilPass(async () => expect(await ownQuest(me, quest)).toMatchObject({ completed: true, pointsAwarded: expect.any(Number) }), 30_000);
  expect(await rank()).toMatchObject({ burned: '600', bySource: { ...none, game: '500' } });
  expect(await statusAndBody(ask(t, `/events/burn/${id}/leaderboard/game`))).toEqual([200, [{ rank: 1, wallet: me.wallet, amount: '500' }]]);

  expect((await asAdmin(t, `/admin/burn/${id}/end`, { method: 'POST' })).status).toBe(200);
  const mine = () => stream.messages.filter(({ event, data }) => data.burnEventId === id && event !== 'burn_event_activated');
  const received = () => mine().map(({ event, data }) => [event, data.signature, data.amount, data.source, data.burnTotal]);
  await retryUntilPass(
    () =>
      expect(received()).toEqual([
        ['burn_recorded', first, '500', 'game', '500'],
        ['burn_recorded', second, '100', null, '600'],
        ['burn_event_ended', undefined, undefined, undefined, '600'],
      ]),
    30_000,
  );
  stream.close();
  expect(await readEffects(t.app, { id })).toMatchObject({ burns: 2, burned: '600', participants: 1, activities: { n: 2, sum: '600' } });
}, 150_000);
