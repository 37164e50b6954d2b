import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PublicKey } from '@solana/web3.js';
import { parseName, SOL_MOVED_AT_SLOT } from '#platform/solana/names/names.ts';
import { recordAddress, SOL_CLASS } from '#platform/solana/names/record-service.ts';
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
  TOKEN,
  TOKEN_2022,
  TOKENIZER,
  tokenAccount,
  type Written,
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
  await chain.reach(SOL_MOVED_AT_SLOT);
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
])('%s is found where the record service has it', (name, address) => {
  const parsed = parseName(`${name}.sol`);
  expect(parsed && recordAddress(parsed).toBase58()).toBe(address);
  expect(keysOf(name).srsRecord.toBase58()).toBe(address);
  expect(SOL_CLASS.equals(EXPECTED_CLASS)).toBe(true);
});

test('since .sol has moved, a name that the record service does not know leads nowhere; as .sns it leads where it did', async () => {
  // What was asked before is forgotten.
  await later(16);
  expect(await resolve(`${before.name}.sol`)).toEqual(refused('no such name'));
  expect(await resolve(`${before.name}.sns`)).toEqual(resolvedTo(`${before.name}.sns`, before.owner));
});

test('a name leads to the wallet that both services name, however the older one comes to it', async () => {
  const [name, signer, wallet] = [freshName(), createWallet(), someone()];
  await chain.write(srs(name, { owner: wallet }), sns(name, keyOf(signer)), recordV1(name, wallet, signer));
  expect(await resolve(`${name}.sol`)).toEqual(resolvedTo(`${name}.sol`, wallet));
});

test('a name below a name is a name of its own', async () => {
  const [name, owner] = [`sub.${freshName()}`, someone()];
  await chain.write(srs(name, { owner }), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(resolvedTo(`${name}.sol`, owner));
});

test('a name that leads to two wallets leads nowhere', async () => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(srs(name, { owner: someone() }), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(refused('the name leads to one wallet by the record service, and to another by the name service'));
  expect(await resolve(`${name}.sns`)).toEqual(resolvedTo(`${name}.sns`, owner));
});

test('a name that the older service does not know, or does not answer for, leads nowhere', async () => {
  const [unknown, kept] = [freshName(), freshName()];
  await chain.write(srs(unknown, { owner: someone() }), srs(kept, { owner: someone() }), sns(kept, someProgram()));
  const THERE = '(in the registry that .sol names were in before)';
  expect(await resolve(`${unknown}.sol`)).toEqual(refused(`no such name ${THERE}`));
  expect(await resolve(`${kept}.sol`)).toEqual(refused(`the name is held by a program, not by a wallet ${THERE}`));
});

test('a name leads somewhere until it expires', async () => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(srs(name, { owner, expiry: inSeconds(60) }), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(resolvedTo(`${name}.sol`, owner));
  await later(61);
  expect(await resolve(`${name}.sol`)).toEqual(refused('the name has expired'));
});

const UNREADABLE = 'the name cannot be read: its account is not laid out as expected';
const PROGRAM = 'the name is held by a program, not by a wallet';
test.each<[string, string, (name: string, owner: PublicKey) => Written]>([
  ['belongs to another program', UNREADABLE, (name, owner) => srs(name, { owner, program: TOKENIZER })],
  ['is not tagged as one', UNREADABLE, (name, owner) => srs(name, { owner, tag: 1 })],
  ['is of another class', UNREADABLE, (name, owner) => srs(name, { owner, recordClass: someone() })],
  ['is that of another name', UNREADABLE, (name, owner) => srs(name, { owner, seed: Buffer.alloc(32, 7) })],
  ['has a shorter seed', UNREADABLE, (name, owner) => srs(name, { owner, seed: Buffer.alloc(31) })],
  ['has an owner of no known kind', UNREADABLE, (name, owner) => srs(name, { owner, kind: 2 })],
  ['belongs to a token that is not its own', UNREADABLE, (name) => srs(name, { owner: someone(), kind: 1 })],
  ['breaks off', UNREADABLE, (name, owner) => ({ ...srs(name, { owner }), data: srs(name, { owner }).data.subarray(0, 107) })],
  ['belongs to a program', PROGRAM, (name) => srs(name, { owner: someProgram() })],
  ['belongs to nobody', 'the name belongs to nobody', (name) => srs(name, { owner: NONE })],
  ['expired long ago', 'the name has expired', (name, owner) => srs(name, { owner, expiry: 1n })],
  ['never was', 'the name has expired', (name, owner) => srs(name, { owner, expiry: -1n })],
])('a record that %s leads nowhere', async (_how, reason, record) => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(record(name, owner), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(refused(reason));
});

/** A name that is wrapped in a token of the record service. */
const wrapped = (name: string) => [srs(name, { owner: keysOf(name).srsMint, kind: 1 }), mintAccount(keysOf(name).srsMint, { program: TOKEN_2022 })];
const held = (name: string, holder: PublicKey, program = TOKEN_2022) => tokenAccount(someone(), { mint: keysOf(name).srsMint, holder, program });

test('a name that is wrapped in tokens by both services leads to who holds them', async () => {
  const [name, holder] = [freshName(), someone()];
  const { mint, nftRecord: keeper } = keysOf(name);
  const older = [sns(name, keeper), nftRecord(name), mintAccount(mint), tokenAccount(someone(), { mint, holder })];
  await chain.write(...wrapped(name), held(name, holder), ...older);
  expect(await resolve(`${name}.sol`)).toEqual(resolvedTo(`${name}.sol`, holder));
});

test.each<[string, string, (name: string, owner: PublicKey) => Written[]]>([
  ['nobody holds', 'the name is wrapped in a token that nobody is known to hold', (name) => wrapped(name)],
  ['a program holds', PROGRAM, (name) => [...wrapped(name), held(name, someProgram())]],
  [
    'belongs to the other token program',
    'the name is wrapped in a token that nobody is known to hold',
    (name, owner) => [...wrapped(name).slice(0, 1), mintAccount(keysOf(name).srsMint), held(name, owner, TOKEN)],
  ],
  [
    'is an account that calls itself a mint',
    'the name is wrapped in a token that nobody is known to hold',
    (name, owner) => {
      const mint = mintAccount(keysOf(name).srsMint, { program: TOKEN_2022 });
      const data = Buffer.from(mint.data);
      data[165] = 2;
      return [...wrapped(name).slice(0, 1), { ...mint, data }, held(name, owner)];
    },
  ],
])('a name that is wrapped in a token that %s leads nowhere', async (_who, reason, accounts) => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(...accounts(name, owner), sns(name, owner));
  expect(await resolve(`${name}.sol`)).toEqual(refused(reason));
});
