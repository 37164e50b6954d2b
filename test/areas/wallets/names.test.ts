import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseName } from '#platform/solana/names/index.ts';
import { nameAddresses } from '#platform/solana/names/name-service.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { startTestApp, type TestApp } from '#test/support/app.ts';
import {
  CERTIFIER,
  freshName,
  keyOf,
  keysOf,
  NONE,
  nameAccount,
  recordV1,
  recordV2,
  refused,
  resolveBy,
  resolvedTo,
  sns,
  someone,
  someProgram,
  type TestAccount,
  TOKENIZER,
} from '#test/support/solana/names.ts';
import { type NamesChain, startNamesChain } from '#test/support/solana/names-chain.ts';
import { createWallet, type TestWallet } from '#test/support/wallet.ts';

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
const leadsTo = (name: string, wallet: Address, onCurve = true) => resolvedTo(`${name}.sns`, wallet, onCurve);

describe('the name service', () => {
  test.each([
    ['bonfida', 'Crf8hzfthWGbGbLTVCiqRqV5MVnbpHB1L9KQMd6gsinb'],
    ['dex.bonfida', 'HoFfFXqFHAC8RP3duuQNzag1ieUwJRBv1HtRNiWFq4Qu'],
  ])('derives the known address of %s', (name, address) => {
    expect(keysOf(name).key.toBase58()).toBe(address);
    const parsed = parseName(`${name}.sns`);
    expect(parsed && nameAddresses(parsed).name.toBase58()).toBe(address);
  });

  test('resolves a name to its owner, case-insensitively', async () => {
    const [name, owner] = [freshName(), someone()];
    await chain.write(sns(name, owner));
    expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, owner));
    expect(await resolve(`${name.toUpperCase()}.SnS`)).toMatchObject({ identifier: `${name.toUpperCase()}.SnS`, wallet: owner.toBase58() });
  });

  test('resolves a .sol name to its owner before .sol has moved', async () => {
    const [name, owner] = [freshName(), someone()];
    await chain.write(sns(name, owner));
    expect(await resolve(`${name}.sol`)).toEqual({ ...leadsTo(name, owner), identifier: `${name}.sol`, source: 'sol' });
  });

  test.each(['🍍', 'größe', 'なまえ', 'имя', '_dash-1'])('resolves a name of a single script: %s', async (label) => {
    const owner = someone();
    await chain.write(sns(label, owner));
    expect(await resolve(`${label}.sns`)).toEqual(leadsTo(label, owner));
  });

  test('resolves subdomains with their own records', async () => {
    const [name, owner, below, wallet] = [freshName(), someone(), createWallet(), someone()];
    await chain.write(sns(name, owner), sns(`sub.${name}`, keyOf(below)), sns(`rec.${name}`, keyOf(below)), recordV1(`rec.${name}`, wallet, below));
    expect(await resolve(`sub.${name}.sns`)).toEqual(leadsTo(`sub.${name}`, keyOf(below)));
    expect(await resolve(`rec.${name}.sns`)).toEqual(leadsTo(`rec.${name}`, wallet));
    expect(await resolve(`other.${name}.sns`)).toEqual(refused('no such name'));
  });

  test('refuses names that are not registered', async () => {
    expect(await resolve('nobody-has-this.sns')).toEqual(refused('no such name'));
    expect(await resolve('nobody-has-this.sol')).toEqual(refused('no such name'));
  });

  test.each([
    ['to the zero address', () => NONE, 'the name has no owner: it points to the zero address'],
    ['to a program', someProgram, 'the owner of the name is a program, not a wallet'],
  ])('refuses a name that belongs %s', async (_owner, owner, reason) => {
    const name = freshName();
    await chain.write(sns(name, owner()));
    expect(await resolve(`${name}.sns`)).toEqual(refused(reason));
  });

  const UNREADABLE = 'the name cannot be read: its account has an unexpected layout';
  test.each<[string, (name: TestAccount) => TestAccount]>([
    ['belongs to another program', (name) => ({ ...name, owner: TOKENIZER })],
    ['is too short', (name) => ({ ...name, data: name.data.subarray(0, 95) })],
    ['is empty', (name) => ({ ...name, data: Buffer.alloc(0) })],
    ['has another parent', (name) => nameAccount(name.address, someone(), someone())],
    ['has a class', (name) => ({ ...name, data: Buffer.concat([name.data.subarray(0, 64), someone().toBytes()]) })],
  ])('refuses a name whose account %s', async (_fault, change) => {
    const name = freshName();
    await chain.write(change(sns(name, someone())));
    expect(await resolve(`${name}.sns`)).toEqual(refused(UNREADABLE));
  });
});

