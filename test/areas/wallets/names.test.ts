import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { PublicKey } from '@solana/web3.js';
import { nameAddresses } from '#platform/solana/names/name-service.ts';
import { parseName } from '#platform/solana/names/names.ts';
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
  TOKENIZER,
  type Written,
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
const leadsTo = (name: string, wallet: PublicKey, onCurve = true) => resolvedTo(`${name}.sns`, wallet, onCurve);

describe('the name service', () => {
  test.each([
    ['bonfida', 'Crf8hzfthWGbGbLTVCiqRqV5MVnbpHB1L9KQMd6gsinb'],
    ['dex.bonfida', 'HoFfFXqFHAC8RP3duuQNzag1ieUwJRBv1HtRNiWFq4Qu'],
  ])('finds %s where it has always been', (name, address) => {
    expect(keysOf(name).key.toBase58()).toBe(address);
    const parsed = parseName(`${name}.sns`);
    expect(parsed && nameAddresses(parsed).name.toBase58()).toBe(address);
  });

  test('leads a name to its owner, in whatever case it is written', async () => {
    const [name, owner] = [freshName(), someone()];
    await chain.write(sns(name, owner));
    expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, owner));
    expect(await resolve(`${name.toUpperCase()}.SnS`)).toMatchObject({ identifier: `${name.toUpperCase()}.SnS`, wallet: owner.toBase58() });
  });

  test('leads a .sol name to its owner, where .sol has not moved yet', async () => {
    const [name, owner] = [freshName(), someone()];
    await chain.write(sns(name, owner));
    expect(await resolve(`${name}.sol`)).toEqual({ ...leadsTo(name, owner), identifier: `${name}.sol`, source: 'sol' });
  });

  test.each(['🍍', 'größe', 'なまえ', 'имя', '_dash-1'])('knows names of any one script: %s', async (label) => {
    const owner = someone();
    await chain.write(sns(label, owner));
    expect(await resolve(`${label}.sns`)).toEqual(leadsTo(label, owner));
  });

  test('knows names below names, with records of their own', async () => {
    const [name, owner, below, wallet] = [freshName(), someone(), createWallet(), someone()];
    await chain.write(sns(name, owner), sns(`sub.${name}`, keyOf(below)), sns(`rec.${name}`, keyOf(below)), recordV1(`rec.${name}`, wallet, below));
    expect(await resolve(`sub.${name}.sns`)).toEqual(leadsTo(`sub.${name}`, keyOf(below)));
    expect(await resolve(`rec.${name}.sns`)).toEqual(leadsTo(`rec.${name}`, wallet));
    expect(await resolve(`other.${name}.sns`)).toEqual(refused('no such name'));
  });

  test('does not know names that nobody registered', async () => {
    expect(await resolve('nobody-has-this.sns')).toEqual(refused('no such name'));
    expect(await resolve('nobody-has-this.sol')).toEqual(refused('no such name'));
  });

  test.each([
    ['to nobody', () => NONE, 'the name belongs to nobody'],
    ['to a program', someProgram, 'the name is held by a program, not by a wallet'],
  ])('leads a name that belongs %s nowhere', async (_whom, owner, reason) => {
    const name = freshName();
    await chain.write(sns(name, owner()));
    expect(await resolve(`${name}.sns`)).toEqual(refused(reason));
  });

  const UNREADABLE = 'the name cannot be read: its account is not laid out as expected';
  test.each<[string, (name: Written) => Written]>([
    ['belongs to another program', (name) => ({ ...name, owner: TOKENIZER })],
    ['is too short', (name) => ({ ...name, data: name.data.subarray(0, 95) })],
    ['is empty', (name) => ({ ...name, data: Buffer.alloc(0) })],
    ['names another parent', (name) => nameAccount(name.address, someone(), someone())],
    ['has a class', (name) => ({ ...name, data: Buffer.concat([name.data.subarray(0, 64), someone().toBytes()]) })],
  ])('does not believe an account that %s', async (_how, change) => {
    const name = freshName();
    await chain.write(change(sns(name, someone())));
    expect(await resolve(`${name}.sns`)).toEqual(refused(UNREADABLE));
  });
});

