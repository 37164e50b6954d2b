import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Address } from '#platform/solana/primitives.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import {
  freshName,
  keysOf,
  mintAccount,
  NAMES,
  nftRecord,
  recordV2,
  refused,
  resolveBy,
  resolvedTo,
  sns,
  someone,
  someProgram,
  type TestAccount,
  TOKEN_2022,
  tokenAccount,
} from '#test/support/solana/names.ts';
import { type NamesChain, startNamesChain } from '#test/support/solana/names-chain.ts';

let chain: NamesChain;
let t: TestApp;
beforeAll(async () => {
  chain = await startNamesChain();
  t = await startTestApp({ workers: false, env: chain.env });
});
afterAll(async () => {
  await t.close();
  await chain.close();
});

const resolve = (identifier: string) => resolveBy(t, identifier);
const leadsTo = (name: string, wallet: Address) => resolvedTo(`${name}.sns`, wallet);
const NOBODY = 'the name is wrapped in a token that has no known holder';
const wrapped = (name: string) => [sns(name, keysOf(name).nftRecord), nftRecord(name), mintAccount(keysOf(name).mint)];
const held = (name: string, holder: Address, more: { amount?: bigint; state?: number; program?: Address } = {}) =>
  tokenAccount(someone(), { mint: keysOf(name).mint, holder, ...more });

test('a wrapped name resolves to the holder of the token, not to its record', async () => {
  const [name, holder, wallet] = [freshName(), someone(), someone()];
  const record = recordV2(name, { staleness: keysOf(name).nftRecord, association: wallet, content: wallet.toBytes() });
  // An empty token account of a former holder still exists.
  await chain.write(...wrapped(name), record, held(name, someone(), { amount: 0n }), held(name, holder));
  expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, holder));
});

test('a wrapped name resolves to the holder of the token in a frozen account', async () => {
  const [name, holder] = [freshName(), someone()];
  await chain.write(...wrapped(name), held(name, holder, { state: 2 }));
  expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, holder));
});

test('an unwrapped name resolves to its owner', async () => {
  const [name, owner] = [freshName(), someone()];
  await chain.write(sns(name, owner), nftRecord(name, 3), mintAccount(keysOf(name).mint, { supply: 0n }));
  expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, owner));
});

test.each<[string, string, (name: string) => TestAccount[]]>([
  ['the token has no holder', NOBODY, (name) => wrapped(name)],
  ['a program holds the token for sale', 'the owner of the name is a program, not a wallet', (name) => [...wrapped(name), held(name, someProgram())]],
  ['the token was burned', NOBODY, (name) => [...wrapped(name), mintAccount(keysOf(name).mint, { supply: 0n }), held(name, someone())]],
  ['there are two tokens', NOBODY, (name) => [...wrapped(name), mintAccount(keysOf(name).mint, { supply: 2n }), held(name, someone())]],
  ['the token can be divided', NOBODY, (name) => [...wrapped(name), mintAccount(keysOf(name).mint, { decimals: 1 }), held(name, someone())]],
  ['the token has two holders', NOBODY, (name) => [...wrapped(name), held(name, someone()), held(name, someone())]],
  ['there is no mint', NOBODY, (name) => [sns(name, keysOf(name).nftRecord), nftRecord(name)]],
  [
    'the mint is of another program',
    NOBODY,
    (name) => [...wrapped(name).slice(0, 2), mintAccount(keysOf(name).mint, { program: TOKEN_2022 }), held(name, someone(), { program: TOKEN_2022 })],
  ],
  [
    'the tokenizer’s record says that the name is unwrapped',
    'the owner of the name and the record of its token contradict each other',
    (name) => [sns(name, keysOf(name).nftRecord), nftRecord(name, 3)],
  ],
  [
    'the tokenizer has no record',
    'the owner of the name and the record of its token contradict each other',
    (name) => [sns(name, keysOf(name).nftRecord)],
  ],
  [
    'the tokenizer’s record says wrapped, but the tokenizer does not own the name',
    'the owner of the name and the record of its token contradict each other',
    (name) => [sns(name, someone()), nftRecord(name), mintAccount(keysOf(name).mint), held(name, someone())],
  ],
  [
    'the record belongs to another program',
    'the owner of the name and the record of its token contradict each other',
    (name) => [sns(name, keysOf(name).nftRecord), { ...nftRecord(name), owner: NAMES }, mintAccount(keysOf(name).mint), held(name, someone())],
  ],
])('a wrapped name is refused when %s', async (_fault, reason, accounts) => {
  const name = freshName();
  await chain.write(...accounts(name));
  expect(await resolve(`${name}.sns`)).toEqual(refused(reason));
});
