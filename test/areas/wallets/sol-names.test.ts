import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parseName, SOL_MOVED_AT_SLOT } from '#platform/solana/names/index.ts';
import { recordAddress, SOL_CLASS } from '#platform/solana/names/record-service.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import {
  SOL_CLASS as EXPECTED_CLASS,
  freshName,
  keyOf,
  keysOf,
  mintAccount,
  NONE,
  nftRecord,
  recordV1,
  refused,
  resolveBy,
  resolvedTo,
  sns,
  someone,
  someProgram,
  srs,
  type TestAccount,
  TOKEN,
  TOKEN_2022,
  TOKENIZER,
  tokenAccount,
} from '#test/support/solana/names.ts';
import { type NamesChain, startNamesChain } from '#test/support/solana/names-chain.ts';
import { createWallet } from '#test/support/wallet.ts';

let chain: NamesChain;
let t: TestApp;
const before = { name: freshName(), owner: someone() };
beforeAll(async () => {
  chain = await startNamesChain();
  t = await startTestApp({ workers: false, env: chain.env });
  await chain.write(sns(before.name, before.owner));
  expect(await resolve(`${before.name}.sol`)).toEqual(resolvedTo(`${before.name}.sol`, before.owner));
  await chain.skipToSlot(SOL_MOVED_AT_SLOT);
});
afterAll(async () => {
  await t.close();
  await chain.close();
});

const resolve = (identifier: string) => resolveBy(t, identifier);
const later = (seconds: number) => t.clock.set(new Date(t.clock.now().getTime() + seconds * 1_000));
const inSeconds = (seconds: number) => BigInt(Math.floor(t.clock.now().getTime() / 1_000) + seconds);

test.each([
  ['sns-ip-5-wallet-1', '5aJnvSs3K5J1eFS1cemYHWnUeWp3QjKThWh5mWbGBgkt'],
  ['sns-ip-5-wallet-2', '2gN2aGXi9kRnkXewWsshKTUWairEvMapA3z1EaqFqwMd'],
])('the address of %s equals its address in the record service', (name, address) => {
  const parsed = parseName(`${name}.sol`);
  expect(parsed && recordAddress(parsed).toBase58()).toBe(address);
  expect(keysOf(name).srsRecord.toBase58()).toBe(address);
  expect(SOL_CLASS.equals(EXPECTED_CLASS)).toBe(true);
});

test('after the move of .sol, a .sol name without a record is refused, and its .sns name still resolves', async () => {
  // Cached results have expired.
  await later(16);
  expect(await resolve(`${before.name}.sol`)).toEqual(refused('no such name'));
  expect(await resolve(`${before.name}.sns`)).toEqual(resolvedTo(`${before.name}.sns`, before.owner));
});

test('a name resolves to the wallet that both services return, also through a record of the older one', async () => {
  const [name, signer, wallet] = [freshName(), createWallet(), someone()];
  await chain.write(srs(name, { owner: wallet }), sns(name, keyOf(signer)), recordV1(name, wallet, signer));
  expect(await resolve(`${name}.sol`)).toEqual(resolvedTo(`${name}.sol`, wallet));
});