describe('a SOL record', () => {
  test('that the owner has signed leads to the wallet in it, program or not', async () => {
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

  test.each<[string, (name: string, owner: TestWallet) => Written]>([
    ['was signed by somebody else', (name) => recordV1(name, someone(), createWallet())],
    ['was signed for another name', (name, owner) => recordV1(name, someone(), owner, keysOf('another').recordV1)],
    [
      'was changed after',
      (name, owner) => ({
        ...recordV1(name, someone(), owner),
        data: Buffer.concat([
          recordV1(name, someone(), owner).data.subarray(0, 96),
          someone().toBytes(),
          recordV1(name, someone(), owner).data.subarray(128),
        ]),
      }),
    ],
    ['breaks off', (name, owner) => ({ ...recordV1(name, someone(), owner), data: recordV1(name, someone(), owner).data.subarray(0, 191) })],
    ['holds nothing', (name, owner) => ({ ...recordV1(name, someone(), owner), data: recordV1(name, someone(), owner).data.subarray(0, 96) })],
  ])('that %s is passed over for the owner', async (_how, record) => {
    const [name, owner] = [freshName(), createWallet()];
    await chain.write(sns(name, keyOf(owner)), record(name, owner));
    expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, keyOf(owner)));
  });

  test('that names nobody leads nowhere', async () => {
    const [name, owner] = [freshName(), createWallet()];
    await chain.write(sns(name, keyOf(owner)), recordV1(name, NONE, owner));
    expect(await resolve(`${name}.sns`)).toEqual(refused('the name belongs to nobody'));
  });

  test('that is certified leads to the wallet in it, whatever an older one says', async () => {
    const [name, owner, wallet] = [freshName(), createWallet(), someone()];
    const certified = recordV2(name, { staleness: keyOf(owner), association: wallet, content: wallet.toBytes() });
    await chain.write(sns(name, keyOf(owner)), certified, recordV1(name, someone(), owner));
    expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, wallet));
  });

  test('that was certified for an earlier owner is passed over for the present one', async () => {
    const [name, owner, wallet] = [freshName(), createWallet(), someone()];
    await chain.write(sns(name, keyOf(owner)), recordV2(name, { staleness: someone(), association: wallet, content: wallet.toBytes() }));
    expect(await resolve(`${name}.sns`)).toEqual(leadsTo(name, keyOf(owner)));
  });

  test('of each version, the certified one stale, contradict each other', async () => {
    const [name, owner, wallet] = [freshName(), createWallet(), someone()];
    const stale = recordV2(name, { staleness: someone(), association: wallet, content: wallet.toBytes() });
    await chain.write(sns(name, keyOf(owner)), stale, recordV1(name, someone(), owner));
    expect(await resolve(`${name}.sns`)).toEqual(refused('the records of the name contradict each other'));
  });

  const UNCERTIFIED = 'the SOL record of the name is not certified';
  test.each<[string, string, (name: string, owner: PublicKey) => Written]>([
    [
      'that another wallet vouches for',
      'the SOL record of the name is not certified by the wallet that it names',
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
    ).map((kinds): [string, string, (name: string, owner: PublicKey) => Written] => [
      `of the kinds ${kinds.join(' and ')}`,
      UNCERTIFIED,
      (name, owner) => {
        const wallet = someone();
        return recordV2(name, { staleness: owner, association: wallet, content: wallet.toBytes(), kinds });
      },
    ]),
    [
      'that holds less than a wallet',
      UNCERTIFIED,
      (name, owner) => recordV2(name, { staleness: owner, association: someone(), content: Buffer.alloc(31, 1) }),
    ],
    [
      'that holds more than a wallet',
      UNCERTIFIED,
      (name, owner) => recordV2(name, { staleness: owner, association: someone(), content: Buffer.alloc(33, 1) }),
    ],
    [
      'that breaks off',
      UNCERTIFIED,
      (name, owner) => {
        const whole = recordV2(name, { staleness: owner, association: someone(), content: someone().toBytes() });
        return { ...whole, data: whole.data.subarray(0, whole.data.length - 1) };
      },
    ],
    [
      'without a header',
      'the name cannot be read: its account is not laid out as expected',
      (name) => nameAccount(keysOf(name).recordV2, keysOf(name).key, CERTIFIER, Buffer.alloc(7), CERTIFIER),
    ],
    [
      'that is not of the certifying class',
      'the name cannot be read: its account is not laid out as expected',
      (name, owner) => recordV2(name, { staleness: owner, association: owner, content: owner.toBytes(), nameClass: someone() }),
    ],
  ])('%s leads nowhere', async (_how, reason, record) => {
    const [name, owner] = [freshName(), someone()];
    await chain.write(sns(name, owner), record(name, owner));
    expect(await resolve(`${name}.sns`)).toEqual(refused(reason));
  });
});