describe('a SOL record', () => {
  test('that the owner has signed resolves to the wallet in it, also to a program', async () => {
    const owner = createWallet();
    for (const [wallet, onCurve] of [
      [someone(), true],
      [someProgram(), false],
    ] as const) {
      const name = freshName();
      await chain.write(sns(name, keyOf(owner)), recordV1(name, wallet, owner));
      expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, wallet, onCurve));
    }
  });

  test.each<[string, (name: string, owner: TestWallet) => TestAccount]>([
    ['was signed by another wallet', (name) => recordV1(name, someone(), createWallet())],
    ['was signed for another name', (name, owner) => recordV1(name, someone(), owner, keysOf('another').recordV1)],
    [
      'was changed after signing',
      (name, owner) => ({
        ...recordV1(name, someone(), owner),
        data: Buffer.concat([
          recordV1(name, someone(), owner).data.subarray(0, 96),
          someone().toBytes(),
          recordV1(name, someone(), owner).data.subarray(128),
        ]),
      }),
    ],
    ['is truncated', (name, owner) => ({ ...recordV1(name, someone(), owner), data: recordV1(name, someone(), owner).data.subarray(0, 191) })],
    ['is empty', (name, owner) => ({ ...recordV1(name, someone(), owner), data: recordV1(name, someone(), owner).data.subarray(0, 96) })],
  ])('that %s is ignored, so the name resolves to its owner', async (_fault, record) => {
    const [name, owner] = [freshName(), createWallet()];
    await chain.write(sns(name, keyOf(owner)), record(name, owner));
    expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, keyOf(owner)));
  });

  test('with the zero address is refused', async () => {
    const [name, owner] = [freshName(), createWallet()];
    await chain.write(sns(name, keyOf(owner)), recordV1(name, NONE, owner));
    expect(await resolve(`${name}.sns`)).toEqual(refused('the name has no owner: it points to the zero address'));
  });

  test('that is certified resolves to the wallet in it, before a record of the older version', async () => {
    const [name, owner, wallet] = [freshName(), createWallet(), someone()];
    const certified = recordV2(name, { staleness: keyOf(owner), association: wallet, content: wallet.toBytes() });
    await chain.write(sns(name, keyOf(owner)), certified, recordV1(name, someone(), owner));
    expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, wallet));
  });

  test('that was certified for an earlier owner is ignored', async () => {
    const [name, owner, wallet] = [freshName(), createWallet(), someone()];
    await chain.write(sns(name, keyOf(owner)), recordV2(name, { staleness: someone(), association: wallet, content: wallet.toBytes() }));
    expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, keyOf(owner)));
  });

  test('of the older version beside a stale certified one is refused as a contradiction', async () => {
    const [name, owner, wallet] = [freshName(), createWallet(), someone()];
    const stale = recordV2(name, { staleness: someone(), association: wallet, content: wallet.toBytes() });
    await chain.write(sns(name, keyOf(owner)), stale, recordV1(name, someone(), owner));
    expect(await resolve(`${name}.sns`)).toEqual(refused('the records of the name contradict each other'));
  });

  const UNCERTIFIED = 'the SOL record of the name is not certified';
  test.each<[string, string, (name: string, owner: Address) => TestAccount]>([
    [
      'that another wallet certifies',
      'the SOL record of the name is not certified by the wallet in the record',
      (name, owner) => recordV2(name, { staleness: owner, association: someone(), content: someone().toBytes() }),
    ],
    ...(
      [
        [0, 0],
        [1, 0],
        [0, 1],
        [2, 1],
        [1, 2],
        [1, 3],
        [3, 1],
      ] as const
    ).map((kinds): [string, string, (name: string, owner: Address) => TestAccount] => [
      `of the kinds ${kinds.join(' and ')}`,
      UNCERTIFIED,
      (name, owner) => {
        const wallet = someone();
        return recordV2(name, { staleness: owner, association: wallet, content: wallet.toBytes(), kinds });
      },
    ]),
    [
      'that is shorter than an address',
      UNCERTIFIED,
      (name, owner) => recordV2(name, { staleness: owner, association: someone(), content: Buffer.alloc(31, 1) }),
    ],
    [
      'that is longer than an address',
      UNCERTIFIED,
      (name, owner) => recordV2(name, { staleness: owner, association: someone(), content: Buffer.alloc(33, 1) }),
    ],
    [
      'that is truncated',
      UNCERTIFIED,
      (name, owner) => {
        const whole = recordV2(name, { staleness: owner, association: someone(), content: someone().toBytes() });
        return { ...whole, data: whole.data.subarray(0, whole.data.length - 1) };
      },
    ],
    [
      'without a header',
      'the name cannot be read: its account has an unexpected layout',
      (name) => nameAccount(keysOf(name).recordV2, keysOf(name).key, CERTIFIER, Buffer.alloc(7), CERTIFIER),
    ],
    [
      'without the certifying class',
      'the name cannot be read: its account has an unexpected layout',
      (name, owner) => recordV2(name, { staleness: owner, association: owner, content: owner.toBytes(), nameClass: someone() }),
    ],
  ])('%s is refused', async (_fault, reason, record) => {
    const [name, owner] = [freshName(), someone()];
    await chain.write(sns(name, owner), record(name, owner));
    expect(await resolve(`${name}.sns`)).toEqual(refused(reason));
  });
});