test('a subdomain resolves by its own accounts', async () => {
  const [name, owner] = [`sub.${freshName()}`, someone()];
  await chain.write(srs(name, { owner }), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(resolvedTo(`${name}.sol`, owner));
});

test('a .sol name that the services resolve to two wallets is refused', async () => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(srs(name, { owner: someone() }), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(refused('the record service and the name service resolve the name to different wallets'));
  expect(await resolve(`${name}.sns`)).toEqual(resolvedTo(`${name}.sns`, owner));
});

test('a .sol name that the older service does not resolve is refused', async () => {
  const [unknown, kept] = [freshName(), freshName()];
  await chain.write(srs(unknown, { owner: someone() }), srs(kept, { owner: someone() }), sns(kept, someProgram()));
  const THERE = '(in the name service, the registry of .sol names before the move)';
  expect(await resolve(`${unknown}.sol`)).toEqual(refused(`no such name ${THERE}`));
  expect(await resolve(`${kept}.sol`)).toEqual(refused(`the owner of the name is a program, not a wallet ${THERE}`));
});

test('a name resolves until it expires', async () => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(srs(name, { owner, expiry: inSeconds(60) }), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(resolvedTo(`${name}.sol`, owner));
  await later(61);
  expect(await resolve(`${name}.sol`)).toEqual(refused('the name has expired'));
});

const UNREADABLE = 'the name cannot be read: its account has an unexpected layout';
const PROGRAM = 'the owner of the name is a program, not a wallet';
test.each<[string, string, (name: string, owner: Address) => TestAccount]>([
  ['belongs to another program', UNREADABLE, (name, owner) => srs(name, { owner, program: TOKENIZER })],
  ['is not tagged as one', UNREADABLE, (name, owner) => srs(name, { owner, tag: 1 })],
  ['is of another class', UNREADABLE, (name, owner) => srs(name, { owner, recordClass: someone() })],
  ['belongs to another name', UNREADABLE, (name, owner) => srs(name, { owner, seed: Buffer.alloc(32, 7) })],
  ['has a shorter seed', UNREADABLE, (name, owner) => srs(name, { owner, seed: Buffer.alloc(31) })],
  ['has an unknown owner kind', UNREADABLE, (name, owner) => srs(name, { owner, kind: 2 })],
  ['belongs to the token of another name', UNREADABLE, (name) => srs(name, { owner: someone(), kind: 1 })],
  ['is truncated', UNREADABLE, (name, owner) => ({ ...srs(name, { owner }), data: srs(name, { owner }).data.subarray(0, 107) })],
  ['ends before its class', UNREADABLE, (name, owner) => ({ ...srs(name, { owner }), data: srs(name, { owner }).data.subarray(0, 20) })],
  ['belongs to a program', PROGRAM, (name) => srs(name, { owner: someProgram() })],
  ['belongs to the zero address', 'the name has no owner: it points to the zero address', (name) => srs(name, { owner: NONE })],
  ['expired long ago', 'the name has expired', (name, owner) => srs(name, { owner, expiry: 1n })],
  ['has a negative expiry', 'the name has expired', (name, owner) => srs(name, { owner, expiry: -1n })],
])('a name whose record %s is refused', async (_fault, reason, record) => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(record(name, owner), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(refused(reason));
});

/** Builds the accounts of a name that is wrapped in a token of the record service. */
const wrapped = (name: string) => [srs(name, { owner: keysOf(name).srsMint, kind: 1 }), mintAccount(keysOf(name).srsMint, { program: TOKEN_2022 })];
const held = (name: string, holder: Address, program = TOKEN_2022) => tokenAccount(someone(), { mint: keysOf(name).srsMint, holder, program });

test('a name that both services wrapped in tokens resolves to the holder of the tokens', async () => {
  const [name, holder] = [freshName(), someone()];
  const { mint, nftRecord: keeper } = keysOf(name);
  const older = [sns(name, keeper), nftRecord(name), mintAccount(mint), tokenAccount(someone(), { mint, holder })];
  await chain.write(...wrapped(name), held(name, holder), ...older);
  expect(await resolve(`${name}.sol`)).toEqual(resolvedTo(`${name}.sol`, holder));
});

test.each<[string, string, (name: string, owner: Address) => TestAccount[]]>([
  ['has no holder', 'the name is wrapped in a token that has no known holder', (name) => wrapped(name)],
  ['is held by a program', PROGRAM, (name) => [...wrapped(name), held(name, someProgram())]],
  [
    'belongs to the other token program',
    'the name is wrapped in a token that has no known holder',
    (name, owner) => [...wrapped(name).slice(0, 1), mintAccount(keysOf(name).srsMint), held(name, owner, TOKEN)],
  ],
  [
    'is no mint, although its account says so',
    'the name is wrapped in a token that has no known holder',
    (name, owner) => {
      const mint = mintAccount(keysOf(name).srsMint, { program: TOKEN_2022 });
      const data = Buffer.from(mint.data);
      data[165] = 2;
      return [...wrapped(name).slice(0, 1), { ...mint, data }, held(name, owner)];
    },
  ],
])('a name that is wrapped in a token that %s is refused', async (_fault, reason, accounts) => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(...accounts(name, owner), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(refused(reason));
});
