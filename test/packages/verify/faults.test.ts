import { expect, test } from '@jest/globals';
import { type HttpSource, RpcFault, type RpcSource, Unreadable, verifyRound } from '#packages/verify/src/index.ts';
import { addressOf, chatParameters, entriesOf, legacyParameters } from '#test/lib/draw/rounds.ts';
import { randomGenerator } from '#test/support/areas/board-model.ts';
import { leavesOf, tampered, textOf } from '#test/support/verify/tampering.ts';
import { createWorld, type World } from '#test/support/verify/world.ts';

const random = randomGenerator(41);
const chat = chatParameters();
const entries = entriesOf(chat, 12, 6, random);
const newWorld = () => createWorld(chat, entries);

/** Verifies a world and returns the names of the checks that accuse the house. */
async function accusations(world: World): Promise<string[]> {
  const { verdict, steps } = await verifyRound(world.options({ receipts: [world.receipt(11)] }));
  const named = steps.filter(({ outcome }) => outcome === 'false').map(({ check }) => check);
  return verdict === 'false' ? named : [];
}

test('a change of any field of the audit makes a round false', async () => {
  const { audit } = newWorld();
  const paths = leavesOf(audit);
  expect(paths.length).toBeGreaterThan(90);
  const missed: string[] = [];
  for (const path of paths) {
    const world = newWorld();
    Object.assign(world, { audit: tampered(audit, path) });
    // A greater version is a newer protocol, which the verifier does not know.
    if (path[0] !== 'version' && (await accusations(world)).length !== 1) missed.push(textOf(path));
  }
  expect(missed).toEqual([]);
});

test('a change of any field of any entry makes a round false', async () => {
  const lines = entries.map((entry) => JSON.stringify(entry));
  const missed: string[] = [];
  for (const [index, entry] of entries.entries())
    for (const path of leavesOf(entry)) {
      const world = newWorld();
      world.lines = `${lines.with(index, JSON.stringify(tampered(entry, path))).join('\n')}\n`;
      if ((await accusations(world)).length !== 1) missed.push(`${index} ${textOf(path)}`);
    }
  expect(missed).toEqual([]);
});

test('a missing, additional, repeated or moved entry makes a round false', async () => {
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`);
  const changes = entries.flatMap((_, i) => [
    lines.toSpliced(i, 1),
    lines.toSpliced(i, 0, lines[i] ?? ''),
    lines.toSpliced(i, 2, lines[i + 1] ?? lines[0] ?? '', lines[i] ?? ''),
  ]);
  for (const changed of changes) {
    const world = newWorld();
    world.lines = changed.join('');
    expect(await accusations(world)).toHaveLength(1);
  }
});

test('a change of any published field of the payouts makes a round false or unpaid', async () => {
  const { payouts } = newWorld();
  const missed: string[] = [];
  for (const path of leavesOf(payouts)) {
    const world = newWorld();
    Object.assign(world, { payouts: tampered(payouts, path) });
    const { verdict } = await verifyRound(world.options());
    if (verdict !== 'false' && verdict !== 'late or unpaid') missed.push(textOf(path));
  }
  expect(missed).toEqual([]);
});

/** The answers of a source that is broken or overloaded. */
const HTTP_FAULTS: readonly HttpSource[] = [
  () => Promise.reject(new Unreadable('the connection was closed')),
  async () => ({ status: 503, text: '' }),
  async () => ({ status: 429, text: '{"error":"too many requests"}' }),
];
const RPC_FAULTS: readonly RpcSource[] = [
  () => Promise.reject(new Unreadable('the connection was closed')),
  () => Promise.reject(new RpcFault(-32_005, 'Node is behind by 200 slots')),
  () => Promise.reject(new RpcFault(429, 'Too many requests')),
  async () => undefined,
  async () => ({ unexpected: true }),
];

test('an honest house is never accused, whichever single request fails', async () => {
  for (const made of [newWorld(), createWorld(legacyParameters(), entriesOf(legacyParameters(), 9, 3, random))]) {
    const { house, rpc, beacon } = made.sources;
    let [calls, failing, fault] = [0, -1, 0];
    const http =
      (source: HttpSource): HttpSource =>
      (path, maxBytes) =>
        calls++ === failing ? (HTTP_FAULTS[fault % HTTP_FAULTS.length] ?? source)(path, maxBytes) : source(path, maxBytes);
    const node: RpcSource = (method, params) =>
      calls++ === failing ? (RPC_FAULTS[fault % RPC_FAULTS.length] ?? rpc)(method, params) : rpc(method, params);
    const verify = async () => {
      calls = 0;
      return (await verifyRound(made.options({ house: http(house), rpc: node, beacon: http(beacon) }))).verdict;
    };
    expect(await verify()).toBe('true');
    const total = calls;
    expect(total).toBeGreaterThan(8);
    const verdicts = new Set<string>();
    for (failing = 0; failing < total; failing++) for (fault = 0; fault < RPC_FAULTS.length; fault++) verdicts.add(await verify());
    expect([...verdicts].filter((verdict) => verdict !== 'true' && verdict !== 'cannot be checked')).toEqual([]);
  }
});

test('an honest house is never accused because of a stranger who sends lamports and transactions to its addresses', async () => {
  const world = newWorld();
  const { rpc } = world.sources;
  const methods = new Set<string>();
  const recording: RpcSource = (method, params) => {
    methods.add(method);
    return rpc(method, params);
  };
  // Anybody can create accounts at addresses without a key, and transactions that name the accounts of the round.
  for (let i = 0; i < 1_000; i++) world.accounts.set(addressOf(`spam ${i}`), { owner: addressOf('stranger'), data: new Uint8Array(120) });
  expect((await verifyRound(world.options({ rpc: recording }))).verdict).toBe('true');
  // No history of an address is read, so its length does not matter.
  expect([...methods].sort()).toEqual(['getBlock', 'getGenesisHash', 'getMultipleAccounts', 'getTransaction']);

  // Before the commitment, lamports at its address are no commitment.
  const open = newWorld();
  open.accounts.set(open.addresses.commitment, { owner: '11111111111111111111111111111111', data: new Uint8Array() });
  open.audit = open.audit && { ...open.audit, commitment: null, beacon: null, draw: null, winners: null };
  open.now = Date.parse(chat.closesAt) + 10_000;
  const { verdict, steps } = await verifyRound(open.options({ receipts: [open.receipt(3)] }));
  expect([verdict, steps.at(-1)?.detail]).toEqual(['cannot be checked', expect.stringContaining('not committed yet')]);
});
